"""`exactik label`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from exactik.cli._app import SOLVE, AsJson, Entries, command, print_json, say
from exactik.cli._options import argument, output_option, value_option
from exactik.errors import UsageError
from exactik.io import files_to_write, save_markers
from exactik.model import human
from exactik.recordings.labelling import label_subjects
from exactik.recordings.pipeline import RecordingOptions, read_recording


@command(SOLVE)
def label(
    recording: Annotated[Path, argument("MARKERS", "The recording.")],
    *,
    output: Annotated[
        Path | None, output_option("FILE", "Recording to write, with names: .c3d .trc .csv .npz.")
    ] = None,
    like: Annotated[
        Path | None, value_option("FILE", "A recording of the same marker set that has names.")
    ] = None,
    marker_set: Annotated[
        str | None, value_option("SET", "A known marker set, or own: those of the figure.")
    ] = None,
    known: Annotated[
        list[str] | None,
        value_option("NAME", "A point whose name is right; may be given repeatedly."),
    ] = None,
    options: Annotated[RecordingOptions, ("start", "end", "up", "length_unit")],
    as_json: AsJson = False,
) -> None:
    """Find out by shape which point is which marker, whatever they are called.

    Shows what each was taken for, how sure that is and what is doubtful. Exit code 1 if anything
    is.

    Examples:
        exactik label unnamed.c3d -o named.c3d
        exactik label unnamed.c3d --like static.c3d -o named.c3d
        exactik label unnamed.c3d --marker-set plug_in_gait --known LASI -o named.c3d
    """
    if like is not None and marker_set is not None:
        raise UsageError(
            "--like and --marker-set both say which labels there are; give one of them"
        )
    if output is not None:
        files_to_write(str(output), tuple(map(str, (recording, like))))
    read = read_recording(recording, None, options, align=False)
    named = None if like is None else read_recording(like, "z").markers
    entries = Entries(as_json)
    entries.add("read", f"{recording}: {read.words}")
    entries.add("note", *read.notes)
    subjects = label_subjects(
        human(), read.markers, known=known or (), marker_set=marker_set, like=named
    )
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        save_markers(subjects.markers, output)
    written = [] if output is None else [str(output)]
    if as_json:
        print_json({**subjects.to_dict(), "notes": read.notes, "written": written})
    else:
        say(f"\n{subjects}\n")
        points = len(subjects.markers.names)
        entries.add("written", *(f"{path}: {points} points" for path in written))
    if subjects.needs_look:
        raise typer.Exit(1)
