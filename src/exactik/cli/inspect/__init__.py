"""`exactik inspect`."""

from exactik.cli.inspect._command import inspect

__all__ = ["inspect"]
