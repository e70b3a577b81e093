"""The book: a page of each kind is built, links resolve, nothing is loaded from a network."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import nbformat
import numpy as np
import pytest
from kinds import GALLERY
from small_book import small_book

import explorer as ex
from explorer import app
from explorer.book import build, building
from explorer.book.address import Address
from explorer.book.building import Book
from explorer.book.checking import Complaints, check
from explorer.book.measured import distance, numbers
from explorer.book.model_page import ModelPage, checked, model_page
from explorer.book.prose import escaped, prose
from explorer.book.reference import names, reference
from explorer.book.site import TWINS, plain
from explorer.book.task_page import task_page
from explorer.errors import BadValue, NotApplicable
from explorer.models import models
from explorer.tasks import Truth, tasks

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    return small_book(tmp_path_factory.mktemp("book"))


# -- the gallery ----------------------------------------------------------------------------------


def test_every_model_has_a_number_a_source_and_a_sketch():
    own = [name for name, build in models.items() if build.__module__.startswith("explorer.")]
    systems = {name: GALLERY[name] for name in own}
    assert [n for n, s in systems.items() if not s.sources] == []
    assert [n for n, s in systems.items() if not s.shapes] == []
    bare = {n for n, s in systems.items() if not s.published and s.exact is None}
    assert bare == set()
    told = {what for s in systems.values() for what in s.published}
    measured = {what for n in systems for what in models[n].measures}
    assert measured == told


def test_measured_numbers_agree_with_the_published_ones():
    found = [n for name in ("bouncing_ball", "rocking_block", "thermostat") for n in numbers(name)]
    assert len(found) == 4
    assert all(n.agrees for n in found), found


def test_a_number_that_differs_is_not_called_the_same():
    (number,) = numbers("bouncing_ball")
    assert not type(number)("", 8.5, 1e-3, "", number.measured).agrees
    assert not type(number)("", 8.5, 1e-3, "").agrees  # not measured


@pytest.mark.parametrize("measure", [lambda run: [][0], lambda run: float("nan")])
def test_a_number_that_could_not_be_measured_is_a_problem_of_the_book(measure, monkeypatch):
    monkeypatch.setitem(models["thermostat"].measures, "thermostat: period, in s", measure)
    (number,) = numbers("thermostat")
    assert number.failed
    assert number.problem.startswith("thermostat: period, in s was not measured: the run ")
    page = ModelPage("thermostat", "", "", "", "", "", "", [number], None, 0.0)
    book = Book(Path("nowhere"), [page], [], [], Complaints([], [], 0), [], 0.0)
    assert book.problems == [f"thermostat: {number.problem}"]


def test_a_closed_form_that_knows_no_row_of_a_run_is_not_called_close(monkeypatch):
    room = models["thermostat"]()
    room.exact = lambda t, rho: {"x": np.full((len(t), 1), np.nan)}
    assert distance(room) is None


def test_a_closed_form_is_compared_where_runs_have_jumps():
    ball = distance(models["bouncing_ball"]())
    assert ball.largest < 1e-9
    assert ball.rows > 100
    cart = distance(models["cart_plastic"]())  # its velocities jump, at 0.5 s but for round-off
    assert cart.largest < 1e-7
    assert distance(models["duffing"]()) is None


def test_a_run_of_fixed_steps_comes_closer_to_its_closed_form_with_finer_ones():
    relays = models["two_relays"]()
    away = distance(relays)  # infinitely many switches: the phase is lost, not the closed form
    assert away.largest > 3
    assert away.finer < 0.3 * away.largest
    assert away.problem == ""
    right = relays.exact
    relays.exact = lambda t, rho: {"x": right(t, rho)["x"] + 5}
    assert distance(relays).problem.startswith("with a tenth of the step, EulerMoreau differs")


def test_a_run_with_located_events_lies_on_its_closed_form():
    ball = models["bouncing_ball"]()
    right = ball.exact
    for error, problem in ((1e-7, ""), (1e-5, "EventDriven differs from the closed form by 1e-05")):
        ball.exact = lambda t, rho, error=error: {"q": right(t, rho)["q"] + error}
        assert distance(ball).problem.startswith(problem)
        assert bool(distance(ball).problem) == bool(problem)


def test_a_closed_form_of_what_a_model_approaches_says_so():
    bar = models["elastic_bar"]()
    away = distance(bar)
    assert away.problem == ""
    assert replace(away, of="").problem
    assert away.largest > 0.3
    assert "Closed form of the bar without lumps" in checked([], away)
    assert "A closed form of the bar without lumps" in bar._repr_markdown_()
    assert distance(models["elastic_bar"](80)).largest < 0.7 * away.largest
    assert "of" not in checked([], distance(models["pendulum"]())).partition(" The run")[0]


# -- a page of each kind --------------------------------------------------------------------------


def test_a_page_of_a_model_holds_all_that_is_known():
    page = model_page(
        "bouncing_ball", "../_static/twins.js", "https://live.example/?urlpath=tour", 3
    )
    assert (page.title, page.group) == ("Bouncing ball", "impacts")
    for part in (
        "Infinitely many impacts", "\\ddot{y}", "| $g$ | 9.81 m/s²", "8.57895", "8.578949",
        "agrees", "Closed form.", "superball", "@book{brogliato-2016", "doi.org", "ex.simulate(",
        'ex.explore("bouncing_ball")', '">Open live on Binder<',
    ):  # fmt: skip
        assert part in page.text, part
    live = re.search(r'href="(https://live.example/[^"]*)">Open live', page.text)[1]
    (value,) = parse_qs(urlsplit(unquote(live.split("urlpath=")[1])).query)["nsx"]
    session = ex.panels.Session("chua")
    session.load_state(base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)).decode())
    assert session.state["model"] == "bouncing_ball"
    assert "data-nsx-pictures" in page.twin
    assert "data-nsx-plotly=" not in page.twin
    assert len(page.twin) < 300_000


def test_the_pages_stand_with_all_their_links(book):
    assert book.problems == []
    assert book.complaints.pages > 12
    named = {str(p.relative_to(book.folder)) for p in book.folder.rglob("*.html")}
    wanted = {
        "index.html", "models/index.html", "models/bouncing_ball.html", "models/compass_gait.html", "chapters/own.html",
        "tasks/index.html", "tasks/rough_block.html",
        "chapters/index.html", "reference/index.html", "reference/simulate.html", "glossary.html",
        "references.html", "which_scheme.html", "coming_from.html", "search.html",
    }  # fmt: skip
    assert wanted <= named
    front = (book.folder / "index.html").read_text("utf-8")
    assert '<script src="_static/twins.js"></script><div class="nsx-twin"' in front
    assert book.largest[1] < 3_000_000
    assert (book.folder / "_static" / TWINS).stat().st_size < 3_000_000
    assert (book.folder / "_static/mathjax/tex-chtml.js").is_file()
    errors = [line for line in book.warnings if "ERROR" in line]
    assert errors == []


def test_no_page_loads_from_a_network(book):
    for path in book.folder.rglob("*.html"):
        text = path.read_text("utf-8")
        assert not re.findall(r'<(?:script|img|link|iframe)[^>]*(?:src|href)="(?:https?:)?//', text)
    for path in book.folder.rglob("*.css"):
        assert not re.findall(r"url\(['\"]?(?:https?:)?//", path.read_text("utf-8")), path


def test_a_dead_link_and_a_foreign_script_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html">x</a><a href="#no">x</a><a href="#yes" id="yes">x</a><a href="https://x.y">'
        'x</a><script src="https://x.y/z.js"></script><img src="c.png">'
    )
    found = check(tmp_path)
    assert [x.split(" links to ")[1].split(",")[0] for x in found.dead] == [
        "b.html",
        "#no",
        "c.png",
    ]
    assert found.remote == ["a.html loads https://x.y/z.js"]
    assert found.pages == 1


def test_the_reference_has_every_public_name():
    found = {name for page in names().values() for name in page}
    public = {n for n in dir(ex) if not n.startswith("_")} - {
        "course", "models", "reformulations", "schemes", "study", "tasks", "views",
    }  # fmt: skip
    assert {f"explorer.{n}" for n in public} <= found
    assert {"explorer.study.modes", "explorer.views.trajectory", "explorer.MoreauJean"} <= found
    page = reference()["reference/index.md"]
    assert all(f"`{name.removeprefix('explorer.')}`" in page for name in found)


def test_docstrings_keep_their_bars_and_codes():
    lines = ["|x| of q_", "Like ``|y|`` in::", "", "    |z|", "", "|w|"]
    plain(None, "", "", None, None, lines)
    assert lines == ["\\|x\\| of q\\_", "Like ``|y|`` in::", "", "    |z|", "", "\\|w\\|"]
    assert prose("a_1 *Title* x * y * z, ``b_2``::\n\n    c = *d*\n") == (
        "a\\_1 *Title* x \\* y \\* z, `b_2`:\n\n```text\nc = *d*\n```"
    )
    assert escaped("$5") == "\\$5"


def test_a_page_of_a_task_has_its_plan_beside_the_known_cost(book):
    (page,) = book.plans
    (number,) = page.numbers
    assert page.failed == ""
    assert number.published == pytest.approx(10 / 3, abs=1e-14)
    assert abs(number.measured - number.published) < 1e-8
    for part in (
        "3.333333333",
        "agrees",
        "ex.tasks.rough_block()",
        ":file: rough_block.html",
        "doi.org",
    ):
        assert part in page.text, part
    assert "3 values of x" in page.twin  # of the goal, plans nearby


def test_a_task_whose_plan_is_another_is_a_problem_of_the_book(monkeypatch):
    task = tasks["rough_block"]
    monkeypatch.setattr(task, "objective", Truth(3.0, 1e-8, "wrong on purpose"))
    page = task_page("rough_block", "../_static/twins.js")
    assert not page.numbers[0].agrees
    assert "**differs**" in page.text
    monkeypatch.setattr(task, "defect", 0.0)
    assert "exact replay misses its plan" in task_page("rough_block", "../_static/twins.js").failed


def test_a_task_that_only_the_homotopy_solves_says_so():
    page = task_page("frozen_hopper", "../_static/twins.js")
    assert (page.numbers, page.failed) == ([], "")
    assert "This page holds no plan" in page.text


def test_the_button_of_a_model_brings_a_notebook_that_runs(book, capsys):
    notebook = nbformat.read(book.folder / "notebooks/models/bouncing_ball.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert 'href="../notebooks/models/bouncing_ball.ipynb"' in (
        book.folder / "models/bouncing_ball.html"
    ).read_text("utf-8")
    codes = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    scope = {}
    for code in codes:
        exec(code, scope)
    assert scope["solution"].status.name == "success"


def test_the_placeholder_of_the_address_is_named(book):
    assert book.note == Address.of(ROOT).warning


# -- notebooks ------------------------------------------------------------------------------------


def test_a_notebook_becomes_a_chapter_with_twins_and_buttons(book):
    _, told = book.chapters
    assert (told.title, told.part) == ("What does it do?", "chapters")
    assert (told.title, told.failed) == ("What does it do?", "")
    cells = nbformat.reads(told.text, 4).cells
    twin = cells[1].outputs[0]["data"]["text/html"]
    assert "data-nsx-pictures" in twin
    assert '<script src="../_static/twins.js">' in twin
    assert "data-nsx-plotly=" not in twin
    still = cells[2].outputs[0]["data"]
    assert "text/html" in still
    assert "application/vnd.plotly.v1+json" not in still
    page = (book.folder / "chapters/own.html").read_text("utf-8")
    assert "labpath=notebooks%2Fown.ipynb" in page
    assert 'href="../notebooks/own.ipynb"' in page
    assert (book.folder / "notebooks/own.ipynb").is_file()


def test_a_chapter_of_the_course_folds_answers_and_is_downloaded_unsolved(book):
    told, _ = book.chapters
    assert (told.title, told.part, told.failed) == ("Examples and modelling", "course", "")
    page = (book.folder / f"course/{told.name}.html").read_text("utf-8")
    assert page.count("Show the solution") == 1
    assert page.count("Show answer 1") == 1
    assert "1.1 The left limit at a landing: right" in page
    assert 'href="../chapters/own.html"' in page
    assert f"labpath=notebooks%2Fcourse%2F{told.name}.ipynb" in page
    shipped = (book.folder / f"notebooks/course/{told.name}.ipynb").read_text("utf-8")
    assert f'href="../notebooks/course/{told.name}.ipynb"' in page
    assert "answer_1 = ...  # your answer" in shipped
    assert "solution()" not in shipped
    index = (book.folder / "course/index.html").read_text("utf-8")
    assert "The left limit at a landing" in index
    front = (book.folder / "index.html").read_text("utf-8")
    assert front.index('href="course/index.html"') < front.index('href="chapters/index.html"')


# -- the command ----------------------------------------------------------------------------------


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("mine")
    assert app.main(["--book", str(tmp_path)]) == 2
    assert "holds something else than a book" in capsys.readouterr().err
    assert (tmp_path / "mine.txt").read_text() == "mine"
    with pytest.raises(BadValue, match="is a file"):
        build(tmp_path / "mine.txt")


def test_unknown_names_and_missing_packages_get_a_sentence(tmp_path, monkeypatch):
    with pytest.raises(BadValue, match="Did you mean 'bouncing_ball'"):
        build(tmp_path / "a", only=["bouncing_bal"])
    with pytest.raises(BadValue, match="no notebook"):
        build(tmp_path / "b", chapters=["nine"])
    monkeypatch.setattr("explorer.book.site._NEEDED", ("no-such-theme",))
    with pytest.raises(NotApplicable, match=r"needs no-such-theme.*\[book\]"):
        build(tmp_path / "c")


def test_an_installation_without_notebooks_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(building, "__file__", str(tmp_path / "a" / "b" / "c.py"))
    with pytest.raises(NotApplicable, match="from a checkout"):
        build(tmp_path / "d")


# -- the texts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["which_scheme", "coming_from"])
def test_the_code_of_the_texts_runs(name, capsys):
    text = (ROOT / "docs" / f"{name}.md").read_text("utf-8")
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(code, {})
    for named in re.findall(r"`ex\.([\w.]+)", text):
        thing = ex
        for part in named.split("."):
            thing = getattr(thing, part)


def test_which_scheme_names_all_of_them():
    from explorer.schemes import schemes

    text = (ROOT / "docs/which_scheme.md").read_text("utf-8")
    assert [name for name in schemes if f"`{name}`" not in text] == []
