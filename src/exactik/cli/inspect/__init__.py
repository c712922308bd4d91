"""`exactik inspect`."""
