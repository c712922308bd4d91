"""The version, for all that is written into files."""

__version__ = "0.3.0"
