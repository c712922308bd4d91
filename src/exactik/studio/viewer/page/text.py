"""Text for the page."""

from __future__ import annotations


def escape_markdown(text: str) -> str:
    """Return a text in which nothing is markup."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#|!" else c for c in text)
