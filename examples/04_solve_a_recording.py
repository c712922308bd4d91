"""From markers to motion: solve a recording that has noise, gaps and two swapped markers."""

import tempfile
from pathlib import Path

import exactik as ik
from exactik.lab.synthetic import simulate_performance, simulate_recording

# A synthetic one, so that the example needs no file; otherwise: ik.load_markers("walk.c3d")
take = simulate_recording(simulate_performance(seconds=4.0), noise=0.001, gaps=0.05)
print(take)

track = ik.track(ik.human(), take.markers, robust="huber")
print(track)
print(f"{(track.status == 'converged').mean():.0%} of the frames are solved without reserve")
print("what deserves a look, the worst first:")
for attention in track.attention[:3]:
    print(f"  frames {attention.first} to {attention.last}: {attention.text}")

with tempfile.TemporaryDirectory() as folder:
    track.save(f"{folder}/walk.glb")
    track.report(f"{folder}/walk.html")
    for path in sorted(Path(folder).iterdir()):
        print(path.name, path.stat().st_size // 1024, "KB")
