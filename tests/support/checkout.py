"""Where the checkout is, and the folder of real files beside it, which need not be there."""

from __future__ import annotations

from pathlib import Path

__all__ = ["DATA", "DOCS", "ROOT"]

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
DATA = ROOT.parent / "shared" / "data"
