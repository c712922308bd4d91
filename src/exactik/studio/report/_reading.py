"""How a recording was read: which marker is what, axes, unit, sizes."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from exactik._text import count_noun
from exactik.anatomy.marker_sets import list_landmarks
from exactik.studio.report._headline import format_share

if TYPE_CHECKING:
    from exactik.recordings.diagnosis import RecordingContext


Facts = Mapping[str, Any]

USED_WORDS = {
    "same-name": "its name",
    "landmark": "its name",
    "joint-centre": "its name",
    "geometry": "where it rests",
    "by-hand": "your word",
}
UNUSED_WORDS = {
    "by-hand": "left out by hand",
    "computed": "computed, not measured",
    "unnamed": "without a name",
    "unknown-name": "name unknown",
    "unclear": "not clear",
    "misnamed": "not where its name says",
    "object": "on a thing, not on the body",
    "other-subject": "on another subject",
    "never-seen": "in no frame",
}
ORIGIN_WORDS = {
    "user": "as you said",
    "file": "as the file says",
    "figure": "along which the figure stands",
    "spread": "along which the markers spread most",
    "custom": "as is customary in such files",
    "axes": "turned by hand",
    "unknown": "not known; taken as it is",
}
MIN_SCALE_DEVIATION = 0.02  # of a bone's size from the others' that is worth a line


def reading_facts(context: RecordingContext | None) -> dict[str, Any] | None:
    """Return how the recording was read, as plain data; None where nothing is known of it."""
    if context is None:
        return None
    return {
        "uses": [
            {key: getattr(use, key) for key in ("name", "marker", "bone", "code", "landmark")}
            for use in context.uses
        ],
        "subject": context.subject,
        "subjects": list(context.subjects),
        "up_axis": context.up.axis,
        "up_axis_from": context.up.origin,
        "unit_factor": context.unit_factor,
        "size": None if context.size is None else float(f"{context.size:.4g}"),
        "marker_set": context.marker_set,
        "set_missing": list(context.set_missing),
        "scales": {bone: float(f"{scale:.4g}") for bone, scale in context.scales.items()},
        "scale_sds": {bone: float(f"{sd:.3g}") for bone, sd in context.scale_sds.items()},
    }


def render_reading(reading: Facts, rate: str) -> str:
    """Return what each marker was taken for, which are not used, axes, unit and sizes."""
    used = [use for use in reading["uses"] if use["marker"] is not None]
    unused = [use for use in reading["uses"] if use["marker"] is None]
    cells = "".join(
        f'<div class="use"><b>{escape(use["name"])}</b><span>{escape(_describe_use(use))}</span>'
        f"<span>{escape(use['bone'] or '')}</span>"
        f"<span>{escape(USED_WORDS.get(str(use['code']), str(use['code'])))}</span></div>"
        for use in used
    )
    head = "<b>recorded</b><span>taken for</span><span>on bone</span><span>because of</span>"
    return (
        f"{_render_facts(reading, rate)}"
        f"<h3>{count_noun(len(used), 'marker')} of {len(used) + len(unused)} used</h3>"
        f'<div class="uses"><div class="use head">{head}</div>{cells}</div>'
        f"{_render_unused(unused)}"
    )


def _describe_use(use: Facts) -> str:
    """Return the place on the body, else the marker of the figure."""
    landmark = list_landmarks().get(use["landmark"])
    return str(use["marker"]) if landmark is None else landmark.text


def _render_unused(unused: list[Facts]) -> str:
    if len(unused) == 0:
        return ""
    by_code: dict[str, list[str]] = {}
    for use in unused:
        by_code.setdefault(use["code"], []).append(use["name"])
    rows = "".join(
        f"<tr><th>{escape(UNUSED_WORDS.get(code, code))}</th><td>{len(names)}</td>"
        f"<td>{escape(', '.join(names))}</td></tr>"
        for code, names in sorted(by_code.items(), key=lambda item: -len(item[1]))
    )
    return f'<h3>{len(unused)} not used</h3><table class="unused"><tbody>{rows}</tbody></table>'


def _render_facts(reading: Facts, rate: str) -> str:
    facts = {"rate": rate}
    up = reading["up_axis"]
    facts["up"] = f"{up or 'unknown'}, {ORIGIN_WORDS.get(reading['up_axis_from'], '')}"
    if reading["unit_factor"] != 1.0:
        facts["unit"] = f"lengths × {reading['unit_factor']:g}: the file's unit cannot be right"
    if reading["marker_set"] is not None:
        missing = reading["set_missing"]
        facts["marker set"] = reading["marker_set"]
        if len(missing) > 0:
            facts["missing of the set"] = ", ".join(missing)
    if len(reading["subjects"]) > 1:
        names = ", ".join(name or "unnamed" for name in reading["subjects"])
        facts["subject"] = f"{reading['subject'] or 'unnamed'} of {names}"
    if len(reading["scales"]) > 0:
        facts["size of the bones"] = _describe_scales(reading)
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in facts.items()
    )
    return f'<table class="facts"><tbody>{rows}</tbody></table>'


def _describe_scales(reading: Facts) -> str:
    """Return the fitted sizes against the built figure's, left and right as one where equal."""
    parts: dict[str, str] = {}
    for bone, scale in reading["scales"].items():
        if abs(scale - 1.0) < MIN_SCALE_DEVIATION:
            continue
        sd = reading["scale_sds"].get(bone)
        text = format_share(scale) + (f" ± {100.0 * sd:.0f}" if sd is not None else "")
        bare = bone[2:] if bone[:2] in ("l_", "r_") else bone
        if parts.setdefault(bare, text) != text:
            parts[bone] = text
    listed = ", ".join(f"{bone} {text}" for bone, text in parts.items())
    return listed or "as the figure was"
