"""Put markers on a skeleton that has none, from a take of which both motion and markers are known.

The same works for an .asf with an .amc and a .c3d of one take.
"""

import numpy as np

import exactik as ik
from exactik.lab.synthetic import simulate_performance, simulate_recording

motion = simulate_performance(seconds=4.0, rate=60.0)
take = simulate_recording(motion, noise=0.002, gaps=0.02, swap=False)

bare = motion.skeleton.with_markers({})
known = ik.Motion(bare, motion.q, motion.rate)
marker_bones = {name: bone for name, (bone, _) in motion.skeleton.markers.items()}
figure = ik.attach_markers(bare, take.markers, known, marker_bones)

errors = [
    np.linalg.norm(np.subtract(figure.marker(name)[1], motion.skeleton.marker(name)[1]))
    for name in figure.markers
]
print(f"{len(figure.markers)} markers attached; places are right within {1e3 * max(errors):.1f} mm")
print(ik.track(figure, take.markers))
