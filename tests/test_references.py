"""The bibliography, what is cited of it, and the corrections to printed formulas."""

from __future__ import annotations

import ast
import json
import re
import unicodedata
from pathlib import Path

import pytest

import explorer as ex
from explorer import references, reformulations
from explorer.errors import BadValue
from explorer.models import models
from explorer.models import register as register_model
from explorer.references import library, parse
from explorer.schemes import schemes

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "references.md").read_text("utf-8")
PROJECT = (ROOT / "pyproject.toml").read_text("utf-8")
NEEDED = {  # fields without which BibTeX complains
    "article": ("author", "title", "journal", "year", "volume", "pages"),
    "book": ("author", "title", "publisher", "year"),
    "incollection": ("author", "title", "booktitle", "publisher", "year"),
    "inproceedings": ("author", "title", "booktitle", "year"),
    "techreport": ("author", "title", "institution", "year"),
    "misc": ("title",),
}
NAME = r"[A-Z][\w-]+"
SHORT = re.compile(  # "Corner et al. 2019", "Dieci and Lopez, 2011", "Housner's (1963)"
    rf"\b({NAME})(?:(?:, | and ){NAME})*(?: et al\.|'s)?,? \(?(1[89]\d\d|20[0-2]\d)\b"
)
DOI = re.compile(r"10\.\d{4,9}/[^\s,;]+[^\s,;.:]")


def plain(text: str) -> str:
    """Without accents and in small letters."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()


def prose() -> dict[str, str]:
    """Return all docstrings and comments of the package and the cells of the notebooks, by file."""
    found = {}
    for path in sorted((ROOT / "explorer").rglob("*.py")):
        source = path.read_text("utf-8")
        texts = [
            ast.get_docstring(node) or ""
            for node in ast.walk(ast.parse(source))
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        ]
        texts += re.findall(r"#.*", source)
        found[str(path.relative_to(ROOT))] = " ".join(" ".join(texts).split())
    for path in sorted((ROOT / "notebooks").rglob("*.ipynb")):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        texts = ["".join(c["source"]) for c in cells if c["cell_type"] == "markdown"]
        found[path.name] = " ".join(" ".join(texts).split())
    return found


TEXTS = prose()
CITED = {
    **{f"scheme {k}": s.references for k, s in schemes.items()},
    **{f"model {k}": models[k].references for k in models},
    **{f"reformulation {k}": keys for k, keys in reformulations.REFERENCES.items()},
    "sensitivity": ex.Sensitivity.references,
    **{f"{k}, {knob} = {value}": keys for k, s in schemes.items()
       for knob, choices in s.choice_references.items() for value, keys in choices.items()},
    **{f"{k} with {feature}": keys for k, s in schemes.items()
       for feature, keys in s.feature_references.items()},
}  # fmt: skip


# -- the entries ----------------------------------------------------------------------------------


def test_every_entry_has_the_fields_of_its_kind():
    for key, found in library().items():
        assert [f for f in NEEDED[found.kind] if not found.fields.get(f)] == [], key
        assert re.fullmatch(r"[a-z0-9-]+", key)
        assert "year" not in found.fields or re.fullmatch(r"(18|19|20)\d\d", found["year"]), key
        assert "doi" not in found.fields or DOI.fullmatch(found["doi"]), key
        assert re.fullmatch(r"(https://\S+)?", found.link[1]), key
        assert parse(found.bibtex) == [found]
        assert not re.search(r"[{}\\]|\bNone\b|\(\)|, ,", found.text), key


def test_no_two_entries_are_the_same_source():
    dois = [e["doi"].lower() for e in library().values() if e["doi"]]
    titles = [plain(e["title"]) + e["year"] for e in library().values()]
    assert len(set(dois)) == len(dois)
    assert len(set(titles)) == len(titles)


def test_the_entry_of_this_software_has_its_version():
    version = re.search(r'^version = "(.+)"', PROJECT, re.MULTILINE)[1]
    assert library()["nonsmooth-explorer"]["note"] == f"Version {version}"


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("@book{a,\n title = {B", "brace"),
        ("@book{a,\n title = B}", "cannot be read at 'title = B"),
        ("@book{a,\n title = {B}, title = {C}}", "cannot be read"),
        ("@book{a,\n title = {B}}\n@misc{a,\n title = {C}}", "two entries 'a'"),
    ],
)
def test_what_is_no_bibtex_is_refused(source, says):
    with pytest.raises(BadValue, match=says):
        parse(source)


def test_names_titles_and_pages_as_text():
    found = parse(
        "@article{k,\n author = {Moreau, Jean-Jacques and {The Group} and others},\n"
        " title = {On {Coulomb} \\& {3D}},\n journal = {J}, volume = {1}, year = {2000},"
        " pages = {1--2}, doi = {10.1000/a(b)c}\n}"
    )[0]
    assert found.text == (
        "J.-J. Moreau, The Group et al.: On Coulomb & 3D. J 1 (2000) 1–2. doi:10.1000/a(b)c"
    )
    assert "*On Coulomb & 3D*" in found.markdown
    assert "(https://doi.org/10.1000/a%28b%29c)" in found.markdown


# -- who cites what -------------------------------------------------------------------------------


def test_what_names_its_sources_names_some_that_exist():
    assert [who for who, keys in CITED.items() if not keys or not isinstance(keys, tuple)] == []
    missing = {key: who for who, keys in CITED.items() for key in keys if key not in library()}
    assert missing == {}


def test_every_choice_with_a_source_is_a_choice_of_its_knob():
    for scheme in schemes.values():
        for knob, choices in scheme.choice_references.items():
            for value in choices:
                assert set(choices[value]) <= set(scheme(**{knob: value}).sources())


def first_page(entry) -> str:
    """Return the first page, "" if there are none."""
    return entry["pages"].partition("–")[0]


def mentions(entry, text: str) -> bool:
    """Whether a text names the title, the volume with year and page, or an author with the year."""
    page = first_page(entry)
    year, first = entry["year"], plain(entry.fields.get("author", "").split(",")[0])
    if plain(entry["title"].partition(":")[0]) in text:
        return True
    if page and f"{entry['volume']} ({year}) {page}" in text:
        return True
    return bool(
        first and year and re.search(rf"\b{re.escape(first)}\b[^;]{{0,60}}\b{year}\b", text)
    )


def test_every_entry_is_used():
    used = {key for keys in CITED.values() for key in keys} | {"nonsmooth-explorer"}
    everything = plain(" ".join(TEXTS.values()))
    rest = [e for key, e in library().items() if key not in used]
    assert [e.key for e in rest if not mentions(e, everything)] == []


def test_a_source_that_is_cited_by_volume_year_and_page_is_in_the_bibliography():
    known = {(e["volume"], e["year"], first_page(e)) for e in library().values() if e["volume"]}
    cited = {
        (where, found)
        for where, text in TEXTS.items()
        for found in re.findall(r"\b(\d+) \((\d{4})\) (i?\d+)", text)
    }
    assert len(cited) > 60
    assert sorted(c for c in cited if c[1] not in known) == []


def test_a_source_that_is_cited_by_name_and_year_is_in_the_bibliography():
    known = {
        (plain(name), e["year"])
        for e in library().values()
        for name in re.findall(r"[^\s,{}]+(?=,| and |}|$)", e.fields.get("author", ""))
    }
    cited = {
        (where, plain(name), year)
        for where, text in TEXTS.items()
        for name, year in SHORT.findall(text)
        if name not in ("INRIA", "RR-2996")
    }
    assert len(cited) > 40
    assert sorted(c for c in cited if c[1:] not in known) == []


def test_every_doi_in_a_docstring_is_in_the_bibliography():
    known = {e["doi"] for e in library().values()}
    cited = {
        (where, found[:-1] if found.count(")") > found.count("(") else found)
        for where, text in TEXTS.items()
        for found in re.findall(r"doi:(10\.\S+?)(?=[.,;:)]*(?:\s|$))", text)
    }
    assert len(cited) > 12
    assert sorted(c for c in cited if c[1] not in known) == []


# -- cite -----------------------------------------------------------------------------------------


def test_a_run_cites_its_scheme_its_model_and_this_software():
    run = ex.simulate(ex.models.bouncing_ball(), ex.MoreauJean(h=1e-2))
    found = ex.cite(run)
    assert list(found.parts) == ["scheme MoreauJean", "model 'bouncing ball'", "software"]
    assert set(ex.MoreauJean.references) < set(found.keys)
    assert {"cottle-2009", "brogliato-2016", "nonsmooth-explorer"} < set(found.keys)
    assert [e.key for e in parse(found.bibtex)] == list(found.keys)
    assert str(found) == repr(found)
    assert "doi:10.1016/S0045-7825(98)00383-1" in str(found)
    assert "(https://doi.org/10.1016/S0045-7825%2898%2900383-1)" in found._repr_markdown_()


def test_a_run_cites_what_its_scheme_does_for_features_of_the_system():
    run = ex.simulate(ex.models.stack(), ex.MoreauJean(h=1e-2), t_end=0.05)
    assert {"glocker-2001", "jourdan-1998", "moreau-1988"} < set(ex.cite(run).keys)
    assert "jourdan-1998" not in ex.cite(ex.MoreauJean()).keys
    for scheme in schemes.values():
        assert set(scheme.feature_references) <= scheme.handles


def test_a_run_cites_the_rewritings_on_its_way():
    run = ex.simulate(ex.models.bouncing_ball(), ex.FESD(h=0.1), t_end=0.6)
    assert ex.cite(run).parts["reformulation time_freezing"][0].key == "nurkanovic-2021"
    run = ex.simulate(ex.models.thermostat(), ex.FESD(h=0.1), t_end=0.3)
    assert "nurkanovic-diehl-2022" in ex.cite(run).keys
    run = ex.simulate(ex.models.sign_crossing(), ex.EulerMoreau(representation="stewart"))
    assert "stewart-1990" in ex.cite(run).keys


def test_every_route_has_its_reformulation():
    assert set(reformulations.ROUTES.values()) <= set(reformulations.REFERENCES)
    assert set(reformulations.REFERENCES) <= set(reformulations.__all__)


def test_sensitivities_cite_their_method():
    found = ex.sensitivity(ex.models.bouncing_ball(), ex.EventDriven(), "e", t_end=0.6)
    assert {"corner-2019", "brogliato-2016", "hairer-1993"} < set(ex.cite(found).keys)


@pytest.mark.parametrize("of", ["fesd", ex.FESD, ex.FESD(h=0.05)])
def test_a_scheme_is_cited_by_name_class_or_instance(of):
    assert set(ex.FESD.references) <= set(ex.cite(of).keys)


@pytest.mark.parametrize("of", ["chua", ex.models.chua, ex.models.chua()])
def test_a_model_is_cited_by_name_function_or_system(of):
    assert ex.cite(of).keys == ("matsumoto-1985",)


@pytest.mark.parametrize("of", ["stewart", ex.reformulations.stewart, "stewart-1990"])
def test_a_reformulation_and_a_key_are_cited(of):
    assert ex.cite(of).keys == ("stewart-1990",)


def test_a_name_may_have_spaces_and_hyphens():
    assert ex.cite("Moreau-Jean").keys == ex.MoreauJean.references
    assert ex.cite("bouncing ball").keys == ("brogliato-2016",)


def test_nothing_cites_the_software():
    assert ex.cite().keys == ("nonsmooth-explorer",)


def test_what_a_scheme_is_told_to_do_is_cited():
    assert "mazhar-2015" in ex.cite(ex.MoreauJean(cone="apgd")).keys
    assert "mazhar-2015" not in ex.cite(ex.MoreauJean()).keys
    assert "chung-hulbert-1993" in ex.cite(ex.EventDriven(method="generalized-alpha")).keys
    assert "hilber-1977" in ex.cite(ex.EventDriven(method=ex.GeneralizedAlpha(family="hht"))).keys


@pytest.mark.parametrize(
    ("of", "says"),
    [
        ("fedd", "reference 'fedd'. Did you mean 'FESD'?"),
        ("bouncing_bal", "Did you mean 'bouncing_ball'?"),
        ("jean-1998", "Did you mean 'jean-1999'?"),
        (3, "3 has no sources to cite. Give a solution, a scheme, a system, or a name"),
        (len, "has no sources to cite"),
    ],
)
def test_what_cannot_be_cited_gets_a_sentence(of, says):
    with pytest.raises(BadValue, match=re.escape(says)):
        ex.cite(of)


def test_sources_of_ones_own(tmp_path):
    """A system names a key or carries BibTeX; both survive a file."""
    own = "@misc{mine,\n  title = {My notes}\n}"
    ball = ex.models.bouncing_ball()
    ball.references = (own, "moreau-1988")
    path = tmp_path / "run.npz"
    ex.simulate(ball, ex.MoreauJean(h=1e-2)).save(path)
    found = ex.cite(ex.load(path))
    assert {"mine", "moreau-1988"} < set(found.keys)
    assert own in found.bibtex
    ball.references = "moreau-1988"  # one may stand alone
    assert ex.cite(ball).keys == ("moreau-1988",)
    assert ex.simulate(ball, ex.MoreauJean(h=1e-2)).spec["references"] == ["moreau-1988"]
    ball.references = 3
    with pytest.raises(BadValue, match="The references of 'bouncing ball' must be a list"):
        ex.cite(ball)
    ball.references = ("den-hartog-1931",)
    with pytest.raises(BadValue, match=r"Did you mean 'den-hartog-1930'\?"):
        ex.cite(ball)
    ball.references = (own + "\n" + own.replace("mine", "yours"),)
    with pytest.raises(BadValue, match="One BibTeX entry was expected, not"):
        ex.cite(ball)


def test_a_model_without_sources_and_one_with_another_name():
    def mine() -> ex.MechanicalSystem:
        return ex.MechanicalSystem("mine", "y", force=[-1])

    before = dict(models)
    try:
        register_model("a_name")(mine)
        assert ex.cite("a_name").keys == ()
        assert str(ex.cite("a_name")) == "a_name names no sources."
        register_model(references=("moreau-1988",))(mine)
        assert ex.cite("mine").keys == ("moreau-1988",)
    finally:
        models._entries.clear()
        models._entries.update(before)


# -- the page -------------------------------------------------------------------------------------


def corrections() -> dict[str, set[int]]:
    """Return the numbers of the corrections to each text, by its key."""
    part = PAGE.partition("## Corrections")[2].partition("\n## ")[0]
    found = {}
    for section in part.split("\n### ")[1:]:
        found[section.split("\n")[0]] = {
            int(n) for n in re.findall(r"^(\d+)\. ", section, re.MULTILINE)
        }
    return found


def test_the_page_is_that_of_the_bibliography():
    printed = PAGE.partition("## Bibliography")[2].partition("-->\n")[2]
    assert printed == references.markdown()


def test_the_corrections_are_numbered_and_name_a_source_with_a_doi():
    found = corrections()
    assert {"siconos-schemes", "newmark-methods", "corner-2019", "nurkanovic-2023"} == set(found)
    for key, numbers in found.items():
        assert numbers == set(range(1, len(numbers) + 1))
        assert key in library()
        section = PAGE.partition(f"### {key}\n")[2].partition("\n###")[0]
        shown = re.findall(r"\[doi:(\S+?)\]\(https://doi\.org/", section)
        assert shown
        assert set(shown) <= {e["doi"] for e in library().values()}


def test_every_correction_that_a_test_cites_is_on_the_page():
    listed, cited = corrections(), []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        text = " ".join(path.read_text("utf-8").split())
        cited += re.findall(r"\bcorrection (\d+) of ([\w-]+)", text, re.IGNORECASE)
        assert not re.search(r"\berrata \d", text, re.IGNORECASE), f"{path.name}: of which text?"
    assert len(cited) >= 14
    assert [c for c in cited if int(c[0]) not in listed.get(c[1], ())] == []
