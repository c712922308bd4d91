"""A small leg as an .osim file, in the layouts of several versions, and OpenSim to judge it.

The leg: a pelvis that moves freely in a plane, a thigh on a ball of three turns, a shank on a knee
whose centre follows its angle, a patella that follows the knee through a coupler, a foot on a pin
whose frame is turned on both bodies.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from exactik.typing import Array

JUDGE = Path(__file__).with_name("opensim_judge.py")
PYTHON_VARIABLE = "EXACTIK_OPENSIM_PYTHON"


def find_judge() -> str | None:
    """The Python that has OpenSim: named by a variable, this one, or that of `make peers`."""
    named = os.environ.get(PYTHON_VARIABLE)
    if named is not None:
        return named
    if importlib.util.find_spec("opensim") is not None:
        return sys.executable
    peers = JUDGE.parents[2] / ".peers" / "opensim" / "bin" / "python"
    return str(peers) if peers.exists() else None


def ask_judge(*arguments: str | Path) -> None:
    """Run the judge; skip the test where there is none."""
    python = find_judge()
    if python is None:
        pytest.skip(f"no OpenSim: pip install opensim, or name its Python in {PYTHON_VARIABLE}")
    command = [python, str(JUDGE), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def judge_poses(model: Path, folder: Path, count: int = 200) -> dict[str, Array]:
    """Coordinates, bodies and markers of random poses, as OpenSim has them."""
    out = folder / f"{model.stem}.npz"
    ask_judge("poses", model, out, "--count", str(count))
    with np.load(out) as found:
        return dict(found)


# --- the leg

SPLINE = "<SimmSpline><x>-2 -1 -0.3 0.2 1</x><y>0.01 -0.02 0 0.004 0.03</y></SimmSpline>"
LINEAR = "<LinearFunction><coefficients>1 0</coefficients></LinearFunction>"
QUADRATIC = "<PolynomialFunction><coefficients>0.02 -0.1 -0.4</coefficients></PolynomialFunction>"


def _axis(name: str, coordinate: str, direction: str, function: str) -> str:
    return (
        f'<TransformAxis name="{name}"><coordinates>{coordinate}</coordinates>'
        f"<axis>{direction}</axis><function>{function}</function></TransformAxis>"
    )


def _constant(value: float) -> str:
    return f"<Constant><value>{value}</value></Constant>"


PLANE = (
    _axis("rotation1", "tilt", "0 0 1", LINEAR)
    + _axis("rotation2", "", "1 0 0", _constant(0.1))
    + _axis("rotation3", "", "0 1 0", _constant(0.0))
    + _axis("translation1", "tx", "1 0 0", LINEAR)
    + _axis("translation2", "ty", "0 1 0", LINEAR)
    + _axis("translation3", "", "0 0 1", _constant(-0.05))
)
BALL = (
    _axis("rotation1", "flexion", "0 0 1", LINEAR)
    + _axis("rotation2", "adduction", "1 0 0", LINEAR)
    + _axis("rotation3", "rotation", "0 1 0", LINEAR)
    + _axis("translation1", "", "1 0 0", _constant(0.0))
    + _axis("translation2", "", "0 1 0", _constant(0.0))
    + _axis("translation3", "", "0 0 1", _constant(0.0))
)
KNEE = (
    _axis("rotation1", "knee", "0.1 0 1", LINEAR)
    + _axis("rotation2", "", "0 1 0", _constant(0.0))
    + _axis("rotation3", "", "1 0 0", _constant(0.0))
    + _axis(
        "translation1",
        "knee",
        "1 0 0",
        f"<MultiplierFunction><function>{SPLINE}</function><scale>1.3</scale></MultiplierFunction>",
    )
    + _axis("translation2", "knee", "0 1 0", QUADRATIC)
    + _axis("translation3", "", "0 0 1", _constant(0.0))
)
PATELLA = (
    _axis("rotation1", "beta", "0 0 1", LINEAR)
    + _axis("rotation2", "", "0 1 0", _constant(0.0))
    + _axis("rotation3", "", "1 0 0", _constant(0.0))
    + _axis("translation1", "", "1 0 0", _constant(0.04))
    + _axis("translation2", "", "0 1 0", _constant(-0.02))
    + _axis("translation3", "", "0 0 1", _constant(0.0))
)

# Body → (parent, joint's tag, its name, its coordinates, its motions, place and turn in the parent,
# place and turn in the body).
LEG = {
    "pelvis": ("ground", "Custom", "ground_pelvis", ("tilt", "tx", "ty"), PLANE),
    "thigh": ("pelvis", "Custom", "hip", ("flexion", "adduction", "rotation"), BALL),
    "shank": ("thigh", "Custom", "knee_joint", ("knee",), KNEE),
    "patella": ("thigh", "Custom", "patellofemoral", ("beta",), PATELLA),
    "foot": ("shank", "Pin", "ankle", ("ankle_angle",), ""),
}
PLACES = {
    "pelvis": ("0 0.9 0", "0 0 0", "0 0 0", "0 0 0"),
    "thigh": ("-0.07 -0.06 0.08", "0 0 0", "0 0 0", "0 0 0"),
    "shank": ("0 0 0", "0 0.1 0", "0 0 0", "0 0.1 0"),
    "patella": ("0 -0.4 0", "0 0 0", "0 0 0", "0 0 0"),
    "foot": ("0 -0.43 0", "0.2 -0.1 0.3", "0.02 0.05 -0.01", "-0.1 0.2 0.05"),
}
MARKERS = {
    "R.ASIS": ("pelvis", "0.03 0.05 0.1"),
    "Sacrum": ("pelvis", "-0.15 0.04 0"),
    "Thigh Front": ("thigh", "0.08 -0.25 0.01"),
    "knee-lat": ("thigh", "0 -0.4 0.06"),
    "shin": ("shank", "0.05 -0.3 0.01"),
    "Heel": ("foot", "-0.06 0.01 0"),
    "Toe": ("foot", "0.16 0 0.02"),
}


def _coordinate(name: str, with_type: bool) -> str:
    kind = "translational" if name in ("tx", "ty") else "rotational"
    stated = f"<motion_type>{kind}</motion_type>" if with_type else ""
    clamped = "true" if name == "knee" else "false"
    locked = "true" if name == "ankle_angle" else "false"
    default = "0.1" if name == "ankle_angle" else "0"
    return (
        f'<Coordinate name="{name}">{stated}<default_value>{default}</default_value>'
        f"<range>-1.5 0.8</range><clamped>{clamped}</clamped><locked>{locked}</locked>"
        "<prescribed_function/></Coordinate>"
    )


COUPLER = (
    '<CoordinateCouplerConstraint name="patella_follows">{enforced}'
    f"<coupled_coordinates_function>{SPLINE}</coupled_coordinates_function>"
    "<independent_coordinate_names>knee</independent_coordinate_names>"
    "<dependent_coordinate_name>beta</dependent_coordinate_name>"
    "<scale_factor>20</scale_factor></CoordinateCouplerConstraint>"
)


def make_leg(version: int = 40000) -> str:
    """The leg as a document of this version."""
    return _make_old_leg(version) if version < 30500 else _make_new_leg(version)


def _make_old_leg(version: int) -> str:
    bodies = ['<Body name="ground"><mass>0</mass><Joint/></Body>']
    for body, (parent, tag, joint, coordinates, motions) in LEG.items():
        in_parent, turn_in_parent, in_child, turn_in_child = PLACES[body]
        listed = "".join(_coordinate(name, True) for name in coordinates)
        transform = f"<SpatialTransform>{motions}</SpatialTransform>" if motions != "" else ""
        bodies.append(
            f'<Body name="{body}"><mass>1.5</mass><mass_center>0 -0.1 0</mass_center>'
            f'<Joint><{tag}Joint name="{joint}"><parent_body>{parent}</parent_body>'
            f"<location_in_parent>{in_parent}</location_in_parent>"
            f"<orientation_in_parent>{turn_in_parent}</orientation_in_parent>"
            f"<location>{in_child}</location><orientation>{turn_in_child}</orientation>"
            f"<CoordinateSet><objects>{listed}</objects></CoordinateSet>{transform}"
            f"</{tag}Joint></Joint></Body>"
        )
    markers = "".join(
        f'<Marker name="{name}"><body>{body}</body><location>{place}</location></Marker>'
        for name, (body, place) in MARKERS.items()
    )
    coupler = COUPLER.format(enforced="<isDisabled>false</isDisabled>")
    return _document(
        version, f"<BodySet><objects>{''.join(bodies)}</objects></BodySet>", coupler, markers
    )


def _make_new_leg(version: int) -> str:
    bodies = "".join(
        f'<Body name="{body}"><mass>1.5</mass><mass_center>0 -0.1 0</mass_center>'
        "<attached_geometry><Mesh name='m'><mesh_file>bone.vtp</mesh_file></Mesh>"
        "</attached_geometry><inertia>1 1 1 0 0 0</inertia></Body>"
        for body in LEG
    )
    joints = []
    for body, (parent, tag, joint, coordinates, motions) in LEG.items():
        in_parent, turn_in_parent, in_child, turn_in_child = PLACES[body]
        listed = "".join(_coordinate(name, False) for name in coordinates)
        # Functions stand in their axis, named, where older versions had them in <function>.
        motions = re.sub(
            r"<function><(\w+)>(.*?)</function></TransformAxis>",
            r'<\1 name="function">\2</TransformAxis>',
            motions,
        )
        transform = f"<SpatialTransform>{motions}</SpatialTransform>" if motions != "" else ""
        above = "/ground" if parent == "ground" else f"/bodyset/{parent}"
        frames = (
            f'<PhysicalOffsetFrame name="{parent}_offset"><socket_parent>{above}</socket_parent>'
            f"<translation>{in_parent}</translation><orientation>{turn_in_parent}</orientation>"
            f'</PhysicalOffsetFrame><PhysicalOffsetFrame name="{body}_offset">'
            f"<socket_parent>/bodyset/{body}</socket_parent><translation>{in_child}</translation>"
            f"<orientation>{turn_in_child}</orientation></PhysicalOffsetFrame>"
        )
        joints.append(
            f'<{tag}Joint name="{joint}"><socket_parent_frame>{parent}_offset'
            f"</socket_parent_frame><socket_child_frame>{body}_offset</socket_child_frame>"
            f"<coordinates>{listed}</coordinates><frames>{frames}</frames>{transform}</{tag}Joint>"
        )
    markers = "".join(
        f'<Marker name="{name}"><socket_parent_frame>/bodyset/{body}</socket_parent_frame>'
        f"<location>{place}</location></Marker>"
        for name, (body, place) in MARKERS.items()
        if " " not in name  # version 4 has none with blanks
    )
    inside = (
        f'<Ground name="ground"/><BodySet name="bodyset"><objects>{bodies}</objects></BodySet>'
        f'<JointSet name="jointset"><objects>{"".join(joints)}</objects></JointSet>'
    )
    coupler = COUPLER.format(enforced="<isEnforced>true</isEnforced>")
    return _document(version, inside, coupler, markers)


def _document(version: int, inside: str, coupler: str, markers: str) -> str:
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<OpenSimDocument Version="{version}">\n'
        f'<Model name="leg">{inside}\n'
        f'<ConstraintSet name="constraintset"><objects>{coupler}</objects></ConstraintSet>\n'
        f'<MarkerSet name="markerset"><objects>{markers}</objects></MarkerSet>\n'
        '<ForceSet name="forceset"><objects><CoordinateActuator name="a">'
        "<coordinate>knee</coordinate></CoordinateActuator></objects></ForceSet>"
        "</Model></OpenSimDocument>\n"
    )
