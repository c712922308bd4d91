"""Many problems at once: the same goals with other targets, on threads."""

from exactik.batch._batch import BatchResult, solve_batch

__all__ = ["BatchResult", "solve_batch"]
