"""What is said about a recording: the sentences of all kinds of findings, and their short names.

A template is filled with the value, the names, the frames and the details of a finding. The letter
behind an exclamation mark says how, see `_Filler`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import Formatter
from typing import TYPE_CHECKING, Any, NamedTuple

from exactik._text import Reason, format_millimetres, format_share, join_names
from exactik.recordings.angles import join_sides

if TYPE_CHECKING:
    from exactik.recordings.diagnosis._finding import Finding

MAX_NAMES = 4  # in a sentence
MAX_DOUBTFUL = 2  # joints that are named with their frames
MAX_UNMEASURED = 6  # parts of the body
MAX_SEGMENTS = 2  # of a joint that are named
CLEARLY_NEARER = 0.7  # share of the error of two markers up to which their exchange is an argument
CLEARLY_BETTER = 0.25  # share of the cost above the best from which two poses do not fit alike

SENTENCES = {
    "stature-short": "the figure would be {value:.2g} m tall",
    "stature-tall": "the figure would be {value:.2g} m tall",
    "size": "what was recorded has {size:.2g} times the size of the figure",
    "unit": "the length unit of the file cannot be right, lengths were multiplied by {factor:g}",
    "error": "markers are off by {error!m} on average",
    "doubt": "{value!h} of what the markers determine is doubtful",
    "doubt, nothing": "the markers determine nothing",
    "handedness": "names are mixed up, as places of markers show",
    "handedness, mirrored": "left and right are exchanged, or two axes, as places of markers show",
    "backwards": "the figure goes backwards: left and right, or two axes, may be exchanged",
    "redundancy": "with only {count}, a small error ({error!m}) is no evidence of a good fit",
    "redundancy, still": "hardly anything moves: {error!m} is no evidence of a good fit",
    "open-dofs": "the markers do not tell {names!n}",
    "markers-used": "only {used} of {recorded} markers are used, without {names!n}",
    "markers-used, none": "no marker of the figure is ever seen",
    "misnamed": "{names!n} are not where their names say: left out, perhaps exchanged",
    "unpaired": "{names!n} have no partner on the other side",
    "marker-set": "the marker set {marker_set} lacks {missing} of {size} ({names!n})",
    "up-axis": "the figure leans by {angle:.0f}° on average if {axis} is up",
    "up-axis, upside down": "the figure is upside down if {axis} is up",
    "up-guess": "nothing says which axis is up: {axis} is a guess",
    "labels": "which point is which marker was guessed by shape in {value!p} of the samples",
    "matches": "what {names!n} are is a guess",
    "limits": "at the end of their range in up to {value!p} of the frames: {names!n}",
    "proportions": "the {names!n} would have {ratio:.2f} times the usual length",
    "marker-symmetry": (
        "{pairs!n} sit at places that are not mirror images, by up to {distance!m}"
    ),
    "places": (
        "the markers of {names!n} are {value:.1f} standard deviations from their landmarks, "
        "and one pose tells no more"
    ),
    "left-out": "{samples} were left out or are elsewhere, {value!p} of {names[0]}'s at most",
    "closure-gap": (
        "{names!n}, which the model's file joins, come apart by {mean!m} on average, "
        "up to {largest!m}"
    ),
    "calibration": "fitting the figure to the subject did not settle",
    "bones-solved": "markers tell something of {names!n}",
    "bones-held": "no marker tells anything of {names!n}",
    "subject-seen": "the subject is seen in frames {first} to {last}",
}
"""By kind; a variant of a kind is named behind a comma."""


class StretchWords(NamedTuple):
    """What is said of frames that deserve a look.

    Attributes:
        cause: why; a template.
        title: in two or three words, of one stretch alone.
        label: of all such stretches.
        consequence: of the cause, "" if there is none.
    """

    cause: str
    title: str
    label: str
    consequence: str = ""


STRETCHES = {
    "no-markers": StretchWords(
        cause="fewer than three markers are seen",
        consequence="the pose is a guess",
        title="hardly any markers",
        label="no markers",
    ),
    "not-converged": StretchWords(
        cause="no pose was found that fits best",
        consequence="the closest is shown",
        title="not settled",
        label="not settled",
    ),
    "marker-error": StretchWords(
        cause="{names!c} is off by {value!m} on average",
        title="marker far off",
        label="far off",
    ),
    "limb-error": StretchWords(
        cause="the markers of {names!c} are off by {value!m} on average",
        title="limb far off",
        label="far off",
    ),
    "limb-symmetry": StretchWords(
        cause="the markers of {names!c} are off by {value!m} on average, {mirrored} by {other!m}",
        title="sides differ",
        label="sides differ",
    ),
    "delayed-limb": StretchWords(
        cause=(
            "the markers of {names!c} are {seconds:g} s {when}: shifted, the squared errors of all "
            "markers fall to {ratio!p}"
        ),
        title="limb out of time",
        label="out of time",
    ),
    "swap": StretchWords(
        cause="{swap}",
        title="swapped?",
        label="swapped",
    ),
    "far-marker": StretchWords(
        cause="{names!c} is off by up to {value!m}, usually by {usual!m}",
        title="marker far off",
        label="far off",
    ),
    "marker-jump": StretchWords(
        cause="{names!c} is elsewhere, after a jump by {value!m} or before it",
        title="marker elsewhere",
        label="elsewhere",
    ),
    "frozen-marker": StretchWords(
        cause="{names!c} stays at the same place to the last digit while others move",
        title="frozen marker",
        label="frozen",
    ),
    "gap": StretchWords(
        cause="markers are missing for {names!c}",
        consequence="filled from before and after",
        title="filled gap",
        label="gap filled",
    ),
    "ignored-marker": StretchWords(
        cause="marker {names!c} is {value_mm:.0f} mm off and was left out",
        title="marker left out",
        label="left out",
    ),
    "jump": StretchWords(
        cause="{names!c} jumps",
        consequence="two poses fit there, or the markers leave it open",
        title="jump",
        label="jumps",
    ),
    "excess-cost": StretchWords(
        cause="two poses fit almost equally well",
        consequence="the smoother one is shown",
        title="two poses",
        label="two poses",
    ),
}
"""In the order in which kinds are listed."""
BETTER_POSE = Reason(
    "another pose fits the markers better", "the motion would have to jump to it and back"
)
"""Of kind "excess-cost", where two poses do not fit alike."""

FRAME_SENTENCES = {
    "converged": "Solved: no pose near this one fits the markers better.",
    "not-converged": "No pose was found that fits best; the closest is shown.",
    "no-markers": "Fewer than three markers are seen; the pose is a guess.",
    "at-limits": "Solved; held at a limit: {names!c}.",
    "gap": "Not determined by the markers seen: {names!c}.",
    "cheaper": " Another costs {less:.0f} % less, but the motion would jump.",
}
"""What `Track.status` says in a word."""

SWAP_SENTENCES = {
    "repaired": (
        "the solve took them exchanged, which fits to {exchanged_mm!l} instead of {error_mm!l}"
    ),
    "untried": "their paths suggest it; it was not tried on the pose",
    "unlikely": ("their paths suggest it, but with the names exchanged the markers fit worse"),
    "undecided": "their paths suggest it; the fit is about the same either way",
    "likely": "with the names exchanged they fit to {exchanged_mm!l} instead of {error_mm!l}",
    "likely, by neighbours": "exchanged they keep their distances to the markers around them",
    "likely, by all": (
        "solved with the names exchanged, the squared errors of all markers fall to "
        "{squares_ratio!h}"
    ),
}
"""Of kind "swap", by what came of it."""


class _Filler(Formatter):
    """Fills templates: what a letter behind an exclamation mark does with a value."""

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        match conversion:
            case "m":  # length [m]
                return format_millimetres(1e3 * value)
            case "l":  # length [mm]
                return format_millimetres(value)
            case "p":  # share, without digits after the point
                return f"{100.0 * value:.0f} %"
            case "h":  # share, as exactly as it needs
                return format_share(value)
            case "n":  # names
                return join_names(value, MAX_NAMES, spare=1)
            case "c":  # names, with commas alone
                return join_names(value, MAX_NAMES, last=", ")
            case "v":  # verb
                return "is" if len(value) == 1 else "are"
        return super().convert_field(value, conversion)  # pyright: ignore[reportArgumentType]


_FILLER = _Filler()


def fill(template: str, **fields: Any) -> str:
    """Return a sentence from a template and what it needs."""
    return _FILLER.vformat(template, (), fields)


def describe(finding: Finding) -> Reason:
    """Return a finding in words; joints as people call them, where its details have these words."""
    kind, details = finding.kind, finding.details
    words = details.get("words", {})
    fields = {
        "value": finding.value,
        "value_mm": 1e3 * finding.value,
        "names": _to_words(finding.names, words),
        "first": finding.first + finding.offset,
        "last": finding.last + finding.offset,
        **details,
    }
    if kind == "swap":
        fields["swap"] = f"{' and '.join(finding.names)}: {describe_swap(details)}"
    if "mirrored" in details:
        fields["mirrored"] = words.get(details["mirrored"], details["mirrored"])
    if finding.severity == "look" and kind in STRETCHES:
        if kind == "excess-cost" and finding.value > CLEARLY_BETTER:
            return BETTER_POSE
        return Reason(fill(STRETCHES[kind].cause, **fields), STRETCHES[kind].consequence)
    variant = details.get("variant", "")
    return Reason(fill(SENTENCES[f"{kind}, {variant}" if variant != "" else kind], **fields))


def _to_words(names: Sequence[str], words: Mapping[str, str]) -> tuple[str, ...]:
    """Return names as people say them, those of both sides as one."""
    return tuple(join_sides([words.get(name, name) for name in names]))


def describe_usable(doubt: Finding) -> str:
    """Return what can be used and what cannot, by a finding of kind "doubt"."""
    details, offset, words = doubt.details, doubt.offset, doubt.details.get("words", {})
    if details.get("variant") == "nothing":
        return "No joint angle is measured."
    text = f"{format_share(1.0 - doubt.value)} of the joint angles are free of faults, "
    text += f"{format_share(details['measured'])} are known to within {details['bar_deg']:.0f}°"
    parts = []
    for bone, segments, share in details["doubtful"][:MAX_DOUBTFUL]:
        frames = [
            f"{first + offset}" if first == last else f"{first + offset}–{last + offset}"
            for first, last in segments
        ]
        is_few = len(frames) <= MAX_SEGMENTS
        where = f"in {format_share(share)} of the frames"
        if is_few:
            where = f"in frame{'s' if frames != frames[:1] or '–' in frames[0] else ''} "
            where += join_names(frames, MAX_SEGMENTS)
        parts.append(f"{words.get(bone, bone)} {where}")
    more = len(details["doubtful"]) - len(parts)
    if len(parts) > 0:
        text += f"; doubtful: {', '.join(parts)}" + (f" and {more} more" if more > 0 else "")
    return f"{text}."


def describe_unmeasured(held: Finding | None, doubt: Finding | None) -> str:
    """Return what was not measured: parts without a marker, joints that markers leave open."""
    parts = []
    if held is not None and len(held.names) > 0:
        names = _to_words(held.names, held.details.get("words", {}))
        parts.append(f"{join_names(names, MAX_UNMEASURED)} (no marker)")
    if doubt is not None and len(doubt.details["open"]) > 0:
        names = _to_words(doubt.details["open"], doubt.details.get("words", {}))
        parts.append(f"{join_names(names, MAX_UNMEASURED)} (the markers do not tell)")
    return "" if len(parts) == 0 else f"Not measured: {'; '.join(parts)}."


def describe_swap(details: Mapping[str, Any]) -> str:
    """Return why two markers are suspected, without names and frames; see `examine_swaps`."""
    state, ratio = details["verdict"], details["squares_ratio"]
    if ratio is None:
        state = state if state == "repaired" else "untried"
    elif state == "likely" and details["exchanged_mm"] >= CLEARLY_NEARER * details["error_mm"]:
        state += ", by all" if ratio < 1.0 else ", by neighbours"
    return fill(SWAP_SENTENCES[state], **details)
