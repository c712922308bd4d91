"""Many problems at once: the same goals with other targets, on threads or a GPU."""

from exactik.solvers.batch._batch import solve_batch
from exactik.solvers.batch._path import settle_path
from exactik.solvers.batch._result import BatchResult

__all__ = ["BatchResult", "settle_path", "solve_batch"]
