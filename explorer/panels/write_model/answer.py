"""What answers the browser from a typed model: fields, what was read, the explore picture."""

from __future__ import annotations

from typing import cast

from explorer.errors import ExplorerError
from explorer.models import models
from explorer.panels.actions import ACTIONS
from explorer.panels.answer import SessionAnswer
from explorer.panels.messages import Group, Message, Schema
from explorer.panels.write_model.fields import KINDS
from explorer.panels.write_model.module import module
from explorer.panels.write_model.state import WriteSession
from explorer.panels.write_model.writing import WRITTEN
from explorer.types import Plain

__all__ = ["WriteAnswer"]

_EXPORT = {
    "name": "export_model",
    "label": "Save model file (Python)",
    "title": "These equations as a Python file, which runs as it is",
}


class WriteAnswer(SessionAnswer):
    """Answers the browser from a session whose model is typed."""

    session: WriteSession
    saved = "model"

    def schema(self) -> Schema:
        schema = super().schema()
        schema["actions"] = [_EXPORT, *ACTIONS]
        kinds = [
            {"name": name, "label": kind.label, "fields": [vars(f) for f in kind.fields]}
            for name, kind in KINDS.items()
        ]
        write = {"kinds": kinds, "models": _begins(), **self._told()}
        return cast(Schema, {**schema, "write": write})

    def groups(self) -> list[Group]:
        """Return the groups of controls; the text decides on the model."""
        groups = super().groups()
        for group in groups:
            group["controls"] = [c for c in group["controls"] if c["key"] != "model"]
        return [g for g in groups if g["controls"]]

    def _told(self, count: object = None) -> Plain:
        """Return what was typed, what is wrong with it, and how it reads as mathematics."""
        session = self.session
        return {
            "kind": session.kind,
            "texts": session.texts,
            "errors": session.draft.errors,
            "shown": session.draft.shown,
            "mark": session.mark,
            "count": count,
            "ran": session.page == (session.kind, session.texts),
        }

    def do(self, action: str, value: object) -> list[Message]:
        session, refused = self.session, ""
        given: Plain = value if isinstance(value, dict) else {}
        self.answering = True
        try:
            match action:
                case "type" | "write":
                    session.type(given.get("kind", ""), given.get("texts", {}))
                    if action == "write" and not session.draft.errors:
                        session.run()
                case "kind":
                    session.choose(str(value))
                    if not session.draft.errors:
                        session.run()
                case "begin":
                    session.begin(str(value))
                case "export_model":
                    name, text = module(session)
                    mime = "text/x-python"
                    return [{"type": "file", "name": name, "mime": mime, "text": text}]
                case _:
                    return super().do(action, value)
        except ExplorerError as error:
            refused = str(error)
        except Exception as error:  # of a run: equations that anybody types may throw anything
            refused = f"{type(error).__name__}: {error}."
        finally:
            self.answering = False
        told = {"type": "written", **self._told(given.get("count")), "refused": refused}
        if action == "type" or refused or session.draft.errors:
            return [told]
        return [told, {"type": "schema", **self.schema()}, {"type": "frame", **self.frame()}]


def _begins() -> list[list[str]]:
    """Return the models of the gallery that one may begin from, by name and label."""
    found = []
    for name, build in models.items():
        made = build.__annotations__.get("return")
        if getattr(made, "__name__", made) in WRITTEN:
            found.append([name, name.replace("_", " ")])
    return found
