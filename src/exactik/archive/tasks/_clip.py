"""What a worker does with a clip: another figure takes its motion over."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from exactik._options import option, to_arguments
from exactik.archive.tasks._outputs import ManifestOptions, check_formats, write_formats
from exactik.archive.tasks._storage import hash_file
from exactik.archive.tasks._take import FileTask, load_figure
from exactik.archive.tasks._worker import TaskResult
from exactik.errors import FileError
from exactik.io import find_format, find_skeleton_beside
from exactik.io.formats import NPZ
from exactik.recordings.pipeline import LoadedMotion, read_motion
from exactik.retargeting import PlainRetargetOptions, measure_quality, retarget


@dataclass(frozen=True, kw_only=True)
class ClipOptions(PlainRetargetOptions, ManifestOptions):
    """What is asked of a clip."""

    formats: tuple[str, ...] = option(
        (NPZ.suffix,),
        "Formats to write, such as npz,mjlab.npz,unitree.csv,glb.",
        metavar="FORMATS",
        flags="--format",
    )
    output_rate: float | None = option(
        None, "Frames a second to write, if not those of the clip.", unit="Hz", metavar="HZ"
    )
    smpl_model: str | None = option(
        None,
        "Your .npz model file, for motions of AMASS, SMPL, SMPL-H or SMPL-X.",
        metavar="FILE",
    )

    def __post_init__(self) -> None:
        """Check what can be checked before anything is read."""
        object.__setattr__(self, "formats", check_formats(self.formats))

    def to_dict(self) -> dict[str, Any]:
        """Return all that the result depends on, as JSON can hold it."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class ClipTask(FileTask):
    """A clip as it is sent to a worker; its file is a motion."""

    options: ClipOptions

    def hash_input(self, path: Path) -> str:
        """Return the hash of the clip, with the skeleton that lies beside it and the model."""
        form, others = find_format(path), []
        if form is not None and form.companion != "":
            others.append(find_skeleton_beside(str(path)))
        if self.options.smpl_model is not None:
            others.append(self.options.smpl_model)
        hashes = [hash_file(file) for file in (path, *others)]
        joined = hashlib.sha256("".join(hashes).encode()).hexdigest()
        return hashes[0] if len(others) == 0 else joined

    def read(self, path: Path) -> LoadedMotion:
        """Return the motion."""
        model = self.options.smpl_model
        loaded = read_motion(str(path), up=self.options.up, by_custom=False, smpl_model=model)
        if len(loaded.motion) == 0:
            raise FileError(self.address, "holds no frame; expected a motion", code="no-frames")
        return loaded

    def make(self, content: LoadedMotion, folder: Path) -> tuple[list[Path], TaskResult]:
        """Take the motion over and write it."""
        source, options = content.motion, self.options
        if options.output_rate is not None:
            source = source.resampled(options.output_rate)
        figure = load_figure(self.outputs, self.figure)
        taken = retarget(source, figure.skeleton, **to_arguments(options, PlainRetargetOptions))
        staged = write_formats(taken.motion, folder / self.name.rpartition("/")[2], options.formats)
        quality = measure_quality(taken)
        facts = {name: round(float(value), 4) for name, value in quality._asdict().items()}
        facts |= {
            "worst": round(quality.worst, 4),
            "rate_hz": taken.motion.rate,
            "reasons": list(quality.faults),
            "files": [file.name for file in staged],
        }
        verdict = "good" if len(quality.faults) == 0 else "care"
        frames = len(taken.motion)
        return staged, TaskResult(state="done", verdict=verdict, frames=frames, facts=facts)
