"""The compiled parser of decimal numbers rounds as `float` does, and finds what is none."""

from __future__ import annotations

import math
import os
import re
import struct
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactik.io._decimal import NOT_FINITE, NUMBER, WORD, parse_tokens

DIGITS = st.text("0123456789", max_size=24)
EXPONENTS = st.one_of(
    st.just(""),
    st.builds("{}{}{}".format, st.sampled_from("eE"), st.sampled_from(["", "+", "-"]), DIGITS),
)
DECIMALS = st.builds(
    "{}{}{}{}{}".format,
    st.sampled_from(["", "+", "-"]),
    DIGITS,
    st.sampled_from(["", "."]),
    DIGITS,
    EXPONENTS,
)
GRAMMAR = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")

FORMATS = ("{!r}", "{:.6f}", "{:.17g}", "{:.16e}", "{:.18g}", "{:.3g}", "{:e}", "{:.25g}")
TIES = [
    "9007199254740993",  # 2⁵³ + 1, half way between two numbers
    "9007199254740992.5",
    "90071992547409930000000e-7",
    "0.500000000000000166533453693773481063544750213623046875",
    "1.00000000000000011102230246251565404236316680908203125",
    "1.00000000000000011102230246251565404236316680908203124",
    "1.00000000000000033306690738754696212708950042724609375",
    "4503599627370496.5",
    "123456789012345678",
    "1234567890123456789",
    "0.000000000000000000000000000000000001",
    "8.5e-59",
    "999999999999999999e-60",
    "179769313486231570000e289",
    "2.2250738585072011e-308",
    "5e-324",
    "2.4703282292062327e-324",
    "0e99999999999999999999",
    "-0.0",
    "0000000000000000000000000000001.5",
    "1" + "0" * 40 + "e-40",
]


def bits(value: float) -> bytes:
    return struct.pack("<d", value)


def assert_as_float(words: list[str]) -> None:
    result = parse_tokens(" ".join(words).encode())
    assert len(result.values) == len(words)
    for word, value, kind in zip(words, result.values.tolist(), result.kinds.tolist(), strict=True):
        expected = float(word)
        if math.isinf(expected):
            assert kind == NOT_FINITE and math.isnan(value), word
        else:
            assert kind == NUMBER and bits(value) == bits(expected), word


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_every_float_comes_back_to_the_last_bit(numbers: list[float]):
    assert_as_float([form.format(x) for x in numbers for form in FORMATS])


@given(st.lists(DECIMALS, min_size=1))
def test_what_is_a_number_and_which_one(words: list[str]):
    """Any mixture of digits, points, signs and exponents, however long."""
    words = [word for word in words if word != ""]
    for word, kind in zip(
        words, parse_tokens(" ".join(words).encode()).kinds.tolist(), strict=True
    ):
        assert (kind == WORD) == (GRAMMAR.fullmatch(word) is None), word
    assert_as_float([word for word in words if GRAMMAR.fullmatch(word) is not None])


@given(st.integers(0, 10**18), st.integers(-70, 30), st.integers(-3, 3))
def test_numbers_next_to_half_way(integer: int, power: int, step: int):
    """Half-way points between neighbours, and decimals close to them."""
    low = float(f"{integer}e{power}")
    middle = (int(low) + int(math.nextafter(low, math.inf))) // 2 + step if low > 2**60 else integer
    assert_as_float([f"{integer}e{power}", f"{middle}e0", f"{middle}.5", f"-{middle}e{power}"])


def test_ties_and_extremes():
    assert_as_float(TIES)


@given(st.binary(max_size=200))
@settings(max_examples=200)
def test_any_bytes_are_cut_at_blanks(text: bytes):
    result = parse_tokens(text)
    words = re.findall(rb"[^\x00-\x20]+", text)
    assert len(result.values) == len(result.kinds) == len(words)
    lines = [len(re.findall(rb"[^\x00-\x20]+", line)) for line in text.split(b"\n")]
    assert result.counts.tolist() == [count for count in lines if count > 0]
    for k, word in enumerate(words):
        assert result.find(text, k)[0] == word
        assert math.isnan(result.values[k]) == (result.kinds[k] != NUMBER)


def test_words_are_found_again_with_their_line():
    text = b"HEAD\n1 2\n\n  -3.5e1 x,5\n1_0\n"
    result = parse_tokens(text, start=4)
    assert result.values[:3].tolist() == [1.0, 2.0, -35.0]
    assert result.kinds.tolist() == [NUMBER, NUMBER, NUMBER, WORD, WORD]
    assert result.find(text, 3) == (b"x,5", 4)
    assert result.find(text, 4) == (b"1_0", 5)
    assert result.firsts.tolist() == [0, 2, 4]


def test_no_numbers_have_a_kind_of_their_own():
    text = b"nan -NaN inf +Infinity -1.#IND00 1.#QNAN 1.#INF 1e999 -nan(ind) infinite nano 1.#X"
    assert parse_tokens(text).kinds.tolist() == [NOT_FINITE] * 9 + [WORD] * 3
    assert np.isnan(parse_tokens(text).values).all()


def test_names_are_told_by_their_index():
    names = [b"root", b"ltoes", b"l", b"lt"]
    result = parse_tokens(b"root 1 2\nlt 3\nl 4 ltoe\nltoes\nl 1 root", names)
    assert result.kinds.tolist() == [0, -1, -1, 3, -1, 2, -1, WORD, 1, 2, -1, 0]


@pytest.mark.parametrize("text", [b"", b"  \n\n ", b"\x00"])
def test_nothing_is_nothing(text: bytes):
    assert len(parse_tokens(text).values) == len(parse_tokens(text).counts) == 0


def test_plain_python_agrees():
    """As every kernel, it also runs without being compiled."""
    words = [*TIES, "a", "-12.5", "7e-3", "b", "nan", "1e", "0.1"]
    code = (
        "import sys, warnings; warnings.simplefilter('error')\n"
        "from exactik.io._decimal import parse_tokens\n"
        "found = parse_tokens(sys.argv[1].encode(), [b'a', b'b'])\n"
        "print(found.kinds.tolist(), [float(x).hex() for x in found.values])"
    )
    text = "\n".join(words)
    probe = subprocess.run(
        [sys.executable, "-c", code, text],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert probe.returncode == 0, probe.stderr
    result = parse_tokens(text.encode(), [b"a", b"b"])
    assert (
        probe.stdout.strip() == f"{result.kinds.tolist()} {[float(x).hex() for x in result.values]}"
    )


@pytest.mark.slow
def test_it_is_fast():
    """At least five times as fast as a loop over `float`, in processor time."""
    numbers = np.random.default_rng(0).normal(scale=60.0, size=400_000)
    text = " ".join(f"{x:.6f}" for x in numbers)

    def seconds(function) -> float:
        best = math.inf
        for _ in range(5):
            start = time.process_time()
            function()
            best = min(best, time.process_time() - start)
        return best

    data = text.encode()
    parse_tokens(data)
    assert seconds(lambda: [float(t) for t in text.split()]) > 5.0 * seconds(
        lambda: parse_tokens(data)
    )
