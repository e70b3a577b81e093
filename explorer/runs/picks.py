"""What is taken where the solution of a switched system is not unique, as a knob says it."""

from __future__ import annotations

from explorer.errors import BadValue

__all__ = ["Picks"]


class Picks:
    """A scheme with the knob `picks`: numbers of continuations, "-" leaves one to the rule."""

    picks: str

    def check_picks(self) -> None:
        """Refuse what is neither.

        Raises
        ------
        BadValue
        """
        if not all(part == "-" or part.isdigit() for part in self._parts):
            raise BadValue(
                f"{type(self).__name__}: picks = {self.picks!r} must be numbers of continuations, "
                "as in '1' or '-, 2'; '-' keeps the default choice."
            )

    @property
    def picked(self) -> tuple[int, ...]:
        """Numbers of `picks`, -1 for what is left to the rule."""
        if not self.picks:  # as most runs
            return ()
        return tuple(-1 if part == "-" else int(part) for part in self._parts)

    @property
    def _parts(self) -> list[str]:
        return self.picks.replace(",", " ").split()
