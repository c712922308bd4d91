"""Fit the built-in human to a subject of another size, from a few seconds of motion."""

import numpy as np

import exactik as ik
from exactik.lab.synthetic import simulate_performance, simulate_recording

# The subject: legs 8 % longer, arms 5 % shorter than ours.
factors = {"thigh": 1.08, "shin": 1.08, "upper_arm": 0.95, "forearm": 0.95}
human = ik.human()
bones = []
for bone in human.bones:
    above = (bone.parent or "").removeprefix("l_").removeprefix("r_")
    offset = factors.get(above, 1.0) * np.array(bone.offset)
    bones.append(
        ik.Bone(bone.name, parent=bone.parent, offset=offset, pre=bone.pre, joint=bone.joint)
    )
subject = ik.Skeleton.build("subject", bones, human.markers)

moving = simulate_performance(seconds=12.0, rate=30.0)
take = simulate_recording(ik.Motion(subject, moving.q, 30.0, up_axis="z"), gaps=0.0, swap=False)

fit = ik.calibrate(human, take.markers, frames=60)
for bone, true in (("l_thigh", 1.08), ("l_shin", 1.08), ("l_upper_arm", 0.95), ("l_forearm", 0.95)):
    print(f"{bone:12} × {fit.scales[bone]:.3f} ± {fit.scale_sds[bone]:.3f}, in truth {true}")
before, after = (1e3 * np.nanmean(e) for e in (fit.errors_before, fit.errors))
print(f"a marker is off by {before:.1f} mm with the human as it is, by {after:.1f} mm as fitted")
print("markers are then followed by fit.skeleton:", fit.track)
