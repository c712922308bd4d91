"""`exactik convert`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from exactik.cli._app import LOOK, AsJson, command, err, out, print_json, progress_bar
from exactik.cli._kernels import compiling
from exactik.cli._options import (
    EndOption,
    OutputRateOption,
    StartOption,
    check_axis_option,
    parse_length_unit,
)
from exactik.errors import ExactikError, FileError

if TYPE_CHECKING:
    from exactik.io import Conversion

__all__ = ["convert"]


@command(LOOK)
def convert(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="IN... OUT", help="What to read; the file or folder to write."),
    ],
    formats: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="FORMATS", help="Of many files: bvh, glb, …; OUT is then a folder."
        ),
    ] = None,
    skeleton: Annotated[
        Path | None, typer.Option(metavar="FIGURE", help="File of the skeleton, for .amc and .mot.")
    ] = None,
    start: StartOption = None,
    end: EndOption = None,
    output_rate: OutputRateOption = None,
    output_up: Annotated[
        str | None,
        typer.Option(
            metavar="AXIS", help="Turn it so that x, y or z is up.", callback=check_axis_option
        ),
    ] = None,
    output_unit: Annotated[
        str | None,
        typer.Option(metavar="UNIT", help="Unit to write: m, cm, mm, in, … or the metres in it."),
    ] = None,
    input_rate: Annotated[
        float | None, typer.Option(metavar="HZ", help="Frames a second of IN, whatever it says.")
    ] = None,
    input_unit: Annotated[
        str | None,
        typer.Option(metavar="UNIT", help="Length unit of IN, whatever it says; BVH says nothing."),
    ] = None,
    input_up: Annotated[
        str | None,
        typer.Option(
            metavar="AXIS",
            help="Which axis is up in IN, whatever it says.",
            callback=check_axis_option,
        ),
    ] = None,
    positions: Annotated[
        str,
        typer.Option(metavar="WORD", help="BVH: positions 'replace' an OFFSET or 'add' to it."),
    ] = "replace",
    animation: Annotated[
        str | None, typer.Option(metavar="NAME", help="glTF: which animation, by name or number.")
    ] = None,
    keep_zeros: Annotated[
        bool, typer.Option("--keep-zeros", help="A marker at (0, 0, 0) is not missing.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse a file that is damaged but usable.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write a motion, markers or a skeleton as another kind of file, and say what that loses.

    Examples:
        exactik convert walk.amc walk.glb
        exactik convert walk.bvh walk.c3d --input-unit cm --output-up z
        exactik convert takes/ glb/ --format glb
    """
    options: dict[str, Any] = {
        "skeleton": skeleton,
        "start": start,
        "end": end,
        "output_rate": output_rate,
        "output_up": output_up,
        "output_unit": parse_length_unit(output_unit),
        "input_rate": input_rate,
        "input_unit": parse_length_unit(input_unit),
        "input_up": input_up,
        "positions": positions,
        "animation": _parse_animation(animation),
        "zeros_are_missing": not keep_zeros,
        "strict": strict,
    }
    if len(paths) < 2:
        raise FileError(paths[0], "expected a second name, of the file to write")
    if formats is not None:
        pairs = _pairs(paths[:-1], paths[-1], f".{formats.removeprefix('.').lower()}")
        raise typer.Exit(_many(pairs, options, as_json))
    if len(paths) > 2:
        raise FileError(paths[-1], "expected --format and a folder, for several files")
    with compiling():
        done = _one(paths[0], paths[1], options)
    if as_json:
        print_json(asdict(done))
    else:
        _show(done)


def _parse_animation(text: str | None) -> int | str | None:
    return text if text is None or not text.isdigit() else int(text)


def _one(
    source: Path, target: Path, options: dict[str, Any], tell: Callable[[str], None] | None = None
) -> Conversion:
    """Convert one file; what is said speaks of options rather than of arguments."""
    from exactik.io import convert

    try:
        if tell is None and err.is_terminal:
            with err.status("…") as status:
                done = convert(source, target, **options, tell=status.update)
        else:
            done = convert(source, target, **options, tell=tell or (lambda _: None))
    except FileError as error:
        raise error.renamed(_option) from None
    return done


def _option(argument: str) -> str:
    """Return the option that stands for an argument of `convert`."""
    return f"--{argument.replace('_', '-')}"


def _show(done: Conversion) -> None:
    lines = [f"read     {done.source}: {done.read}"]
    lines += [f"written  {done.targets[0]}: {done.written}"]
    lines += [f"written  {path}: its skeleton" for path in done.targets[1:]]
    lines += [f"note     {note.renamed(_option)}" for note in done.notes]
    lines += [f"lost     {text}" for text in done.lost] or ["lost     nothing"]
    out.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)


# --- many files


def _pairs(sources: list[Path], folder: Path, suffix: str) -> list[tuple[Path, Path]]:
    """Return what becomes what; of a folder, the recordings that can become it."""
    from exactik.io import readable_suffixes, suffix_of, target_suffixes

    recorded = {*readable_suffixes("motion"), *readable_suffixes("markers")}
    if folder.exists() and not folder.is_dir():
        raise FileError(folder, "is a file; expected a folder, because of --format")
    found: list[Path] = []
    for source in sources:
        if not source.is_dir():
            found.append(source)
            continue
        inside = sorted(p for p in source.iterdir() if suffix in target_suffixes(p))
        recordings = [p for p in inside if suffix_of(p) in recorded]
        found += recordings or inside
    if len(found) == 0:
        raise FileError(sources[0], f"nothing in it can become {suffix}")
    pairs = [(path, folder / f"{path.stem}{suffix}") for path in found]
    twice = [path for path, count in Counter(pair[1] for pair in pairs).items() if count > 1]
    if len(twice) > 0:
        names = " and ".join(str(source) for source, target in pairs if target == twice[0])
        raise FileError(twice[0], f"would be written twice, of {names}")
    folder.mkdir(parents=True, exist_ok=True)
    return pairs


def _many(pairs: list[tuple[Path, Path]], options: dict[str, Any], as_json: bool) -> int:
    """Convert all of them, and say which could not be; return the exit code."""
    done, failed = [], []
    with compiling(), progress_bar() as bar:
        task = bar.add_task("converting", total=len(pairs))
        for source, target in pairs:
            bar.update(task, description=source.name)
            try:
                done.append(_one(source, target, options, lambda _: None))
            except ExactikError as error:
                failed.append({"source": str(source), "error": str(error)})
            bar.advance(task)
    if as_json:
        print_json({"converted": [asdict(conversion) for conversion in done], "failed": failed})
    else:
        for conversion in done:
            _show(conversion)
        for failure in failed:
            err.print(f"exactik: {failure['error']}", style="red", markup=False, soft_wrap=True)
    return 0 if len(failed) == 0 else 1 if len(done) > 0 else 2
