"""An entry of the library: a C function that unpacks Python's arguments and calls one kernel.

    int32 entry(PyObject *arguments, const int64 *numbers, int64 *results)

It reads arrays and tuples where `_layout` says they keep their members, without Python's API. A
type, dtype, number of dimensions or layout that the kernel was not compiled for ends the call with
NOT_AS_COMPILED before anything is done.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from importlib import import_module
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.np import arrayobj

from exactik.compile import _layout as at
from exactik.compile._signatures import list_fields, parse_array
from exactik.errors import KernelError

WORD, HALF, NUMBER = ir.IntType(64), ir.IntType(32), ir.DoubleType()


def numba_type(kind: Any, classes: dict[str, str]) -> Any:
    """Return Numba's type of an argument's text, see `_signatures`."""
    array = parse_array(kind)
    if array is not None:
        return types.Array(_scalar_type(array[0]), array[1], "C")
    fields = list_fields(kind)
    if fields is None:
        return _scalar_type(kind)
    made = [numba_type(field, classes) for field in fields]
    if isinstance(kind, list):
        return types.BaseTuple.from_types(made)
    module, _, name = classes[next(iter(kind))].partition(":")
    return types.BaseTuple.from_types(made, getattr(import_module(module), name))


def _scalar_type(name: str) -> Any:
    return types.boolean if name == "bool" else getattr(types, name)


class EntryBuilder:
    """Builds one entry; `row` is what the library says of it."""

    def __init__(self, context: Any, symbol: str, kinds: list[Any], compiled: Any):
        """Build the code in a module of its own.

        Args:
            context: Numba's, of the CPU.
            symbol: name of the entry.
            kinds: texts of the arguments.
            compiled: Numba's result for the kernel.
        """
        self._context = context
        self.module = context.codegen()._create_empty_module(symbol)
        words = ir.ArrayType(WORD, at.LAYOUT_SIZE)
        self._layout = ir.GlobalVariable(self.module, words, "exactik_layout")
        kernel = context.declare_function(self.module, compiled.fndesc)
        signature = ir.FunctionType(HALF, [WORD, WORD.as_pointer(), WORD.as_pointer()])
        function = ir.Function(self.module, signature, symbol)
        self._builder = builder = ir.IRBuilder(function.append_basic_block("entry"))
        self._refuse = function.append_basic_block("refuse")
        arguments, self._numbers, results = function.args
        self._number_count = 0
        numba_types, result = compiled.signature.args, compiled.signature.return_type
        pairs = zip(kinds, numba_types, self._items(arguments, len(kinds)), strict=True)
        values = [self._read(kind, type_, item) for kind, type_, item in pairs]
        status, value = context.call_conv.call_function(
            builder, kernel, result, numba_types, values
        )
        parts = [] if result == types.none else [(result, value)]
        several = isinstance(result, types.BaseTuple)
        if several:
            members: Any = result
            parts = list(zip(members, cgutils.unpack_tuple(builder, value), strict=True))
        for i, (_, part) in enumerate(parts):
            builder.store(self._to_word(part), builder.gep(results, [WORD(i)]))
        builder.ret(status.code)
        builder.position_at_end(self._refuse)
        builder.ret(HALF(at.NOT_AS_COMPILED))
        scalar = [(i, k) for i, k in enumerate(kinds) if isinstance(k, str) and "[" not in k]
        if len(scalar) != self._number_count:
            raise KernelError(f"{symbol} takes numbers in a tuple, which entries cannot read")
        self.row = {
            "symbol": symbol,
            "count": len(kinds),
            "numbers": [(i, _format(kind)) for i, kind in scalar],
            "results": None if result == types.none else [_format(str(t)) for t, _ in parts],
            "single": not several,
        }

    def _word(self, number: int) -> Any:
        """Load a word of the layout."""
        return self._builder.load(self._builder.gep(self._layout, [WORD(0), WORD(number)]))

    def _load(self, address: Any, offset: Any, kind: Any = WORD) -> Any:
        place = self._builder.inttoptr(self._builder.add(address, offset), kind.as_pointer())
        return self._builder.load(place)

    def _items(self, address: Any, count: int) -> Iterator[Any]:
        """Load the addresses of what a tuple holds, if it is one and holds so many."""
        builder = self._builder
        type_ = self._load(address, self._word(at.TYPE))
        flags = self._load(type_, self._word(at.TYPE_FLAGS), HALF)
        self._require(
            builder.icmp_unsigned("!=", builder.and_(flags, HALF(at.TUPLE_FLAG)), HALF(0))
        )
        size = self._load(address, self._word(at.SIZE))
        self._require(builder.icmp_unsigned("==", size, WORD(count)))
        first = builder.add(address, self._word(at.ITEMS))
        return iter([self._load(first, WORD(8 * i)) for i in range(count)])

    def _require(self, condition: Any) -> None:
        after = self._builder.append_basic_block()
        self._builder.cbranch(condition, after, self._refuse)
        self._builder.position_at_end(after)

    def _read(self, kind: Any, type_: Any, item: Any) -> Any:
        """Return the value of an argument, read from its object or from the numbers."""
        array, fields = parse_array(kind), list_fields(kind)
        if array is not None:
            return self._read_array(array, type_, item)
        if isinstance(kind, dict):
            place = cgutils.alloca_once(self._builder, self._context.get_value_type(type_))
            done = self._builder.call(self._define_reader(kind, type_), [item, place])
            self._require(self._builder.icmp_unsigned("!=", done, HALF(0)))
            return self._builder.load(place)
        if fields is not None:
            return self._read_fields(fields, type_, item)
        builder = self._builder
        word = builder.load(builder.gep(self._numbers, [WORD(self._number_count)]))
        self._number_count += 1
        if isinstance(type_, types.Float):
            return builder.bitcast(word, NUMBER)
        wanted = self._context.get_value_type(type_)
        return word if wanted == WORD else builder.trunc(word, wanted)

    def _read_fields(self, fields: list[Any], type_: Any, item: Any) -> Any:
        triples = zip(fields, type_, self._items(item, len(fields)), strict=True)
        values = [self._read(*triple) for triple in triples]
        return self._context.make_tuple(self._builder, type_, values)

    def _define_reader(self, kind: Any, type_: Any) -> Any:
        """Return the function that reads a named tuple, 0 if it refuses; all entries share it."""
        name = f"exactik_read_{sha256(json.dumps(kind).encode()).hexdigest()[:16]}"
        if name in self.module.globals:
            return self.module.globals[name]
        kept = self._builder, self._refuse
        place = self._context.get_value_type(type_).as_pointer()
        function = ir.Function(self.module, ir.FunctionType(HALF, [WORD, place]), name)
        function.linkage = "linkonce_odr"
        function.attributes.add("noinline")
        self._builder = ir.IRBuilder(function.append_basic_block("entry"))
        self._refuse = function.append_basic_block("refuse")
        item, out = function.args
        self._builder.store(self._read_fields(list_fields(kind) or [], type_, item), out)
        self._builder.ret(HALF(1))
        self._builder.position_at_end(self._refuse)
        self._builder.ret(HALF(0))
        self._builder, self._refuse = kept
        return function

    def _read_array(self, array: tuple[str, int, bool], type_: Any, item: Any) -> Any:
        dtype, ndim, may_be_const = array
        builder, context = self._builder, self._context
        equal = [(self._load(item, self._word(at.TYPE)), self._word(at.ARRAY_TYPE))]
        self._require(builder.icmp_unsigned("==", *equal[0]))
        dtype_word = self._load(self._load(item, self._word(at.DTYPE)), self._word(at.DTYPE_WORD))
        wanted = at.CONTIGUOUS_AND_ALIGNED | (0 if may_be_const else at.WRITEABLE)
        flags = self._load(item, self._word(at.FLAGS), HALF)
        for found, expected in (
            (
                builder.and_(dtype_word, WORD(at.DTYPE_MASK)),
                self._word(at.FIRST_DTYPE + at.DTYPES.index(dtype)),
            ),
            (self._load(item, self._word(at.DIMENSIONS), HALF), HALF(ndim)),
            (builder.and_(flags, HALF(wanted)), HALF(wanted)),
        ):
            self._require(builder.icmp_unsigned("==", found, expected))
        element = context.get_data_type(type_.dtype)
        size = context.get_abi_sizeof(element)
        lengths = self._load(item, self._word(at.SHAPE))
        shape = [self._load(lengths, WORD(8 * i)) for i in range(ndim)]
        strides, stride = [], WORD(size)
        for length in reversed(shape):
            strides.insert(0, stride)
            stride = builder.mul(stride, length)
        made = context.make_array(type_)(context, builder)
        data = self._load(item, self._word(at.DATA))
        arrayobj.populate_array(
            made,
            data=builder.inttoptr(data, element.as_pointer()),
            shape=cgutils.pack_array(builder, shape),
            strides=cgutils.pack_array(builder, strides),
            itemsize=WORD(size),
            meminfo=None,
            parent=None,
        )
        return made._getvalue()

    def _to_word(self, value: Any) -> Any:
        if value.type == NUMBER:
            return self._builder.bitcast(value, WORD)
        return value if value.type == WORD else self._builder.zext(value, WORD)


def _format(kind: str) -> str:
    """Return the letters by which `struct` packs a number into a word."""
    if kind.startswith("float"):
        return "d"
    return "?7x" if kind.startswith("bool") else "q"
