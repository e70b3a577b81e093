"""CONTRIBUTING: its examples run as printed, and the path of a step names what exists."""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path

import numpy as np
import pytest

import explorer as ex
from explorer.codes import SUCCESS
from explorer.models import models
from explorer.schemes import schemes
from explorer.schemes.bases.capturing import LCP
from explorer.views.drawing.view import views

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
PRINTED = [
    textwrap.dedent(code)
    for code in re.findall(r"^ *```python\n(.*?)^ *```", PAGE, re.DOTALL | re.MULTILINE)
]
BLOCKS = {
    found[1]: code
    for code in PRINTED
    if (found := re.search(r"^(?:def|class) (\w+)", code, re.MULTILINE))
}


def test_the_model_and_the_view_run_as_printed():
    before = dict(models), dict(views)
    try:
        for name in ("ball_between_walls", "speed"):
            code = compile(BLOCKS[name], name, "exec", dont_inherit=True)
            exec(code, {"__name__": name})
        run = ex.simulate(models["ball_between_walls"](), e=0.5)
        assert [e.contact for e in run.events] == ["right", "left"]
        assert abs(run.v[-1, 0]) == 0.25
        figure = views["speed"](run)
        assert np.nanmax(figure.data[0].y) == 1
        assert figure.data[0].y[-1] == 0.25
        assert ex.cite("ball_between_walls").keys == ("brogliato-2016",)
    finally:
        for registry, entries in zip((models, views), before, strict=True):
            registry._entries.clear()
            registry._entries.update(entries)


def test_the_contact_problem_is_solved_as_printed():
    """Of three contacts the first and the last are closed; only the last approaches."""
    (code,) = (code for code in PRINTED if "solve_lcp" in code)
    names = {"LCP": LCP, "self": ex.MoreauJean(), "nc": 3, "D": 2 * np.eye(3), "P": np.empty(2)}
    names |= {"act": np.array([0, 2]), "w": np.array([1.0, -3.0])}
    exec(code, names)
    assert names["code"] == SUCCESS
    assert names["P"].tolist() == [0, 1.5]


def test_the_scheme_runs_as_printed():
    """It is of first order, as it says, and refuses contacts."""
    before = dict(schemes)
    try:
        code = compile(BLOCKS["SymplecticEuler"], "SymplecticEuler", "exec", dont_inherit=True)
        exec(code, {"__name__": __name__})
        runs = [ex.simulate(ex.models.pendulum(), "SymplecticEuler")]
        runs.append(ex.simulate(ex.models.pendulum(), schemes["SymplecticEuler"](h=2e-3)))
        errors = [np.abs(r.q - r.system.exact(r.t, r.rho)["q"]).max() for r in runs]
        assert abs(np.log2(errors[1] / errors[0]) - runs[0].scheme.order) < 0.15
        assert np.ptp(runs[0].energy) < 0.05 * runs[0].energy[0]
        assert "hairer-1993" in ex.cite(runs[0]).keys
        with pytest.raises(ex.NotApplicable, match="accepts mechanical systems without contacts"):
            ex.simulate(ex.models.bouncing_ball(), "SymplecticEuler")
    finally:
        schemes._entries.clear()
        schemes._entries.update(before)


def names_of(path: Path) -> set[str]:
    """Return the functions and classes of a file, and methods as "Class.method"."""
    found = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{x.name}" for x in node.body if isinstance(x, ast.FunctionDef)}
    return found


def test_the_path_of_a_step_names_files_and_functions_that_exist():
    part = PAGE.partition("## How a step runs")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| \d+ \| `([\w/.]+)` \| (?:`([\w.]+)`)? ?\|", part, re.MULTILINE)
    assert len(rows) > 10
    for file, name in rows:
        path = ROOT / "explorer" / file
        assert path.is_file(), file
        assert not name or name in names_of(path), (file, name)


def test_every_file_that_is_named_exists():
    text = PAGE + (ROOT / "docs" / "glossary.md").read_text("utf-8")
    named = set(re.findall(r"`((?:[\w.-]+/)+[\w.-]*)`", text))
    assert len(named) > 20
    for name in named:
        bases = ("", "explorer", "explorer/kernels")
        assert any((ROOT / base / name).exists() for base in bases), name
