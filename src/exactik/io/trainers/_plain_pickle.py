"""Pickles of plain values, written by hand: no class of ours is named in them.

The opcodes are those of protocol 3, which every Python 3 reads, and of 2 without arrays. Arrays go
by the name that they had before NumPy 2, which old and new releases know; tensors as `torch.save`
has them, whose bytes are records of their own.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from exactik.typing import Array

PROTOCOL, STOP = b"\x80", b"."
MARK, NONE, TRUE, FALSE = b"(", b"N", b"\x88", b"\x89"
FLOAT, INT, TEXT, BYTES = b"G", b"J", b"X", b"B"
DICT, SET_ITEMS, LIST, APPENDS, TUPLE = b"}", b"u", b"]", b"e", b"t"
GLOBAL, CALL, BUILD, PERSISTENT = b"c", b"R", b"b", b"Q"


class Tensor(NamedTuple):
    """An array of single precision as PyTorch keeps it.

    Attributes:
        key: name of the record with its bytes.
        shape: of the array.
    """

    key: str
    shape: tuple[int, ...]


def to_pickle(value: Any, protocol: int = 3) -> bytes:
    """Return the pickle of a dictionary of numbers, texts, lists, arrays and tensors.

    Args:
        value: the dictionary.
        protocol: that the pickle claims; PyTorch expects 2, which has no arrays.
    """
    return PROTOCOL + bytes([protocol]) + _encode(value) + STOP


def _encode(value: Any) -> bytes:
    if value is None:
        return NONE
    if isinstance(value, bool):
        return TRUE if value else FALSE
    if isinstance(value, int):
        return INT + struct.pack("<i", value)
    if isinstance(value, float):
        return FLOAT + struct.pack(">d", value)
    if isinstance(value, str):
        text = value.encode("utf-8", "surrogatepass")
        return TEXT + struct.pack("<I", len(text)) + text
    if isinstance(value, bytes):
        return BYTES + struct.pack("<I", len(value)) + value
    if isinstance(value, np.ndarray):
        return _encode_array(np.ascontiguousarray(value, dtype="<f8"))
    if isinstance(value, Tensor):
        return _encode_tensor(value)
    if isinstance(value, Mapping):
        items = b"".join(_encode(part) for item in value.items() for part in item)
        return DICT + MARK + items + SET_ITEMS
    if isinstance(value, tuple):
        return MARK + b"".join(map(_encode, value)) + TUPLE
    if isinstance(value, Sequence):
        return LIST + MARK + b"".join(map(_encode, value)) + APPENDS
    raise TypeError(f"{type(value).__name__} is no plain value")


def _name(module: str, name: str) -> bytes:
    return GLOBAL + f"{module}\n{name}\n".encode("ascii")


def _encode_array(array: Array) -> bytes:
    """Return what makes an array again: an empty one, then its shape, its type and its bytes."""
    arguments = MARK + _name("numpy", "ndarray") + _encode((0,)) + _encode(b"b") + TUPLE
    empty = _name("numpy.core.multiarray", "_reconstruct") + arguments + CALL
    kind = _name("numpy", "dtype") + _encode(("f8", False, True)) + CALL
    kind += _encode((3, "<", None, None, None, -1, -1, 0)) + BUILD
    state = MARK + _encode(1) + _encode(array.shape) + kind + FALSE + _encode(array.tobytes())
    return empty + state + TUPLE + BUILD


def _encode_tensor(tensor: Tensor) -> bytes:
    """Return what makes a tensor again: the record with its numbers, first one, shape, strides."""
    count = int(np.prod(tensor.shape))
    strides = tuple(int(np.prod(tensor.shape[k + 1 :])) for k in range(len(tensor.shape)))
    storage = MARK + _encode("storage") + _name("torch", "FloatStorage")
    storage += _encode(tensor.key) + _encode("cpu") + _encode(count) + TUPLE + PERSISTENT
    hooks = _name("collections", "OrderedDict") + _encode(()) + CALL
    arguments = MARK + storage + _encode(0) + _encode(tensor.shape) + _encode(strides)
    arguments += FALSE + hooks + TUPLE
    return _name("torch._utils", "_rebuild_tensor_v2") + arguments + CALL
