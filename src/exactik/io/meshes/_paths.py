"""Where the meshes that a file names are; nothing outside its own package is opened.

A reference is a path beside the file, such as `../meshes/hand.stl`, or one in a package of ROS,
`package://robot_description/meshes/hand.stl`. The package is a folder of that name above the file
or beside one of those, or in a folder that ROS_PACKAGE_PATH or AMENT_PREFIX_PATH lists. What a
reference leads to, links followed, has to lie inside the package that it names, or for a plain path
inside the package of the file itself: the nearest folder above it with a package.xml, else the
folder above its own. A model from elsewhere can look at nothing else.

The folders in which temporary files or people's homes lie belong to nobody's package, nor do those
above them: a file that was sent to a page lies in a temporary folder of its own, and may not look
around among others. Nor is a hidden folder a package.
"""

from __future__ import annotations

import os
import tempfile
from urllib.parse import unquote

from exactik.errors import FileError

MAX_LEVELS = 6  # folders above the file in which packages are looked for
PACKAGE_VARIABLES = {"ROS_PACKAGE_PATH": "", "AMENT_PREFIX_PATH": "share"}


class MeshFinder:
    """Finds the files that a model names.

    Attributes:
        folder: of the model.
        root: the folder that plain paths may not leave.
    """

    def __init__(self, path: str, folders: tuple[str, ...] = ()):
        """Look from a file.

        Args:
            path: the model.
            folders: further places for plain paths, relative to the model, such as "Geometry".
        """
        self.path = path
        self.folder = os.path.realpath(os.path.dirname(os.path.abspath(path)))
        self.folders = ("", *folders)
        self.above = self._list_above()
        packages = [f for f in self.above if os.path.isfile(os.path.join(f, "package.xml"))]
        parent = os.path.dirname(self.folder)
        self.root = packages[0] if len(packages) > 0 else parent
        if self.root not in self.above:  # nobody's
            self.root = self.folder

    def _list_above(self) -> list[str]:
        """Return the folder of the model and those above it that may be somebody's package."""
        homes = os.path.dirname(os.path.realpath(os.path.expanduser("~")))
        shared = {homes, os.path.realpath(tempfile.gettempdir())}
        found, folder = [], self.folder
        while len(found) <= MAX_LEVELS and os.path.dirname(folder) != folder:
            if folder in shared:
                break
            found.append(folder)
            folder = os.path.dirname(folder)
        return found

    def find(self, reference: str) -> str:
        """Return the path of a file; raise a `FileError` that says why there is none."""
        name = unquote(reference.strip()).replace("\\", "/")
        if name == "" or "\0" in name:
            raise FileError(
                self.path, "a mesh without a name; expected a file", code="mesh-missing"
            )
        scheme, _, rest = name.partition("://")
        if rest != "":
            if scheme == "package" or scheme == "model":
                package, _, inner = rest.lstrip("/").partition("/")
                return self._find_in_package(reference, package, inner)
            if scheme != "file":
                raise self._outside(reference)
            name = rest
        for folder in self.folders:
            target = os.path.realpath(os.path.join(self.folder, folder, name))
            if os.path.isfile(target):
                if not _is_inside(target, self.root):
                    raise self._outside(reference)
                return target
        raise self._missing(reference)

    def _find_in_package(self, reference: str, package: str, inner: str) -> str:
        if package == "" or package.startswith(".") or inner == "":
            raise self._missing(reference)
        roots = [f for f in self.above if os.path.basename(f) == package]
        roots += [os.path.join(folder, package) for folder in self.above]
        for variable, share in PACKAGE_VARIABLES.items():
            folders = os.environ.get(variable, "").split(os.pathsep)
            roots += [os.path.join(f, share, package) for f in folders if f != ""]
            roots += [f for f in folders if os.path.basename(f) == package]
        for root in roots:
            target = os.path.realpath(os.path.join(root, inner))
            if os.path.isfile(target):
                if not _is_inside(target, os.path.realpath(root)):
                    raise self._outside(reference)
                return target
        # A file that was copied from its package often keeps its folders.
        target = os.path.realpath(os.path.join(self.folder, inner))
        if os.path.isfile(target) and _is_inside(target, self.folder):
            return target
        if not any(os.path.isdir(root) for root in roots):
            where = " or ".join(PACKAGE_VARIABLES)
            text = f"mesh {_short(reference)} is not there: no folder {package!r} beside or above"
            text += f" {os.path.basename(self.path)}, nor in {where}"
            raise FileError(self.path, text, code="mesh-missing")
        raise self._missing(reference)

    def find_beside(self, path: str, name: str) -> str | None:
        """Return a file that a mesh names, in its folder or the package; None if not there."""
        folder = os.path.realpath(os.path.dirname(path))
        name = unquote(name.strip()).replace("\\", "/")
        if name == "" or "\0" in name:
            return None
        target = os.path.realpath(os.path.join(folder, name))
        allowed = _is_inside(target, folder) or _is_inside(target, self.root)
        return target if allowed and os.path.isfile(target) else None

    def _missing(self, reference: str) -> FileError:
        further = [repr(f) for f in dict.fromkeys(self.folders) if f not in ("", ".")]
        also = (
            f", nor in {' or '.join(further)}" if len(further) > 0 and ":" not in reference else ""
        )
        text = f"mesh {_short(reference)} is not there{also}"
        return FileError(self.path, text, code="mesh-missing")

    def _outside(self, reference: str) -> FileError:
        text = f"mesh {_short(reference)} lies outside the folder {self.root}; it is not opened"
        return FileError(self.path, text, code="mesh-outside")


def _is_inside(path: str, folder: str) -> bool:
    return path.startswith(os.path.join(folder, ""))


def _short(reference: str) -> str:
    text = repr(reference[:160])
    return text if len(text) <= 100 else f"{text[:40]}…{text[-50:]}"
