"""Which landmark of the body a marker's name means, in the words of common marker sets.

Plug-in Gait, Helen Hayes, Cleveland, the Qualisys sports set, OpenSim's examples and plain English.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import permutations

__all__ = ["find_landmark", "is_unlabelled", "match_landmarks", "strip_prefix"]

# Landmark, and the names that it goes by, without their side; the words of a name in any order.
_NAMES: dict[str, str] = {
    "front of the head": "fhd, hdf, head front, front head",
    "back of the head": "bhd, hdb, head back, back head",
    "top of the head": "head top, thea, vertex",
    "7th neck vertebra": "c 7, cv 7",
    "10th chest vertebra": "t 10, tv 10",
    "8th chest vertebra": "t 8, tv 8",
    "notch of the collar bones": "clav, ij, snj, jugular notch, clavicle",
    "breast bone": "strn, px, sxs, sternum, xiphoid, sternum xiphoid",
    "shoulder blade": "bac, bak, back, scap, scapula",
    "shoulder": "sho, shoulder, acr, acromion, acromium, saj",
    "upper arm": "upa, upper arm, bicep, biceps, humerus, u arm, arm",
    "outer elbow": "elb, elbow, elbow lateral, lel, hle, epi lateral, humerus epicondyle",
    "inner elbow": "elbow medial, mel, hme, epi medial",
    "forearm": "frm, fra, forearm, lower arm, fore arm",
    "wrist, thumb's side": "wra, wrist radius, wrist rad, wrist lateral, rsp, radius styloid",
    "wrist, small finger's side": "wrb, wrist ulna, wrist ulnar, wrist medial, uhe, usp",
    "fingers": "fin, finger, fingers, hand, mcp 3, hm 2",
    "front of the pelvis": "fwt, asi, asis, ias, waist front, waist f",
    "back of the pelvis": "bwt, psi, psis, ips, waist back, waist b",
    "sacrum": "sacr, vsac, v sacral, sacral, sacrum",
    "trochanter": "ftc, grt, gtr, trochanter, greater trochanter, hip",
    "thigh": "thi, thigh, thigh lateral, femur",
    "outer knee": "kne, knee, knee lateral, fle, lfc",
    "inner knee": "knm, knee medial, fme, mfc, mkne",
    "below the knee cap": "ttc, ttb, tib tubercle, tibial tubercle, tibia tubercle",
    "shin": "shn, shin, tib, tibia, sha, shank",
    "outer ankle": "ank, ankle, ankle lateral, fal, lma, lmal, malleolus lateral",
    "inner ankle": "mma, mmal, tam, ankle medial, malleolus medial",
    "heel": "hee, heel, cal, calc, fcc, calcaneus",
    "toe": "toe, toe tip, big toe, mt 2, mtp 2, fm 2",
    "ball of the foot": "mt 1, fm 1, pm 1, mtp 1, toe medial, 1 meta",
    "outer edge of the foot": "mt 5, fm 5, pm 5, mtp 5, toe lateral, small toe, 5 meta",
}
_ABBREVIATIONS = {"lat": "lateral", "med": "medial", "ant": "anterior", "post": "posterior"}
_SIDES = {"l": "left", "left": "left", "r": "right", "right": "right"}
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_UNLABELLED = re.compile(r"\*.*|(new|unnamed|unlabel+ed|marker|channel|m)?[ _]*\d*", re.I)

_LANDMARKS: dict[str, str] = {
    "".join(words): landmark
    for landmark, names in _NAMES.items()
    for name in names.split(", ")
    for words in permutations(name.split())
}


def strip_prefix(name: str) -> str:
    """Return what follows the prefix of a name ("Subject:")."""
    return name.rpartition(":")[2] or name


def is_unlabelled(name: str) -> bool:
    """Whether a name says nothing: "*3", "New 0012", "Marker_7"."""
    return _UNLABELLED.fullmatch(strip_prefix(name)) is not None


def find_landmark(name: str) -> str | None:
    """Return the landmark of the body that a name means, such as "left heel", or None."""
    parts: list[str] = _WORDS.findall(strip_prefix(name))
    words = [_ABBREVIATIONS.get(part.lower(), part.lower()) for part in parts]
    if (landmark := _LANDMARKS.get("".join(words))) is not None:
        return landmark
    for k, word in enumerate(words):
        if word in _SIDES:
            landmark = _LANDMARKS.get("".join(words[:k] + words[k + 1 :]))
            return None if landmark is None else f"{_SIDES[word]} {landmark}"
    joined = "".join(words)
    landmark = _LANDMARKS.get(joined[1:])
    if joined[:1] in _SIDES and landmark is not None:
        return f"{_SIDES[joined[0]]} {landmark}"
    return None


def match_landmarks(recorded: Iterable[str], markers: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return recorded name → marker and landmark, where each is the only one of its landmark."""
    recorded_landmarks = {name: find_landmark(name) for name in recorded}
    marker_landmarks = {name: find_landmark(name) for name in markers}
    matches: dict[str, tuple[str, str]] = {}
    for name, landmark in recorded_landmarks.items():
        candidates = [marker for marker, other in marker_landmarks.items() if other == landmark]
        is_alone = list(recorded_landmarks.values()).count(landmark) == 1
        if landmark is not None and len(candidates) == 1 and is_alone:
            matches[name] = (candidates[0], landmark)
    return matches
