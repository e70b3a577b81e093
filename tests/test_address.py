"""The public address stands in one place, and the README, the citation and the book follow it."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

import pytest
import yaml

from explorer.book.address import PLACEHOLDER, Address, citation, readme, write
from explorer.errors import BadValue
from explorer.references import library

ROOT = Path(__file__).parents[1]
REPOSITORY = Address.of(ROOT).repository
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
MADE = ["README.md", "CITATION.cff"]


@pytest.fixture
def checkout(tmp_path):
    for name in ("pyproject.toml", "CHANGELOG.md", *MADE):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def changed(folder, *pairs):
    path = folder / "pyproject.toml"
    text = path.read_text("utf-8")
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, "utf-8")


def test_readme_and_citation_are_what_is_made_from_the_address():
    for name, made in zip(MADE, (readme(ROOT), citation(ROOT)), strict=True):
        assert (ROOT / name).read_text("utf-8") == made, "run explorer.book.address.write()"


def test_the_address_stands_in_one_place():
    """No file but those that are printed names the owner, Binder's address of it or a fork."""
    owner = REPOSITORY.split("/")[3]
    texts = [p for suffix in ("md", "cff", "toml", "py", "ipynb") for p in ROOT.glob(f"*.{suffix}")]
    for folder in ("explorer", "notebooks", "docs", "binder"):
        texts += [p for p in (ROOT / folder).rglob("*") if p.suffix in (".py", ".md", ".ipynb", "")]
    named = []
    for path in texts:
        if path.is_file() and "_notebooks" not in path.parts:
            text = path.read_text("utf-8")
            if re.search(rf"(github\.com|mybinder\.org/v2/gh)/{owner}/", text):
                named.append(str(path.relative_to(ROOT)))
    assert sorted(named) == ["CITATION.cff", "README.md", "pyproject.toml"]
    lines = (ROOT / "pyproject.toml").read_text("utf-8").splitlines()
    assert sum(f"/{owner}/" in line for line in lines) == 1


def test_a_new_address_reaches_all_that_is_made(checkout):
    changed(checkout, (REPOSITORY, "https://github.com/someone/nonsmooth"))
    write(checkout)
    told = (checkout / "README.md").read_text("utf-8")
    assert REPOSITORY.split("/")[3] not in told
    links = re.findall(r"\]\((https://mybinder\.org/v2/[^)]+)\)", told)
    base = "https://mybinder.org/v2/gh/someone/nonsmooth/HEAD"
    assert links == [
        f"{base}?urlpath=voila%2Frender%2Fnotebooks%2F00_tour.ipynb",
        f"{base}?labpath=notebooks%2F00_tour.ipynb",
    ]
    cited = yaml.safe_load((checkout / "CITATION.cff").read_text("utf-8"))
    assert cited["repository-code"] == "https://github.com/someone/nonsmooth"
    assert Address.of(checkout).warning == ""
    once = [(checkout / name).read_text("utf-8") for name in MADE]
    write(checkout)
    assert once == [(checkout / name).read_text("utf-8") for name in MADE]


def test_a_placeholder_is_named_with_the_place_where_it_stands():
    address = Address(f"https://github.com/{PLACEHOLDER}/nonsmooth-explorer")
    assert not address.fixed
    for part in (address.repository, "[project.urls]", "write()"):
        assert part in address.warning
    assert Address("https://github.com/OWNERS/explorer").fixed


def test_what_the_links_open_is_there():
    links = re.findall(r"https://mybinder\.org/v2/[^)\s]+", readme(ROOT))
    opened = [link.partition("notebooks%2F")[2] for link in links]
    assert len(opened) == 2
    assert all((ROOT / "notebooks" / name).is_file() for name in opened)
    # Voila is in the image
    assert re.search(r"^voila==", (ROOT / "binder/requirements.txt").read_text(), re.MULTILINE)


def test_the_citation_takes_the_date_of_the_changelog_and_a_doi(checkout):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    cited = yaml.safe_load(citation(checkout))
    line = f"## [{cited['version']}] - {cited['date-released']}"
    assert line in (ROOT / "CHANGELOG.md").read_text("utf-8").splitlines()
    assert cited["version"] == project["version"]
    assert cited["keywords"] == project["keywords"]
    assert "doi" not in cited
    changed(checkout, ('doi = ""', 'doi = "10.5281/zenodo.1234567"'))
    assert yaml.safe_load(citation(checkout))["doi"] == "10.5281/zenodo.1234567"
    note = library()["nonsmooth-explorer"]["note"]
    assert note == f"Version {project['version']}"


@pytest.mark.parametrize(
    ("pair", "said"),
    [
        ((REPOSITORY, "https://example.org/x"), "no address of"),
        (("Repository =", "Home ="), "names no Repository"),
        (('doi = ""', 'doi = "https://doi.org/10.5281/zenodo.1"'), "begins with 10"),
        ((f'version = "{VERSION}"', 'version = "0.9.9"'), r'no line "## \[0.9.9\]'),
    ],
)
def test_what_cannot_be_published_is_refused_with_a_sentence(checkout, pair, said):
    changed(checkout, pair)
    with pytest.raises(BadValue, match=said):
        write(checkout)


def test_a_readme_without_the_place_is_refused(checkout):
    (checkout / "README.md").write_text("# no place\n")
    with pytest.raises(BadValue, match="no place for the address"):
        write(checkout)
