"""The array types of annotations; shapes, units and frames stand in the docstrings.

`IndexArray` is for the packed arrays of the kernels, see `kernels.tree.packed`.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "BoolArray", "IndexArray", "IntArray"]

Array: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
IntArray: TypeAlias = NDArray[np.int64]
IndexArray: TypeAlias = NDArray[np.uint32]
