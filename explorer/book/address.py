"""The public address: README and citation are made from ``pyproject.toml``, where it stands alone.

`write` makes both anew, in a checkout. The address stands in
``[project.urls]``; ``[tool.nonsmooth-explorer]`` has the DOI that an archive gave to this version.
The citation has the form of the Citation File Format, version 1.2.0.
"""

from __future__ import annotations

import base64
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

from explorer.errors import BadValue
from explorer.types import Plain

__all__ = ["Address", "citation", "opens", "readme", "write"]

PLACEHOLDER = "OWNER"  # in place of the owner, as long as the address is not fixed
TOUR = "notebooks/00_tour.ipynb"
_BADGE = "https://mybinder.org/badge_logo.svg"
_COMMAND = 'python -c "from explorer.book.address import write; write()"'
_BEGIN = f"<!-- printed by: {_COMMAND} -->"
_END = "<!-- end of what is printed -->"
_DOI = re.compile(r"10\.\d{4,9}/[^\s\"]+")
_DATED = re.compile(r"^## \[([^\]]+)\] - (\d{4}-\d\d-\d\d)$", re.MULTILINE)


@dataclass(frozen=True)
class Address:
    """Where the repository is published.

    Attributes
    ----------
    repository : str
        ``https://github.com/owner/name``.

    Raises
    ------
    BadValue
        If it is no address of a repository on GitHub, from which alone the buttons are made.

    Examples
    --------
    >>> Address("https://github.com/someone/explorer").notebook("notebooks/00_tour.ipynb")
    'https://mybinder.org/v2/gh/someone/explorer/HEAD?labpath=notebooks%2F00_tour.ipynb'
    """

    repository: str

    def __post_init__(self) -> None:
        parts = urlsplit(self.repository)
        if parts.netloc != "github.com" or not re.fullmatch(r"/[\w.-]+/[\w.-]+", parts.path):
            raise BadValue(
                f"{self.repository!r} in [project.urls] of pyproject.toml is no address of a "
                "repository. The links to Binder need https://github.com/owner/name."
            )

    @classmethod
    def of(cls, root: Path) -> Address:
        """Return the address that the ``pyproject.toml`` of a checkout names."""
        urls = _settings(root)["project"].get("urls", {})
        if "Repository" not in urls:
            raise BadValue(
                "pyproject.toml names no Repository in [project.urls]. The book, the README and "
                "the citation take the address from there."
            )
        return cls(urls["Repository"])

    @property
    def fixed(self) -> bool:
        """Whether it is an address, and no placeholder."""
        return PLACEHOLDER not in urlsplit(self.repository).path.split("/")

    @property
    def warning(self) -> str:
        """What a builder has to know of a placeholder; "" for an address."""
        if self.fixed:
            return ""
        return (
            f"The public address is a placeholder: {self.repository} in [project.urls] of "
            "pyproject.toml. The buttons and badges lead nowhere until it is written there. "
            f"Then run `{_COMMAND}`."
        )

    @property
    def binder(self) -> str:
        """The address of the repository on Binder."""
        return f"https://mybinder.org/v2/gh{urlsplit(self.repository).path}/HEAD"

    def notebook(self, path: str) -> str:
        """Return where a notebook of the repository is opened live, in JupyterLab."""
        return f"{self.binder}?labpath={quote(path, safe='')}"

    def page(self, path: str) -> str:
        """Return where a notebook is run when it is opened, and shown without its code."""
        return f"{self.binder}?urlpath={quote(f'voila/render/{path}', safe='')}"


def opens(page: str, state: str) -> str:
    """Return the address at which the first panel of a page of Binder opens on a state.

    Parameters
    ----------
    page : str
        As `Address.page` returns it.
    state : str
        As `Session.to_json` writes it. The panel reads it as it reads a link that was copied.
    """
    value = base64.urlsafe_b64encode(state.encode()).decode().rstrip("=")
    return page + quote(f"?nsx={value}", safe="")


def _settings(root: Path) -> Plain:
    found: Plain = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    return found


def readme(root: Path) -> str:
    """Return the README of a checkout with its badge and links to Binder made anew."""
    address, text = Address.of(root), (root / "README.md").read_text("utf-8")
    lines = (
        f"[![Open the panels on Binder]({_BADGE})]({address.page(TOUR)})\n\n"
        "The badge opens the gallery of live panels in the browser, without an installation: click "
        "a picture, and its panel\nmoves. The same tour "
        f"[as a notebook]({address.notebook(TOUR)}) has its code. To keep your notebooks, install "
        "the package.\n"
    )
    before, begin, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not (begin and end):
        raise BadValue(f"README.md has no place for the address: between {_BEGIN} and {_END}.")
    return f"{before}{begin}\n{lines}{end}{after}"


def citation(root: Path) -> str:
    """Return the ``CITATION.cff`` of a checkout, from its metadata and changelog."""
    settings = _settings(root)
    project = settings["project"]
    doi = settings.get("tool", {}).get("nonsmooth-explorer", {}).get("doi", "")
    if doi and not _DOI.fullmatch(doi):
        raise BadValue(
            f"{doi!r} in [tool.nonsmooth-explorer] of pyproject.toml is no DOI. A DOI begins with "
            '10. and has no address before it: "10.5281/zenodo.1234567".'
        )
    dates = dict(_DATED.findall((root / "CHANGELOG.md").read_text("utf-8")))
    version = project["version"]
    if version not in dates:
        raise BadValue(
            f'CHANGELOG.md has no line "## [{version}] - YYYY-MM-DD" for the version of '
            "pyproject.toml, so the citation has no date."
        )
    lines = [
        f"# made by: {_COMMAND}",
        "cff-version: 1.2.0",
        "message: If you use this software in teaching or research, please cite it as below.",
        'title: "nonsmooth-explorer: an interactive explorer for nonsmooth dynamics"',
        "type: software",
        "authors:",
        *(f"  - name: {author['name']}" for author in project["authors"]),
        f"version: {version}",
        f"date-released: {dates[version]}",
        f"doi: {doi}" if doi else "# doi: an archive has given none to this version",
        f"license: {project['license']}",
        f"repository-code: {Address.of(root).repository}",
        "abstract: >-",
        "  Mechanical systems with impacts, contacts and switches, written as equations, simulated",
        "  in compiled kernels and explored live in Jupyter.",
        "keywords:",
        *(f"  - {word}" for word in project["keywords"]),
    ]
    return "\n".join(lines) + "\n"


def write(root: Path | None = None) -> None:
    """Write README and citation of a checkout anew.

    Parameters
    ----------
    root : Path, optional
        By default the checkout of this package.

    Raises
    ------
    BadValue
        If ``pyproject.toml`` or the changelog lacks what they are made from.
    """
    root = root or Path(__file__).parents[2]
    made = {"README.md": readme(root), "CITATION.cff": citation(root)}
    for name, text in made.items():
        (root / name).write_text(text, "utf-8")
