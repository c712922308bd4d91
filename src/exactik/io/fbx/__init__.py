"""Binary FBX files: skeletons, skins and baked animations.

Read by hand: of the packages on PyPI, `ufbx` states no licence, `pyufbx` has no animation and
`pufbx` no wheel for Linux, and Autodesk's is not on PyPI.
"""

from exactik.io.fbx._read import (
    read_fbx_content,
    read_fbx_motion,
    read_fbx_skeleton,
    read_fbx_up_axis,
)
