"""What was found of gait, in numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactik.recordings.angles import GaitCycles


def gait_facts(cycles: GaitCycles) -> dict[str, Any]:
    """Return what was found of gait, as plain data.

    Its code is "gait", "no-stride" (steps, but no whole stride) or one of `GaitEvents`.
    """
    steps_only = len(cycles) == 0 and cycles.events.code == "gait"
    return {
        "code": "no-stride" if steps_only else cycles.events.code,
        "text": cycles.text,
        "strides": len(cycles),
        "treadmill_m_s": _round(cycles.belt_speed) if cycles.belt_speed > 0.0 else None,
        "parameters": [
            {
                "name": parameter.name,
                "side": parameter.side,
                "unit": parameter.unit,
                "mean": _round(parameter.mean),
                "sd": _round(parameter.sd),
                "strides": parameter.strides,
            }
            for parameter in cycles.parameters()
        ],
        "events": [
            {"side": event.side, "kind": event.kind, "frame": event.frame}
            for event in cycles.events.events
        ],
    }


def _round(value: float) -> float | None:
    return float(f"{value:.5g}") if np.isfinite(value) else None
