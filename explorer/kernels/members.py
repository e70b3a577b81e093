"""Numbers that the ensembles of all rooms share: where sections lie, and what members came to."""

__all__ = ["APART", "BY_EVENT", "BY_PERIOD", "ESCAPED", "FREE", "NOWHERE"]

NOWHERE, BY_EVENT, BY_PERIOD = range(3)  # where the points of a section lie
APART = -9  # the code of a member that an ensemble leaves to be run by itself
FREE, ESCAPED = -1, -2  # beside the number of the attractor that a member has come to
