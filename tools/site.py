"""Build the documentation site into site/, or serve it; run by `make docs`.

    python tools/site.py [--serve]

Broken links, anchors and names in the reference fail the build, and so does a page that would ask
another machine for anything. `mkdocs build --quiet` would hide the first from its strict mode.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "site"
# What a browser fetches by itself; links that somebody has to click are none of these.
FETCHED = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc=[\"']?(?:https?:)?//[^\"'>\s]+"
    r"|<link\b(?![^>]*\brel=[\"']?canonical)[^>]*\bhref=[\"']?(?:https?:)?//[^\"'>\s]+"
    r"|@import\s+[\"'](?:https?:)?//[^\"']+|url\([\"']?(?:https?:)?//[^)]+",
    re.IGNORECASE,
)


def find_outside_requests(site: Path) -> list[str]:
    """Return what pages and style sheets would ask other machines for, with the file."""
    found = []
    for path in sorted((*site.rglob("*.html"), *site.rglob("*.css"))):
        for match in FETCHED.findall(path.read_text("utf-8")):
            found.append(f"{path.relative_to(site)}: {match}")
    return found


def main() -> None:
    """Build, check, and say so."""
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    mkdocs = [sys.executable, "-m", "mkdocs"]
    if "--serve" in sys.argv[1:]:
        sys.exit(subprocess.run([*mkdocs, "serve"], cwd=ROOT, env=environment).returncode)
    done = subprocess.run(
        [*mkdocs, "build", "--strict", "--site-dir", str(SITE)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    said = [line for line in done.stderr.splitlines() if not line.startswith("INFO")]
    if done.returncode != 0:
        sys.exit("\n".join([*said, "docs: failed"]))
    outside = find_outside_requests(SITE)
    if len(outside) > 0:
        sys.exit("\n".join([*outside, "docs: the site would ask other machines for something"]))
    pages = len(list(SITE.rglob("*.html")))
    where = (SITE / "index.html").relative_to(ROOT)
    print(f"docs: {pages} pages, no broken link; open {where}")


if __name__ == "__main__":
    main()
