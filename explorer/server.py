"""The Jupyter side: a small server extension, and the server that opens with the tour running.

The extension switches Nagle's algorithm off on the kernel websocket. tornado leaves it on, so a
burst of small widget messages waits for acknowledgements (some 40 ms each) and a slider stutters.
It fails soft: without it everything works, a little later.

`TourServer` is an ordinary Jupyter server with JupyterLab. Once it is up it starts the notebook
session of the tour, runs the cells in that very kernel and saves the outputs. JupyterLab then
attaches to the running kernel and restores the live widgets from it: a picture without a click.
"""

from __future__ import annotations

import asyncio
import functools
import secrets
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from jupyter_server.serverapp import ServerApp
from jupyter_server.utils import ensure_async, url_path_join
from tornado.httpclient import AsyncHTTPClient
from tornado.httputil import url_concat
from traitlets.config import Config

from explorer.types import Plain

__all__ = ["TourServer", "configuration", "without_nagle"]

VIEW = "application/vnd.jupyter.widget-view+json"
CELL_SECONDS = 600
UNWANTED = (
    "@jupyterlab/apputils-extension:announcements",
    "@jupyterlab/application-extension:faviconbusy",  # fetches two icons at every picture
    "@jupyterlab/lsp-extension",  # asks for language servers, of which there are none: a 404
    "@jupyterlab/notebook-extension:language-server",
    "@jupyterlab/fileeditor-extension:language-server",
)
PAGE = "doc/tree"  # one document: more room for the panel than in the full interface


def without_nagle(handler: Any) -> None:
    """Make a tornado websocket handler class set TCP_NODELAY when it opens; idempotent."""
    opened = handler.open
    if getattr(opened, "sets_nodelay", False):
        return

    @functools.wraps(opened)
    async def open(self: Any, *args: str, **kwargs: str) -> None:
        try:
            self.set_nodelay(True)
        except Exception as error:
            self.log.debug("TCP_NODELAY was not set: %s", error)
        await ensure_async(opened(self, *args, **kwargs))

    open.sets_nodelay = True  # type: ignore[attr-defined]
    handler.open = open


def _load_jupyter_server_extension(server: ServerApp) -> None:
    try:
        from jupyter_server.services.kernels.websocket import KernelWebsocketHandler

        without_nagle(KernelWebsocketHandler)
    except Exception as error:
        server.log.debug("TCP_NODELAY is not set on kernel websockets: %s", error)


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "explorer.server"}]


def _quiet_page(handler: object, page: Plain) -> Plain:
    """Configure the page: ask nothing about news, and do not check for a rebuild."""
    off = [*page.get("disabledExtensions", ()), *UNWANTED]
    # the check would start a busy node process where node is installed
    return page | {"disabledExtensions": off, "buildCheck": False}


def configuration(folder: Path, port: int | None, *, browser: bool) -> Config:
    """Return the settings of a quiet local server on `folder`; port None is any free one."""
    config = Config()
    config.ServerApp.update(
        root_dir=str(folder),
        ip="127.0.0.1",
        port=8888 if port is None else port,
        port_retries=50 if port is None else 0,
        open_browser=browser,
        allow_root=True,  # local and behind a token; containers run as root
        log_level="ERROR",
        tornado_settings={"page_config_hook": _quiet_page},
    )
    config.IdentityProvider.token = secrets.token_hex(24)
    config.PasswordIdentityProvider.hashed_password = ""
    config.LabApp.extension_manager = "readonly"
    config.LabApp.log_level = "ERROR"
    config.MappingKernelManager.transport_encryption = "auto"  # on a shared machine it matters
    return config


@dataclass
class Run:
    """Result of running the tour: `failure` is empty or a message."""

    cells: int = 0
    views: int = 0
    seconds: float = 0.0
    failure: str = ""


class TourServer(ServerApp):
    """A Jupyter server with JupyterLab that opens on a notebook which has been run.

    Attributes
    ----------
    tour : str
        File name of the notebook in the server's folder.
    settings : Config
        Wins over the user's own Jupyter configuration.
    headless : bool
        Run the tour, see that its page answers, and stop.
    say, note : callable
        Take a sentence for the terminal; a note may be overwritten by the next.
    result : Run
        What came of the tour.
    """

    tour = "00_tour.ipynb"
    settings = Config()
    headless = False
    say: Callable[[str], None] = staticmethod(lambda text: None)
    note: Callable[[str], None] = staticmethod(lambda text: None)
    result = Run()
    _presenting: asyncio.Task[None] | None = None
    _starting: asyncio.Future | None = None

    def load_config_file(self, suppress_errors: bool = True) -> None:  # type: ignore[override]
        super().load_config_file(suppress_errors)
        self.update_config(self.settings)

    def init_signal(self) -> None:
        """Stop at Ctrl-C without asking; at a second Ctrl-C do not wait for the kernels."""

        def stop(number: int, frame: FrameType | None) -> None:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self.stop(from_signal=True)

        signal.signal(signal.SIGINT, stop)
        signal.signal(signal.SIGTERM, stop)

    def address(self) -> str:
        """Return the address of the tour's page, with the token."""
        url = url_path_join(self.connection_url, PAGE, self.tour)
        return url_concat(url, {"token": self.identity_provider.token})

    async def _post_start(self) -> None:
        await super()._post_start()
        self._presenting = asyncio.create_task(self._present())

    async def _present(self) -> None:
        try:
            self.result = await self._run_tour()
            if self.headless and not self.result.failure:
                page = await AsyncHTTPClient().fetch(self.address(), raise_error=False)
                if page.code != 200:
                    self.result.failure = f"JupyterLab's page answered with status {page.code}."
        except Exception as error:
            self.result.failure = f"The tour could not be run: {type(error).__name__}: {error}"
        if self.headless:
            self.stop()
            return
        if self.result.failure:
            self.say(self.result.failure)
        self.say(f"The explorer is at {self.address()}\nPress Ctrl-C here to stop it.")
        if self.open_browser:
            self.default_url = url_path_join(self.base_url, PAGE, self.tour)
            self.write_browser_open_file()
            self.launch_browser()

    async def _run_tour(self) -> Run:
        import nbformat
        from nbclient import NotebookClient
        from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

        start, run = time.monotonic(), Run()
        model = await ensure_async(self.contents_manager.get(self.tour, type="notebook"))
        notebook = nbformat.from_dict(model["content"])
        self._starting = asyncio.ensure_future(
            self.session_manager.create_session(
                path=self.tour, name=self.tour, type="notebook", kernel_name="python3"
            )
        )
        session = await asyncio.shield(self._starting)  # a kernel half started would be lost
        manager = self.kernel_manager.get_kernel(session["kernel"]["id"])
        client = NotebookClient(
            notebook, km=manager, timeout=CELL_SECONDS, record_timing=False, log=self.log
        )
        # not NotebookClient.execute: it takes the signals over and stores all widget state
        channels = await client.async_start_new_kernel_client()
        code = [(i, cell) for i, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
        for _, cell in code:
            cell.outputs, cell.execution_count = [], None
            cell.metadata["trusted"] = True  # widgets are shown in trusted notebooks only
        try:
            for run.cells, (i, cell) in enumerate(code, start=1):
                self.note(f"Running the tour: cell {run.cells} of {len(code)}")
                await client.async_execute_cell(cell, i)
        except CellExecutionError as error:
            run.failure = f"The tour failed in code cell {run.cells}: {error.ename}: {error.evalue}"
        except CellTimeoutError:
            run.failure = f"The tour's code cell {run.cells} took over {CELL_SECONDS} s."
        except DeadKernelError:
            run.failure = f"The kernel died in the tour's code cell {run.cells}."
        finally:
            channels.stop_channels()
        run.views = sum(VIEW in out.get("data", {}) for _, cell in code for out in cell.outputs)
        if not (run.failure or run.views):
            run.failure = "The tour ran, but shows no live panel."
        model = {"type": "notebook", "format": "json", "content": notebook}
        await ensure_async(self.contents_manager.save(model, self.tour))
        run.seconds = time.monotonic() - start
        return run

    async def _stop(self) -> None:
        task = self._presenting
        if task is not None and task is not asyncio.current_task() and not task.done():
            task.cancel()
            unfinished = [task] if self._starting is None else [task, self._starting]
            await asyncio.gather(*unfinished, return_exceptions=True)
            for kernel in self.kernel_manager.list_kernel_ids():
                # at once: asked politely while it still starts, it would print a traceback
                await ensure_async(self.kernel_manager.shutdown_kernel(kernel, now=True))
        await super()._stop()
