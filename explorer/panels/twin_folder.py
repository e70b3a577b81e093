"""Static twins of many pages in one folder: what all of them need stands once, in one file.

A twin brings 2 MB of plotly.js, the script and the style of the panels along. In a folder of pages
these stand in the file `shared`, which each page loads before its twins; `lean` takes them out.
"""

from __future__ import annotations

import base64
import gzip
import json
import re

from explorer.panels.live import plotly_bundle, source, style

__all__ = ["lean", "shared"]

_PARTS = re.compile(r'<script type="text/plain" data-nsx-(?:script|plotly)="[^"]*">[^<]*</script>')
_BEGIN = '<div class="nsx-twin"'
_SHARED = """// what the static twins of these pages share: panels, their style, and plotly.js
(() => {
  if (document.querySelector("[data-nsx-script]")) return;
  for (const [tag, name, value, text] of %s) {
    const node = document.createElement(tag);
    if (tag === "script") node.type = "text/plain";
    node.setAttribute(`data-nsx-${name}`, value);
    node.textContent = text;
    document.head.append(node);
  }
})();
"""


def shared() -> str:
    """Return the script (JavaScript, 2 MB) that a page loads before its lean twins."""
    release, library = plotly_bundle()
    panels = gzip.compress(source().encode(), mtime=0)
    parts = [
        ("style", "style", "", style()),
        ("script", "script", "", base64.b64encode(panels).decode()),
        ("script", "plotly", release, base64.b64encode(library).decode()),
    ]
    return _SHARED % json.dumps(parts)


def lean(html: str, address: str) -> str:
    """Return HTML with static twins without what they share.

    Parameters
    ----------
    html : str
        As `StaticTwin` displays itself, once or several times; other HTML stays as it is.
    address : str
        Of the file `shared`, as seen from the page.

    Examples
    --------
    >>> lean("<p>no twin</p>", "twins.js")
    '<p>no twin</p>'
    """
    if _BEGIN not in html:
        return html
    html = _PARTS.sub("", html).replace(f"<style>{style()}</style>", "")
    return html.replace(_BEGIN, f'<script src="{address}"></script>{_BEGIN}')
