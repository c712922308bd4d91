"""Damages files: one mutant for each seed, the same one whenever it is asked for.

A mutant is a sound file with one to four faults. Any file can have faults of bytes; text has faults
of numbers, words, lines and encodings besides, and formats with a structure (fuzz_structures.py)
faults that keep most of it intact, so that readers get as far as to believe what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

from tests.support.fuzz_structures import (
    change_c3d,
    change_fbx,
    change_glb,
    change_gltf,
    change_npz,
    change_xml,
)

__all__ = ["BYTES", "LARGEST", "TEXT", "mutant"]

Mutator = Callable[[bytes, Random, Sequence[bytes]], bytes]

LARGEST = 1 << 18  # [bytes] of a mutant: files that grow would make runs slow and prove no more

NUMBERS = [b"nan", b"inf", b"-inf", b"1e999", b"-1e999", b"-1", b"0", b"", b"-", b".", b"1e"]
NUMBERS += [b"1e308", b"-1e308", b"5e-324", b"99999999999999999999", b"2147483648", b"-2147483649"]
NUMBERS += [b"65536", b"1,5", b"9" * 400, b"0x10", b"1_000", b"1.#QNAN", b"+-1", b"0.1e-400"]
NUMBERS += ["١٢".encode(), b"1e9223372036854775808", b"00012", b"1.5.2", b"--1", b"1e7", b"4e9"]
WORDS = [b"{", b"}", b"#", b":", b"(", b")", b"<", b">", b'"', b"'", b"[", b"]", b"end", b"begin"]
WORDS += [b"\x00", b"\xff", b"\x1b[31m", b"\x1a", b"\x0b", b"\x85", b"\xe2\x80\xa8", b"\r", b"\t"]
WORDS += [b"a" * 3000, b"\n", b"\\", b"%s", b"../x", b"=", b"Frames:", b"MOTION", b"root"]
ENCODINGS = ["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "shift_jis", "cp500", "utf-7"]

_NUMBER = re.compile(rb"(?<![\w.])[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])")
_TOKEN = re.compile(rb"[^\s<>{}()\"=,:\[\]]+")


# --- bytes


def span(data: bytes, rng: Random, longest: int = 64) -> tuple[int, int]:
    """Some place in a file and the end of a short run from there, often in its first kilobyte."""
    head = min(len(data), 1024) if rng.random() < 0.4 else len(data)
    start = rng.randrange(head) if head > 0 else 0
    return start, min(len(data), start + rng.randint(1, longest))


def flip_bits(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5, 40])):
        if len(out) > 0:
            out[span(data, rng)[0]] ^= 1 << rng.randrange(8)
    return bytes(out)


def overwrite(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    a, b = span(data, rng)
    fill = rng.choice([b"\0", b"\xff", b"\x7f", b"\x80", b" ", b"\n", b"9", None])
    return data[:a] + (rng.randbytes(b - a) if fill is None else fill * (b - a)) + data[b:]


def truncate(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    return data[: rng.choice([rng.randint(0, len(data)), max(0, len(data) - rng.randint(1, 9))])]


def repeat(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    a, b = span(data, rng, 400)
    return data[:b] + data[a:b] * rng.choice([1, 1, 2, 30]) + data[b:]


def remove(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    a, b = span(data, rng, rng.choice([4, 40, 4000]))
    return data[:a] + data[b:]


def move(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    a, b = span(data, rng, 400)
    rest = data[:a] + data[b:]
    at = rng.randint(0, len(rest))
    return rest[:at] + data[a:b] + rest[at:]


def splice(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """The beginning of this file and the end of another, or a piece of another inside."""
    other = rng.choice(others)
    a, b = span(data, rng, 2000)
    c, d = span(other, rng, 2000)
    return data[:a] + other[c:] if rng.random() < 0.5 else data[:a] + other[c:d] + data[b:]


def insert_noise(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    at = span(data, rng)[0]
    return data[:at] + rng.randbytes(rng.choice([1, 8, 300])) + data[at:]


# --- text


def some_match(pattern: re.Pattern[bytes], data: bytes, rng: Random) -> tuple[int, int]:
    """One match, near a place that is as likely as any other; an empty span without one."""
    at = span(data, rng)[0]
    match = pattern.search(data, at) or pattern.search(data)
    return (at, at) if match is None else match.span()


def swap_number(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    for _ in range(rng.choice([1, 1, 1, 6])):
        a, b = some_match(_NUMBER, data, rng)
        data = data[:a] + rng.choice(NUMBERS) + data[b:]
    return data


def swap_word(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    a, b = some_match(_TOKEN, data, rng)
    c, d = some_match(_TOKEN, data, rng)
    return data[:a] + rng.choice([b"", data[c:d], rng.choice(WORDS)]) + data[b:]


def insert_word(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    a, b = some_match(_TOKEN, data, rng)
    at = rng.choice([a, b])
    return data[:at] + rng.choice([b" ", b""]) + rng.choice(WORDS + NUMBERS) + data[at:]


def change_lines(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    k, n = rng.randrange(len(lines)), rng.randint(1, 8)
    some = lines[k : k + n]
    how = rng.randrange(7)
    if how == 0:
        rng.shuffle(some)
    elif how == 1:
        some = []
    elif how == 2:
        some = some * rng.choice([2, 3, 50])
    elif how == 3:
        some = [b" ".join(some)]
    elif how == 4:
        some = [b"\n".join(line.split()) for line in some]
    elif how == 5:
        lines = lines[:k] + lines[k + n :]
        k = rng.randint(0, len(lines))
        return b"\n".join(lines[:k] + some + lines[k:])
    else:
        some = [line * rng.choice([2, 20]) for line in some]
    return b"\n".join(lines[:k] + some + lines[k + n :])


def encode(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    how = rng.randrange(5)
    if how == 0:
        return data.replace(b"\n", rng.choice([b"\r", b"\r\n", b"\n\r", b"\x0b", b"\x85", b" "]))
    if how == 1:
        return data.replace(b"\t", rng.choice([b" ", b"\t\t", b",", b""]))
    if how == 2:
        return data.replace(b".", b",")
    text = data.decode("utf-8", "replace")
    if how == 3:
        letter = rng.choice("aeinot")
        text = text.replace(letter, rng.choice(["é", "膝", "\u2028", "\0", "𝕏", letter.upper()]))
    return text.encode(rng.choice(ENCODINGS), "replace")


def nest(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Open the same brackets, tags or lines again and again."""
    a, b = span(data, rng, 120)
    deep = rng.choice([b"{", b"[", b"(", b"<a>", b'{"a":', b"[[", b"JOINT j\n{\nOFFSET 0 0 0\n"])
    piece = rng.choice([deep, data[a:b]])
    return data[:a] + piece * rng.choice([10, 300, 3000]) + data[a:]


BYTES: list[Mutator] = [flip_bits, overwrite, truncate, repeat, remove, move, splice, insert_noise]
TEXT: list[Mutator] = [swap_number, swap_number, swap_word, insert_word, change_lines, encode, nest]

# What is likely to be seen through at once comes less often than what keeps a file plausible.
MUTATORS: dict[str, list[Mutator]] = {
    ".c3d": BYTES + [change_c3d] * 10,
    ".npz": BYTES + [change_npz] * 12,
    ".glb": BYTES + [change_glb] * 12,
    ".gltf": BYTES + TEXT + [change_gltf] * 15,
    ".urdf": BYTES + TEXT + [change_xml] * 15,
    ".osim": BYTES + TEXT + [change_xml] * 15,
    ".xml": BYTES + TEXT + [change_xml] * 15,
    ".dae": BYTES + TEXT + [change_xml] * 15,
    ".vtp": BYTES + TEXT + [change_xml] * 15,
    ".stl": BYTES,
    ".fbx": BYTES + [change_fbx] * 20,
}


def mutant(data: bytes, suffix: str, rng: Random, others: Sequence[bytes]) -> bytes:
    """Return a damaged copy of a file.

    Args:
        data: the sound one.
        suffix: of its name, which decides what can be done to it.
        rng: decides the rest.
        others: sound files of the same kind, of which pieces may come in.
    """
    choices = MUTATORS.get(suffix, BYTES + TEXT + TEXT)
    for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 4])):
        data = rng.choice(choices)(data, rng, others)[:LARGEST]
    return data
