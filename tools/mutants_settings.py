"""Areas in which tools/mutants.py makes faults, and what tools/mutants.toml says about them."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.faults import Fault, make_named_fault
from tools.mutants_table import Reason

__all__ = ["AREAS", "ROOT", "Area", "Settings", "path_of"]

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ROOT / "tools" / "mutants.toml"


@dataclass(frozen=True)
class Area:
    """Packages whose faults are made and judged together.

    Attributes:
        packages: or modules, "solvers._verdict".
        above: layers that are imported anew for every fault: those that may hold what a faulty
            module made.
        interpreted: whether kernels run in the interpreter, so that none compiles again.
        in_place: whether faults are put into functions as they are; nothing is imported anew then
            but tests.
        literals: whether numbers inside functions are faults, too.
        comparisons: of each module at most; all other faults are tried.
    """

    packages: tuple[str, ...]
    above: tuple[str, ...]
    interpreted: bool
    in_place: bool
    literals: bool
    comparisons: int


AREAS = {
    "recordings": Area(
        packages=("recordings.tracking", "recordings.calibration", "recordings.diagnosis"),
        above=("recordings", "retargeting", "archive", "studio", "lab", "cli"),
        interpreted=False,
        in_place=False,
        literals=False,
        comparisons=8,
    ),
    "retargeting": Area(
        packages=("retargeting",),
        above=("retargeting", "archive", "studio", "lab", "cli"),
        interpreted=False,
        in_place=False,
        literals=False,
        comparisons=2,
    ),
    "solver": Area(
        packages=(
            "kernels.descent",
            "solvers._certificate",
            "solvers._critical_cone",
            "solvers._verdict",
            "solvers._reachability",
            "solvers._goal_errors",
            "solvers._result",
        ),
        above=(),
        interpreted=True,
        in_place=True,
        literals=True,
        comparisons=10**6,
    ),
    "pairs": Area(
        packages=(
            "goals._relative",
            "goals._pairs",
            "goals._places",
            "goals._balance",
            "goals._collisions",
            "model._loop",
            "io.robots._mjcf_equality",
            "io.opensim._model",
            "solvers.loops",
            "solvers.control",
        ),
        above=(),
        interpreted=False,
        in_place=True,
        literals=True,
        comparisons=10**6,
    ),
}


def path_of(module: str) -> Path:
    """Return the file of a module of ours."""
    return ROOT / "src" / Path(*module.split(".")).with_suffix(".py")


@dataclass(frozen=True)
class Settings:
    """What tools/mutants.toml says.

    Attributes:
        tests: part of a fault's key → its tests, the sharpest first; the longest key counts.
        harmless: fault, or its beginning before a "*" → why it changes no answer.
        reasons: likewise, of faults that may change one → why no quick test notices it.
        named: faults by hand: module, the text that is replaced, and by what.
    """

    tests: dict[str, list[str]]
    harmless: dict[str, str]
    reasons: dict[str, str]
    named: list[dict[str, str]]

    @classmethod
    def load(cls) -> Settings:
        """Read them."""
        data = tomllib.loads(SETTINGS.read_text("utf-8"))
        return cls(
            tests=data["tests"],
            harmless=data["harmless"],
            reasons=data["survivors"],
            named=data["named"],
        )

    def tests_of(self, fault: Fault) -> list[str]:
        """Return the tests that run against a fault."""
        keys = [key for key in self.tests if fault.key.startswith(key)]
        if len(keys) == 0:
            raise SystemExit(f"tools/mutants.toml names no tests of {fault.module}")
        return self.tests[max(keys, key=len)]

    def named_faults(self, packages: Sequence[str]) -> list[Fault]:
        """Return the faults by hand of some packages."""
        return [
            make_named_fault(f"exactik.{fault['module']}", path, fault["old"], fault["new"])
            for fault in self.named
            if (path := path_of(f"exactik.{fault['module']}")).exists()
            and fault["module"].startswith(tuple(packages))
        ]

    def reason_of(self, key: str) -> Reason | None:
        """Return why a fault may survive."""
        for harmless, reasons in ((True, self.harmless), (False, self.reasons)):
            for pattern, text in reasons.items():
                if key == pattern or (pattern.endswith("*") and key.startswith(pattern[:-1])):
                    return Reason(text, harmless)
        return None
