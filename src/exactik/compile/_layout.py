"""Where Python and NumPy keep what an entry of the library reads: checked, never assumed.

An entry gets the tuple of arguments and reads addresses, shapes and types from the objects
themselves, so a call costs no packing. The places are words of `exactik_layout` in the library,
which the loader fills. It finds them from the sizes of the objects' heads and compares each with
what Python says of probing objects; where one differs, no library is used.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

DTYPES = ("float64", "uint32", "int64", "uint8", "bool")

# Words of `exactik_layout`: offsets [bytes], the type of arrays, and of each dtype the word that
# tells it from others. Objects of dtypes differ between processes and after pickling.
(TYPE, SIZE, ITEMS, TYPE_FLAGS, ARRAY_TYPE, DATA, DIMENSIONS, SHAPE, DTYPE, FLAGS, DTYPE_WORD) = (
    range(11)
)
FIRST_DTYPE = DTYPE_WORD + 1
LAYOUT_SIZE = FIRST_DTYPE + len(DTYPES)

DTYPE_MASK = 0xFFFFFFFF_00FFFFFF
"""Kind, character, byte order and number of a dtype; not its flags, which pickling may change."""
TUPLE_FLAG = 1 << 26
"""Flag of types that are tuples or made from them (Py_TPFLAGS_TUPLE_SUBCLASS)."""
CONTIGUOUS_AND_ALIGNED, WRITEABLE = 0x0101, 0x0400
"""Flags of NumPy's arrays."""

NOT_AS_COMPILED = -100
"""An entry returns this, having done nothing, if an argument is not what it was compiled for."""


class LayoutError(Exception):
    """Objects of this Python or NumPy are not where a library would look."""


def find_layout() -> list[int]:
    """Return the words of `exactik_layout`."""
    head = object.__basicsize__
    words = [head - 8, head, tuple.__basicsize__, _find_type_flags(), id(np.ndarray)]
    words += [head, head + 8, head + 16, head + 40, head + 48, head + 8]
    arrays = [np.zeros((3, 5, 7)), np.zeros((11, 13), np.float32)[:, ::2], np.zeros(0, np.uint32)]
    arrays[2].flags.writeable = False
    for array in arrays:
        at = id(array)
        shape = _word(at + words[SHAPE])
        flags = CONTIGUOUS_AND_ALIGNED if array.flags.c_contiguous else 0x0100
        flags |= WRITEABLE if array.flags.writeable else 0
        _require(_word(at + words[TYPE]) == id(np.ndarray))
        _require(_word(at + words[DATA]) == array.ctypes.data)
        _require(_half(at + words[DIMENSIONS]) == array.ndim)
        _require(tuple(_word(shape + 8 * i) for i in range(array.ndim)) == array.shape)
        _require(_word(at + words[DTYPE]) == id(array.dtype))
        _require(_half(at + words[FLAGS]) & 0x0501 == flags)
    pair = (arrays[0], words)
    _require(_word(id(pair) + words[SIZE]) == 2)
    _require([_word(id(pair) + words[ITEMS] + 8 * i) for i in (0, 1)] == [id(p) for p in pair])
    for name in DTYPES:
        dtype = np.dtype(name)
        word = _word(id(dtype) + words[DTYPE_WORD]) & DTYPE_MASK
        _require(word & 0xFFFF == ord(dtype.kind) | ord(dtype.char) << 8)
        _require(word >> 32 == dtype.num)
        words.append(word)
    return words


def _find_type_flags() -> int:
    """Return where a type keeps its flags, in the head of every type."""
    place = 21 * 8 + object.__basicsize__ - 16
    types: tuple[Any, ...] = (tuple, np.ndarray, type)
    for type_ in types:
        _require(_word(id(type_) + place) & 0xFFFFFFFF == type_.__flags__ & 0xFFFFFFFF)
    return place


def _word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def _half(address: int) -> int:
    return ctypes.c_int32.from_address(address).value


def _require(fits: bool) -> None:
    if not fits:
        raise LayoutError
