"""From a folder of Markdown and notebooks to pages: Sphinx, its theme, and what pages share.

Nothing is fetched from a network, neither when the pages are made nor when they are read: MathJax
and plotly.js are files of the book.
"""

from __future__ import annotations

import io
import re
import shutil
import warnings
from importlib import metadata
from pathlib import Path

from explorer.errors import NotApplicable
from explorer.panels.twin_folder import shared
from explorer.types import Plain

__all__ = ["MATHJAX", "TWINS", "assets", "make", "needed"]

TWINS = "twins.js"  # in _static
MATHJAX = "mathjax/tex-chtml.js"
_NEEDED = ("sphinx", "myst-nb", "furo", "sphinx-copybutton", "sphinx-mathjax-offline", "casadi")
_STYLE = """
/* panels take JupyterLab's colours: here they are the page's, so its theme button changes both */
body { --jp-ui-font-color1: var(--color-foreground-primary);
  --jp-ui-font-color2: var(--color-foreground-muted);
  --jp-border-color1: var(--color-foreground-border);
  --jp-border-color2: var(--color-background-border);
  --jp-layout-color0: var(--color-background-primary);
  --jp-layout-color2: var(--color-background-secondary); }
.content { width: min(66em, 100%); }
.main, .content, .article-container, article { min-width: 0; max-width: 100%; }
mjx-container[display="true"] { max-width: 100%; overflow: auto hidden; }
.book-buttons { display: flex; flex-wrap: wrap; gap: .6em; }
.book-button { border: 1px solid var(--color-brand-primary); border-radius: 4px;
  padding: .25em .8em; text-decoration: none; }
.book-button:hover { background: var(--color-brand-primary);
  color: var(--color-background-primary); }
/* what screen readers read of a formula is not seen, but would make the page as wide as itself */
article mjx-container mjx-assistive-mml { width: 1px !important; height: 1px !important;
  overflow: hidden !important; }
div.math, .table-wrapper, .cell_output { overflow-x: auto; }
/* what is wider than its box scrolls in it: shades at its sides say so, and go at its ends */
mjx-container[display="true"], .table-wrapper, .cell_output, .highlight pre {
  --ground: var(--color-background-primary);
  --shade: color-mix(in srgb, var(--color-foreground-primary) 35%, transparent);
  background:
    linear-gradient(to right, var(--ground) 40%, transparent) left / 3em 100% no-repeat local,
    linear-gradient(to left, var(--ground) 40%, transparent) right / 3em 100% no-repeat local,
    linear-gradient(to right, var(--shade), transparent) left / .9em 100% no-repeat,
    linear-gradient(to left, var(--shade), transparent) right / .9em 100% no-repeat; }
.highlight pre { --ground: var(--color-code-background); }
.nsx-twin { margin: 1em 0; }
.nsx-twin .nsx-body { min-height: 30rem; }
.cell_output pre { max-height: 40em; overflow: auto; }
details summary { cursor: pointer; }
@media (max-width: 40em) { /* more columns fit; names break where nothing else can */
  table.docutils td, table.docutils th { padding: .25em .35em; }
  table.docutils code { overflow-wrap: anywhere; white-space: normal; }
}
/* stills have no ground; on a dark one their dark lines become light, and keep their hue */
body[data-theme="dark"] img[alt="Picture of the figure"] { filter: invert(1) hue-rotate(180deg); }
@media (prefers-color-scheme: dark) {
  body:not([data-theme="light"]) img[alt="Picture of the figure"] {
    filter: invert(1) hue-rotate(180deg); }
}
"""


def needed() -> None:
    """Refuse to begin without the packages that the extra ``book`` names.

    Raises
    ------
    NotApplicable
        If one of them is not installed.
    """
    absent = []
    for name in _NEEDED:
        try:
            metadata.distribution(name)
        except metadata.PackageNotFoundError:
            absent.append(name)
    if absent:
        raise NotApplicable(
            f"The book needs {', '.join(absent)}. Install the extra: "
            'pip install "nonsmooth-explorer[book]".'
        )


def settings() -> Plain:
    """Return the configuration of Sphinx."""
    release = metadata.version("nonsmooth-explorer")
    return {
        "project": "nonsmooth-explorer",
        "author": "The nonsmooth-explorer authors",
        "copyright": "The nonsmooth-explorer authors. Text: CC BY 4.0, code: BSD-3-Clause",
        "release": release,
        "version": release,
        "extensions": [
            "myst_nb",
            "sphinx.ext.autodoc",
            "sphinx.ext.napoleon",
            "sphinx.ext.mathjax",
            "sphinx_copybutton",
        ],
        "html_theme": "furo",
        "html_title": "nonsmooth-explorer",
        "html_static_path": ["_static"],
        "html_css_files": ["book.css"],
        "html_copy_source": False,
        "html_show_sourcelink": False,
        "html_show_search_summary": False,  # it would read pages, which a browser forbids for files
        "mathjax_path": MATHJAX,
        "default_role": "literal",
        "smartquotes": False,  # the prime of a rate is no closing quote
        "nb_execution_mode": "off",  # they were run before
        "nb_render_markdown_format": "myst",
        "nb_merge_streams": True,
        "myst_enable_extensions": ["dollarmath", "amsmath", "deflist", "attrs_block"],
        "myst_dmath_double_inline": True,
        "myst_dmath_allow_labels": False,
        "myst_heading_anchors": 3,
        "napoleon_google_docstring": False,
        "napoleon_use_rtype": False,
        "napoleon_use_ivar": True,
        "autodoc_member_order": "bysource",
        "autodoc_typehints": "none",
        "suppress_warnings": ["misc.highlighting_failure", "myst.header"],
        "exclude_patterns": ["models/*.html"],
        "pygments_style": "friendly",
    }


def assets(source: Path) -> None:
    """Write what pages share into the folder ``_static`` of the sources.

    MathJax is 1.2 MB with its fonts 1.5 MB; of the package that brings it, nothing else is taken.
    """
    static = source / "_static"
    static.mkdir(parents=True, exist_ok=True)
    (static / TWINS).write_text(shared(), "utf-8")
    (static / "book.css").write_text(_STYLE, "utf-8")
    home = metadata.distribution("sphinx-mathjax-offline")
    whole = Path(str(home.locate_file("sphinx-mathjax-offline/static/mathjax")))
    target = static / "mathjax"
    for part in (Path("tex-chtml.js"), Path("output/chtml/fonts/woff-v2")):
        (target / part).parent.mkdir(parents=True, exist_ok=True)
        if (whole / part).is_dir():
            shutil.copytree(whole / part, target / part, dirs_exist_ok=True)
        else:
            shutil.copyfile(whole / part, target / part)


def plain(app: object, what: str, name: str, of: object, options: object, lines: list[str]) -> None:
    """Keep |x| and q_ of a docstring what they are: reStructuredText gives both a meaning.

    What is code stays as it is: between backquotes, in indented blocks after "::", in examples.
    """
    block: int | None = None
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if block is not None and line.strip() and indent <= block:
            block = None
        if block is None and not line.lstrip().startswith((">>> ", "... ")):
            parts = re.split(r"(``.*?``|`[^`]*`)", line)
            parts[::2] = [re.sub(r"\||(?<=\w)_(?!\w)", r"\\\g<0>", part) for part in parts[::2]]
            lines[i] = "".join(parts)
        if block is None and line.rstrip().endswith("::"):
            block = indent


def collapsed(app: object, page: str, template: str, context: Plain, tree: object) -> None:
    """Open in the menu of a page only the part of the book that it belongs to.

    Else each page would hold the names of all pages, and a third of Sphinx's time would go there.
    """
    if menu := context.get("toctree"):
        context["toctree"] = lambda **asked: menu(**asked | {"collapse": True})


def make(source: Path, target: Path, doctrees: Path) -> list[str]:
    """Turn the sources into pages; return the warnings of Sphinx.

    Raises
    ------
    NotApplicable
        If Sphinx fails.
    """
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    said, warned = io.StringIO(), io.StringIO()
    with patch_docutils(), docutils_namespace(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its extensions to each other
        app = Sphinx(
            srcdir=source,
            confdir=None,
            outdir=target,
            doctreedir=doctrees,
            buildername="html",
            confoverrides=settings(),
            status=said,
            warning=warned,
            freshenv=True,
        )
        app.connect("autodoc-process-docstring", plain)
        app.connect("html-page-context", collapsed, priority=1)  # before the theme draws its menu
        app.build()
    if app.statuscode:
        raise NotApplicable(f"Sphinx could not make the book: {warned.getvalue().strip()}")
    shutil.rmtree(target / "_sources", ignore_errors=True)
    for rest in (".buildinfo", "objects.inv"):
        (target / rest).unlink(missing_ok=True)
    return [line for line in warned.getvalue().splitlines() if line.strip()]
