"""`python -m benchmarks.peers.ask NAME TASK BUDGET FOLDER`: one tool, in its own environment."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from benchmarks.peers.protocol import load, run

if __name__ == "__main__":
    name, task, budget, folder = sys.argv[1:]
    adapter = import_module(f"benchmarks.peers.adapters.with_{name}")
    run(adapter, load(Path(task)), float(budget), Path(folder))
