"""Draw what `exactik inspect` says about files as pictures of a terminal.

    python tools/terminal_pictures.py FILE… [--into docs] [--width 80]

Each picture is called inspect-NAME.svg after its file. Fonts are those of the reader's machine:
nothing is fetched when a picture is shown.
"""

from __future__ import annotations

import argparse
import io
import re
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from exactik.cli.inspect._screen import format_facts
from exactik.io import inspect_file

MAX_BYTES = 60_000  # bytes of a picture
INK = (40, 44, 52)
COLOURS = [INK, (190, 60, 50), (60, 130, 60), (178, 110, 20), (40, 90, 160), (130, 70, 150)]
THEME = TerminalTheme((255, 255, 255), INK, [*COLOURS, (20, 115, 130), (120, 124, 132)])


def make_picture(path: Path, width: int) -> str:
    """Return the terminal after `exactik inspect` of a file, as SVG."""
    console = Console(
        record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="standard"
    )
    console.print(Text(f"$ exactik inspect {path.name}", "dim"))
    console.print(format_facts(inspect_file(path), width - 2), soft_wrap=True)
    svg = console.export_svg(title="", theme=THEME, unique_id="t")
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.S)
    svg = svg.replace("Fira Code, monospace", "DejaVu Sans Mono, Menlo, Consolas, monospace")
    svg = re.sub(r"[ \t]+\n", "\n", svg)
    return re.sub(r"<!--.*?-->\s*", "", svg, flags=re.S)


def make_file_name(path: Path) -> str:
    """Return a file name of plain letters."""
    return re.sub(r"[^a-z0-9]+", "-", path.name.lower()).strip("-")


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw `exactik inspect` of files as pictures.")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--into", type=Path, default=Path(__file__).parent.parent / "docs")
    parser.add_argument("--width", type=int, default=80)
    options = parser.parse_args()
    for path in options.files:
        svg = make_picture(path, options.width)
        if len(svg.encode()) > MAX_BYTES:
            raise SystemExit(f"{path}: the picture takes {len(svg.encode())} bytes")
        target = options.into / f"inspect-{make_file_name(path)}.svg"
        target.write_text(svg, encoding="utf-8")
        print(f"{target.name}: {len(svg.encode()) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
