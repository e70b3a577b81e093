"""WebKit on a screen of its own, driven by WebDriver: pages, code in them, and their errors."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from browsers import Window, missing

TOOLS = {"WebKitWebDriver": "webkit2gtk-driver", "Xvfb": "xvfb"}  # and Debian's packages of them
_HEAR = "addEventListener('error', (e) => (window.nsxErrors ??= []).push(e.message)), true"


class Webkit(Window):
    """One window; `errors` are those of its page since it was opened."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.address += "/session/" + self.call("session", capabilities={})["sessionId"]

    def call(self, path: str, method: str = "POST", **params):
        body = json.dumps(params).encode() if method == "POST" else None
        url = f"{self.address}/{path}".removesuffix("/")
        asked = urllib.request.Request(url, body, method=method)
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return json.load(answer)["value"]

    @property
    def errors(self) -> list[str]:
        return self.js("window.nsxErrors ?? []")

    def size(self, width: int, height: int) -> None:
        self.call("window/rect", width=width, height=height)
        bar = height - self.js("innerHeight")
        self.call("window/rect", width=width, height=height + bar)

    def open(self, url: str) -> None:
        self.call("url", url=url)
        self.js(_HEAR)

    def js(self, expression: str):
        """Return the value of an expression, as JSON has it."""
        script = (
            "const done = arguments[0]; (async () => JSON.stringify(await (" + expression + ")))()"
            ".then((text) => done(text ?? null), (error) => done({ error: String(error) }));"
        )
        found = self.call("execute/async", script=script, args=[])
        assert not isinstance(found, dict), found
        return None if found is None else json.loads(found)

    def act(self, actions: list[dict]) -> None:
        self.call("actions", actions=actions)

    def shot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("screenshot", "GET")))


@contextlib.contextmanager
def webkit(home: Path) -> Iterator[Webkit]:
    """Start WebKit with empty folders; without it a test is skipped, but in CI it fails."""
    for tool, package in TOOLS.items():
        if not shutil.which(tool):
            missing(f"{tool} is not installed: Debian's package {package} holds it.")
    with contextlib.ExitStack() as stack:
        read, write = os.pipe()
        screen = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write), "-screen", "0", "1400x1000x24", "-nolisten", "tcp"],
            pass_fds=[write], stderr=subprocess.DEVNULL,
        )  # fmt: skip
        stack.callback(_ended, screen)
        os.close(write)
        with open(read) as said:
            display = said.readline().strip()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        driver = subprocess.Popen(
            ["WebKitWebDriver", f"--port={port}"], start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={"HOME": str(home), "PATH": os.defpath, "DISPLAY": f":{display}",
                 "LIBGL_ALWAYS_SOFTWARE": "1"},
        )  # fmt: skip
        stack.callback(_ended, driver)
        end = time.monotonic() + 20
        while driver.poll() is None and time.monotonic() < end:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        one = Webkit(f"http://127.0.0.1:{port}")
        yield one
        one.call("", "DELETE")


def _ended(process: subprocess.Popen) -> None:
    process.kill()
    process.wait()
