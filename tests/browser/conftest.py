"""One Jupyter server for all browser tests, started as a user starts it; one Chromium a file."""

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


# Not for the session: the thread of Playwright's loop would make later asyncio tests fail.
@pytest.fixture(scope="module")
def chromium():
    path = browsers.found()
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=ARGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def opened(chromium, address):
    context = chromium.new_context(viewport=SIZE, accept_downloads=True)
    lab = Lab(context, address)
    yield lab
    assert lab.problems == []
    assert lab.abroad == []
    context.close()


@pytest.fixture
def lab(opened):
    opened.settle()
    opened.problems.clear()
    yield opened
    assert opened.problems == []


@pytest.fixture(scope="session")
def shots(tmp_path_factory) -> Path:
    """Folder of the screenshots; NSX_SHOTS names one that stays."""
    folder = Path(os.environ.get("NSX_SHOTS") or tmp_path_factory.mktemp("shots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder
