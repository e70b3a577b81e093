"""One Jupyter server for all browser tests, started as a user starts it; one Chromium and one page of the tour."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import browsers
import pytest
from playwright.sync_api import sync_playwright

from explorer import cache

sys.path.insert(0, str(Path(__file__).parent))

from lab import SIZE, Lab

ARGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-quic",
    "--disable-component-update", "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # nothing outside is reached
]  # fmt: skip


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.contextmanager
def served(command: list, home: Path, ready: str):
    """Run a server whose folders are all its own; yield its output up to the line with `ready`."""
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "HOME")
    own = {name: str(home / name.lower()) for name in names}
    for folder in own.values():
        Path(folder).mkdir(parents=True, exist_ok=True)
    settings = {"LabApp": {"expose_app_in_browser": True}}
    (home / "jupyter_config_dir" / "jupyter_server_config.json").write_text(json.dumps(settings))
    process = subprocess.Popen(
        [sys.executable, *map(str, command)], text=True, cwd=home,
        env=os.environ | own | {"NONSMOOTH_EXPLORER_CACHE": str(cache.directory())},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    said = []
    try:
        for line in process.stdout:
            said.append(line)
            if ready in line:
                break
        else:
            pytest.fail(f"The server did not start:\n{''.join(said)}")
        yield "".join(said)
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # asked to stop, it waits for all of its kernels
        process.communicate()


@contextlib.contextmanager
def explorer(home: Path, *options):
    """Run the command; yield the address that it prints."""
    command = ["-m", "explorer", "--no-browser", "--dir", home / "mine", "--port", free_port()]
    with served([*command, *options], home, "The explorer is at") as said:
        yield said.split("The explorer is at ")[1].split()[0]


@pytest.fixture(scope="session")
def address(tmp_path_factory) -> str:
    """Address of the tour, as the command prints it."""
    with explorer(tmp_path_factory.mktemp("home")) as found:
        yield found


class Shared:
    """One Chromium, and in it one page of the tour, for all files of this folder."""

    def __init__(self) -> None:
        self.open = contextlib.ExitStack()
        self.chromium = self.lab = self.usual = None

    def browser(self):
        """Return the browser, which is started where there is none."""
        if self.chromium is None:
            play = self.open.enter_context(sync_playwright())
            path = browsers.found()
            self.chromium = play.chromium.launch(executable_path=path, args=ARGS)
            self.open.callback(self.chromium.close)
        return self.chromium

    def page(self, address: str) -> Lab:
        """Return the page, and remember how it looks when a test may start."""
        if self.lab is None:
            context = self.browser().new_context(viewport=SIZE, accept_downloads=True)
            self.lab = Lab(context, address)
            self.open.callback(context.close)
            self.lab.settle()
            self.usual = self.lab.usual()
        return self.lab

    def close(self) -> None:
        """End both; what was wrong with the page since its last test is an error."""
        said = [] if self.lab is None else self.lab.problems + self.lab.abroad
        self.open.close()
        self.chromium = self.lab = self.usual = None
        assert said == []


shared = Shared()


# Not at the end of the session: the thread of Playwright's loop would make later asyncio tests fail.
@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item, nextitem):
    """Close what this folder shares behind the last of its tests."""
    try:
        return (yield)
    finally:
        if nextitem is None or nextitem.path.parent != item.path.parent:
            shared.close()


@pytest.fixture(scope="module")
def chromium():
    return shared.browser()


@pytest.fixture
def lab(address):
    one = shared.page(address)
    one.settle()
    if one.usual() != shared.usual:  # windows that have grown stay so until another model comes
        one.settle("duffing")
        one.settle()
    usual = one.usual()
    left = [what for what, said in shared.usual.items() if usual[what] != said]
    assert left == [], "of these a test before has left something behind"
    one.problems.clear()
    yield one
    assert one.problems == []


@pytest.fixture(scope="session")
def shots():
    """Return what keeps a screenshot in the folder that NSX_SHOTS names: to be looked at.

    Without a folder none is taken: no test compares them, and each is drawn and packed.
    """
    folder = os.environ.get("NSX_SHOTS")

    def keep(take, name: str) -> None:
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            take(path=Path(folder) / name)

    return keep
