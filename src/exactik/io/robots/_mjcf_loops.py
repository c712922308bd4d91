"""Equalities of MJCF that close loops: connect holds two points together, weld two frames.

Of two bodies, or of the frames of two sites. What an element does not state follows from where the
file has the bodies: a connect states a point of its first body, and a weld one of its second, and
the other body has the same point where they are in the file.
"""

from __future__ import annotations

import numpy as np

from exactik.errors import ExactikError
from exactik.io._xml import Element
from exactik.io.robots._mjcf_bodies import MjcfBody, MjcfModel
from exactik.model import Loop
from exactik.spatial import matrix_from_wxyz
from exactik.typing import Array

LOOP_TAGS = ("connect", "weld")
Place = tuple[MjcfBody | None, Array, Array]  # a body, None for the world, and p, R in its frame


def read_loop(model: MjcfModel, element: Element, metres: float) -> Loop | None:
    """Return the loop that a connect or weld closes; None if it holds the world to itself.

    Args:
        model: the file.
        element: with its defaults filled in.
        metres: length of the file's unit [m].
    """
    if "site1" in element.attributes or "site2" in element.attributes:
        ends = [_find_site(model, element, key) for key in ("site1", "site2")]
    else:
        bodies = [_find_body(model, element, key) for key in ("body1", "body2")]
        make = _place_weld if element.tag == "weld" else _place_connect
        ends = make(element, *bodies)
    if ends[0][0] is None:
        ends.reverse()
    (one, p_one, R_one), (other, p_other, R_other) = ends
    if one is None:
        return None
    try:
        return Loop(
            one.name,
            None if other is None else other.name,
            kind="weld" if element.tag == "weld" else "point",
            points=(metres * p_one, metres * p_other),
            rotation=R_other @ R_one.T if element.tag == "weld" else None,
            name=element.attributes.get("name", "").strip(),
        )
    except ExactikError as error:
        raise element.error(str(error)) from error


def _place_connect(element: Element, one: MjcfBody | None, other: MjcfBody | None) -> list[Place]:
    anchor = np.array(element.read_numbers("anchor", (0.0, 0.0, 0.0)))
    p_world_one, R_world_one = _locate(one)
    p_world_other, R_world_other = _locate(other)
    there = R_world_other.T @ (p_world_one + R_world_one @ anchor - p_world_other)
    return [(one, anchor, np.eye(3)), (other, there, np.eye(3))]


def _place_weld(element: Element, one: MjcfBody | None, other: MjcfBody | None) -> list[Place]:
    anchor = np.array(element.read_numbers("anchor", (0.0, 0.0, 0.0)))
    relpose = np.array(element.read_numbers("relpose", (0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0)))
    if relpose[3:].any():  # MuJoCo takes its place for that of the anchor
        p_one_anchor = relpose[:3]
        R_one_other = matrix_from_wxyz(relpose[3:] / np.linalg.norm(relpose[3:]))
    else:
        p_world_one, R_world_one = _locate(one)
        p_world_other, R_world_other = _locate(other)
        R_one_other = R_world_one.T @ R_world_other
        p_one_anchor = R_world_one.T @ (p_world_other - p_world_one) + R_one_other @ anchor
    return [(one, p_one_anchor, R_one_other), (other, anchor, np.eye(3))]


def _find_body(model: MjcfModel, element: Element, key: str) -> MjcfBody | None:
    """Return the body that an attribute names; None for the world, which it need not name."""
    name = element.attributes.get(key, "").strip()
    if key == "body1" and name == "":
        raise element.error("no body1, nor site1 and site2; expected what it holds")
    if name in ("", "world"):
        return None
    for body in model.bodies:
        if body.name == name:
            return body
    raise element.error(f"no body is named {name[:60]!r}")


def _find_site(model: MjcfModel, element: Element, key: str) -> Place:
    name = element.read_required(key, "the name of a site, as the other end has one")
    if name not in model.sites:
        raise element.error(f"no site is named {name[:60]!r}")
    site, scope = model.sites[name]
    site = model.defaults.apply_to(site, scope.default_class)
    return scope.body, *model.compute_pose(site, scope)


def _locate(body: MjcfBody | None) -> tuple[Array, Array]:
    """Return where a body is in the world, as the file has it."""
    p, R = np.zeros(3), np.eye(3)
    while body is not None:
        p, R = body.p_parent_body + body.R_parent_body @ p, body.R_parent_body @ R
        body = body.parent
    return p, R
