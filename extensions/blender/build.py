"""Pack the extension and all wheels that it needs into one .zip, which Blender installs.

python extensions/blender/build.py dist/exactik-….whl [FOLDER]
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYTHON = "3.11"  # of Blender 4.5 and 5.0
NUMPY = "numpy==1.26.4"  # which Blender 4.5 brings: what is packed has to do with it
SYSTEMS = {"linux": "linux", "macosx": "macos", "win": "windows"}


def build(wheel: Path, folder: Path) -> Path:
    """Return the .zip, made in a folder from the wheel of exactik and those of PyPI."""
    manifest = (HERE / "blender_manifest.toml").read_text("utf-8")
    with tempfile.TemporaryDirectory() as temporary:
        options = ["--only-binary=:all:", "--python-version", PYTHON, "--disable-pip-version-check"]
        command = [sys.executable, "-m", "pip", "download", "-q", *options, "-d", temporary]
        subprocess.run([*command, str(wheel), NUMPY], check=True)
        packed_wheels = sorted(Path(temporary).glob("*.whl"))
        wheels = [w for w in packed_wheels if not w.name.startswith("numpy-")]
        listed = "".join(f'  "./wheels/{w.name}",\n' for w in wheels)
        version, tag = wheel.name.split("-")[1], wheel.stem.rpartition("-")[2]
        system = next(name for part, name in SYSTEMS.items() if part in tag)
        platform = f"{system}-{'arm64' if tag.endswith(('arm64', 'aarch64')) else 'x64'}"
        head, permissions = manifest.split("\n[permissions]")
        head = re.sub(r"(?m)^version = .*$", f'version = "{version}"', head)
        lists = f'platforms = ["{platform}"]\nwheels = [\n{listed}]\n'
        target = folder / f"exactik-{version}-blender-{platform}.zip"
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
            whole = f"{head}\n{lists}\n[permissions]{permissions}"
            packed.writestr("blender_manifest.toml", whole)
            for name in ("__init__.py", "armature.py"):
                packed.write(HERE / name, name)
            packed.write(HERE.parents[1] / "LICENSE", "LICENSE")
            for w in wheels:
                packed.write(w, f"wheels/{w.name}", zipfile.ZIP_STORED)
    return target


if __name__ == "__main__":
    print(build(Path(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else "dist")))
