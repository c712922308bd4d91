"""`exactik inspect`."""

from exactik.cli.inspect._command import format_table, inspect
from exactik.cli.inspect._screen import format_facts, format_headline, format_seconds
from exactik.cli.inspect._tree import draw_tree, format_limits
