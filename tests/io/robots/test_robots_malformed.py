"""Files that are wrong end in one sentence: the file, the place in it, what was expected."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from exactik.errors import ExactikError, FileError, FileWarning
from exactik.io import MAX_DEPTH, _xml, load_skeleton
from tests.support.robot_files import random_mjcf, random_urdf, write

LINKS = '<link name="a"/><link name="b"/><link name="c"/>'
ENDS = '<parent link="a"/><child link="b"/>'
LAST = '<joint name="k" type="fixed"><parent link="b"/><child link="c"/></joint>'
BACK = '<joint name="l" type="fixed"><parent link="c"/><child link="a"/></joint>'


def urdf(joint: str = "", rest: str = LAST, kind: str = "revolute") -> str:
    return f'<robot>\n{LINKS}\n<joint name="j" type="{kind}">{ENDS}{joint}</joint>\n{rest}</robot>'


def mjcf(inside: str, rest: str = "") -> str:
    return f"<mujoco>\n<worldbody>\n{inside}</worldbody>\n{rest}</mujoco>"


def one_line(path: Path) -> str:
    """The text of the error, which names the file and is a single line."""
    with pytest.raises(FileError) as caught:
        load_skeleton(path)
    text = str(caught.value)
    assert isinstance(caught.value, ExactikError)
    assert isinstance(caught.value, ValueError)
    assert text.startswith(f"{path}: {caught.value.place}")
    assert "\n" not in text
    assert len(text) < len(str(path)) + 600
    return text


URDF_FAULTS = {
    "no axis": (urdf('<axis xyz="0 0 0"/>'), 'line 3, <joint name="j">: axis has length 0'),
    "short axis": (urdf('<axis xyz="0 1"/>'), "line 3, <axis>: xyz is '0 1'; expected 3 numbers"),
    "nan": (urdf('<origin xyz="0 nan 1"/>'), "<origin>: xyz has 'nan'; expected 3 numbers"),
    "infinite": (urdf('<origin xyz="0 inf 1"/>'), "expected 3 numbers, all finite"),
    "overflow": (urdf('<origin xyz="0 1e999 1"/>'), "expected 3 numbers, all finite"),
    "decimal comma": (urdf('<origin xyz="0 0,5 1"/>'), "xyz has '0,5'; expected 3 numbers"),
    "underscore": (urdf('<limit lower="1_0"/>'), "lower has '1_0'; expected a number"),
    "xacro": (urdf('<origin rpy="0 ${pi/2} 0"/>'), "rpy has '${pi/2}'; expected 3 numbers"),
    "macro": (urdf("<xacro:insert_block/>"), "<xacro:insert_block>: a xacro macro; expected"),
    "swapped": (urdf('<limit lower="2" upper="1"/>'), "limits are swapped: lower 2 > upper 1"),
    "no room": (urdf('<limit lower="inf" upper="inf"/>'), "limits inf and inf leave no room"),
    "two origins": (urdf("<origin/><origin/>"), "a second <origin>"),
    "two turns": (urdf('<origin rpy="0 0 0" quat_xyzw="0 0 0 1"/>'), "both rpy and quat_xyzw"),
    "no turn": (urdf('<origin quat_xyzw="0 0 0 0"/>'), "quat_xyzw is zero"),
    "type": (urdf(kind="hinge"), "type is 'hinge'; expected one of fixed, revolute"),
    "no type": (urdf(kind=""), "type is ''; expected one of"),
    "joint twice": (
        urdf(rest=LAST + LAST),
        'line 4, <joint name="k">: a second joint of this name',
    ),
    "link twice": (urdf(rest=LAST + '<link name="a"/>'), "a second link of this name"),
    "no name": (urdf(rest="<link/>"), "line 4, <link>: attribute 'name' is missing"),
    "two roots": (urdf(rest=""), "2 links have no parent: a, c; expected one root"),
    "unknown child": (urdf(rest=LAST.replace('"c"', '"d"')), "child link 'd' is not defined"),
    "unknown parent": (urdf(rest=LAST.replace('"b"', '"d"')), "parent link 'd' is not defined"),
    "two parents": (
        urdf(rest=LAST + LAST.replace('"k"', '"l"')),
        "link 'c' is already the child of joint 'k'",
    ),
    "no parent": (urdf(rest='<joint name="k" type="fixed"/>'), "no <parent>; expected the link"),
    "ring": (
        urdf(rest=LAST + BACK),
        'line 2, <link name="a">: the joints above this link run in a ring',
    ),
    "ring beside": (
        '<robot><link name="r"/><link name="s"/><joint name="j" type="fixed"><parent link="s"/>'
        '<child link="s"/></joint></robot>',
        '<link name="s">: the joints above this link run in a ring',
    ),
    "no links": ("<robot/>", "no <link>; expected at least one"),
    "follows itself": (urdf('<mimic joint="j"/>'), "couplings run in a ring: b.rx → b.rx"),
    "follows many": (
        urdf(rest=LAST.replace("fixed", "floating"), joint='<mimic joint="k"/>'),
        "joint 'k' has 6 dofs; a coupling needs one",
    ),
    "planar name": (
        urdf(
            kind="planar", rest=LAST.replace('"c"', '"b_planar1"') + '<link name="b_planar1"/>'
        ).replace('<link name="c"/>', ""),
        "two bones are named 'b_planar1'",
    ),
}

MJCF_FAULTS = {
    "no bodies": (mjcf(""), "no <body> in <worldbody>"),
    "axis": (
        mjcf('<body><joint name="j" axis="0 0 0"/></body>'),
        'line 3, <joint name="j">: axis has length 0; expected a direction',
    ),
    "two numbers": (mjcf('<body name="b" pos="0 1"/>'), "expected 3 numbers, found 2"),
    "nan": (mjcf('<body name="b" pos="0 nan 1"/>'), "pos has 'nan'"),
    "quat": (mjcf('<body quat="0 0 0 0"/>'), "quat has length 0; expected a direction"),
    "axisangle": (mjcf('<body axisangle="0 0 0 1"/>'), "axis of axisangle has length 0"),
    "zaxis": (mjcf('<body zaxis="0 0 0"/>'), "zaxis has length 0"),
    "x axis": (mjcf('<body xyaxes="0 0 0 0 1 0"/>'), "x of xyaxes has length 0"),
    "parallel": (mjcf('<body xyaxes="1 0 0 2 0 0"/>'), "y of xyaxes, across x, has length 0"),
    "two ways": (mjcf('<body quat="1 0 0 0" euler="0 0 1"/>'), "quat and euler; expected one"),
    "type": (mjcf('<body><joint type="Hinge"/></body>'), "type is 'Hinge'; expected one of hinge"),
    "swapped": (mjcf('<body><joint range="1 0" type="slide"/></body>'), "limits are swapped"),
    "no range": (mjcf('<body><joint limited="true"/></body>'), "range is 0 0; expected lower < up"),
    "not automatic": (
        mjcf('<body><joint range="0 1"/></body>', '<compiler autolimits="false"/>'),
        "a range, and autolimits is off",
    ),
    "class": (mjcf('<body><joint class="x"/></body>'), "no default class 'x' (there are: main)"),
    "childclass": (mjcf('<body childclass="x"><joint/></body>'), "no default class 'x'"),
    "class twice": (
        mjcf("<body/>", '<default><default class="a"/><default class="a"/></default>'),
        "a second default class 'a'",
    ),
    "class without name": (
        mjcf("<body/>", "<default><default/></default>"),
        "line 4, <default>: attribute 'class' is missing",
    ),
    "names": (mjcf('<body name="a"/><body name="a"/>'), "a second body of this name"),
    "joint names": (
        mjcf('<body><joint name="a"/></body><body><joint name="a"/></body>'),
        "a second joint of this name",
    ),
    "free inside": (mjcf("<body><body><freejoint/></body></body>"), "directly in the world"),
    "free and more": (mjcf("<body><freejoint/><joint/></body>"), "as the only joint"),
    "world joint": (mjcf("<joint/><body/>"), "line 3, <joint>: a joint of the world"),
    "coordinates": (
        mjcf("<body/>", '<compiler coordinate="global"/>'),
        "coordinate is 'global'; expected one of local",
    ),
    "angle": (mjcf("<body/>", '<compiler angle="turn"/>'), "expected one of degree, radian"),
    "sequence": (mjcf("<body/>", '<compiler eulerseq="xyw"/>'), "eulerseq is 'xyw'"),
    "replicate": (
        mjcf('<replicate count="2"><body/></replicate>'),
        "line 3, <replicate>: <replicate> is not read; expected it written out",
    ),
    "attach": (mjcf('<attach model="m" body="b"/>'), "<attach> is not read"),
    "include": (mjcf("<include/>"), "line 3, <include>: attribute 'file' is missing"),
    "equality": (
        mjcf('<body><joint name="a"/></body>', '<equality><joint joint1="b"/></equality>'),
        "line 4, <joint>: no moving joint is named 'b' (there are: a)",
    ),
    "far axis": (mjcf('<body axisangle="1e200 0 1e200 1"/>'), "axis of axisangle has length inf"),
    "far ref": (mjcf('<body><joint axis="1 1 0" ref="1e300"/></body>'), "finite"),
    "polynomial": (
        mjcf(
            '<body><joint name="a"/></body>',
            '<equality><joint joint1="a" polycoef="1 2 3 4 5 6"/></equality>',
        ),
        "expected up to 5 numbers, found 6",
    ),
    "ring": (
        mjcf(
            '<body name="b"><joint name="a"/></body>',
            '<equality><joint joint1="a" joint2="a"/></equality>',
        ),
        "couplings run in a ring: b.rz → b.rz",
    ),
    "two equalities": (
        mjcf(
            '<body><joint name="a"/></body>',
            '<equality><joint joint1="a"/><joint joint1="a"/></equality>',
        ),
        "a second coupling of 'body1.rz'",
    ),
}

XML_FAULTS = {
    "empty": ("", "empty; expected XML"),
    "blank": (" \n\n", "empty; expected XML"),
    "text": ("solid cube", "line 1: not well-formed XML"),
    "cut": ("<robot>\n<link name=", "line 2: not well-formed XML"),
    "crossed": ("<robot>\n<link>\n</robot>", "line 3: not well-formed XML: mismatched tag"),
    "two roots": ("<robot/>\n<robot/>", "line 2: not well-formed XML"),
    "entity": ("<robot>&x;</robot>", "not well-formed XML: undefined entity"),
    "other": ("<sdf/>", "line 1, <sdf>: not a robot description; expected <robot>"),
    "part": ("<mujocoinclude/>", "expected <robot> (URDF) or <mujoco> (MJCF)"),
    "encoding": ('<?xml version="1.0" encoding="klingon"?><robot/>', "unknown encoding"),
    "laughs": (
        '<!DOCTYPE r [<!ENTITY a "ha">\n'
        + "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">\n' for a, b in pairwise("abcdefghi"))
        + "]><robot>&i;</robot>",
        "declares an XML entity or refers to another document",
    ),
    "external": (
        '<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]><robot name="&a;"/>',
        "declares an XML entity or refers to another document",
    ),
    "parameter": (
        '<!DOCTYPE r [<!ENTITY % a SYSTEM "http://example.org/x.dtd"> %a;]><robot/>',
        "declares an XML entity or refers to another document",
    ),
    "external type": (
        '<!DOCTYPE r SYSTEM "file:///etc/passwd"><robot/>',
        "declares an XML entity or refers to another document",
    ),
    "deep": ("<robot>" + "<a>" * 100_000, f"nested more than {MAX_DEPTH} deep"),
    "long name": (f'<robot><joint name="{"x" * 10**6}"/></robot>', "expected"),
}


@pytest.mark.parametrize("fault", URDF_FAULTS)
def test_faults_in_urdf(tmp_path: Path, fault: str):
    text, expected = URDF_FAULTS[fault]
    assert expected in one_line(write(tmp_path, "robot.urdf", text))


@pytest.mark.parametrize("fault", MJCF_FAULTS)
def test_faults_in_mjcf(tmp_path: Path, fault: str):
    text, expected = MJCF_FAULTS[fault]
    assert expected in one_line(write(tmp_path, "robot.xml", text))


@pytest.mark.parametrize("fault", XML_FAULTS)
def test_faults_in_xml(tmp_path: Path, fault: str):
    text, expected = XML_FAULTS[fault]
    assert expected in one_line(write(tmp_path, "robot.xml", text))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("urdf_cycle.urdf", 'line 351, <joint name="loop_x">: link'),
        ("urdf_limits_swapped.urdf", 'line 41, <joint name="panda_joint1">: limits are swapped'),
        ("urdf_missing_link.urdf", "link 'panda_link1_missing' is not defined"),
        ("urdf_truncated.urdf", "line 160: not well-formed XML"),
        ("urdf_zero_axis.urdf", "axis has length 0"),
    ],
)
def test_real_robots_damaged(shared_data: Path, name: str, expected: str):
    assert expected in one_line(shared_data / "data" / "malformed" / "generated" / name)


def test_paths_that_are_no_files(tmp_path: Path):
    assert "cannot be read: No such file" in one_line(tmp_path / "none.urdf")
    (tmp_path / "folder.xml").mkdir()
    assert "not a file" in one_line(tmp_path / "folder.xml")
    unknown = one_line(tmp_path / "a.xyz")
    assert "no reader of skeletons for .xyz; expected one of .urdf .xml" in unknown
    assert "no reader of skeletons for names without suffix" in one_line(tmp_path / "robot")
    with pytest.raises(FileError, match="cannot be read"):
        load_skeleton("a\0.urdf")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.urdf")
    assert "not a file" in one_line(tmp_path / "pipe.urdf")


def test_large_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The bounds are far above real files; here they are lowered to meet a small one."""
    path = write(tmp_path, "robot.urdf", urdf())
    load_skeleton(path)
    monkeypatch.setattr(_xml, "MAX_ELEMENTS", 5)
    assert "the file has more than 5 elements" in one_line(path)
    monkeypatch.setattr(_xml, "MAX_BYTES", 2**6)
    assert "larger than 0 MiB" in one_line(path)


@pytest.mark.full
def test_many_elements_are_bounded(tmp_path: Path):
    path = write(tmp_path, "robot.urdf", "<robot>" + "<a/>" * (_xml.MAX_ELEMENTS + 1))
    assert f"more than {_xml.MAX_ELEMENTS} elements" in one_line(path)


def test_deep_bodies_are_read_without_recursion(tmp_path: Path):
    n = MAX_DEPTH - 3
    text = mjcf('<body pos="1 0 0"><frame>' * (n // 2) + "</frame></body>" * (n // 2))
    assert len(load_skeleton(write(tmp_path, "robot.xml", text)).bones) == n // 2


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1"])
def test_encodings(tmp_path: Path, encoding: str):
    declared = "iso-8859-1" if encoding == "latin-1" else encoding.removesuffix("-sig")
    text = f'<?xml version="1.0" encoding="{declared}"?>\r\n<robot><link name="Händchen"/></robot>'
    path = tmp_path / "robot.urdf"
    path.write_bytes(text.encode(encoding))
    assert load_skeleton(path).bone_names == ("Händchen",)


def test_a_document_type_alone_is_harmless(tmp_path: Path):
    path = write(tmp_path, "a.urdf", '<!DOCTYPE robot><robot><link name="a"/></robot>')
    assert load_skeleton(path).bone_names == ("a",)


def test_errors_can_be_sent_to_another_process(tmp_path: Path):
    with pytest.raises(FileError) as caught:
        load_skeleton(write(tmp_path, "a.urdf", urdf('<axis xyz="0 0 0"/>')))
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert (again.path, again.place) == (caught.value.path, caught.value.place)


ODD = ["", "nan", "-inf", "1e308", "-1e-320", "x", "0 0 0", "1 2 3", "main", "part3", "link2", "é"]


@pytest.mark.parametrize("suffix", [".urdf", ".xml"])
@pytest.mark.parametrize("seed", range(4))
def test_damage_at_random_never_surprises(tmp_path: Path, suffix: str, seed: int):
    """Cut, flipped, doubled, or with odd values: a skeleton or a `FileError`, nothing else."""
    rng = np.random.default_rng(seed)
    path = tmp_path / f"robot{suffix}"
    outcomes = {True: 0, False: 0}
    for _ in range(100):
        text = random_urdf(rng, 6) if suffix == ".urdf" else random_mjcf(rng, 6)
        how = rng.integers(4)
        if how == 0:
            text = text[: rng.integers(len(text))]
        elif how == 1:
            position = int(rng.integers(len(text)))
            text = text[:position] + chr(rng.integers(1, 255)) + text[position + 1 :]
        elif how == 2:
            a, b = sorted(rng.integers(len(text), size=2))
            text = text[:b] + text[a:]
        else:
            values = list(re.finditer(r'"[^"]*"', text))
            chosen = values[rng.integers(len(values))]
            text = f'{text[: chosen.start()]}"{rng.choice(ODD)}"{text[chosen.end() :]}'
        path.write_bytes(text.encode("latin-1" if how == 1 else "utf-8"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FileWarning)
            try:
                load_skeleton(path, floating=bool(rng.integers(2)))
                outcomes[True] += 1
            except FileError as error:
                assert "\n" not in str(error)
                outcomes[False] += 1
    assert min(outcomes.values()) > 5


def test_readers_are_loaded_when_needed():
    """`import exactik.io` alone does not bring in the XML machinery."""
    probe = "import sys, exactik.io; assert 'defusedxml' not in sys.modules"
    subprocess.run([sys.executable, "-c", probe], check=True)
