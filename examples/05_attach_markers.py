"""Put markers on a skeleton that has none, from a take of which both motion and markers are known.

So for an .asf with an .amc and a .c3d of the same take: markers rest on their bones.
"""

import numpy as np

import exactik as ik
from exactik.synthetic import simulate_performance, simulate_recording

motion = simulate_performance(seconds=4.0, rate=60.0)
take = simulate_recording(motion, noise=0.002, gaps=0.02, swap=False)

bare = motion.skeleton.with_markers({})
known = ik.Motion(bare, motion.q, motion.rate)
on = {name: bone for name, (bone, _) in motion.skeleton.markers.items()}  # marker → bone
figure = ik.attach_markers(bare, take.markers, known, on)

away = [
    np.linalg.norm(np.subtract(figure.marker(name)[1], motion.skeleton.marker(name)[1]))
    for name in figure.markers
]
print(f"{len(figure.markers)} markers attached; places are right within {1e3 * max(away):.1f} mm")
print(ik.track(figure, take.markers))
