"""The same figure, hanging from another of its bones.

On the path from the old root to the new one every joint is turned round: the bone that carried
becomes the one that is carried. A joint between a bone and its child,

    R_child = R pre Q post          p_child = p + R (offset + pre d)

read backwards is

    R = R_child postᵀ Qᵀ preᵀ       p + R offset = p_child + R_child postᵀ (−d)

(for the position: Qᵀd = d, as a joint that can be turned round does not both shift and turn, or
shifts along the axis of its turn), so that `pre` and `post` are exchanged and transposed, rotations
are inverted, shifts are negated, and the origin of the bone, which belongs to the joint that
carries it, moves to `offset`.
Bones keep their orientation; markers, centres of mass, meshes and other children of a moved bone
keep their place, in new numbers.

`exactik.model.joints` has the inverse of each kind of joint.

The new root takes over the joint to the world, placed such that neutral poses correspond: a free
one stays free, a fixed one fixed.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from exactik.errors import ModelError
from exactik.model._bone import Bone
from exactik.model.joints import Joint
from exactik.model.visuals import LazyVisuals
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.model._skeleton import Skeleton


def reroot(skeleton: Skeleton, bone: str) -> Skeleton:
    """Return the same figure with `bone` as its root.

    Bones keep their names and orientations. A joint on the path between the two roots belongs to
    its other bone now, and so do its dofs; `reroot_coordinates` takes configurations along.

    Args:
        skeleton: the figure; if it has several roots, only the tree of `bone` changes.
        bone: name of the new root.

    Raises:
        UnknownNameError: no such bone.
        ModelError: the root's joint is neither fixed nor free, or has limits, or a joint on the
            path has no inverse of its own kind (a free or custom joint, or a swing with limits),
            or drives other joints, or follows one.
    """
    path = _find_path(skeleton, bone)
    if len(path) == 1:
        return skeleton
    _refuse_coupled_joints(skeleton, path)
    if path[0].joint.nv == 0 and any(loop.b is None for loop in skeleton.loops):
        raise ModelError(f"a loop holds {skeleton.name!r} to the world; it cannot be re-rooted")
    new_origins = {above.name: np.array(below.offset) for above, below in pairwise(path)}
    no_shift = np.zeros(3)
    changed = {path[-1].name: _make_root(skeleton, path)}
    for above, below in pairwise(path):
        changed[above.name] = Bone(
            above.name,
            parent=below.name,
            offset=-new_origins.get(below.name, no_shift),
            pre=_transpose(below.post),
            joint=_invert_joint(below),
            post=_transpose(below.pre),
        )
    bones = [
        changed[b.name]
        if b.name in changed
        else Bone(
            b.name,
            parent=b.parent,
            offset=b.offset - new_origins.get(b.parent, no_shift)
            if b.parent is not None
            else b.offset,
            pre=b.pre,
            joint=b.joint,
            post=b.post,
        )
        for b in skeleton.bones
    ]
    markers = {m: (b, x - new_origins.get(b, no_shift)) for m, (b, x) in skeleton.markers.items()}
    T_new_old = {bone: _make_shift(-origin) for bone, origin in new_origins.items()}
    moved = skeleton.with_bones(bones, markers).with_loops(
        [
            loop.moved(lambda bone, x: x - new_origins.get(bone or "", no_shift))
            for loop in skeleton.loops
        ]
    )
    # Stretched to the bones as they are, so that parts of bones keep their place in the new frames.
    moved = moved.with_visuals(LazyVisuals(partial(skeleton.load_visuals, for_good=True)))
    moved = moved.with_attachments_mapped(T_new_old)
    return moved.with_home(
        None if skeleton.home is None else _reroot_poses(skeleton, moved, bone, skeleton.home)
    )


def reroot_coordinates(skeleton: Skeleton, bone: str, q: ArrayLike) -> Array:
    """Return the coordinates with which `reroot(skeleton, bone)` takes the pose of `skeleton` at q.

    A free root takes along where the figure stands; with a fixed one, which cannot move, the two
    poses are the same up to a rigid motion of the whole.

    Args:
        skeleton: the figure before re-rooting.
        bone: name of the new root.
        q: coordinates, shape (…, nq).

    Returns:
        Coordinates of the re-rooted figure, shape (…, nq).
    """
    return _reroot_poses(skeleton, reroot(skeleton, bone), bone, q)


def _reroot_poses(skeleton: Skeleton, rerooted: Skeleton, bone: str, q: ArrayLike) -> Array:
    q = skeleton.normalised(q)
    path = _find_path(skeleton, bone)
    if len(path) == 1:
        return q.copy()
    first_q = skeleton.tree.first_q
    parts = {b.name: q[..., first_q[k] : first_q[k + 1]] for k, b in enumerate(skeleton.bones, 1)}
    changed = {
        above.name: below.joint.inverse_coordinates(parts[below.name])
        for above, below in pairwise(path)
    }
    changed[bone] = _compute_root_coordinates(skeleton, rerooted, bone, q)
    return np.concatenate([changed.get(b.name, parts[b.name]) for b in rerooted.bones], axis=-1)


def _refuse_coupled_joints(skeleton: Skeleton, path: list[Bone]) -> None:
    names = {bone.name for bone in path}
    for coupling in skeleton.couplings:
        for dof in (coupling.driven, coupling.driver):
            if dof is not None and dof.rpartition(".")[0] in names:
                raise ModelError(
                    f"cannot re-root over {dof!r}: it drives other dofs or follows one, and its "
                    "joint would be another bone's"
                )


def _find_path(skeleton: Skeleton, bone: str) -> list[Bone]:
    """Return the bones from the root to `bone`."""
    return [skeleton.bones[k] for k in reversed(skeleton.find_ancestors(bone))]


def _make_shift(shift: Array) -> Array:
    T_new_old = np.eye(4)
    T_new_old[:3, 3] = shift
    return T_new_old


def _transpose(matrix: ArrayLike | None) -> Array | None:
    return None if matrix is None else np.array(matrix).T


def _invert_joint(bone: Bone) -> Joint:
    """Return the joint of `bone` read from its other side."""
    try:
        return bone.joint.inverse()
    except ModelError as error:
        raise ModelError(f"cannot re-root over {bone.name!r}: {error}") from None


# --- the joint to the world


def _make_root(skeleton: Skeleton, path: list[Bone]) -> Bone:
    """Return the last bone with the joint of the first, at its place in the neutral pose."""
    old, bone = path[0], path[-1]
    joint = old.joint
    if joint.kind not in ("fixed", "free"):
        raise ModelError(
            f"cannot re-root {skeleton.name!r}: its root {old.name!r} is on a {joint.kind} joint, "
            "and no such joint moves another bone in the same way; make the root free or fixed"
        )
    if joint.kind == "free" and joint.rotation_part.nv < 3:
        raise ModelError(
            f"cannot re-root {skeleton.name!r}: its root {old.name!r} turns about "
            f"{joint.rotation_part.nv} axes only, and another bone about more"
        )
    if np.isfinite(joint.limits).any():
        raise ModelError(
            f"cannot re-root {skeleton.name!r}: limits of the root {old.name!r} are no limits of "
            f"{bone.name!r}; remove them first"
        )
    neutral = skeleton.forward(skeleton.neutral())
    k = skeleton.bone_index(bone.name)
    pre = np.eye(3) if old.pre is None else np.array(old.pre)
    return Bone(
        bone.name,
        offset=neutral.positions[k],
        pre=old.pre,
        joint=joint,
        post=pre.T @ neutral.rotations[k],
    )


def _compute_root_coordinates(skeleton: Skeleton, rerooted: Skeleton, bone: str, q: Array) -> Array:
    """Return the coordinates (…, 0 or 6 or 7) that put the new root where it is at q."""
    root = rerooted.bones[rerooted.bone_index(bone)]
    if root.joint.kind == "fixed":
        return q[..., :0]
    pose, k = skeleton.forward(q), skeleton.bone_index(bone)
    pre, post = (np.eye(3) if m is None else np.array(m) for m in (root.pre, root.post))
    shift = (pose.positions[..., k, :] - root.offset) @ pre  # rows times pre: preᵀ on columns
    return root.joint.coordinates_for(shift, pre.T @ pose.rotations[..., k, :, :] @ post.T)
