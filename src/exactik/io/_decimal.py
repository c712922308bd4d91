"""Parse decimal numbers in bytes: every blank-separated token, as float64 where it is a number.

Written by hand for speed: 400,000 numbers of six decimals, about a minute of motion, take 8 ms
here, 86 ms by `numpy.loadtxt` or `numpy.fromstring` and 114 ms by a loop over `float`; and those
neither keep words among the numbers (AMC) nor tell the line of a bad one.
`tests/formats/test_decimal.py` holds the speed and that every number is rounded as `float` does.

A number is  sign digits . digits e sign digits,  of which only one digit is needed. It is m · 10ᵉ
with an integer m, and each of three routes rounds it as Python's `float` does, to the last bit:

*   m ≤ 2⁵³ and |e| ≤ 22: m and 10^|e| are exact in float64, so that one product or quotient rounds
    once (Clinger 1990);
*   m < 10¹⁸ and −60 ≤ e < 0: m = m₁ + m₂ and 10⁻ᵉ = p₁ + p₂ are pairs of float64, and
        q₁ = m₁/p₁ ,   q₂ = (m₁ − q₁p₁ + m₂ − q₁p₂)/p₁
    add up to the quotient within some 2⁻¹⁰³ of it, the product q₁p₁ being taken exactly (Dekker
    1971). Where q₁ + (q₂ ± 2⁻⁹⁸q₁) round to the same number, that is the answer;
*   the others, which are rare, are left to `float`.

Rounding must be as written, so that these functions are compiled without fast-math flags.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactik.spatial import jit
from exactik.typing import Array, IntArray

__all__ = ["NOT_FINITE", "NUMBER", "WORD", "Tokens", "count_tokens", "parse_tokens", "scan_tokens"]

NUMBER, NOT_FINITE, WORD, _UNDECIDED = -1, -2, -3, -4

_POWER_COUNT = 61
_POWERS_HIGH = np.array([float(10**k) for k in range(_POWER_COUNT)])
_POWERS_LOW = np.array([float(10**k - int(float(10**k))) for k in range(_POWER_COUNT)])
_EXACT_POWER, _EXACT_INTEGER = 22, 2**53
_MANTISSA_LIMIT = 10**17  # below it there is room for one more digit
_MAX_EXPONENT = 99999  # any number with it is 0 or infinite
_SPLITTER = 2.0**27 + 1.0
_QUOTIENT_ERROR = 2.0**-98

_NEWLINE, _BLANK, _PLUS, _MINUS, _POINT, _ZERO, _LARGE_E, _SMALL_E = 10, 32, 43, 45, 46, 48, 69, 101

_U0, _U1 = np.uint64(0), np.uint64(1)  # unsigned indices need no test for negative ones

_TOKEN = re.compile(rb"[^\x00-\x20]+")
# Some C libraries write -1.#IND00 and 1.#QNAN.
_NOT_A_NUMBER = re.compile(rb"[+-]?(nan|nan\(ind\)|inf|infinity|1\.#(ind|inf|qnan|snan)0*)", re.I)

jit_exact = partial(jit, fastmath=False)


class Tokens(NamedTuple):
    """The tokens of a text in order: n tokens on m lines that have any.

    Page faults cost as much as the scan itself, so there is no array that only errors would need.
    """

    values: Array  # (n,) numbers, NaN where a token is not one
    kinds: NDArray[np.int16]  #    (n,) index of a name, or NUMBER, NOT_FINITE, WORD
    firsts: IntArray  #   (m,) first token of each line
    start: int  #                  byte of the text at which parsing began

    @property
    def counts(self) -> IntArray:
        """Number of tokens on each line, (m,)."""
        return np.diff(self.firsts, append=len(self.values))

    def find(self, text: bytes, k: int) -> tuple[bytes, int]:
        """Return token k of the text, and the number of its line, from 1."""
        match = next(islice(_TOKEN.finditer(text, self.start), k, None))
        return match.group(), text.count(b"\n", 0, match.start()) + 1


def parse_tokens(text: bytes, names: Sequence[bytes] = (), start: int = 0) -> Tokens:
    """Return the tokens of a text; every byte up to the blank separates them.

    Args:
        text: ASCII, or an encoding that leaves ASCII alone; lines end with line feeds.
        names: words to look for, 32767 at most; the kind of such a token is its index here.
        start: byte at which to begin.
    """
    assert len(names) < 2**15
    data = np.frombuffer(text, np.uint8)[start:]
    n, feeds = count_tokens(data)
    values, kinds = np.empty(n), np.empty(n, np.int16)
    firsts = np.empty(min(n, feeds + 1), np.int64)
    ends = np.cumsum([0, *(len(name) for name in names)], dtype=np.uint64)
    known = np.frombuffer(b"".join(names), np.uint8)
    following = np.zeros(len(ends), np.uint64)
    lines = scan_tokens(data, known, ends, following, values, kinds, firsts)
    for k in np.flatnonzero(kinds <= WORD).tolist():
        match = _TOKEN.match(text, start + int(values[k]))
        assert match is not None
        if kinds[k] == _UNDECIDED:
            values[k] = float(match.group())
            kinds[k] = NUMBER if abs(values[k]) < np.inf else NOT_FINITE
        elif _NOT_A_NUMBER.fullmatch(match.group()) is not None:
            kinds[k] = NOT_FINITE
        if kinds[k] != NUMBER:
            values[k] = np.nan
    return Tokens(values, kinds, firsts[:lines], start)


@jit_exact
def count_tokens(text):
    """Return the number of tokens in `text`, (n,) uint8, and that of its line feeds."""
    count, feeds = 0, 0
    for i in range(text.shape[0]):
        feeds += text[i] == _NEWLINE
    for i in range(1, text.shape[0]):
        count += (text[i] > _BLANK) & (text[i - 1] <= _BLANK)
    return count + (text.shape[0] > 0 and text[0] > _BLANK), feeds


@jit_exact
def scan_tokens(text, names, ends, following, values, kinds, firsts):
    """Fill in the arrays of `Tokens`; return the number of lines.

    Args:
        text: (n,) uint8.
        names: all names, one behind the other, uint8.
        ends: where each name begins in `names`, and the end, (k + 1,) uint64.
        following: one more than the name that last came after each name, (k + 1,) uint64: where
            lines repeat themselves, a name is found at the first try.
        values: the numbers; for words, and numbers left to the caller, their first byte.
        kinds: their kinds, `_UNDECIDED` for numbers left to the caller.
        firsts: first token of each line.
    """
    n = np.uint64(text.shape[0])
    i, count, lines, last = _U0, _U0, _U0, _U0
    empty = True
    while i < n:
        c = text[i]
        if c <= _BLANK:
            empty |= c == _NEWLINE
            i += _U1
            continue
        if empty:
            firsts[lines] = count
            lines += _U1
            empty = False
        value, kind, end = parse_number(text, i, n)
        if kind == WORD:
            while end < n and text[end] > _BLANK:
                end += _U1
            guess = following[last]
            known = find_name(text, i, end, names, ends, guess)
            if known > _U0:
                following[last] = known
                last = known
                value, kind = np.nan, np.int64(known) - 1
        if kind <= WORD:
            value = np.float64(i)
        values[count], kinds[count] = value, kind
        count += _U1
        i = end
    return np.int64(lines)


@jit_exact
def parse_number(text, i, n):
    """Return (value, kind, end) of the token at byte i of n; a WORD may go on after its end."""
    negative = text[i] == _MINUS
    if negative or text[i] == _PLUS:
        i += _U1
    begin = i
    mantissa, exponent, lossy, i = parse_digits(text, i, n, 0)
    digits = i - begin
    if i < n and text[i] == _POINT:
        i += _U1
        begin = i
        mantissa, skipped, lost, i = parse_digits(text, i, n, mantissa)
        lossy |= lost
        digits += i - begin
        exponent += skipped - np.int64(i - begin)
    if digits > _U0 and i < n and (text[i] == _SMALL_E or text[i] == _LARGE_E):
        i += _U1
        down = i < n and text[i] == _MINUS
        if down or (i < n and text[i] == _PLUS):
            i += _U1
        begin = i
        power, _, _, i = parse_digits(text, i, n, 0)
        digits = i - begin
        power = min(power, _MAX_EXPONENT)
        exponent += -power if down else power
    if digits == _U0 or (i < n and text[i] > _BLANK):
        return 0.0, WORD, i
    value, sure = round_decimal(mantissa, exponent)
    if lossy or not sure:
        return 0.0, _UNDECIDED, i
    return -value if negative else value, NUMBER, i


@jit_exact
def parse_digits(text, i, n, mantissa):
    """Append digits to a mantissa while it has room.

    Returns:
        The mantissa, how many digits found no room, whether any of those was not 0, the end.
    """
    skipped, lossy = 0, False
    while i < n:
        digit = np.int64(text[i]) - _ZERO
        if digit < 0 or digit > 9:
            break
        if mantissa < _MANTISSA_LIMIT:
            mantissa = 10 * mantissa + digit
        else:
            skipped += 1
            lossy |= digit != 0
        i += _U1
    return mantissa, skipped, lossy, i


@jit_exact
def round_decimal(mantissa, exponent):
    """Return mantissa · 10^exponent and whether it is known to be the nearest float64."""
    if mantissa == 0:
        return 0.0, True
    if mantissa <= _EXACT_INTEGER and -_EXACT_POWER <= exponent <= _EXACT_POWER:
        if exponent < 0:
            return mantissa / _POWERS_HIGH[-exponent], True
        return mantissa * _POWERS_HIGH[exponent], True
    if exponent >= 0 or exponent <= -_POWER_COUNT:
        return 0.0, False
    p1, p2 = _POWERS_HIGH[-exponent], _POWERS_LOW[-exponent]
    m1 = np.float64(mantissa)
    m2 = np.float64(mantissa - np.int64(m1))
    q1 = m1 / p1
    product = q1 * p1
    a = _SPLITTER * q1
    b = _SPLITTER * p1
    a1, b1 = a - (a - q1), b - (b - p1)  # the upper halves: their products are exact
    a2, b2 = q1 - a1, p1 - b1
    error = ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2  # q₁p₁ = product + error
    q2 = ((((m1 - product) - error) + m2) - q1 * p2) / p1
    high, low = q1 + (q2 + _QUOTIENT_ERROR * q1), q1 + (q2 - _QUOTIENT_ERROR * q1)
    return high, high == low


@jit_exact
def find_name(text, start, end, names, ends, guess):
    """Return one more than the index of the name that is text[start:end], or 0; try `guess`."""
    count = np.uint64(ends.shape[0]) - _U1
    known, k = guess, _U0
    while k <= count:
        if known > _U0 and ends[known] - ends[known - _U1] == end - start:
            i, j = start, ends[known - _U1]
            while i < end and text[i] == names[j]:
                i += _U1
                j += _U1
            if i == end:
                return known
        k += _U1
        known = k
    return _U0
