"""The course: every exercise tells a right answer from the typical wrong ones, in every chapter."""

from __future__ import annotations

import json
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
import sympy as sp
from chapter_text import as_json, notebook_of, text_of
from loops import for_each
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

import explorer as ex
from explorer import app, course
from explorer.course.answers import Array, Expression, Function, Misread, Model, Number
from explorer.course.exercises import Exercise, Mistake, chapters, exercise
from explorer.course.notebooks import BEGIN, TAGS, completed, student, write_students
from explorer.errors import BadValue, WrongAnswer

ROOT = Path(__file__).parents[1]
HOME = ROOT / "notebooks" / "course"
PATHS = sorted(HOME.glob("*.ipynb"))
EXERCISES = {name: e for c in chapters.values() for name, e in c.exercises.items()}


def cells(path: Path, tag: str) -> list[str]:
    """Return the sources of the cells with a tag."""
    found = json.loads(path.read_text("utf-8"))["cells"]
    return ["".join(c["source"]) for c in found if tag in c["metadata"].get("tags", [])]


# -- the exercises --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXERCISES)
def test_the_solution_is_right_and_each_mistake_gets_its_own_hint(name):
    asked = EXERCISES[name]
    assert ex.course.check(name, asked.solution()).right
    assert len(asked.mistakes) >= 5
    hints = [mistake.hint for mistake in asked.mistakes]
    assert len({*hints}) == len(hints)
    for mistake in asked.mistakes:
        with pytest.raises(WrongAnswer) as said:
            ex.course.check(name, mistake.value())
        assert str(said.value) == f"✗ {name}: {mistake.hint}", mistake.name


@pytest.mark.parametrize("name", EXERCISES)
def test_no_hint_gives_the_answer_away(name):
    asked = EXERCISES[name]
    told = " ".join([*(m.hint for m in asked.mistakes), asked.look])
    for number in np.abs(asked.right).ravel():
        if number not in (0.0, 1.0, 2.0):
            assert not re.search(rf"(?<![\d.]){re.escape(f'{number:.3g}')}", told)
    solution = asked.solution()
    if isinstance(solution, str):
        assert solution not in told


@pytest.mark.parametrize("name", EXERCISES)
def test_what_is_no_answer_gets_a_sentence(name):
    asked = EXERCISES[name]
    for given in (..., None):
        assert "no answer yet" in asked.judged(given)
    for given in ("what?", [1, [2]], {}, object(), np.nan, np.full(7, np.inf), 1j, True):
        why = asked.judged(given)
        assert len(why) > 15
        assert why.endswith((".", "...")), why
        assert "usual mistakes" not in why


def test_unknown_names_get_a_sentence():
    with pytest.raises(BadValue, match=r"no exercise '1\.7'.*Did you mean '1\.\d'"):
        ex.course.check("1.7", 1)
    with pytest.raises(BadValue, match=r"no chapter 99"):
        ex.course.references(99)


def trial(answer, right, **more) -> Exercise:
    mistake = Mistake("a", "First.", lambda: np.asarray(right) + 1)
    return Exercise("9.9", "Trial", answer, lambda: right, (mistake,), **more)


@for_each(
    ("given", "said"),
    [
        (2.5, ""),
        (np.array([2.5004]), ""),
        (sp.Rational(5, 2), ""),
        (3.5, "First."),
        (-2.5, "sign"),
        (2500.0, "in m/s"),
        (2.5 * 180 / np.pi, "in m/s"),
        (2.55, "near"),
        (7.7, "none of the usual mistakes"),
        ("2.5", "quotation marks"),
        ([1, 2], "2 numbers"),
        (float("inf"), "infinite"),
        (float("nan"), "not a number"),
        (2.5 + 1j, "complex"),
        (True, "truth value"),
        (max, "Call it"),
        (sp.Symbol("m"), "subs"),
        ({"a": 1}, "a dict"),
    ],
)
def test_a_number_is_judged(given, said):
    why = trial(Number("m/s"), 2.5).judged(given)
    assert why == said if said in ("", "First.") else said in why


@for_each(
    ("given", "said"),
    [
        ([[1, 2, 3], [4, 5, 6]], ""),
        (np.arange(1, 7).reshape(2, 3) + 1.0, "First."),
        (np.ones((3, 2)), r"Transpose"),
        (np.ones(2), "shape (2,)"),
        ([[1, 2], [3]], "different lengths"),
    ],
)
def test_an_array_is_judged(given, said):
    why = trial(Array("N", shape=(2, 3)), [[1, 2, 3], [4, 5, 6]]).judged(given)
    assert why == said if said in ("", "First.") else said in why


@for_each(
    ("given", "said"),
    [
        (lambda x: 2 * x, ""),
        (lambda x: [2 * x], ""),
        (lambda x: 3 * x, "none of the usual"),
        (lambda x: None, "return ..."),
        (lambda x: ..., "return ..."),
        (lambda: 1, "fails with TypeError"),
        (lambda x: 1 / (x - 2), "fails with ZeroDivisionError"),
        (lambda x: [1, 2], "(2,)"),
        (lambda x: float("nan"), "not a number"),
        (3.0, "a function that is called as f(x)"),
    ],
)
def test_a_function_is_judged(given, said):
    mistake = Mistake("a", "First.", lambda: lambda x: x)
    asked = Exercise("9.9", "T", Function(at=((1,), (2,))), lambda: lambda x: 2 * x, (mistake,))
    why = asked.judged(given)
    assert why == said if not said else said in why
    assert asked.judged(lambda x: x) == "First."


def test_a_model_and_a_formula_are_read():
    ball = ex.models.bouncing_ball
    kind = Model(measure=lambda system: float(system.parameters["e"].value))
    assert kind.read(ball()) == 0.8
    with pytest.raises(Misread, match="Call the function"):
        kind.read(ball)
    with pytest.raises(Misread, match="lacks something"):
        Model(measure=lambda system: system.parameters["no"].value).read(ball())
    formula = Expression(at={"x": (1, 2), "y": (3, 5)})
    assert formula.read("x*y + 1").tolist() == [4, 11]
    assert formula.read(sp.Symbol("x", real=True) ** 2).tolist() == [1, 4]
    for given, said in (
        ("x*z", "symbol 'z'"), ("x*", "cannot be read"), ("1/(x - 1)", "infinite|not a number"),
        ("sqrt(-x)", "complex"), ([1], "Give a formula"),
    ):  # fmt: skip
        with pytest.raises(Misread, match=said):
            formula.read(given)


def test_a_notebook_shows_a_wrong_answer_without_a_traceback():
    with pytest.raises(WrongAnswer) as said:
        ex.course.check("1.1", ...)
    assert said.value._render_traceback_() == [str(said.value)]
    right = ex.course.check("1.1", exercise("1.1").solution())
    assert "1.1 The left limit at a landing: right (2 points)." in right._repr_html_()
    assert "✓ 1.1" in repr(right)


# -- the notebooks --------------------------------------------------------------------------------


def test_each_chapter_has_its_notebook_and_its_file():
    assert [path.stem for path in PATHS] == sorted(chapters)
    numbers = sorted(c.number for c in chapters.values())
    assert numbers[:4] == [1, 2, 3, 4]
    assert len({*numbers}) == len(numbers)
    assert numbers[-1] <= 12
    for stem, chapter in chapters.items():
        assert stem == f"{chapter.number:02d}_{chapter.name}"
        assert (ROOT / f"explorer/course/weeks/{chapter.name}.py").is_file()
        assert 60 <= chapter.minutes <= 90
        assert all(number < chapter.number for number in chapter.needs)
        assert len(chapter.sources) >= 2
        assert len(chapter.exercises) >= 3


@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.stem)
def test_a_chapter_has_all_its_parts(path):
    chapter = chapters[path.stem]
    (goals,) = cells(path, "goals")
    assert goals.startswith(f"# {chapter.title}")
    assert chapter.head in goals, chapter.head
    assert len(re.findall(r"^- ", goals, re.MULTILINE)) >= 3  # what one can do afterwards
    for tag in TAGS:
        assert cells(path, tag), tag
    assert cells(path, "references")[-1] == f"ex.course.references({chapter.number})"
    asked = [
        n for text in cells(path, "predict") for n in re.findall(r"^(\d+)\. ", text, re.MULTILINE)
    ]
    answers = [
        n for text in cells(path, "answer") for n in re.findall(r"\A# answer (\d+)\n# \w", text)
    ]
    assert len(asked) >= 3
    assert asked == [str(k + 1) for k in range(len(asked))]
    assert sorted(answers) == sorted(asked), "each is answered once, below a line '# answer 2'"
    for name, own in chapter.exercises.items():
        assert any(f"## Exercise {name}: {own.title}" in text for text in cells(path, "exercise"))
        number = name.partition(".")[2]
        assert f'ex.course.check("{name}", answer_{number})' in cells(path, "check")
    assert len(cells(path, "solution")) == len(chapter.exercises)


@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.stem)
def test_a_chapter_has_what_graders_and_slides_read(path):
    text = path.read_text("utf-8")
    notebook = json.loads(text)
    assert as_json(completed(notebook)) == text, "run tests/chapter_text.py --write"
    kinds = {cell["metadata"]["slideshow"]["slide_type"] for cell in notebook["cells"]}
    assert {"slide", "skip"} <= kinds
    own = [c["metadata"]["nbgrader"] for c in notebook["cells"] if "nbgrader" in c["metadata"]]
    assert len({one["grade_id"] for one in own}) == len(own)
    points = sum(one.get("points", 0) for one in own)
    assert points == sum(e.points for e in chapters[path.stem].exercises.values())
    assert notebook_of(text_of(notebook)) == notebook | {
        "cells": notebook_of(text_of(notebook))["cells"]
    }


@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.stem)
def test_links_of_a_chapter_lead_somewhere(path):
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", "".join(cell["source"])):
            assert (path.parent / target).is_file(), target


@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.stem)
def test_students_get_no_solution(path):
    notebook = json.loads(path.read_text("utf-8"))
    made = student(notebook)
    assert student(made) == made
    whole = json.dumps(made)
    assert BEGIN not in whole
    solved = ["".join(c["source"]) for c in notebook["cells"] if BEGIN in "".join(c["source"])]
    for source in solved:
        inside = re.search(rf"{BEGIN}\n(.*?)\n\s*### END", source, re.DOTALL)[1]
        assert json.dumps(inside)[1:-1] not in whole
    tests = made["metadata"]["otter"]["tests"]
    assert len(tests) == len(chapters[path.stem].exercises)
    for cell in made["cells"]:
        if "otter_answer_cell" in cell["metadata"].get("tags", []):
            source = "".join(cell["source"])
            assert source.count("# your answer") == 1
            compile(source, "answer", "exec")


def test_a_student_version_runs_up_to_the_missing_answer(tmp_path):
    """The first chapter, from its exercises on, in a kernel of its own."""
    whole = json.dumps(student(json.loads(PATHS[0].read_text("utf-8"))))
    made = nbformat.reads(whole, as_version=4)
    tags = [(cell.metadata.get("tags") or [""])[0] for cell in made.cells]
    start = nbformat.v4.new_code_cell("import explorer as ex\nimport numpy as np")
    made.cells = [start, *made.cells[tags.index("exercise") :]]
    with pytest.raises(CellExecutionError, match=r"✗ 1\.1: There is no answer yet"):
        NotebookClient(made, timeout=60).execute()
    (said,) = [out for cell in made.cells for out in cell.get("outputs", [])]
    assert said["ename"] == "WrongAnswer"
    assert said["traceback"] == [said["evalue"]]  # one sentence


def test_a_solution_in_a_function_leaves_its_head():
    text = "+++ goals\n# T\n+++ exercise\n## Exercise 1.1: T\n+++ solution\n```python\ndef answer_1(x):\n    ### BEGIN SOLUTION\n    return x\n    ### END SOLUTION\n```\n"
    made = student(notebook_of(text))
    assert "".join(made["cells"][2]["source"]) == "def answer_1(x):\n    ...  # your answer"
    with pytest.raises(BadValue, match="END SOLUTION"):
        student(notebook_of(text.replace("    ### END SOLUTION\n", "")))
    with pytest.raises(BadValue, match="below no heading"):
        notebook_of(text.replace("## Exercise", "## Question"))
    with pytest.raises(BadValue, match="registered"):
        notebook_of(text.replace("1.1", "1.9") + "+++ check\n```python\nx\n```\n")


# -- the commands ---------------------------------------------------------------------------------


def test_the_command_writes_student_versions(tmp_path, capsys):
    assert app.main(["--course", str(tmp_path / "c")]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(PATHS)
    assert sorted(p.name for p in (tmp_path / "c").iterdir()) == [p.name for p in PATHS]
    assert all(BEGIN not in p.read_text("utf-8") for p in (tmp_path / "c").iterdir())


def test_the_solutions_are_not_overwritten(capsys):
    assert app.main(["--course", str(HOME)]) == 2
    assert "would be overwritten" in capsys.readouterr().err
    with pytest.raises(BadValue, match="Name another folder"):
        write_students(ROOT / "notebooks", HOME)


def test_a_file_is_no_folder_for_slides_or_chapters(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert app.main(["--slides", str(tmp_path / "file")]) == 2
    assert "is a file" in capsys.readouterr().err
    assert app.main(["--course", str(tmp_path / "file")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_the_folder_of_a_user_gets_the_chapters_unsolved(tmp_path):
    assert app._copy(ROOT / "notebooks", tmp_path) == []
    assert sorted(p.name for p in (tmp_path / "course").iterdir()) == [p.name for p in PATHS]
    mine = tmp_path / "course" / PATHS[0].name
    assert BEGIN not in mine.read_text("utf-8")
    mine.write_text(mine.read_text("utf-8").replace("answer_1 = ...", "answer_1 = 3"))
    assert app._copy(ROOT / "notebooks", tmp_path) == [f"course/{PATHS[0].name}"]
    assert "answer_1 = 3" in mine.read_text("utf-8")


def test_the_table_of_chapters_is_shown():
    table = course._repr_html_()
    assert all(c.title in table for c in chapters.values())
    listed = ex.course.references(1)._repr_markdown_()
    assert listed.count("\n") + 1 == len(chapters[PATHS[0].stem].sources)


# -- the guide ------------------------------------------------------------------------------------


def test_the_guide_is_true():
    """Its example registers an exercise that tells its mistakes apart; it names all tags and kinds."""
    guide = (ROOT / "docs/writing_a_chapter.md").read_text("utf-8")
    code = re.search(r"```python\n(.*?)```", guide, re.DOTALL)[1]
    before, names = dict(chapters), {"__name__": "guide"}
    try:
        exec(code, names)
        asked = names["chapter"].exercises["4.1"]
        assert asked.judged(names["V"]) == ""
        assert [asked.judged(m.value()) for m in asked.mistakes] == [m.hint for m in asked.mistakes]
    finally:
        chapters._entries.update(before)
    assert re.findall(r"^\| `(\w+)` \|", guide, re.MULTILINE) == [*TAGS]
    kinds = {kind.__name__ for kind in (Array, Expression, Function, Model, Number)}
    assert {*re.findall(r"^\| `([A-Z]\w+)\(", guide, re.MULTILINE)} == kinds
