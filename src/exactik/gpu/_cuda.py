"""numba.cuda, imported in one place; on a machine without a GPU it may be its simulator."""

from __future__ import annotations

from typing import Any

import numba.cuda  # noqa: TID253 (this module is imported when a GPU is asked for)
from numba import config

__all__ = ["IS_SIMULATED", "cuda"]

cuda: Any = numba.cuda  # its annotations do not know how kernels are launched
IS_SIMULATED = bool(getattr(config, "ENABLE_CUDASIM", False))
