"""The records of the event-driven kernels: functions, guards, surfaces, events, and their codes.

Each is one `np.dtype`; the tuples that hold them are in `structures`, beside this file.
"""

from typing import Annotated, Any, get_args

import numpy as np

from explorer.kernels.memory import FUNCTION
from explorer.kernels.structures import rows_of

INT, FLOAT = np.int64, np.float64

# methods of integration
DOPRI5, DOP853, RADAU, NEWMARK = range(4)
# rows of the table of functions of a mechanical system
DYNAMICS, CONTACTS, GAPS, STEP, IMPACT, GAPS_BY_RHO, DRIFT = range(7)
CHANGES, CHANGES_BY_ALL = 7, 8  # only where constraints change
SAMPLES = 8  # of every guard in a step
REST_SHARE = 1e-5  # impacts that would be over in this part of a run are over
# bits of a guard's flags
BOUNDS, TERMINAL, HAS_WHEN, IDENTITY = 1, 2, 4, 8
# a guard that has passed its zero fires no more until it was seen on its side again
PASSED, UNARMED, ARMED, LEAVING = -1, 0, 1, 2
# Constraints are held at acceleration level, and states are put on them after each step; or at each
# stage too; or stiff springs and dampers hold them
INDEX1, PROJECTED, PENALTY = range(3)
# kinds of events
CROSSING, STRIKE, CLOSING, RELEASE, ACCUMULATION, SLIDING, STICKING, REVERSAL = range(8)
NONE, HIDDEN = -1, -2  # no guard fires; samples do not show the guards
# how an event happened that is beyond its zero: because of the one before, or of inputs that change
CHAINED, DRIVEN = 2, 3

STATE = np.dtype(
    [
        ("mode", INT),
        ("held", INT),  # how many rows are held
        # the guard whose event has just happened (-1: of another mode, -2: none; from the number of
        # guards on: one that is left, or a contact that let go)
        ("fired", INT),
        ("watched", INT),  # the mode whose guards the watches are of
        ("moments", INT),  # how many had several continuations
        ("form", INT),  # how constraints are held: INDEX1, PROJECTED or PENALTY
        ("fault", INT),  # the constraint that could not begin to hold, or contradicts others
        ("dependent", INT),  # how many constraints have a gradient that depends on others
        ("ahead", FLOAT),  # how far is looked ahead where nothing moves or presses yet, s
    ]
)
CHANGE = np.dtype(
    [
        ("side", INT),  # sign of the guard that constraints are held by, 0: not yet known
        # 1, -1: on this side its guard is watched no more; 0: on none. So what a force has released
        # stays released, and what begins to hold on its own phi stays held
        ("last", INT),
    ]
)
LINK = np.dtype(
    [
        ("change", INT),  # on which a constraint depends, -1: it always holds
        ("sign", INT),  # the side on which it holds
    ]
)
ROW = np.dtype(
    [
        ("closed", INT),  # 1: it is held: a closed normal, or a tangent that sticks
        ("sigma", INT),  # of a tangent, the sign of its sliding velocity; 0: it does not slide
    ]
)
SIDE = np.dtype(
    [
        ("place", INT),  # in `inp`
        ("now", INT),  # +1, -1 of a sign, 2 n + 1 of floor(u) = n, 0: free
    ]
)
GUARD = np.dtype(
    [
        ("direction", INT),  # of its zeros: -1 falling, 1 rising, 0 both
        ("to", INT),  # the mode that follows
        ("flags", INT),  # bits: BOUNDS, TERMINAL, HAS_WHEN, IDENTITY
        ("beyond", INT),  # the mode behind an accumulation, -1: none
        ("branches", INT),  # how many modes may follow by conditions, 0: `to` does
        ("conditions", INT),  # row of the table of functions with these conditions
        ("branch", INT),  # the first of them
        ("same", INT),  # which guard of the mode that follows has the same zero, -1: none
    ]
)
BRANCH = np.dtype(
    [
        ("to", INT),  # the mode
        ("left", INT),  # which of its guards is left, -1: none
        ("first", INT),  # its first condition
        ("last", INT),  # one past its last condition
    ]
)
LAST = np.dtype(
    [("first", FLOAT), ("second", FLOAT), ("third", FLOAT)]
)  # times back of a guard's events, s
WATCH = np.dtype(
    [
        ("sign", FLOAT),  # 1: it fires where it falls through zero, -1: where it rises
        ("shift", FLOAT),  # taken as its zero
        ("arm", INT),  # PASSED, UNARMED, ARMED or LEAVING
        ("nearest", FLOAT),  # value of its nearest miss
        ("miss_at", FLOAT),  # time of it, s
        ("falling", INT),  # 1: the step before has ended while it fell
    ]
)
SURFACE = np.dtype(
    [
        ("whole", INT),  # 1: floor(u) is meant and not the sign of u
        ("value", FLOAT),  # u at the start of a stretch
        ("size", FLOAT),  # the largest |u| seen
        ("crossed", FLOAT),  # time of the last crossing, s
        ("quick", INT),  # how many crossings came soon after the one before
    ]
)
FOUND = np.dtype(
    [
        ("fraction", FLOAT),  # of the step, at which a guard fires
        ("blur", FLOAT),  # how badly the samples show the guards; > 1: not
        ("least", FLOAT),  # least value of a guard near a miss
        ("slope", FLOAT),  # of the guard at its zero, per step
        ("length", FLOAT),  # of the step to the event, s
        ("status", INT),  # why a step to a surface failed
    ]
)
COEFFICIENTS = np.dtype(
    [
        ("alpha_m", FLOAT),
        ("alpha_f", FLOAT),
        ("beta", FLOAT),
        ("gamma", FLOAT),
        ("interpolated", INT),  # 1: forces are interpolated between the ends, 0: taken between them
        ("weight", FLOAT),  # of the local error, 1 / m (0: fixed steps)
        ("most", INT),  # iterations
        ("begun", FLOAT),  # a0 is carried for the step that begins there, s
        ("length", FLOAT),  # of that step, s
        ("error", FLOAT),  # of the last step in units of its tolerance
    ]
)
EVENT = np.dtype(
    [
        ("t", FLOAT),  # s
        ("D", FLOAT),  # dr/dt = r_t + r_x f- of its guard r
        ("rest", FLOAT),  # how long its accumulation still takes, s; 0: it is none
        ("r_t", FLOAT),
        ("bend", FLOAT),  # d2r/dt2 before it
        # number of the guard among all; or of the contact, and behind them of the constraint
        ("guard", INT),
        ("kind", INT),  # CROSSING, STRIKE, ...
        ("before", INT),
        ("after", INT),  # modes
        ("step", INT),  # number of the first step behind it
        ("together", INT),  # how many guards fired together
        # 0: reached by the flow, 1: on its zero at once, CHAINED or DRIVEN: beyond it at once
        ("how", INT),
    ]
)
TRACK = np.dtype(
    [
        ("near", INT),  # attractor that the last point was next to
        ("streak", INT),  # for how many points in a row
        ("outside", INT),  # how many points in a row lay outside the box
    ]
)
PROGRESS = np.dtype(
    [
        ("t", FLOAT),
        ("h", FLOAT),  # time and next step, s
        ("steps", INT),
        ("events", INT),
        ("evaluations", INT),
        ("rejected", INT),  # how many
        ("failed", INT),  # 1: the step before was rejected
        ("fresh", INT),  # 1: a stretch begins: slopes, guards and watches have to be set
        ("repeated", INT),  # how many events in a row have had the same time
        ("stiff", INT),
        ("calm", INT),  # how many steps beyond the limit of stability, and within
        ("blurred", INT),  # how many steps in a row whose samples did not show the guards
        ("wary", INT),  # 1: the step before was near the limit of stability,
        ("error", FLOAT),  # with this error in units of the tolerance,
        ("length", FLOAT),  # and this length, s
        ("interval", INT),  # of the inputs,
        ("stop", FLOAT),  # and its end, s
        ("at", INT),  # of a start that makes no sense the contact, of UNMADE the mode
    ]
)
RANK = np.dtype(
    [
        ("sign", FLOAT),  # of the determinant of the dependent coordinates
        ("last", FLOAT),  # pivot beside the first one
        ("lost", FLOAT),  # time at which the constraints lose rank, s
    ]
)
HOLD = np.dtype(
    [
        ("prior", INT),  # 1: the row was held before the event
        ("speed", FLOAT),  # gap' of a normal, sliding velocity of a tangent, m/s
    ]
)


def _rows(dtype: np.dtype) -> Any:
    """Return the numba type of a vector of records."""
    return get_args(rows_of(dtype))[1]


# vectors of them, as annotations
FunctionRows = Annotated[np.ndarray, _rows(FUNCTION)]
StateRow = Annotated[np.ndarray, _rows(STATE)]
HeldRows = Annotated[np.ndarray, _rows(ROW)]
ChangeRows = Annotated[np.ndarray, _rows(CHANGE)]
LinkRows = Annotated[np.ndarray, _rows(LINK)]
SideRows = Annotated[np.ndarray, _rows(SIDE)]
GuardRows = Annotated[np.ndarray, _rows(GUARD)]
BranchRows = Annotated[np.ndarray, _rows(BRANCH)]
LastRows = Annotated[np.ndarray, _rows(LAST)]
WatchRows = Annotated[np.ndarray, _rows(WATCH)]
SurfaceRows = Annotated[np.ndarray, _rows(SURFACE)]
FoundRow = Annotated[np.ndarray, _rows(FOUND)]
TrackRow = Annotated[np.ndarray, _rows(TRACK)]
CoefficientRow = Annotated[np.ndarray, _rows(COEFFICIENTS)]
EventRows = Annotated[np.ndarray, _rows(EVENT)]
ProgressRow = Annotated[np.ndarray, _rows(PROGRESS)]
PriorRows = Annotated[np.ndarray, _rows(HOLD)]
RankRow = Annotated[np.ndarray, _rows(RANK)]
