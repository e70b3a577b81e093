"""Cards of the gallery: what each model is called, what it teaches, and a short film of it.

A film holds the frames of a run as whole numbers, thousandths of its picture: on a thumbnail no
more is seen. Those of our models are made once and shipped in a file, so that the gallery opens
without a run; `python tests/stored_films.py` compares them with fresh ones.
"""

from __future__ import annotations

import gzip
import json
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import TypedDict

import numpy as np

from explorer.dispatch.simulate import simulate
from explorer.references import entry
from explorer.results.solution import Solution
from explorer.systems import System
from explorer.types import Plain
from explorer.views.drawing.decimate import fine
from explorer.views.mechanism import LeanFilm, frames, lean

__all__ = ["PARTS", "Card", "as_film", "card", "label", "shipped", "written"]

FILE = Path(__file__).parent / "films.json.gz"
PARTS = 1000  # of the larger side of the picture
_FRAMES, _FEW, _NUMBERS = 110, 50, 8000  # of a film: at most, at least, and of all of its points
_DROPPED = ("label", "grip", "unit", "most")  # of an item, on a thumbnail
_ITERATES = 30  # of a map
_TURNS = 16  # what goes to and fro more often is shown as far as it is followed


class Card(TypedDict):
    """What stands on a card; the film is None if nothing can be drawn."""

    title: str
    text: str
    presets: list[list[str]]  # name and text of each
    words: list[str]  # further ones that a search finds
    film: Plain | None


def card(system: System) -> Card:
    """Return the card of a system; it runs once."""
    return {**label(system), "film": short(system)}


def label(system: System) -> Card:
    """Return the card of a system without its film."""
    return {
        "title": system.name[:1].upper() + system.name[1:],
        "text": system.text,
        "presets": [[name, str(preset["text"])] for name, preset in system.presets.items()],
        "words": _words(system),
        "film": None,
    }


def _words(system: System) -> list[str]:
    laws = {
        "impact": system.contacts,
        "friction": system.rough,
        "constraint": system.constraints,
    }
    authors = [entry(key).authors for key in system.references]
    return [type(system).__name__, *(name for name, law in laws.items() if law), *authors]


def short(system: System) -> Plain | None:
    """Return the film of the usual run, or of the first preset in which something moves."""
    still = None
    for settings in ({}, *system.presets.values()):
        given = {k: x for k, x in settings.items() if k != "text"}
        run = _run(system, given)
        if run is not None and (end := _followed(run)) < 0.9 * run.t[-1]:
            run = _run(system, given | {"t_end": end})
        film = None if run is None else _film(run)
        if film is not None and (len(film["moving"]) or _changes(film)):
            return packed(film)
        still = still or film
    return None if still is None else packed(still)


def _changes(film: LeanFilm) -> bool:
    """Whether what an item shows changes."""
    return bool((film["values"] != film["values"][:1]).any())


def _followed(run: Solution) -> float:
    """Return the time up to which a run turns so seldom that a short film can tell."""
    if run.system.discrete:
        return float(min(_ITERATES, run.t[-1]))
    run = fine(run)
    turns = [_turns(x, 0.2 * float(np.ptp(x))) for x in run.q.T if np.ptp(x) > 0]
    return float(min([run.t[-1], *(run.t[rows[_TURNS]] for rows in turns if len(rows) > _TURNS)]))


def _film(run: Solution) -> LeanFilm | None:
    film = frames(run, 20.0)
    if film is not None and run.system.discrete and run.system.straight:
        film["t"], film["xy"] = map(_halfway, (film["t"], film["xy"]))
        film["values"] = _halfway(film["values"])
    return lean(film)


def _halfway(values: np.ndarray) -> np.ndarray:
    """Return rows with the means of neighbours between them."""
    found = np.repeat(values, 2, axis=0)[:-1]
    found[1::2] = (values[:-1] + values[1:]) / 2
    return found


def _run(system: System, settings: Plain) -> Solution | None:
    """Return a run, None if it fails: a card without a picture is a card."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = simulate(system, throw=False, **settings)
    except Exception:  # a model's own code may throw anything
        return None
    return run if run.status.ok else None


def packed(film: LeanFilm) -> Plain:
    """Return a film as plain data: changes from frame to frame, without names and arrows."""
    left, right, bottom, top = film["box"]
    part = max(right - left, top - bottom) / PARTS
    at = _chosen(film["t"], film["xy"], part)
    t, xy = film["t"][at].astype(float), film["xy"][at].astype(float)
    span = float(t[-1]) or 1.0
    origin = np.tile([left, bottom], len(film["still"]) // 2)
    moves = np.rint((xy - origin[film["moving"]]) / part).astype(int)
    items: list[Plain] = [
        {k: x for k, x in item.items() if k not in _DROPPED and (x or k == "value")}
        | ({"radius": float(f"{item['radius']:.4g}")} if item["radius"] else {})
        for item in film["items"]
    ]
    first = np.rint((film["still"].astype(float) - origin) / part).astype(int)
    return {
        "box": [float(f"{x:.5g}") for x in film["box"]],
        "t": np.diff(np.rint(t / span * 10 * PARTS), prepend=0).astype(int).tolist(),
        "span": float(f"{span:.5g}"),
        "items": items,
        "still": np.diff(first.reshape(-1, 2), axis=0, prepend=0).ravel().tolist(),
        "moving": film["moving"].tolist(),
        "moves": np.diff(moves, axis=0, prepend=0).T.tolist(),
        "values": np.diff(_parts(film, at), axis=0, prepend=0).T.tolist(),
    }


def _parts(film: LeanFilm, at: np.ndarray) -> np.ndarray:
    """Return what items show in some frames, in thousandths of the largest of each column."""
    values = np.nan_to_num(film["values"][at].astype(float))
    largest = np.ones(values.shape[1])
    for item in film["items"]:
        if "value" in item:
            largest[item["value"]] = item["most"] or 1.0
    return np.asarray(np.rint(PARTS * values / largest), int)


def _chosen(t: np.ndarray, xy: np.ndarray, part: float) -> np.ndarray:
    """Return which frames are shown: as many as can be followed, both sides of a jump among them.

    What turns more often than the frames can tell would seem to go another way.
    """
    end, frames = len(t), int(np.clip(_NUMBERS / max(xy.shape[1], 1), _FEW, _FRAMES))
    most = _TURNS * frames // _FRAMES
    for column in xy.T:
        turns = _turns(column, 20 * part)
        if len(turns) > most:
            end = min(end, int(turns[most]) + 1)
    at = np.unique(np.rint(np.linspace(0, end - 1, min(end, frames))).astype(int))
    jumps = np.flatnonzero(np.diff(t[:end]) < 1e-3 * (t[end - 1] - t[0]) / _FRAMES)
    return np.unique(np.concatenate([at, jumps, jumps + 1]))


def _turns(x: np.ndarray, least: float) -> np.ndarray:
    """Return the rows at which a number turns back by at least so much."""
    found, way, best = [], 0, 0
    for i in range(1, len(x)):
        change = x[i] - x[best]
        if way * change >= 0 and (way or abs(change) >= least):
            way, best = way or int(np.sign(change)), i
        elif abs(change) >= least:
            found.append(best)
            way, best = -way, i
    return np.array(found, int)


def as_film(stored: Plain) -> LeanFilm:
    """Return a film as a panel sends it."""
    box = stored["box"]
    left, right, bottom, top = box
    part = max(right - left, top - bottom) / PARTS
    origin = np.tile([left, bottom], len(stored["still"]) // 2)
    moving = np.array(stored["moving"], int)
    moves = np.cumsum(
        np.array(stored["moves"], int).reshape(len(moving), len(stored["t"])), axis=1
    ).T
    first = np.cumsum(np.array(stored["still"]).reshape(-1, 2), axis=0)
    t = np.cumsum(stored["t"]) * stored["span"] / (10 * PARTS)
    common = {"closed": False, "radius": 0.0, "most": 1.0}
    columns = stored.get("values", [])
    values = np.cumsum(np.array(columns, int).reshape(len(columns), len(t)), axis=1).T
    return {
        "t": t.astype(np.float32),
        "xy": (origin[moving] + part * moves).astype(np.float32),
        "still": (origin + part * first.ravel()).astype(np.float32),
        "moving": moving,
        "box": box,
        "unit": "",
        "items": [{**common, **item} for item in stored["items"]],  # type: ignore[typeddict-item]
        "arrows": None,
        "values": (values / PARTS).astype(np.float32),
        "ghosts": [],
    }


@cache
def shipped() -> dict[str, Card]:
    """Return the cards of our models."""
    cards: dict[str, Card] = json.loads(gzip.decompress(FILE.read_bytes()))
    return cards


def written(models: Iterable[tuple[str, Callable[..., System]]]) -> bytes:
    """Return the file of the cards of some models."""
    cards = {name: card(build()) for name, build in models}
    return gzip.compress(json.dumps(cards, separators=(",", ":")).encode(), mtime=0)
