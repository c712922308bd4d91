"""Constraints of OpenSim's that close loops: points, frames, distances, a point on a line."""

from __future__ import annotations

import numpy as np

from exactik.errors import ExactikError
from exactik.io._xml import Element
from exactik.io.opensim._description import GROUND, FramePlace
from exactik.io.opensim._document import FrameTable, body_fixed_xyz, read_socket
from exactik.model import Loop
from exactik.typing import Array

LOOP_TAGS = (
    "PointConstraint",
    "WeldConstraint",
    "ConstantDistanceConstraint",
    "PointOnLineConstraint",
)
ORIGIN = (0.0, 0.0, 0.0)


def read_loop(element: Element, frames: FrameTable) -> Loop | None:
    """Return the loop that a constraint closes; None if it does not say which bodies."""
    try:
        if element.tag == "PointOnLineConstraint":
            return _read_line(element, frames)
        one, other = (_find_end(element, frames, number) for number in (1, 2))
        if one is not None and one.body == GROUND:
            one, other = other, one
        if one is None or other is None or one.body == GROUND:
            return None
        is_weld = element.tag == "WeldConstraint"
        is_rod = element.tag == "ConstantDistanceConstraint"
        return Loop(
            one.body,
            None if other.body == GROUND else other.body,
            kind="weld" if is_weld else "distance" if is_rod else "point",
            points=(one.position, other.position),
            rotation=other.rotation @ one.rotation.T if is_weld else None,
            distance=element.finite_of("constant_distance", 0.0) if is_rod else None,
            name=element.plain_name,
        )
    except ExactikError as error:
        raise element.error(str(error)) from error


def _read_line(element: Element, frames: FrameTable) -> Loop | None:
    line = _find_frame(element, frames, "line_body")
    follower = _find_frame(element, frames, "follower_body")
    if line is None or follower is None or follower.body == GROUND:
        return None
    return Loop(
        follower.body,
        None if line.body == GROUND else line.body,
        kind="line",
        points=(
            _place(follower, element.vector_of("point_on_follower", ORIGIN)),
            _place(line, element.vector_of("point_on_line", ORIGIN)),
        ),
        axis=line.rotation @ element.vector_of("line_direction_vec", ORIGIN),
        name=element.plain_name,
    )


def _find_end(element: Element, frames: FrameTable, number: int) -> FramePlace | None:
    """Return the frame that the first or the second body of a constraint is held by."""
    body = f"body_{number}"
    new = read_socket(element, f"frame{number}")
    place = _find_frame(element, frames, f"frame{number}" if new != "" else body)
    if place is None:
        return None
    position = _place(place, element.vector_of(f"location_{body}", ORIGIN))
    turn = body_fixed_xyz(element.vector_of(f"orientation_{body}", ORIGIN))
    return FramePlace(place.body, position, place.rotation @ turn)


def _find_frame(element: Element, frames: FrameTable, socket: str) -> FramePlace | None:
    path = read_socket(element, socket) or element.text_of(socket).strip()
    if path == "":
        return None
    return frames.find(element, f"/constraintset/{element.plain_name}", path, socket)


def _place(frame: FramePlace, location: tuple[float, float, float]) -> Array:
    """Return a location in a frame as a point of its body [m], (3,)."""
    return frame.position + frame.rotation @ np.asarray(location)
