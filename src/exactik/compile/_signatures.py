"""What Python calls kernels with: types of arguments as text, and the list of those in use.

    "float64[2]"            array of two dimensions, C-contiguous, that the kernel may write to
    "const uint32[1]"       array that was seen read-only, so the kernel only reads it
    "float64" "int64" "bool"    a number
    ["…", "…"]              a tuple of such arguments
    {"Tree": ["…", …]}      a named tuple; `classes` of the list says where its class is

`signatures.json` beside this module holds the list; `python tools/signatures.py` makes it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

SIGNATURES = Path(__file__).with_name("signatures.json")


class Signature(NamedTuple):
    """One way in which Python calls a kernel."""

    kernel: str
    """"module:function"."""
    arguments: list[Any]
    """Texts as above."""


def read_signatures() -> tuple[list[Signature], dict[str, str]]:
    """Return all signatures, and "module:Name" of each named tuple by its name."""
    text = json.loads(SIGNATURES.read_text("utf-8"))
    return [Signature(*row) for row in text["signatures"]], text["classes"]


def parse_array(kind: Any) -> tuple[str, int, bool] | None:
    """Return dtype, number of dimensions and whether it may be read-only; None for no array."""
    if not (isinstance(kind, str) and kind.endswith("]")):
        return None
    dtype, _, dimensions = kind.removeprefix("const ").partition("[")
    return dtype, int(dimensions[:-1]), kind.startswith("const ")


def list_fields(kind: Any) -> list[Any] | None:
    """Return the parts of a tuple; None for arrays and numbers."""
    if isinstance(kind, dict):
        return next(iter(kind.values()))
    return kind if isinstance(kind, list) else None
