"""A data set's files, the same whether they lie in a folder or in a zip."""

import lzma
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from recdemo.errors import DatasetError

# All that a truncated or altered zip or gzip was seen to raise. ValueError, IndexError and
# struct errors (as BadZipFile) come from broken offsets, NotImplementedError from methods
# unknown to Python, RuntimeError from encryption.
UNREADABLE = (
    OSError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    NotImplementedError,
    RuntimeError,
    ValueError,
    IndexError,
)


@contextmanager
def faults_of(label: str) -> Iterator[None]:
    """Turn the faults of reading *label* into a `DatasetError`; hold nothing else within."""
    try:
        yield
    except FileNotFoundError as error:
        raise DatasetError(f"{label} does not exist") from error
    except UNREADABLE as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise DatasetError(
            f"cannot read {label}: {reason}; it may be truncated or damaged, get it once more"
        ) from error


@dataclass(frozen=True, slots=True, eq=False)
class Archive:
    """A folder or a zip whose files stand at its top or in one folder below."""

    path: Path
    members: dict[str, list[str]]  # file name -> where inside; more than one is ambiguous
    zip: zipfile.ZipFile | None  # None: a folder

    def __contains__(self, name: str) -> bool:
        return name in self.members

    def member(self, name: str) -> str:
        """Return where inside the folder or zip a file lies; it has to be there, and once."""
        places = self.members[name]
        if len(places) > 1:
            raise DatasetError(
                f"{self.path} holds {places[0]} and {places[1]}; name the folder of one of them"
            )
        return places[0]

    def label(self, name: str) -> str:
        """Return how a file is named in messages."""
        return str(self.path / self.member(name))

    def stem(self, name: str) -> str:
        """Return the folder that holds *name*, or the name of the folder or zip itself."""
        parent = PurePosixPath(self.member(name)).parent.name
        return parent or (self.path.resolve().name if self.zip is None else self.path.stem)

    def open(self, name: str) -> IO[bytes]:
        """Open one of the files for reading."""
        member = self.member(name)
        with faults_of(self.label(name)):
            return (self.path / member).open("rb") if self.zip is None else self.zip.open(member)

    def unpack(self, names: list[str], folder: Path) -> None:
        """Write some of the files into *folder*, under their bare names.

        A zip that also holds what would land elsewhere is refused as a whole.
        """
        if self.zip is not None:
            _refuse_strangers(self.path, self.zip)
        for name in names:
            label = self.label(name)
            with self.open(name) as source, (folder / name).open("wb") as target:
                _copy(source, target, label)


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open a folder or zip; what is neither is a `DatasetError`."""
    if path.is_dir():
        with faults_of(str(path)):
            found = [*path.glob("*"), *path.glob("*/*")]
            files = [file.relative_to(path).as_posix() for file in found if file.is_file()]
        yield Archive(path, _nearest(files), None)
        return
    with faults_of(str(path)):
        archive = zipfile.ZipFile(path)
    with archive:
        files = [member.filename for member in archive.infolist() if not member.is_dir()]
        yield Archive(path, _nearest(files), archive)


def _nearest(files: list[str]) -> dict[str, list[str]]:
    """Map bare names to paths at most one folder deep; what lies at the top wins."""
    below: dict[str, list[str]] = {}
    for file in sorted(files):
        if file.count("/") == 1:
            below.setdefault(file.rpartition("/")[2], []).append(file)
    return below | {file: [file] for file in files if "/" not in file}


def _refuse_strangers(path: Path, archive: zipfile.ZipFile) -> None:
    """Refuse a zip that tries to write elsewhere, even in members that nobody needs."""
    for member in archive.infolist():
        name = member.orig_filename.replace("\\", "/")
        outside = ".." in name.split("/") or name.startswith("/") or re.match("[A-Za-z]:", name)
        if outside or stat.S_ISLNK(member.external_attr >> 16):
            raise DatasetError(
                f"{path} holds {member.filename!r}, which would land outside of its folder; "
                "nothing was unpacked, get the zip from a source you trust"
            )


def _copy(source: IO[bytes], target: IO[bytes], label: str) -> None:
    """Copy in pieces; faults of the source are the data's, those of the target are not."""
    while True:
        with faults_of(label):
            piece = source.read(1 << 20)
        if not piece:
            return
        target.write(piece)
