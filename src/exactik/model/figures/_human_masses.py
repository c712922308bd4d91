"""Masses of the segments of the built-in human.

Share of the body's mass, and centre, of the segments of young men as P. de Leva lists them
(Adjustments to Zatsiorsky-Seluyanov's segment inertia parameters, J. Biomech. 29:1223-1230, 1996,
table 4): along the line from the first joint to the second for limbs; for head and trunk as heights
over the hips, from the lengths and shares given there over the stature of 1.741 m. The foot is
0.152 of stature long (Drillis and Contini, 1966), the centre at 44.15 % from the heel.
"""

from __future__ import annotations

from exactik.model._mass import BoneMass

BODY_MASS = 73.0  # [kg] of de Leva's men; the centre of mass does not depend on it
# Bone → share of the mass [%], centre in its frame as fractions of stature. Axes as of the figure:
# x forward, y left (outwards along a left arm), z up.
MIDDLE = {
    "pelvis": (11.17, (-0.005, 0.0, 0.0325)),  # lower trunk, 57 mm over the hips
    "lower_back": (16.33, (0.020, 0.0, 0.0918)),  # middle trunk, 264 mm
    "thorax": (15.96, (0.025, 0.0, 0.0211)),  # upper trunk, 481 mm
    "head": (6.94, (0.005, 0.0, 0.0152)),  # with the neck, 121.5 mm below the vertex
}
LEFT = {
    "thigh": (14.16, (0.0, 0.0, -0.4095 * 0.245)),
    "shin": (4.33, (0.0, 0.0, -0.4459 * 0.246)),
    "foot": (1.37, (-0.034 + 0.4415 * 0.152, 0.0, -0.020)),
    "upper_arm": (2.71, (0.0, 0.5772 * 0.186, 0.0)),
    "forearm": (1.62, (0.0, 0.4574 * 0.146, 0.0)),
    "hand": (0.61, (0.0, 0.79 * 0.054, 0.0)),
}


def make_human_masses(stature: float) -> dict[str, BoneMass]:
    """Return the masses of the bones of a human of a stature [m], by name."""
    masses = {}
    rows = [(bone, 1.0, row) for bone, row in MIDDLE.items()]
    rows += [(f"l_{bone}", 1.0, row) for bone, row in LEFT.items()]
    rows += [(f"r_{bone}", -1.0, row) for bone, row in LEFT.items()]
    for bone, side, (percent, (x, y, z)) in rows:
        center = (stature * x, side * stature * y, stature * z)
        masses[bone] = BoneMass(0.01 * percent * BODY_MASS, center)
    return masses
