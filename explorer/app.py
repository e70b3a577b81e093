"""The command ``nonsmooth-explorer``: opens JupyterLab on the tour, with its panel running.

The notebooks are copied to a folder of the user, ``~/nonsmooth-explorer`` unless ``--dir`` names
another: the same place wherever the command is typed, and never inside a checkout. A notebook
that the user has changed is never overwritten.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import socket
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from explorer.server import TourServer

__all__ = ["main"]

TOUR = "00_tour.ipynb"
RECORD = ".shipped.json"  # what we copied last; a file that differs from it is the user's


class CannotStartError(Exception):
    """The command cannot start; it prints the message and exits with code 2."""


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="nonsmooth-explorer", description="Open the explorer of nonsmooth dynamics in Jupyter."
    )
    parser.add_argument("--version", action="version", version=metadata.version(parser.prog))
    parser.add_argument("--no-browser", action="store_true", help="print the address only")
    parser.add_argument("--port", type=int, help="port of the server (default: a free one)")
    parser.add_argument(
        "--dir",
        type=Path,
        default=Path("~/nonsmooth-explorer"),
        help="your folder for the notebooks (default: %(default)s)",
    )
    parser.add_argument("--notebooks", type=Path, help=argparse.SUPPRESS)  # other ones, for tests
    action = parser.add_mutually_exclusive_group()
    action.add_argument(
        "--check",
        action="store_true",
        help="run the whole start-up headlessly, report success or failure, then exit",
    )
    action.add_argument("--warm", action="store_true", help="compile all kernels, then exit")
    action.add_argument(
        "--book",
        nargs="?",
        type=Path,
        const=Path("build/book"),
        metavar="FOLDER",
        help="build the book, pages that are read without a network (default: %(const)s)",
    )
    action.add_argument(
        "--course",
        nargs="?",
        type=Path,
        const=Path("build/course"),
        metavar="FOLDER",
        help="write the chapters of the course without solutions (default: %(const)s)",
    )
    action.add_argument(
        "--slides",
        nargs="?",
        type=Path,
        const=Path("build/slides"),
        metavar="FOLDER",
        help="run the chapters of the course, and write them as slides (default: %(const)s)",
    )
    parser.add_argument("--only", help=argparse.SUPPRESS)  # of the book: some models, for tests
    # of the book: a folder of notebooks that were run before, for CI
    parser.add_argument("--ran", type=Path, help=argparse.SUPPRESS)
    # values of each slider of the book: .ci/run asks for few
    parser.add_argument("--points", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    if given.port is not None and not 0 <= given.port < 65536:
        parser.error(f"--port {given.port}: a port is a number from 0 to 65535.")
    return given


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, 1 (the check failed) or 2 (could not start)."""
    given = _arguments(argv)
    try:
        if given.warm:
            _warm()
            return 0
        if given.book:
            only = given.only.split(",") if given.only else None
            return _book(given.book, only, given.ran, given.points)
        if given.course or given.slides:
            return _course(given)
        if given.check:
            with tempfile.TemporaryDirectory(prefix="nonsmooth-explorer-") as folder:
                return _check(given, Path(folder))
        return _open(given)
    except CannotStartError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nStopped.")
        return 130


def _open(given: argparse.Namespace) -> int:
    _refuse_taken(given.port)
    folder = given.dir.expanduser().absolute()
    for name in _copy(_shipped(given.notebooks), folder):
        print(f"You changed {name}, so it is kept. Rename it to get the shipped version.")
    with _compiled():
        print(f"Your notebooks are in {folder}")
        _serve(folder, given.port or None, browser=not given.no_browser)
    print(f"\nStopped. Your notebooks are in {folder}")
    return 0


def _check(given: argparse.Namespace, folder: Path) -> int:
    _refuse_taken(given.port)
    _copy(_shipped(given.notebooks), folder / "notebooks")
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        os.environ[name] = str(folder / name.lower())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = given.port or free.getsockname()[1]
    with _compiled():
        server = _serve(folder / "notebooks", port, browser=False, headless=True)
    run = server.result
    if run.failure or not run.cells:
        print(run.failure or "The check was stopped before the tour ran.")
        return 1
    print(f"The tour ran: {run.cells} cells, {run.views} live panels, {run.seconds:.1f} s.")
    return 0


def _serve(folder: Path, port: int | None, *, browser: bool, headless: bool = False) -> TourServer:
    """Run the server until it is stopped; return it."""
    from explorer.server import TourServer, configuration

    warnings.simplefilter("ignore")  # a third party's deprecation is no news for the user
    terminal = _Terminal()
    server = TourServer.instance(jpserver_extensions={"jupyterlab": True, "explorer.server": True})
    server.settings = configuration(folder, port, browser=browser)
    server.tour, server.headless = TOUR, headless
    server.say, server.note = terminal.say, terminal.note
    try:
        # without what else is installed on this machine: sooner, and nothing can interfere
        server.initialize(argv=[], starter_extension="lab", find_extensions=False)
        server.start()
    except SystemExit as error:
        raise CannotStartError(
            "The Jupyter server could not start: another program has just taken its port."
        ) from error
    finally:
        TourServer.clear_instance()
    return server


@contextmanager
def _compiled() -> Iterator[None]:
    """Compile the code for the start of the tour; a second process compiles the rest meanwhile."""
    from explorer import cache
    from explorer.errors import CacheWarning
    from explorer.kernels import jit
    from explorer.progress import shown_by

    warnings.simplefilter("ignore", CacheWarning)
    if cache.notice():
        print(cache.notice())
    if jit.is_warm():
        yield
        return
    terminal = _Terminal()
    terminal.say("Compiling the numerical kernels of the tour. This happens once per machine.")
    cache.prune()
    with jit.helped():
        with shown_by(terminal.bar):
            _opening()
        terminal.say("The other schemes are compiled in the background.")
        yield


def _opening() -> None:
    """Run and draw the first panel of the tour, so that its cells need not wait for compilation."""
    from explorer.panels import Session
    from explorer.panels.answer import SessionAnswer

    SessionAnswer(Session("bouncing_ball")).frame()


def _warm() -> None:
    """Compile what is missing in the cache; load and check the rest."""
    from explorer import cache
    from explorer.kernels import jit
    from explorer.panels.live import plotly_bundle
    from explorer.progress import shown_by

    terminal, start = _Terminal(), time.monotonic()
    terminal.say("Compiling the numerical kernels. This happens once per machine.")
    with jit.helped(), shown_by(terminal.bar):
        jit.warm()
    terminal.note("Packing plotly.js")
    plotly_bundle(cache.directory())
    terminal.say(
        f"Everything is compiled and packed in {cache.directory()} "
        f"({time.monotonic() - start:.0f} s)."
    )


def _book(folder: Path, only: list[str] | None, ran: Path | None, points: int | None) -> int:
    """Build the book; return 1 if something is wrong with it."""
    from explorer.book import build
    from explorer.book.model_page import POINTS
    from explorer.errors import ExplorerError

    terminal = _Terminal()
    try:
        plans: list[str] | None = [] if only else None
        book = build(
            folder, only=only, plans=plans, ran=ran, points=points or POINTS, say=terminal.note
        )
    except ExplorerError as error:
        raise CannotStartError(str(error)) from error
    terminal.say(str(book))
    if book.note:
        terminal.say(book.note)
    for problem in book.problems:
        print(problem, file=sys.stderr)
    return 1 if book.problems else 0


def _course(given: argparse.Namespace) -> int:
    """Write the chapters for students, or as slides."""
    from explorer.errors import ExplorerError

    terminal, home = _Terminal(), _shipped(given.notebooks)
    try:
        if given.course:
            from explorer.course.notebooks import write_students

            written = write_students(home, given.course)
        else:
            from explorer.book.slides import slides

            written = slides(home, given.slides, say=terminal.note)
    except OSError as error:
        folder = given.course or given.slides
        raise CannotStartError(f"{folder} cannot be written ({error.strerror}).") from error
    except ExplorerError as error:
        raise CannotStartError(str(error)) from error
    for path in written:
        terminal.say(str(path))
    return 0


def _refuse_taken(port: int | None) -> None:
    if not port:
        return
    with socket.socket() as trial:
        if os.name == "posix":  # as the server does: a port that is only winding down is free
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", port))
        except OSError as error:
            raise CannotStartError(
                f"Port {port} cannot be used ({error.strerror}). Give another port with --port, or "
                "omit --port to use a free one."
            ) from error


def _shipped(given: Path | None) -> Path:
    """Return the folder of the notebooks: in an installed wheel, or in the checkout."""
    package = Path(__file__).parent
    installed = package / "_notebooks"
    folder = given or (installed if installed.is_dir() else package.parent / "notebooks")
    if not (folder / TOUR).is_file():
        raise CannotStartError(
            f"The notebook {TOUR} is not in {folder}. Reinstall the package, or start from a "
            "complete checkout."
        )
    return folder


def _copy(source: Path, folder: Path) -> list[str]:
    """Copy the notebooks to `folder`; return the names of those that the user has changed.

    The chapters of the course go there without their solutions.
    """
    kept = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        copied = _record(folder)
        for name, content in _offered(source):
            shipped, target = _digest(content), folder / name
            if target.exists() and (present := _digest(target.read_bytes())) != shipped:
                if copied.get(name) != present:
                    kept.append(name)
                    continue
                target.unlink()
            if not target.exists():
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(content)
            copied[name] = shipped
        (folder / RECORD).write_text(json.dumps(copied, indent=1))
    except OSError as error:
        raise CannotStartError(
            f"The folder {folder} cannot be written ({error.strerror}). Give another folder "
            "with --dir."
        ) from error
    return kept


def _offered(source: Path) -> Iterator[tuple[str, bytes]]:
    """Yield what a user gets: names below the folder, and contents."""
    for file in sorted(p for p in source.iterdir() if p.is_file()):
        yield file.name, file.read_bytes()
    if (source / "course").is_dir():
        from explorer.course.notebooks import students

        for chapter, text in students(source):
            yield f"course/{chapter.stem}.ipynb", text.encode()


def _record(folder: Path) -> dict[str, str]:
    """Return the digests of the files copied last; empty (all files are the user's) without one."""
    try:
        return dict(json.loads((folder / RECORD).read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return {}


def _digest(content: bytes) -> str:
    """Digest of a file; of a notebook only its source, since running it is no change."""
    try:
        cells = json.loads(content)["cells"]
        typed = [[cell["cell_type"], "".join(cell["source"])] for cell in cells]
        content = json.dumps(typed).encode()
    except (ValueError, KeyError, TypeError):
        pass
    return hashlib.sha256(content).hexdigest()


class _Terminal:
    """Output: messages and, on a terminal, a last line that is overwritten."""

    def __init__(self) -> None:
        self.live = sys.stdout.isatty()
        self.quarter = 0

    def say(self, text: str) -> None:
        """Print a message that stays."""
        print(f"\r\x1b[K{text}" if self.live else text, flush=True)

    def note(self, text: str) -> None:
        """Show a line until the next one."""
        if self.live:
            print(f"\r\x1b[K{text}", end="", flush=True)

    def bar(self, done: int, total: int, name: str, what: str) -> None:
        """Show the progress of the compilation; in a log, one line per quarter."""
        filled = 30 * done // max(total, 1)
        self.note(f"[{'#' * filled:.<30}] {done}/{total} {name}")
        if not self.live and 4 * done // max(total, 1) > self.quarter:
            self.quarter = 4 * done // max(total, 1)
            print(f"{done} of {total} kernels", flush=True)
