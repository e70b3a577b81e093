"""The command line, on a small notebook: what it starts, refuses, copies and leaves alone."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application
from tornado.websocket import WebSocketHandler, websocket_connect

from explorer import app

PANEL = "import ipywidgets\nipywidgets.IntSlider(3)"


def _notebooks(folder: Path, *sources: str) -> Path:
    cells = [
        {"cell_type": "code", "id": f"c{i}", "metadata": {}, "source": source, "outputs": [],
         "execution_count": None}
        for i, source in enumerate(sources)
    ]  # fmt: skip
    folder.mkdir(exist_ok=True)
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
    (folder / app.TOUR).write_text(json.dumps(notebook))
    return folder


def _start(*arguments: object, home: Path) -> subprocess.Popen:
    from explorer import cache

    kept = {"HOME": str(home), "NONSMOOTH_EXPLORER_CACHE": str(cache.directory())}
    return subprocess.Popen(
        [sys.executable, "-m", "explorer", *map(str, arguments)],
        env=os.environ | kept, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_version(capsys):
    with pytest.raises(SystemExit, match="0"):
        app.main(["--version"])
    assert capsys.readouterr().out.strip()[0].isdigit()


@pytest.mark.parametrize("port", ["-1", "70000", "many"])
def test_a_port_that_is_none_is_refused(port, capsys):
    with pytest.raises(SystemExit, match="2"):
        app.main(["--port", port])
    assert "port" in capsys.readouterr().err


def _refused(capsys, *arguments: object) -> str:
    assert app.main([str(argument) for argument in arguments]) == 2
    said = capsys.readouterr()
    assert not said.out
    return said.err


def test_a_taken_port_is_refused(tmp_path, capsys):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        said = _refused(capsys, "--no-browser", "--port", port, "--dir", tmp_path)
        assert str(port) in said
        assert "--port" in said
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_refused(tmp_path, capsys):
    source = _notebooks(tmp_path / "source", PANEL)
    (tmp_path / "file").touch()
    said = _refused(capsys, "--notebooks", source, "--dir", tmp_path / "file" / "folder")
    assert "--dir" in said


def test_a_missing_tour_is_refused(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    said = _refused(capsys, "--notebooks", tmp_path / "empty", "--dir", tmp_path / "mine")
    assert app.TOUR in said
    assert not (tmp_path / "mine").exists()


def test_notebooks_follow_the_package_until_the_user_changes_them(tmp_path):
    source, mine = _notebooks(tmp_path / "source", "1"), tmp_path / "mine"
    tour = mine / app.TOUR
    assert app._copy(source, mine) == []

    opened = json.loads(tour.read_text())  # as Jupyter saves it: outputs are no change
    opened["cells"][0] |= {"execution_count": 7, "source": ["1"]}
    tour.write_text(json.dumps(opened))
    assert app._copy(source, mine) == []
    assert json.loads(tour.read_text())["cells"][0]["execution_count"] == 7

    _notebooks(source, "2")
    assert app._copy(source, mine) == []
    assert json.loads(tour.read_text())["cells"][0]["source"] == "2"

    _notebooks(mine, "2 + 40")
    _notebooks(source, "3")
    assert app._copy(source, mine) == [app.TOUR]
    assert json.loads(tour.read_text())["cells"][0]["source"] == "2 + 40"


@pytest.mark.parametrize("record", ["{", "[1]", None])
def test_without_a_legible_record_everything_is_the_users(tmp_path, record):
    source, mine = _notebooks(tmp_path / "source", "1"), _notebooks(tmp_path / "mine", "2")
    if record is not None:
        (mine / app.RECORD).write_text(record)
    before = (mine / app.TOUR).read_text()
    assert app._copy(source, mine) == [app.TOUR]
    assert (mine / app.TOUR).read_text() == before


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """What a new process has loaded behind the opening, the tour and a run with events."""
    tour = Path(__file__).parents[1] / "notebooks" / "00_tour.ipynb"
    cells = [c["source"] for c in json.loads(tour.read_text())["cells"] if c["cell_type"] == "code"]
    lines = "\n".join("".join(source) for source in cells)
    script = tmp_path_factory.mktemp("tour") / "tour.py"
    script.write_text(
        "import json, sys\nfrom explorer import app\napp._opening()\nopening = {*sys.modules}\n"
        f"{lines}\nbehind = {{*sys.modules}}\n"
        "import explorer\nexplorer.explore('bouncing_ball')\n"
        "explorer.simulate(explorer.models.pendulum(), explorer.EventDriven())\n"
        "print(json.dumps([*map(sorted, (opening, behind, sys.modules))]))"
    )
    said = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    return [set(names) for names in json.loads(said.stdout.splitlines()[-1])]


def test_no_cell_of_the_tour_waits_for_a_kernel(loaded):
    """What is compiled before the address is said is all that the tour needs."""
    opening, behind, _ = loaded
    assert [name for name in behind - opening if name.startswith("explorer.kernels")] == []


def test_the_first_panel_loads_no_part_of_scipy_that_it_does_not_use(loaded):
    """These take as long to load as the panel to compute its first picture."""
    heavy = ["integrate", "interpolate", "optimize", "spatial", "special"]
    assert [part for part in heavy if "scipy." + part in loaded[-1]] == []


@pytest.mark.parametrize(
    ("sources", "code", "said"),
    [
        ((PANEL, "1 + 1"), 0, "2 cells, 1 live panels"),
        ((PANEL, "1 / 0"), 1, "code cell 2: ZeroDivisionError"),
        (("1 + 1",), 1, "no live panel"),
    ],
)
def test_check_runs_the_tour_and_leaves_nothing_behind(tmp_path, sources, code, said):
    source, home = _notebooks(tmp_path / "source", *sources), tmp_path / "home"
    home.mkdir()
    started = _start("--check", "--notebooks", source, home=home)
    out, err = started.communicate(timeout=300)
    assert started.returncode == code, out + err
    assert said in out
    assert "Traceback" not in out + err
    assert not list(home.iterdir())


def test_the_tour_is_running_when_the_address_is_said_and_ctrl_c_stops_it(tmp_path):
    source, home = _notebooks(tmp_path / "source", PANEL), tmp_path / "home"
    home.mkdir()
    started = _start("--no-browser", "--notebooks", source, home=home)
    assert started.stdout is not None
    said = []
    for line in started.stdout:
        said.append(line)
        if "Ctrl-C" in line:
            break
    try:
        address = next(word for line in said for word in line.split() if word.startswith("http"))
        page = urllib.request.urlopen(address, timeout=60)
        assert page.status == 200
        page.close()
        sessions = urllib.request.urlopen(
            address.replace(f"doc/tree/{app.TOUR}", "api/sessions"), timeout=60
        )
        (session,) = json.load(sessions)
        sessions.close()
        assert session["path"] == app.TOUR
        notebook = json.loads((home / "nonsmooth-explorer" / app.TOUR).read_text())
        (output,) = notebook["cells"][0]["outputs"]
        assert "application/vnd.jupyter.widget-view+json" in output["data"]
        assert "widgets" not in notebook["metadata"]
    finally:
        started.send_signal(signal.SIGINT)
        out, err = started.communicate(timeout=60)
    assert started.returncode == 0
    assert out.strip().startswith("Stopped.")
    assert not err


def test_kernel_messages_are_sent_without_delay():
    """The option as the operating system reports it, on a real connection."""
    from explorer.server import without_nagle

    class Handler(WebSocketHandler):
        async def open(self) -> None:
            await self.write_message("open")

        def on_message(self, message: str | bytes) -> None:
            stream = self.ws_connection.stream.socket
            self.write_message(str(stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))

    async def ask() -> list[str | bytes | None]:
        listener, port = bind_unused_port()
        server = HTTPServer(Application([("/", Handler)]))
        server.add_socket(listener)
        connection = await websocket_connect(f"ws://127.0.0.1:{port}/")
        first = await connection.read_message()
        await connection.write_message("?")
        answer = [first, await connection.read_message()]
        connection.close()
        server.stop()
        await server.close_all_connections()
        return answer

    assert asyncio.run(ask()) == ["open", "0"]
    without_nagle(Handler)
    once = Handler.open
    without_nagle(Handler)
    assert Handler.open is once
    assert asyncio.run(ask()) == ["open", "1"]


def test_the_extension_patches_jupyters_handler_and_fails_soft(monkeypatch):
    from jupyter_server.serverapp import ServerApp
    from jupyter_server.services.kernels.websocket import KernelWebsocketHandler

    from explorer import server

    server._load_jupyter_server_extension(ServerApp())
    assert KernelWebsocketHandler.open.sets_nodelay

    def broken(handler: object) -> None:
        raise AttributeError("open")

    monkeypatch.setattr(server, "without_nagle", broken)
    server._load_jupyter_server_extension(ServerApp())
