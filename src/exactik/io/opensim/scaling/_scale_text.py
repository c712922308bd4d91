"""A model scaled in its text: what OpenSim's scale tool multiplies, and by what.

With s the factors of a body along its axes (those of the body that a frame, point or joint's parent
frame is on):

    places on a body (offset frames, markers, muscle points, wrap objects, centre of mass)   × s
    geometry's scale factors                                                                 × s
    translations of a custom joint    × |axis|·s, but not those that are a coordinate itself
    moving muscle points              × s, as multiples of their functions
    radii of wrap objects             × the mean of s across, their length × s along
    coupler of a shift                × s_x
    mass × s_x s_y s_z, unless its distribution is kept; then all masses × subject's mass / sum
    inertia                           as a cylinder, where s is not the same along all axes

Before version 4 a joint says its ends itself, `location_in_parent` × s of the parent and `location`
× s of the child; geometry hangs on a <VisibleObject>, and inertias are six elements.

Muscle and tendon lengths go with the length of the muscle's path in the default pose, which is
known once the rest is scaled (`scale_muscles`).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from exactik.io._notes import Notes
from exactik.io._xml import Element
from exactik.io.opensim._description import OpenSimModel, find_function, find_moving_function
from exactik.io.opensim._document import (
    FrameTable,
    body_fixed_xyz,
    objects_of,
    open_set,
    read_socket,
)
from exactik.io.opensim.scaling._text import DocumentText, format_numbers
from exactik.typing import Array

Factors = Mapping[str, Array]
"""Body → factors along its x, y and z, (3,); 1 for bodies that are not in it."""

ONE = (1.0, 1.0, 1.0)
PATH_POINTS = ("PathPoint", "ConditionalPathPoint")
OLD_INERTIA = tuple(f"inertia_{pair}" for pair in ("xx", "yy", "zz", "xy", "xz", "yz"))


def scale_text(
    root: Element,
    text: DocumentText,
    model: OpenSimModel,
    factors: Factors,
    *,
    mass: float,
    keeps_mass_distribution: bool,
    notes: Notes,
) -> None:
    """Change the text of a <Model> to a scaled one, but for its markers and muscles' lengths.

    Args:
        text: that it was parsed from; takes the changes.
        mass: of the subject [kg]; not positive if that of the scaled bodies is kept.
        keeps_mass_distribution: whether masses stay in proportion.
    """
    scaler = _Scaler(root, text, factors, notes)
    scaler.scale_frames()
    scaler.scale_joints(model)
    scaler.scale_paths()
    scaler.scale_masses(model, mass, keeps_mass_distribution)


class _Scaler:
    """Goes over a model and multiplies."""

    def __init__(self, root: Element, text: DocumentText, factors: Factors, notes: Notes):
        self.root, self.text, self.factors, self.notes = root, text, factors, notes
        self.frames = FrameTable(root, notes)

    def of_body(self, name: str) -> Array:
        return np.asarray(self.factors.get(name, ONE), dtype=float)

    def of_socket(self, element: Element, path: str, *names: str) -> Array:
        """Return the factors of the body that a socket of an element leads to."""
        sockets = (read_socket(element, name) for name in names)
        socket = next((s for s in sockets if s != ""), "") or element.text_of("body")
        return self.of_body(self.frames.find(element, path, socket, "frame").body)

    def multiply(self, owner: Element, tag: str, factors: Array) -> None:
        """Multiply the numbers of a property, if it is there."""
        child, values = owner.first(tag), owner.numbers_of(tag)
        if child is not None and len(values) > 0:
            scaled = np.array(values) * (factors[: len(values)] if factors.ndim > 0 else factors)
            self.text.set_numbers(child, tuple(scaled.tolist()))

    def set_numbers(self, owner: Element, tag: str, *values: float) -> None:
        """Set the numbers of a property, which is added if it is not there."""
        child = owner.first(tag)
        if child is None:
            self.text.append(owner, f"<{tag}>{format_numbers(values)}</{tag}>")
        else:
            self.text.set_numbers(child, values)

    # --- places

    def scale_frames(self) -> None:
        """Scale what stands on bodies: offset frames, geometry, wrap objects."""
        for path, frame in self.frames.offsets.items():
            factors = self.of_body(self.frames.find(frame, path, path, "frame").body)
            self.multiply(frame, "translation", factors)
            self._scale_geometry(frame, factors)
        for body in objects_of(open_set(self.root, "BodySet", self.notes)):
            factors = self.of_body(body.plain_name)
            self._scale_geometry(body, factors)
            for wraps in body.find_children("WrapObjectSet"):
                for wrap in objects_of(wraps):
                    self._scale_wrap_object(wrap, factors)

    def _scale_geometry(self, frame: Element, factors: Array) -> None:
        for holder in frame.find_children("attached_geometry"):
            for geometry in holder.children:
                if geometry.first("scale_factors") is None:
                    self.set_numbers(geometry, "scale_factors", *factors.tolist())
                else:
                    self.multiply(geometry, "scale_factors", factors)
        for shown in frame.find_children("VisibleObject"):  # before version 4
            self.multiply(shown, "scale_factors", factors)
            for geometry in shown.find_descendants("DisplayGeometry"):
                # Three angles, then the place.
                self.multiply(geometry, "transform", np.concatenate([ONE, factors]))

    def _scale_wrap_object(self, wrap: Element, factors: Array) -> None:
        self.multiply(wrap, "translation", factors)
        turn = body_fixed_xyz(wrap.vector_of("xyz_body_rotation", (0.0, 0.0, 0.0)))
        along = np.linalg.norm(turn * factors[:, None], axis=0)  # of each axis of the object
        if wrap.tag == "WrapSphere":
            self.multiply(wrap, "radius", np.array(factors.mean()))
        elif wrap.tag == "WrapCylinder":
            self.multiply(wrap, "radius", np.array(along[:2].mean()))
            self.multiply(wrap, "length", np.array(along[2]))
        elif wrap.tag == "WrapEllipsoid":
            self.multiply(wrap, "dimensions", along)
        elif wrap.tag == "WrapTorus":
            for tag in ("inner_radius", "outer_radius"):
                self.multiply(wrap, tag, np.array(along[:2].mean()))

    # --- joints

    def scale_joints(self, model: OpenSimModel) -> None:
        """Scale translations of custom joints, ellipsoids, and couplers of shifts."""
        parents: dict[str, Array] = {}
        elements = {
            e.plain_name: e for e in objects_of(open_set(self.root, "JointSet", self.notes))
        }
        for body in objects_of(open_set(self.root, "BodySet", self.notes)):
            for holder in body.find_children("Joint"):  # before version 4
                for element in holder.children:
                    elements[element.plain_name] = element
                    parent = self.of_body(element.text_of("parent_body"))
                    self.multiply(element, "location_in_parent", parent)
                    tag = "location_in_child"
                    tag = tag if element.first(tag) is not None else "location"
                    self.multiply(element, tag, self.of_body(body.plain_name))
        for joint in model.joints:
            element, factors = elements[joint.name], self.of_body(joint.parent.body)
            parents |= {coordinate.name: factors for coordinate in joint.coordinates}
            if joint.kind == "Custom":
                self._scale_custom_joint(element, factors)
            elif joint.kind == "Ellipsoid":
                self.multiply(element, "radii_x_y_z", factors)
            elif joint.kind == "Scapulothoracic":
                self.multiply(element, "thoracic_ellipsoid_radii_x_y_z", factors)
                child = self.of_body(joint.child.body)
                self.multiply(element, "scapula_winging_axis_origin", child)
        shifts = {
            axis.coordinate
            for joint in model.joints
            for axis in joint.axes[3:]
            if axis.coordinate is not None
        }
        for element in objects_of(open_set(self.root, "ConstraintSet", self.notes)):
            dependent = element.text_of("dependent_coordinate_name")
            if dependent in shifts:
                factor = float(parents[dependent][0]) * element.number_of("scale_factor", 1.0)
                self.set_numbers(element, "scale_factor", factor)

    def _scale_custom_joint(self, joint: Element, factors: Array) -> None:
        transform = joint.first("SpatialTransform")
        assert transform is not None  # the model was read
        for axis in transform.children:
            name = axis.plain_name or axis.tag
            function = find_function(axis, "function")
            if not name.startswith("translation") or function is None:
                continue
            if function.tag == "LinearFunction" and function.numbers_of("coefficients") in (
                (),
                (1.0, 0.0),
            ):
                continue  # the shift is a coordinate itself
            direction = np.abs(axis.vector_of("axis", (1.0, 0.0, 0.0)))
            self._multiply_function(function, float(direction @ factors))

    def _multiply_function(self, function: Element, factor: float) -> None:
        """Multiply a function by a number: in its scale, or as a multiple of it."""
        if function.tag == "MultiplierFunction":
            self.set_numbers(function, "scale", factor * function.number_of("scale", 1.0))
            return
        name = function.attributes.get("name", "")
        opening = f'<MultiplierFunction name="{name}">' if name != "" else "<MultiplierFunction>"
        if name != "":
            self.text.set_attribute(function, "name", "")
        tail = f"</function><scale>{factor!r}</scale></MultiplierFunction>"
        self.text.wrap(function, f"{opening}<function>", tail)

    # --- muscles

    def scale_paths(self) -> None:
        """Scale the points of muscles and of all other paths."""
        for point in self.root.find_descendants(*PATH_POINTS):
            factors = self.of_socket(point, "/forceset", "parent_frame", "body")
            self.multiply(point, "location", factors)
        for point in self.root.find_descendants("MovingPathPoint"):
            factors = self.of_socket(point, "/forceset", "parent_frame", "body")
            for axis, factor in zip("xyz", factors.tolist(), strict=True):
                tag = f"{axis}_coordinate"
                if (read_socket(point, tag) or point.text_of(tag)) == "":
                    continue
                function = find_moving_function(point, axis)
                if function is not None:
                    self._multiply_function(function, factor)

    # --- masses

    def scale_masses(self, model: OpenSimModel, mass: float, keeps_mass_distribution: bool) -> None:
        """Scale masses, centres and inertias, so that masses add up to the subject's."""
        volume = {
            body.name: 1.0 if keeps_mass_distribution else float(self.of_body(body.name).prod())
            for body in model.bodies
        }
        total = sum(body.mass * volume[body.name] for body in model.bodies)
        share = mass / total if mass > 0.0 and total > 0.0 else 1.0
        for body in objects_of(open_set(self.root, "BodySet", self.notes)):
            name, factors = body.plain_name, self.of_body(body.plain_name)
            if name not in volume:
                continue
            self.multiply(body, "mass_center", factors)
            self.multiply(body, "mass", np.array(share * volume[name]))
            children = [body.first(tag) for tag in ("inertia", *OLD_INERTIA)]
            inertia = body.numbers_of("inertia")
            if children[0] is None:
                inertia = tuple(body.number_of(tag, 0.0) for tag in OLD_INERTIA)
            if len(inertia) != 6:
                continue
            old = body.number_of("mass", 0.0)
            scaled = share * _scale_inertia(np.array(inertia), old, volume[name], factors)
            if children[0] is not None:
                self.text.set_numbers(children[0], tuple(scaled.tolist()))
                continue
            for child, value in zip(children[1:], scaled.tolist(), strict=True):
                if child is not None:
                    self.text.set_numbers(child, (value,))


def _scale_inertia(inertia: Array, mass: float, volume: float, factors: Array) -> Array:
    """Return xx, yy, zz, xy, xz, yz of a scaled body, whose mass is `volume` times what it was."""
    x, y, z = factors
    if mass * volume <= np.finfo(float).eps:
        return 0.0 * inertia
    if np.allclose(factors, x, rtol=1e-13, atol=0.0):
        return inertia * (volume * x * x)
    # A cylinder along the axis of the smallest moment, its inertia taken about the middle.
    axis = int(np.argmin(inertia[:3]))
    other = 1 if axis == 0 else 0
    radius_2 = max(2.0 * inertia[axis] / mass, 0.0)
    length_2 = max(12.0 * (inertia[other] - 0.25 * mass * radius_2) / mass, 0.0)
    across = np.delete(factors, axis)
    radius_2 *= float(across.prod())
    length_2 *= float(factors[axis]) ** 2
    new_mass = mass * volume
    moments = np.full(3, new_mass * (length_2 / 12.0 + 0.25 * radius_2))
    moments[axis] = 0.5 * new_mass * radius_2
    products = inertia[3:] * np.array([x * y, x * z, y * z]) * volume
    return np.concatenate([moments, products])
