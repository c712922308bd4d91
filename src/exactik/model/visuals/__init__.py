"""What bones look like: meshes attached to them, and skins that several of them bend.

Nothing here takes part in solving. A skeleton holds its visuals as a `LazyVisuals`, which reads
meshes and textures when they are first asked for, so that to load a figure costs what it did.
"""

from exactik.model.visuals._mesh import (
    MAX_PIXELS,
    MAX_VERTICES,
    Material,
    Mesh,
    Texture,
    compute_normals,
    find_image_type,
    join_meshes,
    make_box,
    make_capsule,
    make_cylinder,
    make_sphere,
    measure_image,
    srgb_to_linear,
)
from exactik.model.visuals._visuals import LazyVisuals, Skin, Visual, Visuals, map_visuals
