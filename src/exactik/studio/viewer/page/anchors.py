"""Labels that stick to instances of a batched mesh, such as the names of markers.

A page puts a label where it is told to be at once, and instances a few pictures later. So a label
says of which instance it is the name, by a place that is too far away to be one, once; the page's
script (_labels.js) puts it there in every picture, and hides it where the instance has no size.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.model.visuals import Mesh
from exactik.studio.viewer.page.skin import SIGNATURE

FAR, STEP = 1e7, 16.0  # [m] of places that are codes, and between two: single precision knows 1 m


class Anchor(NamedTuple):
    """A batched mesh to whose instances labels stick; a scene has one of each kind.

    Attributes:
        number: by which the script knows it: −1 or −2.
    """

    number: int

    def mark(self, mesh: Mesh) -> Mesh:
        """Return a mesh that the script finds by its first vertex, which no face has."""
        mark = np.array([(SIGNATURE, self.number, 0)], dtype=np.float32)
        return Mesh(np.concatenate([mark, mesh.vertices]), mesh.faces + np.uint32(1))

    def place_label(self, instance: int) -> tuple[float, float, float]:
        """Return the place of the label of an instance, for a node at the root of the scene [m]."""
        return FAR + STEP * (2 * instance - 1 - self.number), 0.0, 0.0


MARKER_ANCHOR, WORST_ANCHOR = Anchor(-1), Anchor(-2)
