"""Names of the bones of an MJCF: all bodies have one, and no two the same."""

from __future__ import annotations

from itertools import chain

from exactik.io.robots._mjcf_bodies import Body

__all__ = ["BoneNames"]


class BoneNames:
    """Names of bones: those of the bodies, and for other bones names that are not taken yet."""

    def __init__(self, bodies: list[Body]):
        self.taken: set[str] = set()
        for body in bodies:
            if body.name != "" and body.name in self.taken:
                raise body.element.error("a second body of this name; expected different ones")
            self.taken.add(body.name)
        joints: set[str] = set()
        for joint in (joint for body in bodies for joint in body.joints if joint.name != ""):
            if joint.name in joints:
                raise joint.element.error("a second joint of this name; expected different ones")
            joints.add(joint.name)
        for k, body in enumerate(bodies, start=1):  # MuJoCo's number; its 0 is the world
            if body.name == "":
                body.name = self.choose(f"body{k}")

    def choose(self, *candidates: str) -> str:
        """Return the first of these names that is free, else the last with a number."""
        numbered = (f"{candidates[-1]}_{n}" for n in range(2, len(self.taken) + 3))
        name = next(name for name in chain(candidates, numbered) if name not in self.taken)
        self.taken.add(name)
        return name
