"""Which parameters of a test everyone runs, and which only `make test-all` does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def first_quick(values: Iterable[Any], count: int = 1) -> list[Any]:
    """The same parameters, of which all but the first few are marked `full`."""
    listed = list(values)
    return [*listed[:count], *(pytest.param(v, marks=pytest.mark.full) for v in listed[count:])]
