"""The head of a report: what it is about, the verdict in a line and its reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from exactik._text import count_noun, file_name
from exactik.recordings.diagnosis import GRADE_WORDS
from exactik.studio.report._findings import render_frame_link
from exactik.studio.report._headline import (
    format_millimetres,
    format_share,
)

Facts = Mapping[str, Any]


def render_header(summary: Facts, about: str) -> str:
    """Return title and verdict.

    Args:
        about: what was recorded, "walking, 4 strides".
    """
    source = file_name(summary["source"])
    facts = [
        about,
        count_noun(len(summary["markers"]["used"]), "marker"),
        f"{summary['duration_s']:.4g} s at {summary['rate_hz']:g} Hz",
        f"figure {summary['skeleton']}",
    ]
    return assemble_header(source or summary["skeleton"], facts, _render_verdict(summary))


def assemble_header(
    title: str, about: Sequence[str], verdict: str, numbers: Sequence[tuple[str, str]] = ()
) -> str:
    """Return the head of a page.

    Args:
        title: what it is about.
        about: what else tells it from others, a few words each.
        verdict: HTML.
        numbers: the most important ones, and what they are.
    """
    return (
        '<div class="masthead"><p class="kicker">exactik report</p>'
        '<div class="tools" hidden><button type="button" data-do="print">print</button>'
        '<button type="button" data-do="theme">dark or light</button></div></div>'
        f"<h1>{escape(title)}</h1>"
        f'<p class="about">{escape(" · ".join(about))}</p>{verdict}'
        f"{render_tiles(numbers)}"
    )


def render_tiles(numbers: Sequence[tuple[str, str]]) -> str:
    """Return numbers, large, and what they are."""
    tiles = "".join(
        f'<div class="tile"><b>{escape(number)}</b><span>{escape(what)}</span></div>'
        for number, what in numbers
    )
    return f'<div class="tiles">{tiles}</div>' if tiles else ""


def _render_verdict(summary: Facts) -> str:
    """Return the grade, large, how well it fits, the reasons, and what was not measured."""
    rows = [
        f'<li class="{escape(reason["severity"])}">{escape(_format_reason(reason))}</li>'
        for reason in summary["reasons"]
    ]
    words = GRADE_WORDS[summary["verdict"]]
    aside = escape(" ".join(summary["asides"]))
    return assemble_verdict(summary["verdict"], words, _render_fit(summary), rows, aside)


def _format_reason(reason: Facts) -> str:
    """Return a reason with what mends it."""
    text, remedy = capitalise(reason["text"]), reason["remedy"]
    return f"{text}. What helps: {remedy}" if remedy != "" else text


def assemble_verdict(
    grade: str, words: str, headline: str, rows: Sequence[str], aside: str = ""
) -> str:
    """Return a verdict.

    Args:
        grade: class of its colour.
        words: what that means.
        headline: why, HTML.
        rows: items of a list, HTML.
        aside: what else is to be known, in grey, HTML.
    """
    listed = f"<ul>{''.join(rows)}</ul>" if len(rows) > 0 else ""
    listed += f'<p class="aside">{aside}</p>' if aside else ""
    return (
        f'<div class="verdict {escape(grade)}"><b>{escape(words)}</b>'
        f'<p class="headline">{headline}</p>{listed}</div>'
    )


def _render_fit(summary: Facts) -> str:
    """Return the errors, which lead to the worst frame, and what can be used."""
    error = summary["error"]
    if error["mean_mm"] is None:
        return "No marker was seen in any frame, so nothing is known of the motion."
    frame = error["worst_frame"]
    number = frame + summary["first_frame_in_file"]
    link = render_frame_link(f"frame {number}", frame, frame, frame)
    return (
        f"The markers fit the figure to {format_millimetres(error['mean_mm'])} on average; worst "
        f"{format_millimetres(error['max_mm'])}, {escape(error['worst_marker'])} in {link}. "
        f"{escape(summary['usable'])}"
    )


def capitalise(text: str) -> str:
    """Return a sentence with a capital, whose other letters stay as they are."""
    return text[:1].upper() + text[1:]


def list_numbers(summary: Facts) -> list[tuple[str, str]]:
    """Return how it was solved, in numbers."""
    error, speed = summary["error"], summary["frames_per_second"]
    return [
        (format_millimetres(error["mean_mm"]), "mean marker error"),
        (format_millimetres(error["p95_mm"]), "95 % are within"),
        (format_share(summary["missing_share"]), "samples missing"),
        (str(summary["dofs"]), "joint coordinates"),
        _limits_tile(summary),
        ("unknown" if speed is None else f"{speed:.0f}", "frames solved a second"),
    ]


def _limits_tile(summary: Facts) -> tuple[str, str]:
    kind, touched = summary["settings"]["limits"], len(summary["limits"])
    if kind != "hard":
        return kind, "limits"
    return str(touched), "reach the end of their range"
