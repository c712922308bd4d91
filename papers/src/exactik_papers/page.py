"""The page: published values beside ours, what differs and why. One file that opens offline."""

from __future__ import annotations

import base64
import platform
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from exactik.io import open_atomic
from exactik_papers.experiment import PAPERS
from exactik_papers.recording import Recording
from exactik_papers.write import Section, WrittenTable, format_cell

__all__ = ["write_page"]

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def write_page(path: Path, sections: Sequence[Section], recording: Recording) -> None:
    """Write the page of all sections."""
    style = (files("exactik_papers") / "page.css").read_text("utf-8")
    by_paper = {
        paper: [section for section in sections if section.experiment.paper == paper]
        for paper in PAPERS
    }
    body = "".join(
        f"<h2>{escape(PAPERS[paper])}</h2>{''.join(map(_section, group))}"
        for paper, group in by_paper.items()
        if len(group) > 0
    )
    names = "".join(
        f'<a href="#{section.experiment.name}">{section.experiment.name}</a>'
        for section in sections
    )
    kinds = "".join(
        f"<li><b>{kind}</b>: {len(chosen.frames)} frames of {escape(chosen.take.name)}: "
        f"{escape(chosen.rule)}</li>"
        for kind, chosen in recording.kinds.items()
    )
    page = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>exactik reproduce</title><style>{style}</style></head><body><main>
<header><h1>Published, and measured again</h1>
<p>Recording: {escape(recording.about)}. Frames:</p><ul>{kinds}</ul>
<p class="note">Times are processor time of one thread, on {escape(_machine())}; published ones are
from a machine of 2018 and MATLAB. Every number in a table is in the CSV file named below it;
the frames are in <a href="frames.csv">frames.csv</a>, the times that experiments took in
<a href="seconds.csv">seconds.csv</a>.</p>
<nav>{names}</nav></header>
{body}
</main></body></html>
"""
    with open_atomic(path) as file:
        file.write(page)


def _machine() -> str:
    return f"{platform.machine()} {platform.system()}, Python {platform.python_version()}"


def _section(section: Section) -> str:
    experiment, findings = section.experiment, section.findings
    parts = [
        f'<section id="{experiment.name}"><h3>{escape(experiment.title)}</h3>',
        f"<p>{escape(experiment.published)}</p>",
        *(_table(table) for table in section.tables if table.table.shown),
    ]
    for picture, path in section.pictures:
        data = base64.b64encode(path.read_bytes()).decode()
        caption = escape(picture.caption)
        parts.append(
            f'<figure><img alt="{caption}" src="data:image/png;base64,{data}">'
            f"<figcaption>{caption} <code>{escape(path.name)}</code></figcaption></figure>"
        )
    if len(findings.differs) > 0:
        items = "".join(f"<li>{escape(sentence)}</li>" for sentence in findings.differs)
        parts.append(f"<h4>What differs, and why</h4><ul>{items}</ul>")
    others = [(table.path, table.table.title) for table in section.tables if not table.table.shown]
    links = "".join(
        f'<li><a href="{escape(path.name)}">{escape(path.name)}</a>: {escape(words)}</li>'
        for path, words in [*others, *findings.files]
    )
    parts.append(f"<h4>Files</h4><ul>{links}</ul>" if links != "" else "")
    parts.append(f'<p class="note">It took {format_cell(section.seconds)} s.</p></section>')
    return "".join(parts)


def _table(written: WrittenTable) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in written.table.columns)
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in written.cells)
    name = escape(written.path.name)
    return (
        f"<h4>{escape(written.table.title)}</h4>"
        f"<div class=wide><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
        f'<p class="note"><a href="{name}">{name}</a></p>'
    )


def _cell(text: str) -> str:
    kinds = {"holds": "yes", "does not hold": "no", "cannot be said": "open"}
    if text in kinds:
        return f'<td class="{kinds[text]}">{text}</td>'
    try:
        float(text)
    except ValueError:
        return f"<td>{escape(text)}</td>"
    return f'<td class="number">{text}</td>'
