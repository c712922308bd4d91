"""`exactik inspect`."""

from exactik.cli.inspect._command import inspect
from exactik.cli.inspect._screen import format_facts, format_headline, format_seconds
from exactik.cli.inspect._table import format_table
from exactik.cli.inspect._tree import draw_tree, format_limits
