"""`build`: the book, from the gallery, notebooks, docstrings and texts of a checkout."""

from __future__ import annotations

import html
import multiprocessing
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

from explorer.book import site
from explorer.book.address import TOUR, Address
from explorer.book.chapters import COURSE, Chapter, chapter, notebooks
from explorer.book.checking import Complaints, check
from explorer.book.model_page import POINTS, ModelPage, model_page
from explorer.book.reference import reference
from explorer.book.task_page import TaskPage, task_page
from explorer.book.texts import front, texts
from explorer.course.exercises import chapters as course
from explorer.course.notebooks import write_students
from explorer.errors import BadValue, NotApplicable, suggest
from explorer.models import GROUPS, models
from explorer.progress import shown_by
from explorer.tasks import tasks as known_tasks

__all__ = ["Book", "build"]

MARK = ".nonsmooth-book"  # of a folder that may be written again
_SHARED = f"../_static/{site.TWINS}"
_FIRST = "bouncing_ball"  # moves on the first page, above its code
_LARGEST = 3_000_000  # bytes of a page

Page = TypeVar("Page")
Item = TypeVar("Item", str, Path)
Made = TypeVar("Made", ModelPage, Chapter, TaskPage)


@dataclass(frozen=True)
class Book:
    """A book that was built.

    Attributes
    ----------
    folder : Path
        It begins with ``index.html``.
    models : list of ModelPage
    plans : list of TaskPage
    chapters : list of Chapter
    complaints : Complaints
        Dead links, and what is loaded from a network.
    warnings : list of str
        Of Sphinx.
    seconds : float
    note : str
        What a builder has to know beside problems: that the public address is a placeholder.
    """

    folder: Path
    models: list[ModelPage]
    plans: list[TaskPage]
    chapters: list[Chapter]
    complaints: Complaints
    warnings: list[str]
    seconds: float
    note: str = ""

    @property
    def size(self) -> int:
        """Of all files, in bytes."""
        return sum(p.stat().st_size for p in self.folder.rglob("*") if p.is_file())

    @property
    def largest(self) -> tuple[str, int]:
        """The largest page and its size in bytes."""
        pages = {p: p.stat().st_size for p in self.folder.rglob("*.html")}
        path = max(pages, key=lambda p: pages[p])
        return str(path.relative_to(self.folder)), pages[path]

    @property
    def problems(self) -> list[str]:
        """What is wrong with it, one sentence each."""
        found = list(self.complaints.all)
        found += [f"{x.name}: {x.failed}" for x in self.chapters if x.failed]
        found += [f"{x.name}: {x.failed}" for x in self.plans if x.failed]
        told = [(page.name, page.numbers) for page in self.models]
        told += [(page.name, page.numbers) for page in self.plans]
        for name, numbers in told:
            found += [f"{name}: {n.problem}" for n in numbers if n.problem]
        found += [f"{x.name}: {x.away.problem}" for x in self.models if x.away and x.away.problem]
        for path in sorted(self.folder.rglob("*.html")):
            if (size := path.stat().st_size) > _LARGEST:
                page = path.relative_to(self.folder)
                found.append(f"{page} has {size / 1e6:.1f} MB, more than {_LARGEST / 1e6:.0f} MB")
        return found

    def __str__(self) -> str:
        name, size = self.largest
        return (
            f"The book is in {self.folder}: {self.complaints.pages} pages, {self.size / 1e6:.1f} MB"
            f", the largest page {name} with {size / 1e6:.2f} MB, built in {self.seconds:.0f} s."
        )


def build(
    folder: str | Path,
    *,
    only: Sequence[str] | None = None,
    chapters: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
    plans: Sequence[str] | None = None,
    ran: Path | None = None,
    points: int = POINTS,
    jobs: int | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Book:
    """Build the book: a page of each model, the notebooks, the reference and the texts.

    Parameters
    ----------
    folder : path
        Is made; an older book in it is replaced.
    only : names of models, optional
        By default all of the gallery.
    chapters : names of notebooks, optional
        By default all; names without their ending.
    tasks : names of pages of the reference, optional
        By default all.
    plans : names of optimal control problems of `explorer.tasks`, optional
        By default all.
    ran : Path, optional
        A folder with the notebooks as they were run before; by default they are run now.
    points : int
        Values of the slider of each model.
    jobs : int, optional
        Processes; by default one for each processor, at most four.
    say : callable
        Is told what happens.

    Raises
    ------
    BadValue
        If a name is unknown, or the folder holds something else than a book.
    NotApplicable
        If the extra ``book`` is not installed, or this is no checkout.
    """
    began = time.perf_counter()
    folder = _emptied(Path(folder))
    site.needed()
    root = _checkout()
    names = _chosen(only, list(models), "model")
    found = notebooks(root)
    books = _chosen(chapters, list(found), "notebook")
    problems = _chosen(plans, list(known_tasks), "task")
    address = Address.of(root)
    jobs = min(jobs or os.cpu_count() or 1, 4)
    with tempfile.TemporaryDirectory(prefix="nonsmooth-book-") as made:
        source = Path(made) / "source"
        for part in ("models", COURSE, "chapters", "tasks", "reference"):
            (source / part).mkdir(parents=True)
        say(f"{len(names)} models, {len(books)} notebooks, {jobs} processes")
        one = partial(model_page, shared=_SHARED, live=address.page(TOUR), points=points)
        pages = list(_each(_Quietly(one), names, jobs, say))
        for page in pages:
            (source / "models" / f"{page.name}.md").write_text(page.text, "utf-8")
            (source / "models" / f"{page.name}.html").write_text(page.twin, "utf-8")
        plan = partial(task_page, shared=_SHARED, live=one.keywords["live"])
        solved = list(_each(_Quietly(plan), problems, jobs, say))
        for task in solved:
            (source / "tasks" / f"{task.name}.md").write_text(task.text, "utf-8")
            if task.twin:
                (source / "tasks" / f"{task.name}.html").write_text(task.twin, "utf-8")
        run = partial(chapter, shared=_SHARED, live=address.binder, ran=ran)
        told = list(_each(run, [found[name] for name in books], jobs, say))
        for x in told:
            (source / x.part / f"{x.name}.ipynb").write_text(x.text, "utf-8")
        say("Reference and texts")
        for name, text in {**reference(tasks), **texts(root)}.items():
            (source / name).write_text(text, "utf-8")
        (source / "models" / "index.md").write_text(_models(pages), "utf-8")
        weeks = [x for x in told if x.part == COURSE]
        others = [x for x in told if x.part != COURSE]
        (source / "chapters" / "index.md").write_text(_chapters(others), "utf-8")
        if weeks:
            (source / COURSE / "index.md").write_text(_weeks(weeks), "utf-8")
        (source / "tasks" / "index.md").write_text(_tasks(solved), "utf-8")
        moves = _first(pages, source)
        (source / "index.md").write_text(front(course=bool(weeks), moves=moves), "utf-8")
        site.assets(source)
        say("Sphinx")
        warned = site.make(source, folder, Path(made) / "doctrees")
    _downloads(told, found, folder / "notebooks")
    (folder / "notebooks" / "models").mkdir(parents=True, exist_ok=True)
    for page in pages:
        (folder / "notebooks" / "models" / f"{page.name}.ipynb").write_text(page.notebook, "utf-8")
    (folder / MARK).write_text("made by nonsmooth-explorer --book\n", "utf-8")
    seconds = time.perf_counter() - began
    return Book(folder, pages, solved, told, check(folder), warned, seconds, address.warning)


def _downloads(told: list[Chapter], found: dict[str, Path], target: Path) -> None:
    """Write the notebooks that a reader can download: as they are typed, exercises unsolved."""
    for x in told:
        target.mkdir(exist_ok=True)
        if x.part != COURSE:
            shutil.copyfile(found[x.name], target / found[x.name].name)
    weeks = [found[x.name] for x in told if x.part == COURSE]
    if weeks:
        write_students(weeks[0].parents[1], target / COURSE)


def _emptied(folder: Path) -> Path:
    """Return the folder without an older book."""
    if folder.exists():
        if not folder.is_dir():
            raise BadValue(f"{folder} is a file. Name a folder for the book.")
        if any(folder.iterdir()) and not (folder / MARK).is_file():
            raise BadValue(
                f"{folder} holds something else than a book. Name another folder, or an empty one."
            )
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    return folder


def _checkout() -> Path:
    """Return the root of the checkout, whose notebooks and texts are chapters."""
    root = Path(__file__).parents[2]
    if not (root / "notebooks").is_dir() or not (root / "docs").is_dir():
        raise NotApplicable(
            "The book is built from a checkout: this installation holds no notebooks and texts. "
            "Clone the repository, and run the command there."
        )
    return root


def _chosen(asked: Sequence[str] | None, known: list[str], what: str) -> list[str]:
    for name in asked or ():
        if name not in known:
            raise BadValue(f"There is no {what} {name!r}.{suggest(name, known)}")
    return known if asked is None else list(asked)


class _Quietly(Generic[Page]):
    """Call a function without warnings: what a model is about is no news for the builder."""

    def __init__(self, call: Callable[[str], Page]) -> None:
        self.call = call

    def __call__(self, name: str) -> Page:
        with warnings.catch_warnings(), shown_by(_unseen):
            warnings.simplefilter("ignore")
            return self.call(name)


def _unseen(done: int, total: int, name: str, what: str) -> None:
    """Show no progress within a page."""


def _each(
    call: Callable[[Item], Made], items: Sequence[Item], jobs: int, say: Callable[[str], None]
) -> Iterator[Made]:
    """Yield the results in order; few are made in this process."""
    if jobs == 1 or len(items) < 3:
        for item in items:
            yield call(item)
        return
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        for k, result in enumerate(pool.map(call, items), 1):
            say(f"{k}/{len(items)} {result.name}")
            yield result


def _models(pages: list[ModelPage]) -> str:
    """Return the page that lists the models, by groups."""
    groups = [g for g in (*GROUPS, "others") if any(p.group == g for p in pages)]
    parts = [
        "# Models",
        f"{len(pages)} models. Each page holds a panel that moves without a kernel.",
    ]
    for group in groups:
        own = [p for p in pages if p.group == group]
        parts.append(f"## {group[0].upper()}{group[1:]}")
        parts.append("\n".join(f"- [{p.title}]({p.name}.md): {p.teaches}" for p in own))
        inside = "\n".join(p.name for p in own)
        parts.append(f"```{{toctree}}\n:hidden:\n:caption: {group}\n\n{inside}\n```")
    return "\n\n".join(parts) + "\n"


def _first(pages: list[ModelPage], source: Path) -> str:
    """Write the twin of the first page; return its file, or "" where its model is left out."""
    twins = [page.twin for page in pages if page.name == _FIRST]
    for twin in twins:
        (source / "first.html").write_text(
            twin.replace(_SHARED, _SHARED.removeprefix("../")), "utf-8"
        )
    return "first.html" if twins else ""


def _chapters(told: list[Chapter]) -> str:
    rows = "\n".join(f"- [{html.escape(x.title)}]({x.name}.ipynb)" for x in told)
    inside = "\n".join(x.name for x in told)
    return (
        f"# Chapters\n\nThe notebooks of the package, with what they print and draw.\n\n{rows}\n\n"
        f"```{{toctree}}\n:hidden:\n\n{inside}\n```\n"
    )


def _weeks(told: list[Chapter]) -> str:
    """Return the page that lists the chapters of the course."""
    rows = ["| week | chapter | study | exercises |", "|---|---|---|---|"]
    for x in told:
        known = course[x.name]
        exercises = "; ".join(e.title for e in known.exercises.values())
        rows.append(
            f"| {known.number} | [{x.title}]({x.name}.ipynb) | {known.minutes} min | {exercises} |"
        )
    inside = "\n".join(x.name for x in told)
    table = "\n".join(rows)
    return (
        "# The course\n\nTwelve weeks. Predict, then move the slider; the answers are "
        "folded, and each exercise checks itself in the notebook. A notebook that you download "
        "here has no solutions.\n\n"
        f"{table}\n\n```{{toctree}}\n:hidden:\n\n{inside}\n```\n"
    )


def _tasks(solved: list[TaskPage]) -> str:
    rows = "\n".join(f"- [{x.title}]({x.name}.md): {x.asks}" for x in solved)
    inside = "\n".join(x.name for x in solved)
    return (
        f"# Optimal control problems\n\n{len(solved)} problems with their plans; where the least "
        "cost is known, it stands beside the measured one.\n\n"
        f"{rows}\n\n```{{toctree}}\n:hidden:\n\n{inside}\n```\n"
    )
