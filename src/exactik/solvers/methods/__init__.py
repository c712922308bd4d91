"""The methods: compiled ones in one file, each family of those written in Python in one."""

from exactik.solvers.methods._coleman_li import (
    find_length_to_sphere,
    make_model,
    release_from_limits,
)
from exactik.solvers.methods._compiled import (
    CCD,
    Auto,
    GaussNewton,
    LevenbergMarquardt,
    Newton,
    ProjectedGradient,
)
from exactik.solvers.methods._damped_least_squares import DampedLeastSquares, solve_damped
from exactik.solvers.methods._jacobian_method import (
    SAFE_STEP_SHARE,
    JacobianMethod,
    JacobianStepper,
)
from exactik.solvers.methods._jacobian_transpose import JacobianTranspose
from exactik.solvers.methods._line_search import search_wolfe
from exactik.solvers.methods._newton_higham import NewtonHigham
from exactik.solvers.methods._newton_pcg import (
    BandedPreconditioner,
    NewtonPCG,
    minimise_in_ball,
    minimise_in_plane,
    solve_steihaug,
)
from exactik.solvers.methods._projected_cg import ProjectedCG
from exactik.solvers.methods._pseudo_inverse import PseudoInverse, invert_by_qr, invert_by_svd
from exactik.solvers.methods._quasi_newton import (
    BFGS,
    LBFGS,
    DenseInverse,
    LimitedMemory,
    QuasiNewtonStepper,
)
from exactik.solvers.methods._two_metric import compute_open_step, find_blocked_dofs, snap_to_limits
