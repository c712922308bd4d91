"""Which recorded marker is which of a skeleton's: by hand, by name, by landmark, by geometry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import require_shape
from exactik.calibration._attach import find_recorded_name
from exactik.calibration._mapping import HandMapping, MarkerMapping, Match
from exactik.calibration._mapping_checks import find_implausible_names, find_open_side
from exactik.calibration._mapping_geometry import (
    MIN_MARKERS_TO_FIT,
    choose_by_place,
    guess_bones,
)
from exactik.errors import UnknownNameError, UsageError
from exactik.marker_sets import (
    Landmark,
    NameReading,
    find_landmarks,
    is_side_open,
    is_unlabelled,
    list_landmarks,
    read_marker_names,
    strip_prefix,
)
from exactik.model import Skeleton, human
from exactik.motion import Markers
from exactik.tracking import match_markers

__all__ = ["find_landmark_point", "has_landmarks", "propose_mapping"]

SET_CONFIDENCE = 0.85  # of a landmark that the marker set tells, as all names of the set agree
NAME_CONFIDENCE = 0.8  # of one that the name alone tells
CLUSTER_CONFIDENCE = 0.7  # of a name that tells the bone only
PLACE_CONFIDENCE = 0.6  # of a name that may mean several landmarks, settled by where the marker is
MIN_SHARED_NAMES = 3  # that two prefixes must share to be two subjects, not a body and its parts


def propose_mapping(
    skeleton: Skeleton,
    markers: Markers,
    bones: HandMapping | None = None,
    *,
    geometry: bool = True,
    computed: bool = False,
) -> MarkerMapping:
    """Propose which recorded marker is which of a skeleton's.

    By hand where it is given; else by name: the same, the same after a prefix ("Subject:LANK") or
    in other case, or a name for a landmark of the body ("R.ASIS"), as the marker set of the
    recording has it. On the built-in human a landmark has a place even if the figure has no marker
    there; other skeletons are asked for a marker of their own on it. Else by geometry: with the
    figure fitted to the markers that are known, an unknown one is on the bone on which it keeps
    most nearly at rest, if that is clear and the bone is near.

    Args:
        skeleton: the figure.
        markers: the recording, in the world of the skeleton; "up" must be the same.
        bones: recorded marker → own marker, or bone, or landmark, or (bone, place in its frame
            [m]); None for a marker that is not to be used.
        geometry: whether to look at places too.
        computed: whether to use points that software computed from markers, such as joint centres.
    """
    matches: dict[str, Match] = {}
    for name, choice in (bones or {}).items():
        recorded = find_recorded_name(markers, name)
        matches[recorded] = _match_by_hand(skeleton, recorded, choice)
    reading = read_marker_names(markers.names, markers.computed)
    _leave_out(markers, reading, matches, computed)
    _leave_out_other_subjects(markers, matches)
    own = read_marker_names(skeleton.markers)
    _match_by_name(skeleton, markers, reading, own, matches)
    _match_by_landmark(skeleton, markers, reading, own.landmarks, matches)
    _leave_out_implausible(skeleton, markers, matches)
    _settle_sides(skeleton, markers, reading, matches)
    if geometry:
        _settle_unclear_names(skeleton, markers, reading, matches)
        _match_by_geometry(skeleton, markers, matches)
    for name in markers.names:
        if name not in matches:
            matches[name] = _leave_unknown(name, reading)
    mapping = MarkerMapping(
        skeleton, tuple(matches[name] for name in markers.names), reading.marker_set
    )
    _check_markers_once(mapping)
    return mapping


def has_landmarks(skeleton: Skeleton) -> bool:
    """Whether landmarks have a place on a skeleton: it has the bones of the built-in human."""
    return skeleton.bone_names == human().bone_names


def find_landmark_point(skeleton: Skeleton, landmark: Landmark) -> tuple[float, float, float]:
    """Return the place of a landmark in its bone's frame [m], on a human of any size.

    It grows with the bone: with the offsets of the bones that follow, or, where none does, with its
    parent.
    """
    bone: str | None = landmark.bone
    while bone is not None:
        built_in, own = _offsets_below(human(), bone), _offsets_below(skeleton, bone)
        if built_in > 0.0:
            x, y, z = ((own / built_in) * np.array(landmark.point)).tolist()
            return x, y, z
        bone = skeleton.bones[skeleton.bone_index(bone)].parent
    return landmark.point


def _offsets_below(skeleton: Skeleton, bone: str) -> float:
    """Return the lengths of the offsets from a bone to those that follow, together [m]."""
    return sum(float(np.linalg.norm(b.offset)) for b in skeleton.bones if b.parent == bone)


def _match_by_hand(
    skeleton: Skeleton, recorded: str, choice: str | tuple[str, ArrayLike] | None
) -> Match:
    if choice is None:
        return Match(recorded, reason="left out by hand", confidence=1.0, code="by-hand")
    match = Match(recorded, reason="given by hand", confidence=1.0, code="by-hand")
    if isinstance(choice, tuple):
        bone, point = choice
        skeleton.bone_index(bone)
        x, y, z = require_shape(f"place of marker {recorded!r}", point, 3).tolist()
        return match._replace(bone=bone, point=(x, y, z))
    if choice in skeleton.markers:
        return match._replace(marker=choice, bone=skeleton.marker(choice)[0])
    if choice not in skeleton.bone_names:
        if has_landmarks(skeleton) and choice in list_landmarks():
            return _place_on_landmark(skeleton, match, list_landmarks()[choice])
        known = (*skeleton.bone_names, *skeleton.markers)
        raise UnknownNameError("bone or marker", choice, known)
    name = strip_prefix(recorded)
    is_on_bone = name in skeleton.markers and skeleton.marker(name)[0] == choice
    return match._replace(marker=name if is_on_bone else None, bone=choice)


def _place_on_landmark(skeleton: Skeleton, match: Match, landmark: Landmark) -> Match:
    """Return a match on a landmark at which the skeleton has no marker."""
    return match._replace(
        bone=landmark.bone,
        point=find_landmark_point(skeleton, landmark),
        kind=landmark.kind,
        offset_sd=landmark.sd,
        landmark=landmark.id,
    )


def _leave_out(
    markers: Markers, reading: NameReading, matches: dict[str, Match], computed: bool
) -> None:
    """Add what is no marker of a body, or is never there."""
    never_seen = np.asarray(markers.missing.all(axis=0))
    for k, name in enumerate(markers.names):
        if name in matches:
            continue
        if never_seen[k]:
            matches[name] = Match(name, reason="in no frame", code="never-seen")
        elif name in reading.computed and not computed:
            reason = f"computed from markers, not measured ({reading.computed[name]})"
            matches[name] = Match(name, reason=reason, code="computed")
        elif name in reading.objects:
            matches[name] = Match(name, reason="name of a thing, not of a body", code="object")


def _leave_out_other_subjects(markers: Markers, matches: dict[str, Match]) -> None:
    """Keep one subject where several have markers of the same names: the one with the most."""
    names = [name for name in markers.names if name not in matches and ":" in name]
    by_subject: dict[str, set[str]] = {}
    for name in names:
        by_subject.setdefault(name.rpartition(":")[0], set()).add(strip_prefix(name))
    kept = max(by_subject, key=lambda subject: len(by_subject[subject]), default="")
    for name in names:
        subject = name.rpartition(":")[0]
        if subject != kept and len(by_subject[subject] & by_subject[kept]) >= MIN_SHARED_NAMES:
            reason = f"of subject {subject}, not of {kept}"
            matches[name] = Match(name, reason=reason, code="other-subject")


def _match_by_name(
    skeleton: Skeleton,
    markers: Markers,
    reading: NameReading,
    own_reading: NameReading,
    matches: dict[str, Match],
) -> None:
    """Add markers that are called as those of the skeleton."""
    recorded, free = _list_unmatched(skeleton, markers, matches)
    free_only = skeleton.with_markers({name: skeleton.markers[name] for name in free})
    is_built_in = has_landmarks(skeleton) and skeleton.markers == human().markers
    # Another set has its markers where its own rules say, not where the figure has them.
    is_other_set = is_built_in and reading.marker_set not in (None, own_reading.marker_set)
    for name, marker in match_markers(free_only, markers.chosen(recorded)).items():
        landmark, own = reading.landmarks.get(name), own_reading.landmarks.get(marker)
        if is_built_in and name in reading.from_set and landmark != own:
            continue  # the set has another place in mind than the figure: LTOE of Plug-in Gait
        if name == marker:
            reason, confidence = "same name", 1.0
        elif strip_prefix(name) == strip_prefix(marker):
            reason, confidence = "same name after a prefix", 0.98
        else:
            reason, confidence = "same name in other case", 0.95
        matches[name] = Match(
            name,
            marker,
            skeleton.marker(marker)[0],
            reason=reason,
            confidence=confidence,
            code="same-name",
            landmark="" if own is None else own.id,
            offset_sd=own.sd if is_other_set and own is not None else None,
        )


def _list_unmatched(
    skeleton: Skeleton, markers: Markers, matches: Mapping[str, Match]
) -> tuple[list[str], list[str]]:
    """Return the recorded names and the skeleton's markers that are in no match yet."""
    taken = {match.marker for match in matches.values()}
    recorded = [name for name in markers.names if name not in matches]
    return recorded, [name for name in skeleton.markers if name not in taken]


def _match_by_landmark(
    skeleton: Skeleton,
    markers: Markers,
    reading: NameReading,
    own_landmarks: Mapping[str, Landmark],
    matches: dict[str, Match],
) -> None:
    """Add markers whose names mean a landmark, each landmark once."""
    taken = {match.landmark for match in matches.values() if match.bone is not None}
    told = [n for n in markers.names if n not in matches and n in reading.landmarks]
    # What the set tells comes first, measured markers before computed points.
    told.sort(key=lambda n: (n in reading.computed, n not in reading.from_set))
    for name in told:
        landmark = reading.landmarks[name]
        match = _match_landmark(skeleton, name, landmark, reading, own_landmarks, matches)
        if match is None:
            continue
        if landmark.id in taken and not landmark.is_cluster:
            if name in reading.computed:
                match = Match(
                    name, reason=f"another marker is the {landmark.text}", code="computed"
                )
            else:
                reason = f"another marker is the {landmark.text} already"
                match = Match(name, reason=reason, code="unclear", landmark=landmark.id)
        taken.add(landmark.id)
        matches[name] = match


def _match_landmark(
    skeleton: Skeleton,
    name: str,
    landmark: Landmark,
    reading: NameReading,
    own_landmarks: Mapping[str, Landmark],
    matches: Mapping[str, Match],
) -> Match | None:
    """Return what a marker on a landmark is on this skeleton; None if it has nothing there."""
    free = set(_free_markers(skeleton, matches))
    own = [marker for marker, other in own_landmarks.items() if other.id == landmark.id]
    if len(own) == 0 and not has_landmarks(skeleton):  # another skeleton: less exactly
        meant = {candidate.id for candidate in find_landmarks(name)}
        own = [m for m in own_landmarks if meant & {c.id for c in find_landmarks(m)}]
    own = [marker for marker in own if marker in free]
    by_set = name in reading.from_set
    match = Match(
        name,
        reason=f"the name means the {landmark.text}",
        confidence=SET_CONFIDENCE if by_set else NAME_CONFIDENCE,
        code="joint-centre" if landmark.kind == "joint" else "landmark",
        kind=landmark.kind,
        landmark=landmark.id,
    )
    if len(own) == 1 and not landmark.is_cluster:
        return match._replace(
            marker=own[0],
            bone=skeleton.marker(own[0])[0],
            reason=f"both names mean the {landmark.text}",
            offset_sd=landmark.sd if has_landmarks(skeleton) else None,
        )
    if not has_landmarks(skeleton):
        return None
    if landmark.is_cluster:
        match = match._replace(
            reason=f"the name means somewhere on the {landmark.text}", confidence=CLUSTER_CONFIDENCE
        )
    return _place_on_landmark(skeleton, match, landmark)


def _leave_out_implausible(skeleton: Skeleton, markers: Markers, matches: dict[str, Match]) -> None:
    """Leave out markers whose names cannot be true, as they are too far from the others."""
    mapping = _known_mapping(skeleton, markers, matches)
    for name, beyond in find_implausible_names(mapping, markers).items():
        match = matches[name]
        what = list_landmarks()[match.landmark].text if match.landmark != "" else match.bone
        reason = f"called as the {what}, but {1e3 * beyond:.0f} mm too far from other markers"
        matches[name] = Match(name, reason=reason, code="unclear", landmark=match.landmark)


def _settle_sides(
    skeleton: Skeleton, markers: Markers, reading: NameReading, matches: dict[str, Match]
) -> None:
    """Add markers whose names do not tell the side, by the side that they are nearer to."""
    mapping = _known_mapping(skeleton, markers, matches)
    names = [
        name
        for name, candidates in reading.unclear.items()
        if name not in matches and is_side_open(candidates)
    ]
    sides = {m.recorded: list_landmarks()[m.landmark].side for m in mapping.used if m.landmark}
    if len(names) == 0 or not has_landmarks(skeleton):
        return
    side = find_open_side(mapping, markers, names, sides)
    taken = {match.landmark for match in mapping.used}
    for name in names if side is not None else ():
        landmark = next(c for c in reading.unclear[name] if c.side == side)
        if landmark.id in taken and not landmark.is_cluster:
            continue
        taken.add(landmark.id)
        reason = f"the name and its place mean the {landmark.text}"
        match = Match(name, reason=reason, confidence=PLACE_CONFIDENCE, code="landmark")
        matches[name] = _place_on_landmark(skeleton, match, landmark)


def _free_markers(skeleton: Skeleton, matches: Mapping[str, Match]) -> list[str]:
    taken = {match.marker for match in matches.values()}
    return [name for name in skeleton.markers if name not in taken]


def _known_mapping(
    skeleton: Skeleton, markers: Markers, matches: Mapping[str, Match]
) -> MarkerMapping:
    """Return the mapping of the markers whose bone is known so far."""
    known = [n for n in markers.names if n in matches and matches[n].bone is not None]
    return MarkerMapping(skeleton, tuple(matches[name] for name in known))


def _settle_unclear_names(
    skeleton: Skeleton, markers: Markers, reading: NameReading, matches: dict[str, Match]
) -> None:
    """Decide by place between the landmarks that a name may mean."""
    if not has_landmarks(skeleton):
        return
    taken = {m.landmark for n, m in matches.items() if n not in reading.unclear}
    choices = {
        name: [c for c in reading.unclear[name] if c.is_cluster or c.id not in taken]
        for name in markers.names
        if name in reading.unclear
        and (name not in matches or matches[name].code in ("landmark", "unclear"))
    }
    choices = {name: candidates for name, candidates in choices.items() if len(candidates) > 0}
    sure = {name: match for name, match in matches.items() if name not in choices}
    mapping = _known_mapping(skeleton, markers, sure)
    if len(choices) == 0 or len(mapping.used) < MIN_MARKERS_TO_FIT:
        return
    places = {
        name: [(c.bone, find_landmark_point(skeleton, c)) for c in candidates]
        for name, candidates in choices.items()
    }
    for name, choice in choose_by_place(mapping, markers, places).items():
        if choice is None:
            texts = " or ".join(dict.fromkeys(c.text for c in choices[name]))
            matches[name] = Match(name, reason=f"may be the {texts}", code="unclear")
            continue
        landmark = choices[name][choice]
        reason = f"the name and its place mean the {landmark.text}"
        match = Match(name, reason=reason, confidence=PLACE_CONFIDENCE, code="landmark")
        matches[name] = _place_on_landmark(skeleton, match, landmark)


def _match_by_geometry(skeleton: Skeleton, markers: Markers, matches: dict[str, Match]) -> None:
    """Add what positions tell."""
    mapping = _known_mapping(skeleton, markers, matches)
    unknown = [
        name
        for name in markers.names
        if name not in matches and (~np.isnan(markers.marker(name)).any(axis=1)).sum() > 1
    ]
    free = _free_markers(skeleton, matches)
    if len(free) == 0:  # a marker without a name is used only as one that the skeleton has
        unknown = [name for name in unknown if not is_unlabelled(name)]
    if len(mapping.used) < MIN_MARKERS_TO_FIT or len(unknown) == 0:
        return
    for guess in guess_bones(mapping, markers, unknown, free):
        match = Match(guess.name, reason=guess.reason, confidence=0.0, code="unclear")
        if guess.confidence > 0.0 and not (is_unlabelled(guess.name) and guess.marker is None):
            match = match._replace(
                marker=guess.marker,
                bone=guess.bone,
                point=guess.point if guess.marker is None else None,
                confidence=guess.confidence,
                code="geometry",
            )
        matches[guess.name] = match


def _leave_unknown(name: str, reading: NameReading) -> Match:
    """Return the match of a marker that nothing tells of."""
    if is_unlabelled(name):
        return Match(name, reason="has no name", code="unnamed")
    if name in reading.unplaced:
        return Match(name, reason=f"no landmark: {reading.unplaced[name]}", code="unclear")
    if name in reading.unclear and is_side_open(reading.unclear[name]):
        text = reading.unclear[name][0].text.partition(" ")[2]
        return Match(name, reason=f"the {text}, left or right is open", code="unclear")
    if name in reading.landmarks:
        text = reading.landmarks[name].text
        reason = f"the {text}, where the skeleton has no marker"
        return Match(name, reason=reason, code="unclear", landmark=reading.landmarks[name].id)
    return Match(name, reason="no name that is known", code="unknown-name")


def _check_markers_once(mapping: MarkerMapping) -> None:
    """Refuse two recorded markers that are the same one of the skeleton."""
    counts = Counter(match.marker for match in mapping.used if match.marker is not None)
    for name, count in counts.items():
        if count > 1:
            recorded = [match.recorded for match in mapping.used if match.marker == name]
            raise UsageError(f"markers {recorded[0]!r} and {recorded[1]!r} cannot both be {name!r}")
