"""Who is in a recording: its subjects, without computed points and rigid objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from exactik.errors import UnknownNameError
from exactik.motion import Markers

__all__ = ["ALL_SUBJECTS", "SubjectMarkers", "choose_subjects"]

ALL_SUBJECTS = "all"
"""In place of a subject's name: each of them."""


@dataclass(frozen=True, kw_only=True)
class SubjectMarkers:
    """The markers of one subject.

    Attributes:
        name: of the subject, "" if the recording has only one.
        markers: on the subject.
        left_out: name → why, of markers of the file that are on no subject: a code as of `Match`.
        subjects: names of all subjects in the file.
    """

    name: str
    markers: Markers
    left_out: Mapping[str, str]
    subjects: tuple[str, ...]


def choose_subjects(markers: Markers, subject: str | None) -> list[SubjectMarkers]:
    """Return the subjects of a recording that are asked for.

    Args:
        markers: the whole recording.
        subject: name of one, "all" for each; the first if None.
    """
    parts = {"": markers}
    names = tuple(parts)
    if subject not in (None, ALL_SUBJECTS, *names):
        raise UnknownNameError("subject", subject, names)
    if subject is None:
        chosen = names[:1]
    else:
        chosen = names if subject == ALL_SUBJECTS else (subject,)
    return [
        SubjectMarkers(name=name, markers=parts[name], left_out={}, subjects=names)
        for name in chosen
        if name is not None
    ]
