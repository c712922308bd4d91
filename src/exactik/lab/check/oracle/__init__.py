"""An independent judge of every derivative: forward kinematics and goals written a second time.

It works by second-order automatic differentiation of elementary operations and shares no code with
the kernels: nothing here knows a Jacobian column, a cross product with a lever arm, or a subtree
sum. It is slow (milliseconds) and exact, and `exactik check` runs it against the fast code.
"""

from exactik.lab.check.oracle._evaluate import (
    OracleAnswer,
    evaluate,
    point_jacobian,
    point_jacobian_dot,
)
from exactik.lab.check.oracle._goals import differentiate, expand_frame_goal
from exactik.lab.check.oracle.jet import Jet
from exactik.lab.check.oracle.kinematics import forward
