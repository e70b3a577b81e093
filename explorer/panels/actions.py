"""What the menu of a panel offers: copies, saved files, pictures and films."""

from __future__ import annotations

from typing import ClassVar, Protocol

from explorer.panels.messages import Message
from explorer.panels.static_twin import Answers, static_twin
from explorer.views.drawing.picture import Picture

__all__ = ["ACTIONS", "taken"]

ACTIONS = [
    {
        "name": "copy_code",
        "label": "Copy as Python",
        "title": "A script that reproduces this picture",
    },
    {"name": "copy_state", "label": "Copy state (JSON)", "title": "To send to somebody"},
    {
        "name": "copy_link",
        "label": "Copy link",
        "title": "A link to this page in its present state",
    },
    {"name": "load_state", "label": "Load state …", "title": "Paste a copied state"},
    {"name": "export_csv", "label": "Save CSV", "title": "All steps, all digits"},
    {"name": "export_html", "label": "Save HTML", "title": "This picture as a web page"},
    {
        "name": "export_twin",
        "label": "Save static twin (HTML)",
        "title": "A page with the mechanism, the plots and the slider moved last, without a kernel",
    },
    {
        "name": "export_png",
        "label": "Save PNG",
        "title": "Plots, mechanism, parameters and scheme as an image",
    },
    {"name": "export_svg", "label": "Save SVG", "title": "The same, to be scaled and edited"},
    {"name": "export_pdf", "label": "Save PDF", "title": "The same, to be printed"},
    {"name": "export_webm", "label": "Save film (WebM)", "title": "The mechanism as a film"},
    {"name": "export_gif", "label": "Save film (GIF)", "title": "The mechanism, for slides"},
]


class Taken(Answers, Protocol):
    """What can be taken away from a panel."""

    saved: ClassVar[str]

    def table(self) -> str:
        """Return the numbers as CSV."""

    def drawing(self) -> Picture:
        """Return the picture."""


def taken(panel: Taken, action: str) -> Message | None:
    """Return the message of an action that takes something away, None for any other action."""
    session = panel.session
    match action:
        case "copy_code":
            return {"type": "clipboard", "text": session.code(), "said": "Python copied."}
        case "copy_state":
            said = "State copied: paste it into 'Load state'."
            return {"type": "clipboard", "text": session.to_json(), "said": said}
        case "copy_link":
            text, said = session.to_json(), "Link copied."
            return {"type": "clipboard", "text": text, "said": said, "link": True}
        case "export_csv":
            return _file(f"{panel.saved}.csv", panel.table())
        case "export_html":
            return _file(f"{panel.saved}.html", panel.drawing().page())
        case "export_twin":
            return _file(f"{panel.saved}_twin.html", static_twin(panel).page())
    return None


def _file(name: str, text: str) -> Message:
    return {"type": "file", "name": name, "mime": f"text/{name.rpartition('.')[2]}", "text": text}
