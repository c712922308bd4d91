"""Other tools, each in an environment of its own, on the same tasks, scored by the same judge."""
