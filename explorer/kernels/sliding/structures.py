"""What the functions of modes read behind their data pointer.

The words of a task are one TASK, then what it is about: of guards `count` rows of GUARD, of
conditions `count` rows of FOLLOWER and behind them the functions of all, one follower's after the
other's. The words of a model are one MODEL, the roots of all modes, and their signs.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, NamedTuple, get_args

import numpy as np

from explorer.kernels.jit import kernel
from explorer.kernels.memory import FUNCTION, integers, records, table, words_of
from explorer.kernels.structures import Integers, Numbers, Table, rows_of

__all__ = ["FOLLOWER", "GUARD", "MODEL", "TASK", "FollowerRows", "GuardRows", "Model", "ModelRow"]

TASK = np.dtype(
    [
        ("kind", np.int64),  # what is to be written
        ("model", np.int64),  # address of its words
        ("mode", np.int64),
        ("count", np.int64),  # rows behind
    ]
)
GUARD = np.dtype([("function", np.int64), ("kind", np.int64)])  # kind: SIDE, LOW, HIGH or FOLD
FOLLOWER = np.dtype(  # a mode that may follow
    [
        ("mode", np.int64),
        ("left", np.int64),  # the function of a slide that is left and has to attract; or -1
        ("count", np.int64),  # functions: of which the slide was, or that have to hold
    ]
)
MODEL = np.dtype(
    [
        ("n", np.int64),  # states
        ("n_c", np.int64),  # surfaces
        ("n_rho", np.int64),  # parameters
        ("modes", np.int64),
        ("scratch", np.int64),  # where scratch memory begins in the input vector
        ("rho", np.int64),  # and where the parameters
        ("f", FUNCTION),  # x'
        ("f_all", FUNCTION),  # with its derivatives
        ("rate", FUNCTION),  # dc/dt
        ("rate_all", FUNCTION),  # with its derivatives
        ("c_all", FUNCTION),  # c, with its derivatives
    ]
)
TASK_WORDS, MODEL_WORDS = TASK.itemsize // 8, MODEL.itemsize // 8
FOLLOWER_WORDS = FOLLOWER.itemsize // 8

ModelRow = Annotated[np.ndarray, get_args(rows_of(MODEL))[1]]
GuardRows = Annotated[np.ndarray, get_args(rows_of(GUARD))[1]]
FollowerRows = Annotated[np.ndarray, get_args(rows_of(FOLLOWER))[1]]

tasks, models = records(TASK), records(MODEL)
guards, followers = records(GUARD), records(FOLLOWER)


class Model(NamedTuple):
    """A model, and its modes."""

    head: ModelRow  # (1,)
    roots: Integers  # (modes,) which of several solutions
    signs: Table  # (modes, n_c) sides of the surfaces; 0: it slides


@kernel(inline=True)
def model_at(words: Numbers) -> Model:
    """Return the model whose words begin at a pointer."""
    head = models(words, 0, 1)
    count, n_c = head[0].modes, head[0].n_c
    signs = table(words, MODEL_WORDS + count, count, n_c)
    return Model(head, integers(words, MODEL_WORDS, count), signs)


def model_words(head: np.ndarray, sets: Sequence[tuple[Sequence[int], int]]) -> np.ndarray:
    """Return the words of a model with modes of signs (n_c,) and a root each."""
    signs = np.array([one for one, _ in sets], np.int64)
    return words_of(head, np.array([root for _, root in sets], np.int64), signs)


def task_words(
    kind: int, model: int, mode: int, rows: np.ndarray, functions: Iterable[int] = ()
) -> np.ndarray:
    """Return the words of a task; `rows` are those of GUARD or FOLLOWER."""
    head = np.array([(kind, model, mode, len(rows))], TASK)
    return words_of(head, rows, np.array([*functions], np.int64))
