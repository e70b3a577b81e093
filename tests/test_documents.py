"""What is printed is true: README, notebooks, changelog, citation."""

from __future__ import annotations

import doctest
import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import nbformat
import pytest
import yaml
from jupyter_client import KernelManager
from nbclient import NotebookClient

from explorer.kernels import jit

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
BLOCKS = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
NOTEBOOKS = sorted((ROOT / "notebooks").rglob("*.ipynb"))
EXAMPLES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in (ROOT / "explorer").rglob("*.py") if ">>>" in path.read_text("utf-8")
)  # fmt: skip


def test_the_readme_has_an_example():
    assert BLOCKS


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """No document waits for the compiler, nor shows it at work."""
    if not jit.is_warm():
        warm = [sys.executable, "-m", "explorer", "--warm"]
        subprocess.run(warm, check=True, capture_output=True)


def test_the_readme_runs_as_it_is_printed(tmp_path):
    """One process, a namespace of its own for each block."""
    names = [f"example_{k}.py" for k in range(len(BLOCKS))]
    for name, block in zip(names, BLOCKS, strict=True):
        (tmp_path / name).write_text(block, "utf-8")
    code = "import runpy, sys\nfor name in sys.argv[1:]: runpy.run_path(name, run_name='__main__')"
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *names], cwd=tmp_path, capture_output=True,
        text=True, timeout=600, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("module", EXAMPLES)
def test_examples_of_docstrings_run_as_they_are_printed(module):
    tests = doctest.DocTestFinder().find(importlib.import_module(module))
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in tests:
        runner.run(test, out=lambda said: print(said))
    assert runner.failures == 0


def test_the_table_of_the_readme_is_what_the_schemes_say():
    from explorer.dispatch.table import markdown
    from explorer.schemes import schemes

    table = markdown()
    assert table in README, "README.md has an old table: print it again by the command above it."
    assert len(table.splitlines()) == 2 + len(schemes)
    assert "| `EulerMoreau` | `FirstOrderSystem` | `StepSystem`, `FilippovSystem` |" in table
    row = next(line for line in table.splitlines() if line.startswith("| `MoreauJean`"))
    assert all(f in row for f in ("compliance", "constraints", "friction"))


def test_the_readme_names_both_commands():
    assert re.search(r"^\s*(uv run )?nonsmooth-explorer\b", README, re.MULTILINE)
    assert re.search(r"^\s*(uv run )?(python -m )?pytest\b", README, re.MULTILINE)


def test_the_images_and_links_of_the_readme_exist():
    for target in re.findall(r"\]\(([^)\s]+)\)|<img[^>]+src=\"([^\"]+)\"", README):
        name = next(filter(None, target)).split("#")[0]
        if name and not re.match(r"[a-z]+:", name):
            assert (ROOT / name).exists(), name


def test_the_readme_shows_a_picture():
    assert re.search(r"!\[[^\]]+\]\([^)]+\.(png|svg|gif)\)|<img[^>]+alt=", README)


def test_there_are_notebooks():
    stems = [path.stem for path in NOTEBOOKS]
    assert {"00_tour", "01_impacts", "01_examples_and_modelling"} <= {*stems}
    assert len({*stems}) == len(stems)  # the book knows them by their names


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_is_clean_and_its_cells_are_short(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert notebook.metadata.kernelspec.name == "python3"
    assert "widgets" not in notebook.metadata
    assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)
    for cell in notebook.cells:
        assert len(cell.source.splitlines()) <= 15, cell.source
        assert cell.source.strip()
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None
    assert notebook.cells[0].cell_type == "markdown"


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """One for all notebooks, cleared for each: to start one costs as much as most of them.

    The rehearsal of Binder runs each in a kernel of its own.
    """
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(tmp_path_factory.mktemp("notebooks")))
    yield manager
    manager.shutdown_kernel(now=True)


@pytest.mark.broad
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_runs(path, kernel):
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell("%reset -f"))
    client = NotebookClient(notebook, timeout=90, startup_timeout=60, km=kernel)
    client.execute()
    client.kc.stop_channels()
    outputs = [out for cell in notebook.cells if cell.cell_type == "code" for out in cell.outputs]
    shown = [out for out in outputs if out.output_type in ("display_data", "execute_result")]
    assert any("application/vnd.jupyter.widget-view+json" in out.data for out in shown)
    assert not [out for out in outputs if out.get("name") == "stderr"]


def test_the_citation_has_its_keys():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert {"cff-version", "message", "title", "authors", "version", "license"} <= set(citation)
    assert str(citation["cff-version"]) == "1.2.0"
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    assert all({"name"} <= set(a) or {"family-names"} <= set(a) for a in citation["authors"])


def test_the_changelog_knows_this_version():
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert f"## [{PROJECT['version']}]" in changelog
    assert "## [Unreleased]" in changelog


def test_the_changelog_names_every_model():
    from explorer.models import models

    words = re.sub(r"\s+", " ", (ROOT / "CHANGELOG.md").read_text("utf-8").lower())
    heads = {name: name.split("_")[0].rstrip("s") for name in models}
    assert [name for name, head in heads.items() if head not in words] == []


def test_nothing_is_meant_for_one_machine_only():
    private = re.compile(r"/home/\w|/root/|/Users/\w|[A-Z]:\\\\Users")
    names = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff", "pyproject.toml"]
    names += ["docs/references.md"]
    for path in [*map(ROOT.joinpath, names), *NOTEBOOKS, *(ROOT / "explorer").rglob("*.py")]:
        assert not private.search(path.read_text("utf-8")), path
