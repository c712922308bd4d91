"""The field: every tool in an environment of its own, on the same tasks, before the same judge."""
