"""Notebooks as chapters and slides: they are run, or were run before; twins share one file."""

from __future__ import annotations

import os
import re

import nbformat
import pytest
from small_book import notebook, week

import explorer as ex
from explorer.book.chapters import chapter
from explorer.book.slides import slides
from explorer.errors import BadValue, NotApplicable
from explorer.panels.twin_folder import lean, shared


def test_slides_are_made_of_the_same_cells(tmp_path):
    """Most of its seconds are the start of a kernel."""
    week(tmp_path)
    (page,) = slides(tmp_path, tmp_path / "slides")
    text = page.read_text("utf-8")
    assert text.count("<section") >= 4
    assert "BEGIN SOLUTION" not in text
    assert "answer 1" in text
    with pytest.raises(BadValue, match="is a file"):
        slides(tmp_path, page)
    with pytest.raises(NotApplicable, match="no chapters"):
        slides(tmp_path / "empty", tmp_path / "other")


def test_a_cell_that_fails_is_a_problem_of_the_book(tmp_path):
    """Most of its seconds are the start of a kernel."""
    asks = "import ipykernel\nipykernel.get_connection_info(unpack=True)['transport']"
    told = chapter(notebook(tmp_path / "own.ipynb", asks, "# twice\n1 / 0", "2"), "twins.js")
    assert told.failed == "cell 3 (# twice): ZeroDivisionError: division by zero"
    (output,) = nbformat.reads(told.text, 4).cells[1].outputs
    assert output.data["text/plain"] == ("'ipc'" if os.name == "posix" else "'tcp'")


def test_a_notebook_that_was_run_before_gives_its_outputs(tmp_path):
    path = notebook(tmp_path / "own.ipynb", "1 + 1", "# twice\n2", "")
    ran, new = tmp_path / "ran", nbformat.v4
    assert "it was not run: there is no" in chapter(path, "twins.js", "", ran).failed
    ran.mkdir()
    done = nbformat.read(path, as_version=4)

    def told(k, output, count=1):
        done.cells[k].execution_count, done.cells[k].outputs = count, [output]
        nbformat.write(done, ran / path.name)
        return chapter(path, "twins.js", "", ran)

    two = new.new_output("execute_result", data={"text/plain": "two"}, execution_count=1)
    assert told(1, two).failed == "cell 3 (# twice): it was not run"
    wrong = new.new_output("error", ename="ZeroDivisionError", evalue="division by zero")
    assert told(2, wrong).failed == "cell 3 (# twice): ZeroDivisionError: division by zero"
    page = told(2, new.new_output("stream", name="stderr", text="a warning"))
    assert page.failed == ""
    cells = nbformat.reads(page.text, 4).cells
    assert cells[1].outputs == [two]
    assert cells[2].outputs == []
    done.cells[1].source = "1 + 2"
    assert "another state of this notebook" in told(1, two).failed


def test_twins_leave_what_they_share_to_one_file():
    html = ex.explore("bouncing_ball").twin("e", 2)._repr_html_()
    short = lean(html + html, "t.js")
    assert len(short) < len(html) / 10
    assert short.count('<script src="t.js">') == 2
    assert len(re.findall("data-nsx-pictures=", short)) == 2
    assert '"plotly", "' in shared()
