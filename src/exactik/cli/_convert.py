"""`exactik convert`."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from exactik._options import to_arguments
from exactik.cli._app import LOOK, AsJson, command, complain, err, out, print_json, progress_bar
from exactik.cli._options import argument, to_flag, value_option
from exactik.errors import ExactikError, FileError
from exactik.io import Conversion, ConvertOptions, readable_suffixes, suffix_of, target_suffixes
from exactik.io import convert as convert_file


@command(LOOK)
def convert(
    paths: Annotated[
        list[Path], argument("IN... OUT", "What to read; the file or folder to write.")
    ],
    options: ConvertOptions,
    formats: Annotated[
        str | None,
        value_option(
            "FORMATS", "Format of each output, such as bvh, where OUT is a folder.", "--format"
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a motion, markers or a skeleton as another kind of file, and say what that loses.

    Examples:
        exactik convert walk.amc walk.glb
        exactik convert walk.bvh walk.c3d --input-unit cm --output-up z
        exactik convert takes/ glb/ --format glb
    """
    if len(paths) < 2:
        raise FileError(paths[0], "expected a second name, of the file to write")
    if formats is not None:
        pairs = _pairs(paths[:-1], paths[-1], f".{formats.removeprefix('.').lower()}")
        raise typer.Exit(_many(pairs, options, as_json))
    if len(paths) > 2:
        raise FileError(paths[-1], "expected --format and a folder, for several files")
    done = _one(paths[0], paths[1], options)
    if as_json:
        print_json(asdict(done))
    else:
        _show(done)


def _one(source: Path, target: Path, options: ConvertOptions, quiet: bool = False) -> Conversion:
    """Convert one file; what is said speaks of options rather than of arguments."""
    waiting = err.status("…") if err.is_terminal and not quiet else nullcontext()
    animation = options.animation
    arguments = to_arguments(options)
    if isinstance(animation, str) and animation.isdigit():
        arguments["animation"] = int(animation)
    with waiting as status:
        if status is not None:
            arguments["tell"] = status.update
        try:
            return convert_file(source, target, **arguments)
        except FileError as error:
            raise error.renamed(to_flag) from None


def _show(done: Conversion) -> None:
    lines = [f"read     {done.source}: {done.read}"]
    lines += [f"written  {done.targets[0]}: {done.written}"]
    lines += [f"written  {path}: its skeleton" for path in done.targets[1:]]
    lines += [f"note     {note.renamed(to_flag)}" for note in done.notes]
    lines += [f"lost     {text}" for text in done.lost] or ["lost     nothing"]
    out.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)


# --- many files


def _pairs(sources: list[Path], folder: Path, suffix: str) -> list[tuple[Path, Path]]:
    """Return what becomes what; of a folder, the recordings that can become it."""
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


def _many(pairs: list[tuple[Path, Path]], options: ConvertOptions, as_json: bool) -> int:
    """Convert all of them, and say which could not be; return the exit code."""
    done, failed = [], []
    with progress_bar() as bar:
        task = bar.add_task("converting", total=len(pairs))
        for source, target in pairs:
            bar.update(task, description=source.name)
            try:
                done.append(_one(source, target, options, quiet=True))
            except ExactikError as error:
                failed.append({"source": str(source), "error": str(error)})
            bar.advance(task)
    if as_json:
        print_json({"converted": [asdict(conversion) for conversion in done], "failed": failed})
    else:
        for conversion in done:
            _show(conversion)
        for failure in failed:
            complain(f"exactik: {failure['error']}")
    return 0 if len(failed) == 0 else 1 if len(done) > 0 else 2
