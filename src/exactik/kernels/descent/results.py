"""What is kept of a solve: one row of numbers per frame of a recording or per problem of a batch.

    RESULT_STATUS               how the chosen descent ended, a status of `state`
    RESULT_COST                 ½ rᵀWr; of a frame with the robust loss and the posture in it
    RESULT_PROJECTED_GRADIENT   relative
    RESULT_ITERATIONS, RESULT_EVALUATIONS   summed over all descents

A frame has these alone; a problem, which may be tried from several starts, also

    RESULT_REACHED    1 where every goal is within its tolerance
    RESULT_ATTEMPTS   number of starts tried
    RESULT_CYCLES     time spent, in units of `cycle_counter`
"""

from __future__ import annotations

RESULT_STATUS, RESULT_COST, RESULT_PROJECTED_GRADIENT = range(3)
RESULT_ITERATIONS, RESULT_EVALUATIONS, FRAME_RESULT_SIZE = range(3, 6)
RESULT_REACHED, RESULT_ATTEMPTS, RESULT_CYCLES, RESULT_SIZE = range(5, 9)
