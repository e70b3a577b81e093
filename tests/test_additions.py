"""One addition, one file: each kind is added to a copy of the package, and is found everywhere.

What a folder holds is read when the package is imported, so the copy has a process of its own: it
asks for the menus and tables, and runs the tests of the project on what was added. That takes fifteen
seconds; nothing else holds that no list has to be kept.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from explorer.models import models

ROOT = Path(__file__).parents[1]
ADDED = Path(__file__).parent / "additions"
PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
PRINTED = {  # the scheme of CONTRIBUTING, its kernel, and the method that calls it
    found[1]: textwrap.dedent(code)
    for code in re.findall(r"^ *```python\n(.*?)^ *```", PAGE, re.DOTALL | re.MULTILINE)
    if (found := re.search(r"^ *(?:def|class) (\w+)", code, re.MULTILINE))
}
FILES = {"views": 1, "study": 1, "panels": 1, "models": 1, "systems": 4}
EDITS = {  # of a system type: what offers it beside its file
    "systems/__init__.py": [
        (
            r"(?=from explorer\.systems\.contacts )",
            "from explorer.systems.carts import CartSystem\n",
        ),
        (r"(?<=__all__ = \[\n)", '    "CartSystem",\n'),
        (r"(?<=    for c in \(\n)", "        CartSystem,\n"),
    ],
    "__init__.py": [(r'(?<="systems": \(\n)', '        "CartSystem",\n')],
}
OWN = '''
"""A bead on a rod between two stops: x'' = a - c x', written by somebody else."""

from explorer import Contact, MechanicalSystem, Param, circle, ground
from explorer.models import register


@register
def bead_between_stops():
    """Return the bead."""
    bead = MechanicalSystem("bead between stops", q="x", units="m", text="Added as one file.")
    (x,), (v,) = bead.q, bead.v
    a, c, e = bead.params(a=Param(2, 0, 5, "m/s2"), c=Param(0.3, 0, 2, "1/s"), e=0.7)
    bead.force = [a - c * v]
    bead.contact(Contact(gap=1 - x, e=e, name="right"))
    bead.contact(Contact(gap=1 + x, e=e, name="left"))
    bead.start(q=[0], v=[-3], t_end=4, h=2e-3)
    bead.sketch(ground((-1, 0), (1, 0)), circle(x, 0.05, 0.05))
    bead.preset("hard", "No loss.", e=1)
    return bead
'''
ASK = """
import json, pydoc, sys
import numpy
import pytest
import explorer as ex
from explorer.dispatch.table import markdown
from explorer.panels import panels
from explorer.panels.controls import groups
from explorer.panels.session import Session
from explorer.views.drawing.view import views

run = ex.simulate(ex.models.falling_weight())
panel = ex.explore_plain("falling_weight")
menu = next(c for g in panel._answer.schema()["groups"] for c in g["controls"] if c["key"] == "model")
free = ex.explore_plain("pendulum")
schemes = next(c for g in free._answer.schema()["groups"] for c in g["controls"] if c["key"] == "scheme")
own = ex.models.bead_between_stops()
carts = ex.CartSystem("carts", [[1.0]], [[1.0]])
space = {"np": numpy}
exec(open("march.py").read(), space)
turning = ex.MechanicalSystem("pendulum", q="a", mass=[["2 + cos(a)"]], force=["-9.81*sin(a)"])
turning.start(q=[1.0])
slow = ex.simulate(turning, ex.SymplecticEuler(h=1e-2), t_end=2)
ex.SymplecticEuler.march = space["march"]
fast = ex.simulate(turning, ex.SymplecticEuler(h=1e-2), t_end=2)
print(json.dumps({
    "kernel": float(abs(fast.q - slow.q).max()),
    "default": type(ex.schemes_for(ex.models.pendulum())[0]).__name__,
    "dir": [dir(ex), dir(ex.views), dir(ex.study), dir(ex.models)],
    "panels": list(panels),
    "models": [name for name, _ in menu["choices"]],
    "schemes": [name for name, _ in schemes["choices"]],
    "table": markdown(),
    "takes": sum(ex.applicability({"own": own})["own"].values()),
    "controls": [c["key"] for g in groups(Session("bead_between_stops")) for c in g["controls"]],
    "draws": [views["heights"].draws(run), type(ex.views.heights(run)).__name__],
    "frame": len(panel._answer.frame()["figure"]["data"]),
    "tally": ex.study.tally(ex.models.falling_weight()),
    "again": type(type(carts).from_spec(carts.to_spec())).__name__,
    "help": [pydoc.plain(pydoc.render_doc(x)) for x in (ex.views.heights, ex.study.tally, ex.explore_plain)],
}), flush=True)
failed = pytest.main(["-v", "-p", "no:cacheprovider", "--all", "-k", *sys.argv[1:]])
print("presets", [preset for name, preset in sys.modules["kinds"].PRESETS if name == "bead_between_stops"])
sys.exit(failed)
"""
CONFORM = {  # file: what of it is run, and how many tests that are at least
    "test_views.py": ("plain_figure and heights and bouncing_ball", 3),
    "test_study.py": ("tally", 1),
    "test_stills.py": ("static_page and plain", 1),
    "test_models.py": ("model_conforms and (SymplecticEuler or bead_between_stops)", 8),
    "test_order.py": ("SymplecticEuler", 1),
    "test_help.py": ("opens_with and SymplecticEuler", 1),
}


def leave_out_models(root: Path) -> None:
    """Take those away that no test names which is run: to build the gallery takes longest."""
    tests = [root / "tests" / name for name in (*CONFORM, "kinds.py", "hybrids.py")]
    named = ASK + "".join(path.read_text("utf-8") for path in tests)
    for path in (root / "explorer/models").glob("*.py"):
        builds = re.findall(
            r"^@register.*?^def (\w+)", path.read_text("utf-8"), re.DOTALL | re.MULTILINE
        )
        if builds and not any(re.search(rf"\b{name}\b", named) for name in builds):
            path.unlink()


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """A copy of the package and its tests with one thing of each kind more."""
    root = tmp_path_factory.mktemp("copy")
    skipped = shutil.ignore_patterns("__pycache__", "additions")
    for name in ("explorer", "tests"):  # with what Python has read already
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("additions"))
    leave_out_models(root)
    shutil.copy(ROOT / "pyproject.toml", root)
    shutil.copytree(ADDED, root / "explorer", dirs_exist_ok=True, ignore=skipped)
    (root / "explorer/schemes/symplectic_euler.py").write_text(PRINTED["SymplecticEuler"])
    kernel = root / "explorer/kernels/time_stepping/symplectic_euler.py"
    kernel.write_text(PRINTED["Work"])
    (root / "own").mkdir()
    (root / "own/bead_between_stops.py").write_text(OWN)
    (root / "march.py").write_text("from __future__ import annotations\n" + PRINTED["march"])
    for name, edits in EDITS.items():
        path = root / "explorer" / name
        text = path.read_text("utf-8")
        for place, line in edits:
            text, count = re.subn(place, line, text)
            assert count == 1, (name, place)
        path.write_text(text, "utf-8")
    return root


@pytest.fixture(scope="module")
def answered(copy) -> tuple[dict, str]:
    """What the copy offers, and what its tests said."""
    wanted = " or ".join(f"({names})" for names, _ in CONFORM.values())
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", ASK, wanted, *(f"tests/{name}" for name in CONFORM)], cwd=copy,
        env=os.environ | {"PYTHONPATH": str(copy), "NONSMOOTH_EXPLORER_MODELS": str(copy / "own")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    offers, _, said = ran.stdout.partition("\n")
    return json.loads(offers), said


@pytest.fixture
def found(answered) -> dict:
    """What the copy offers."""
    return answered[0]


def test_so_many_files_are_touched():
    touched = {kind: sum(f.is_file() for f in (ADDED / kind).rglob("*.py")) for kind in FILES}
    touched["systems"] += len(EDITS)
    assert all(touched[kind] <= most for kind, most in FILES.items()), touched


def test_what_is_added_stands_in_menus_and_tables(found):
    package, views, study, models = found["dir"]
    assert {"explore_plain", "SymplecticEuler", "CartSystem"} <= {*package}
    assert "heights" in views
    assert "tally" in study
    assert "falling_weight" in models
    assert "plain" in found["panels"]
    assert "falling_weight" in found["models"]
    assert "SymplecticEuler" in found["schemes"]
    assert "| `SymplecticEuler` | " in found["table"]
    assert "`CartSystem`" in found["table"]


def test_a_model_of_the_user_is_one_file_in_a_folder_of_the_user(found, answered):
    """It stands in registry, panel and table; its presets and runs are tested as all others."""
    assert "bead_between_stops" in found["dir"][3]
    assert "bead_between_stops" in found["models"]
    assert found["takes"] >= 5
    assert {"rho.a", "rho.c", "rho.e", "q0.x", "v0.x"} <= {*found["controls"]}
    conform = re.findall(r"model_conforms\[bead_between_stops-.* PASSED", answered[1])
    assert len(conform) == found["takes"]
    assert "presets ['hard']" in answered[1]
    assert "bead_between_stops" not in models


def test_a_scheme_that_is_added_changes_no_default_and_becomes_a_kernel(found):
    assert found["default"] == "MoreauJean"
    assert found["kernel"] < 1e-12


def test_what_is_added_works_and_explains_itself(found):
    assert found["draws"] == [True, "Figure"]
    assert found["frame"] > 0
    assert found["tally"] >= 1
    assert found["again"] == "CartSystem"
    for said, text in zip(
        ("gap of the first contact", "number of events", "plain panel"), found["help"], strict=True
    ):
        assert said in text


def test_the_tests_of_the_project_are_run_on_what_is_added(answered):
    said = answered[1]
    passed = re.findall(r"^tests/(\w+\.py)::.* PASSED", said, re.MULTILINE)
    assert all(passed.count(name) >= least for name, (_, least) in CONFORM.items()), said
