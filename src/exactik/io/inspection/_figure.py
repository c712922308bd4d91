"""What the built-in human accepts: marker sets, landmarks, names."""

from __future__ import annotations

from typing import Any

from exactik._text import join_names
from exactik.anatomy.marker_sets import (
    Landmark,
    list_landmark_names,
    list_landmarks,
    list_marker_sets,
)
from exactik.model import human

MAX_SHOWN_NAMES = 8  # of a landmark or set, without --all


def describe_human(everything: bool) -> list[str]:
    """Return the lines of `exactik inspect human`.

    Args:
        everything: whether to list all landmarks and all names.
    """
    figure = human()
    sets, landmarks = list_marker_sets(), list_landmarks()
    lines = [
        f"human: the built-in figure of 1.75 m; {len(figure.bones)} bones, {figure.nv} dofs, "
        f"{len(figure.markers)} markers.",
        f"It knows {len(landmarks)} landmarks of the body by their names, and {len(sets)} marker "
        "sets; other names can be given with --mapping.",
        "",
        "Its own markers",
        *_fold_names(tuple(figure.markers)),
        "",
        "Marker sets",
    ]
    width = max(len(s.id) for s in sets)
    for s in sets:
        lines.append(f"  {s.id.ljust(width)}  {s.title}; {len(s.markers)} names")
        if everything:
            lines += _fold_names(tuple(s.markers), indent=4)
            lines += [f"    {note}" for note in (s.notes, f"Source: {s.source}") if note != ""]
    lines += ["", "Landmarks (the left ones and those in the middle; the right ones mirror them)"]
    width = max(map(len, landmarks))
    for landmark in landmarks.values():
        if landmark.side == "r":
            continue
        known = list_landmark_names().get(landmark.id.removeprefix("l_"), ())
        names = join_names(known, None if everything else MAX_SHOWN_NAMES, last=", ", rest=", …")
        told = f": {names}" if names != "" else ""
        lines.append(f"  {landmark.id.ljust(width)}  {_describe_landmark(landmark)}{told}")
    if not everything:
        lines += ["", "--all lists every name."]
    return lines


def list_human() -> dict[str, Any]:
    """Return what `exactik inspect human --json` prints."""
    return {
        "path": "human",
        "kind": "figure",
        "markers": list(human().markers),
        "landmarks": [landmark._asdict() for landmark in list_landmarks().values()],
        "marker_sets": [
            {
                "id": s.id,
                "title": s.title,
                "source": s.source,
                "notes": s.notes,
                "up": s.up,
                "markers": dict(s.markers),
                "computed": dict(s.computed),
            }
            for s in list_marker_sets()
        ],
    }


def _describe_landmark(landmark: Landmark) -> str:
    text = landmark.text.removeprefix("left ")
    if landmark.is_cluster:
        return f"anywhere on the {text}"
    return text if landmark.kind == "skin" or "joint" in text else f"{text} (inside)"


def _fold_names(names: tuple[str, ...], indent: int = 2, width: int = 96) -> list[str]:
    """Return names on lines of at most `width` columns."""
    lines, line = [], " " * indent
    for name in names:
        if len(line) + len(name) + 2 > width:
            lines.append(line.rstrip())
            line = " " * indent
        line += f"{name}, "
    return [*lines, line.rstrip(", ")]
