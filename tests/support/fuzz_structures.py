"""Damages what has a structure, and leaves most of it intact: JSON, XML, C3D, FBX, GLB and NPZ."""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
from collections.abc import Sequence
from random import Random
from typing import Any

__all__ = [
    "SIDE_FILE",
    "change_c3d",
    "change_fbx",
    "change_glb",
    "change_gltf",
    "change_npz",
    "change_xml",
]

# What a mutant in XML may include; it includes the mutant in turn.
SIDE_FILE = ("side.xml", b'<mujoco><include file="mutant.xml"/><include file="side.xml"/></mujoco>')

EXTREMES = [0, 1, 2, 3, 0x50, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF]
LONG_EXTREMES = [*EXTREMES, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFF0, 0x10000]
FLOATS = [float("nan"), float("inf"), -float("inf"), -1.0, 0.0, 1e38, -1e38, 1e-40, 65536.0]


# --- JSON


def odd_value(rng: Random) -> Any:
    """Something that is rarely expected; a new object each time, since it may be changed later."""
    plain = [-1, 0, 1, 2, 3, 7, 10**18, 2**31, 2**63, 10**400, 1e308, -1e308, 1.5, -0.5, 5e-324]
    plain += [
        "",
        "x",
        "SCALAR",
        "VEC4",
        "STEP",
        "rotation",
        "\n",
        "\0",
        "é" * 300,
        "nan",
        "..",
        "/",
    ]
    plain += [
        None,
        True,
        False,
        float("nan"),
        float("inf"),
        "data:;base64,AAAA",
        "data:,x",
        "\ud800",
    ]
    made = [[], {}, [[]], [{}], [0], [-1], [1, 1], {"a": 1}, {"0": []}, [None] * 3, [1e300] * 3]
    made += [[0.0] * 3, [0.0] * 4, [[0.0] * 3] * 3, ["a", "b"], list(range(50)), "[" * 50]
    return rng.choice(rng.choice([plain, plain, made]))


def change_tree(root: Any, rng: Random) -> Any:
    """Return a JSON value with one entry somewhere replaced, lost, doubled, moved or renamed."""
    places: list[tuple[Any, Any]] = []
    at = root
    while isinstance(at, dict | list) and len(at) > 0:
        key = rng.choice(list(at)) if isinstance(at, dict) else rng.randrange(len(at))
        places.append((at, key))
        at = at[key]
    if len(places) == 0:
        return odd_value(rng)
    inside, key = rng.choice(places)
    other, elsewhere = rng.choice(places)
    how = rng.randrange(7)
    if how == 0:
        del inside[key]
    elif how == 1 and isinstance(inside, list):
        inside.extend(inside[key : key + 1] * rng.choice([1, 3, 500]))
    elif how == 1:
        inside[rng.choice(["x", "", "é", *inside])] = inside[key]
    elif how == 2:
        inside[key] = json.loads(json.dumps(other[elsewhere]))  # a copy: no loops in memory
    elif how == 3 and isinstance(inside[key], int | float):
        inside[key] = rng.choice([inside[key] + 1, inside[key] - 1, -inside[key], 2 * inside[key]])
    else:
        inside[key] = odd_value(rng)
    return root


def changed_json(text: bytes, rng: Random) -> bytes:
    """Return JSON with a few such changes, or with text that only a hostile file has."""
    try:
        root = json.loads(text)
    except (ValueError, RecursionError):
        return text
    for _ in range(rng.choice([1, 1, 2, 5])):
        root = change_tree(root, rng)
    out = json.dumps(root).encode()
    if rng.random() < 0.03:
        deep = rng.choice([b"[", b'{"a":'])
        out = rng.choice([deep * 20_000, out.replace(b"0", deep * 20_000, 1), b"9" * 20_000])
    return out


def change_gltf(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    return changed_json(data, rng)


def change_glb(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Change the JSON and keep the container right, or a number of the container alone."""
    if len(data) < 28 or rng.random() < 0.2:
        return set_number(data, rng, 0, 28)
    size = struct.unpack_from("<I", data, 12)[0]
    text, rest = data[20 : 20 + size], data[20 + size :]
    if rng.random() < 0.3:  # numbers of the animations and skins
        return data[: 20 + size] + set_number(rest, rng, 0, len(rest))
    text = changed_json(text, rng)
    text += b" " * (-len(text) % 4)
    head = struct.pack("<4sII", b"glTF", 2, 20 + len(text) + len(rest))
    return head + struct.pack("<II", len(text), 0x4E4F534A) + text + rest


def change_fbx(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Change a number of a value, of an array or of what is connected, and no size of a record."""
    if rng.random() < 0.2:
        return data[:2] + set_number(data[2:], rng, 20, len(data))
    formats = {b"D": "<d", b"L": "<q", b"I": "<i", b"d": "<III", b"i": "<III", b"f": "<III"}
    spots = [m.start() for m in re.finditer(rb"[DLIdif]", data) if m.start() + 20 < len(data)]
    if len(spots) == 0:
        return data
    at = rng.choice(spots)
    form = formats[data[at : at + 1]]
    if form == "<III":  # a number in the array
        at, form = at + 12 + 4 * rng.randrange(9), rng.choice(["<i", "<f"])
    odd = rng.choice(FLOATS if form in ("<d", "<f") else [-1, 0, 1, 2, 1002, 2**31 - 1])
    number = struct.pack(form, odd)
    return data[: at + 1] + number + data[at + 1 + len(number) :]


# --- numbers in bytes


def set_number(data: bytes, rng: Random, start: int, end: int) -> bytes:
    """Set a number between two bytes to an extreme one: 8, 16 or 32 bits, or a float."""
    at = start + 2 * rng.randrange(max(1, (min(end, len(data)) - start) // 2))
    order = rng.choice("<<<>")
    word = rng.choice(
        [
            bytes([rng.choice(EXTREMES) & 0xFF]),
            struct.pack(f"{order}H", rng.choice(EXTREMES)),
            struct.pack(f"{order}I", rng.choice(LONG_EXTREMES)),
            struct.pack(f"{order}f", rng.choice(FLOATS)),
        ]
    )
    return data[:at] + word + data[at + len(word) :]


def change_c3d(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Change the first block, the parameters (their steps to the next one too) or the frames."""
    how = rng.random()
    if how < 0.35:
        return set_number(data, rng, 0, 24)
    if how < 0.85:
        start = 512 * max(1, data[0] - 1) if len(data) > 0 else 0
        where = rng.choice([start, start, 512])
        if rng.random() < 0.5:  # beside a name that every reader asks for
            names = [b"USED", b"SCALE", b"RATE", b"FRAMES", b"LABELS", b"UNITS", b"DATA_START"]
            names += [b"POINT", b"TRIAL", b"ACTUAL_END_FIELD", b"EVENT", b"TIMES", b"ANALOG"]
            name = rng.choice(names)
            actual = data.find(name)
            if actual > 0:
                return set_number(data, rng, max(0, actual - 2), actual + len(name) + 12)
        return set_number(data, rng, where, where + rng.choice([16, 512, 4096]))
    return set_number(data, rng, 0, len(data))


def change_npz(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Change the JSON, the head of an array or the archive, and pack all of it again."""
    if rng.random() < 0.15:  # the directory of the archive is at its end
        start = max(0, len(data) - 300) if rng.random() < 0.6 else 0
        return set_number(data, rng, start, len(data))
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
    except Exception:  # zipfile, zlib and struct raise what they like; damaged it is already
        return data
    if len(parts) == 0:
        return data
    name = rng.choice(list(parts))
    how = rng.random()
    if how < 0.55 and "about.npy" in parts:
        parts["about.npy"] = _text_array(parts["about.npy"], rng)
    elif how < 0.8:
        parts[name] = _odd_head(parts[name], rng)
    elif how < 0.85:
        parts[name] = rng.choice([b"", b"\x93NUMPY", bytes(1 << 21), parts[name][:20]])
    elif how < 0.9:
        parts[rng.choice(["q", "about", "x", "other0.npy", "../y.npy"])] = parts.pop(name)
    else:
        parts[name] = set_number(parts[name], rng, 0, len(parts[name]))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", rng.choice([zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])) as new:
        for key, value in parts.items():
            new.writestr(zipfile.ZipInfo(key), value, new.compression)  # no time of day
    return out.getvalue()


def _text_array(data: bytes, rng: Random) -> bytes:
    """Return the array that holds the JSON with other JSON in it."""
    head = 10 + int.from_bytes(data[8:10], "little")
    try:
        text = changed_json(data[head:].decode("utf-32-le").encode(), rng).decode()
    except UnicodeError:
        return data
    about = f"{{'descr': '<U{len(text)}', 'fortran_order': False, 'shape': (), }}"
    about = about.ljust(-(-(len(about) + 11) // 64) * 64 + 53) + "\n"
    size = struct.pack("<H", len(about))
    return b"\x93NUMPY\x01\x00" + size + about.encode() + text.encode("utf-32-le", "surrogatepass")


def _odd_head(data: bytes, rng: Random) -> bytes:
    """Return an array that claims to be of another shape or kind, its head as long as before."""
    head = 10 + int.from_bytes(data[8:10], "little")
    shapes = ["()", "(0,)", "(1,)", "(-1, 3)", "(9999999999,)", "(3, 4000000000, 3)", "(1,) * 99"]
    shapes += ["(99999999999999999999,)", "(2, 2, 2)", "(1e9,)", "None", "(0, 0, 3)", "((1))"]
    kinds = ["|O", "<f4", "<i8", "<c16", "|S9", "<U7", "|b1", "<M8[ns]", "|V0", "<f16", "zzz"]
    about = f"{{'descr': '{rng.choice(['<f8', rng.choice(kinds)])}', "
    about += f"'fortran_order': {rng.choice(['True', 'False', '2'])}, "
    about += f"'shape': {rng.choice(shapes)}, }}"
    return data[:10] + about.ljust(head - 11).encode()[: head - 11] + b"\n" + data[head:]


# --- XML

_ATTRIBUTE = re.compile(rb'\s[\w:.-]+\s*=\s*"([^"]*)"')
_TAG = re.compile(rb"</?([\w:.-]+)[^<>]*>")
VALUES = [b"", b"nan", b"inf", b"-1e999", b"1e308", b"0", b"0 0 0", b"1 2 3", b"1 2", b"x", b"-1"]
VALUES += [b"9" * 400, b"&amp;", b"&#0;", b"&#10;", b"&bomb;", b"true", b"main", b"xyz", b"a\nb"]
VALUES += [b"side.xml", b"mutant.xml", b"../mutant.xml", b"/dev/zero", "é膝".encode()]
BOMB = b'<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa">' + b"".join(
    b'<!ENTITY %c "%s">' % (98 + k, b"&%c;" % (97 + k) * 10) for k in range(9)
)
PROLOGUES = [
    BOMB + b']><r a="&j;">',
    b'<!DOCTYPE r SYSTEM "file:///dev/zero">',
    b'<!DOCTYPE r [<!ENTITY bomb SYSTEM "side.xml">]>',
    b'<!DOCTYPE r [<!ENTITY % p SYSTEM "side.xml"> %p;]>',
    b'<!DOCTYPE r [<!ATTLIST joint type CDATA "ball">]>',
    b"<!DOCTYPE r [" + b"<!-- x -->" * 500 + b"]>",
    b'<?xml version="1.0" encoding="utf-7"?>',
    b'<?xml version="1.0" encoding="nonsense"?>',
    b'<?xml version="1.1"?>',
    b"<!--" + b"-" * 5000,
]
PIECES = [b'<include file="mutant.xml"/>', b'<include file="side.xml"/>', b"<include/>", b"&bomb;"]
PIECES += [b"<body>" * 2500, b"<a>" * 300 + b"</a>" * 300, b"<default class='main'/>", b"<![CDATA["]
PIECES += [b"<joint/>", b"<freejoint/>", b"<body/>", b"<frame/>", b'<replicate count="99999999"/>']
PIECES += [b'<joint type="ball"/><joint type="free"/>', b"<link/>", b"<mimic/>", b"<limit/>"]
PIECES += [b'<replicate count="1000"><body><replicate count="1000"><body/></replicate></body>']
PIECES += [b"<compiler/>", b'<compiler angle="x" eulerseq="xxxx"/>', b"<b " + b'a="" ' * 9 + b"/>"]


def change_xml(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Change an attribute or an element, or bring in what no robot has."""
    how = rng.random()
    pattern = _ATTRIBUTE if how < 0.55 else _TAG
    at = rng.randrange(len(data)) if len(data) > 0 else 0
    places = (at, rng.randrange(at + 1))
    match, other = (pattern.search(data, k) or pattern.search(data) for k in places)
    if match is None or other is None:
        return data
    (a, b), (c, d) = match.span(), match.span(1)
    if how < 0.1:  # an attribute is lost
        return data[:a] + data[b:]
    if how < 0.15:  # or comes twice, or goes elsewhere
        return data[: other.end()] + data[a:b] + data[other.end() :]
    if how < 0.65:  # another value, or another tag
        return data[:c] + rng.choice([rng.choice(VALUES), other[1]]) + data[d:]
    if how < 0.75:  # a tag is lost
        return data[:a] + data[b:]
    if how < 0.85:  # an element comes again, here or elsewhere
        end = data.find(b">", min(len(data), b + rng.choice([0, 300]))) + 1
        return data[: other.end()] + data[a : max(b, end)] + data[other.end() :]
    if how < 0.95:
        return data[:b] + rng.choice(PIECES) + data[b:]
    return rng.choice(PROLOGUES) + data
