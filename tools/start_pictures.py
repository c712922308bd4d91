"""The pictures of the start pages: the last pose of their examples with closed loops.

python tools/start_pictures.py
"""

from __future__ import annotations

import re
from pathlib import Path

import exactik as ik
from exactik.solvers import Result
from exactik.studio.cards import compose_scene
from exactik.studio.player.still import render_still

DOCS = Path(__file__).resolve().parent.parent / "docs"
PICTURES = {"robotics": "two-arms.svg", "animation": "hands-on-a-bar.svg"}

for page, picture in PICTURES.items():
    text = (DOCS / "start" / f"{page}.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)
    names: dict[str, Result] = {}
    exec(next(block for block in blocks if "with_loops" in block), names)
    result = names["result"]
    motion = ik.Motion(result.problem.skeleton, result.q[None], 1.0)
    (DOCS / picture).write_text(render_still(compose_scene(motion)) + "\n", "utf-8")
