"""An arm with limits: they are never left, and a goal that fails comes with the reason."""

import numpy as np

import exactik as ik

hinge = ik.Joint.revolute
arm = ik.Skeleton.build(
    "arm",
    [
        ik.Bone("base", joint=hinge("z", limits=(-2.9, 2.9))),
        ik.Bone("upper", parent="base", offset=(0, 0, 0.3), joint=hinge("y", limits=(-1.5, 1.5))),
        ik.Bone("lower", parent="upper", offset=(0, 0, 0.4), joint=hinge("y", limits=(0.0, 2.4))),
        ik.Bone("wrist", parent="lower", offset=(0, 0, 0.3), joint=hinge("y", limits=(-1.8, 1.8))),
        ik.Bone("tool", parent="wrist", offset=(0, 0, 0.1)),
    ],
)

for target in [(0.4, 0.2, 0.5), (0.0, 0.05, 0.25), (0.9, 0.9, 0.3)]:
    result = ik.solve(arm, [ik.PositionGoal("tool", target)], starts=8)
    print(target, "→", result.why)
    print("   angles [°]:", np.degrees(result.q).round(1))
    assert (arm.lower <= result.q).all() and (result.q <= arm.upper).all()
