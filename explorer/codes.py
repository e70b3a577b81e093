"""Codes of how a run ended, as kernels return them; `status` has the words.

Compiled kernels depend on this file, and not on the words.
"""

SUCCESS = 0
LCP_RAY = 1
LCP_ITERATIONS = 2
NEWTON_CAP = 3
NOT_FINITE = 4
SINGULAR = 5
INDEFINITE = 6
STEP_CAP = 7
EVENT_CAP = 8
STIFF = 9
ZENO = 10
CHATTERING = 11
ACCUMULATION = 12
ELEMENT_CAP = 13
MORE_SWITCHES = 14
NO_ACTIVE_SET = 15
SWITCH_CAP = 16
NOT_MET = 17
RANK_LOST = 18
CONTRADICTORY = 19
