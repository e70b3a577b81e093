"""Firefox without a window, driven by WebDriver BiDi: pages, code in them, and their errors."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import websocket
from browsers import Window, missing

NAMES = ("firefox-esr", "firefox")
_SAID = "WebDriver BiDi listening on "
_QUIET = {
    "app.update.disabledForTesting": True,
    "browser.aboutwelcome.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "remote.active-protocols": 1,
}


class Firefox(Window):
    """One window; `errors` are those of its page since it was opened."""

    def __init__(self, address: str) -> None:
        self.socket = websocket.create_connection(
            f"{address}/session", suppress_origin=True, timeout=60
        )
        self.count, self.errors = 0, []
        self.call("session.new", capabilities={})
        self.call("session.subscribe", events=["log.entryAdded"])
        self.page = self.call("browsingContext.getTree")["contexts"][0]["context"]

    def call(self, method: str, **params) -> dict:
        self.count += 1
        self.socket.send(json.dumps({"id": self.count, "method": method, "params": params}))
        while True:
            said = json.loads(self.socket.recv())
            if said.get("method") == "log.entryAdded" and said["params"]["level"] == "error":
                self.errors.append(said["params"]["text"])
            if said.get("id") == self.count:
                assert said["type"] == "success", said
                return said["result"]

    def size(self, width: int, height: int) -> None:
        shape = {"width": width, "height": height}
        self.call("browsingContext.setViewport", context=self.page, viewport=shape)

    def open(self, url: str) -> None:
        self.errors.clear()
        self.call("browsingContext.navigate", context=self.page, url=url, wait="interactive")

    def js(self, expression: str):
        """Return the value of an expression, as JSON has it."""
        found = self.call(
            "script.evaluate",
            expression=f"JSON.stringify({expression})",
            target={"context": self.page},
            awaitPromise=True,
        )
        assert found["type"] == "success", found
        text = found["result"].get("value")
        return None if text is None else json.loads(text)

    def act(self, actions: list[dict]) -> None:
        self.call("input.performActions", context=self.page, actions=actions)

    def shot(self, path: Path) -> None:
        found = self.call("browsingContext.captureScreenshot", context=self.page)
        path.write_bytes(base64.b64decode(found["data"]))


@contextlib.contextmanager
def firefox(home: Path) -> Iterator[Firefox]:
    """Start Firefox with an empty profile; without it a test is skipped, but in CI it fails."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        missing(f"Neither of {' and '.join(NAMES)} is installed.")
    lines = [f"user_pref({json.dumps(k)}, {json.dumps(v)});" for k, v in _QUIET.items()]
    (home / "user.js").write_text("\n".join(lines))
    process = subprocess.Popen(
        [path, "--headless", "--no-remote", "--profile", str(home), "--remote-debugging-port", "0"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        env={"HOME": str(home), "PATH": os.defpath, "MOZ_CRASHREPORTER_DISABLE": "1"},
    )  # fmt: skip
    try:
        said = next((line for line in process.stderr if _SAID in line), None)
        assert said is not None, "Firefox ended before it could be driven."
        threading.Thread(target=process.stderr.read, daemon=True).start()  # a full pipe stops it
        one = Firefox(said.split(_SAID)[1].strip())
        yield one
        one.socket.close()
    finally:
        process.kill()
        process.communicate()
