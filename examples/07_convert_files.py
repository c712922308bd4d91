"""From one kind of file to another, with a word on what the new one cannot hold."""

import tempfile

import exactik as ik
from exactik.lab.synthetic import simulate_performance

with tempfile.TemporaryDirectory() as folder:
    simulate_performance(seconds=2.0, rate=30.0).save(f"{folder}/wave.npz")
    for name in ("wave.bvh", "wave.glb", "wave.c3d"):
        done = ik.convert(f"{folder}/wave.npz", f"{folder}/{name}", output_up="y")
        print(f"{name}: {done.written}")
        for text in done.lost or ("nothing",):
            print(f"    lost: {text}")

    again = ik.load_motion(f"{folder}/wave.bvh", length_unit="cm")
    print("read back:", again)
