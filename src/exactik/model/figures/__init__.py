"""The built-in figures."""
