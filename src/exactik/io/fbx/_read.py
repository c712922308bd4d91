"""Read skeletons, motions and surfaces from binary FBX files."""

from __future__ import annotations

from functools import partial

from exactik.io._notes import Notes
from exactik.io.fbx._document import read_fbx_document
from exactik.io.formats import Content
from exactik.io.gltf import (
    Opener,
    read_gltf_content,
    read_gltf_motion,
    read_gltf_skeleton,
    read_gltf_up_axis,
)
from exactik.model import Skeleton
from exactik.model.motion import Motion

Unit = str | float | None


def read_fbx_content(path: str, notes: Notes) -> Content:
    """Return what an .fbx file holds; one in which nothing moves is a skeleton."""
    return read_gltf_content(path, notes, read_fbx_document)


def read_fbx_up_axis(path: str, notes: Notes) -> str | None:
    """Return which axis is up in an .fbx file."""
    return read_gltf_up_axis(path, notes, read_fbx_document)


def read_fbx_skeleton(path: str, notes: Notes, length_unit: Unit = None) -> Skeleton:
    """Return the skeleton in an .fbx file; its neutral pose is that of the nodes in the file.

    Args:
        length_unit: in place of what the file says.
    """
    return read_gltf_skeleton(path, notes, length_unit, read=_open_for(length_unit))


def read_fbx_motion(
    path: str,
    notes: Notes,
    skeleton: Skeleton | None = None,
    length_unit: Unit = None,
    rate: float | None = None,
    animation: int | str | None = None,
) -> Motion:
    """Return a motion in an .fbx file.

    The frames are the keys, if they are as close as the file's frames; else these frames. A `rate`
    may be given instead.

    Args:
        skeleton: the motion is given in its coordinates; bones are matched by name.
        length_unit: in place of what the file says.
        rate: [Hz] at which to sample the curves.
        animation: number or name of the animation; the first one if None.
    """
    read = _open_for(length_unit)
    return read_gltf_motion(path, notes, skeleton, length_unit, rate, animation, read=read)


def _open_for(length_unit: Unit) -> Opener:
    return partial(read_fbx_document, in_metres=length_unit in (None, "auto"))
