"""Fetches MovieLens: downloads it, or takes a zip or folder that is there already."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from recdemo.dataset.archive import Archive, faults_of, open_archive
from recdemo.dataset.web import Progress, download
from recdemo.errors import DatasetError, StoreError
from recdemo.settings import settings

_REPORT = "fetched.json"  # beside the files, written last


@dataclass(frozen=True, slots=True)
class Published:
    """What its publisher says of a data set."""

    name: str
    address: str
    md5: str | None  # of the zip; None where it changes from time to time
    n_items: int | None = None
    n_users: int | None = None
    n_interactions: int | None = None


def _movielens(
    name: str, md5: str | None, counts: tuple[int | None, int | None, int | None]
) -> Published:
    return Published(
        name, f"https://files.grouplens.org/datasets/movielens/{name}.zip", md5, *counts
    )


# GroupLens publishes each checksum beside the zip, as NAME.zip.md5, and the counts in its
# README; both as quoted by several public loaders of these files. latest-small changes.
PUBLISHED = {
    data.name: data
    for data in (
        _movielens("ml-1m", "c4d9eecfca2ab87c1945afe126590906", (3_883, 6_040, 1_000_209)),
        _movielens("ml-latest-small", None, (None, None, None)),
        _movielens("ml-25m", "6b51fb2759a8657d3bfcbfc42b592ada", (62_423, 162_541, 25_000_095)),
        _movielens("ml-32m", "d472be332d4daa821edc399621853b57", (87_585, 200_948, 32_000_204)),
    )
}


@dataclass(frozen=True, slots=True)
class FetchReport:
    """What was fetched, and from where."""

    name: str
    folder: Path
    source: str  # address or path
    how: str  # "downloaded", "from a zip", "from a repacked zip" or "from a folder"
    n_items: int
    n_users: int
    n_interactions: int
    new: bool = True  # False: it was there already


def fetched(name: str) -> Path | None:
    """Return the folder of a data set that was fetched, None where it was not."""
    if name not in PUBLISHED:
        return None
    folder = settings().datasets / name
    return folder if (folder / _REPORT).is_file() else None


def locate(name_or_path: str) -> Path:
    """Return the path itself, or the folder of a data set that was fetched by this name."""
    path = Path(name_or_path)
    if path.exists():
        return path
    folder = fetched(name_or_path)
    if folder is not None:
        return folder
    if name_or_path in PUBLISHED:
        raise DatasetError(
            f"{name_or_path} is not here yet; get it with 'recdemo dataset fetch {name_or_path}'"
        )
    known = ", ".join(PUBLISHED)
    raise DatasetError(
        f"no data set {name_or_path!r}: expected {known}, or the path of a folder or zip with "
        "items and interactions, MovieLens or your own"
    )


def fetch(
    name: str,
    source: Path | None = None,
    on_progress: Progress = lambda done, total: None,
    *,
    force: bool = False,
) -> FetchReport:
    """Put a data set where recdemo finds it by name, whole or not at all.

    Args:
        source: a zip or folder to take it from; None: download it.
        force: replace what is there already.
    """
    if name not in PUBLISHED:
        raise DatasetError(f"cannot fetch {name!r}; expected one of {', '.join(PUBLISHED)}")
    target = settings().datasets / name
    if target.exists() and not force:  # needs no right to write
        return _present(target)
    with _alone(target), TemporaryDirectory(prefix=_prefix(target), dir=target.parent) as place:
        if target.exists() and not force:  # another process was faster
            return _present(target)
        new = Path(place) / "new"
        new.mkdir()
        if source is not None:
            report = _copy_here(PUBLISHED[name], source, new)
        else:
            report = _download(PUBLISHED[name], Path(place) / f"{name}.zip", new, on_progress)
        _write_report(report, new)
        if target.exists():
            target.rename(Path(place) / "old")
        new.rename(target)
    return replace(report, folder=target)


def _download(published: Published, zip: Path, folder: Path, on_progress: Progress) -> FetchReport:
    remedy = (
        "get the zip another way, then run "
        f"'recdemo dataset fetch {published.name} --from PATH' with its path"
    )
    download(published.address, published.md5, zip, on_progress, remedy)
    try:
        report = _copy_here(published, zip, folder)
    except DatasetError as error:
        what = str(error).replace(str(zip), zip.name)  # it will not be there any more
        raise DatasetError(f"cannot use {published.address}: {what}; {remedy}") from error
    return replace(report, source=published.address, how="downloaded")


def _prefix(target: Path) -> str:
    return f".{target.name}.part-"


@contextmanager
def _alone(target: Path) -> Iterator[None]:
    """Keep other processes from fetching the same, and remove what dead ones left."""
    from filelock import FileLock, Timeout

    root = target.parent
    try:
        root.mkdir(parents=True, exist_ok=True)
        with FileLock(root / f".{target.name}.lock", timeout=0):
            for leftover in root.glob(f"{_prefix(target)}*"):
                shutil.rmtree(leftover)
            yield
    except Timeout as error:
        raise StoreError(f"another recdemo fetches {target.name} right now; let it end") from error
    except OSError as error:
        raise StoreError(
            f"cannot write {error.filename or root}: {error.strerror or error}; "
            "make room there or set RECDEMO_HOME to a folder that can be written"
        ) from error


def _copy_here(published: Published, path: Path, folder: Path) -> FetchReport:
    """Copy what is needed from a folder or zip, and check that it is what was published."""
    from recdemo.dataset.movielens import find_layout, open_movielens

    with open_archive(path) as archive:
        layout = find_layout(archive)
        archive.unpack([layout.movies, layout.ratings, *_readmes(archive)], folder)
        how = "from a folder" if archive.zip is None else "from a zip"
    data = open_movielens(path)  # not the copy: messages are to name the source
    found = (len(data), data.n_users, data.n_interactions)
    expected = (published.n_items, published.n_users, published.n_interactions)
    if published.n_items is not None and found != expected:
        raise DatasetError(
            f"{path} is not {published.name} as published: it has {_counted(*found)}; "
            f"expected {_counted(*expected)}"
        )
    if how == "from a zip" and published.md5 not in (None, _checksum(path, "md5")):
        how = "from a repacked zip"
    return FetchReport(published.name, folder, str(path), how, *found)


def _readmes(archive: Archive) -> list[str]:
    """The license stands there."""
    return [
        name
        for name, places in archive.members.items()
        if name.lower().startswith("readme") and len(places) == 1
    ]


def _counted(n_items: int | None, n_users: int | None, n_interactions: int | None) -> str:
    return f"{n_items:,} movies, {n_users:,} users and {n_interactions:,} ratings"


def _checksum(path: Path, kind: str) -> str:
    with faults_of(str(path)), path.open("rb") as file:
        return hashlib.file_digest(
            file, lambda: hashlib.new(kind, usedforsecurity=False)
        ).hexdigest()


def _write_report(report: FetchReport, folder: Path) -> None:
    files = {file.name: _checksum(file, "sha256") for file in sorted(folder.iterdir())}
    kept = asdict(report) | {"files": files}
    del kept["folder"], kept["new"]
    (folder / _REPORT).write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")


def _present(folder: Path) -> FetchReport:
    """Return the report of what is there already, and check that it is still what it was."""
    remedy = f"replace it with 'recdemo dataset fetch {folder.name} --force'"
    try:
        kept = json.loads((folder / _REPORT).read_text(encoding="utf-8"))
        files = kept.pop("files")
        report = FetchReport(**kept, folder=folder, new=False)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise DatasetError(f"{folder} is not what recdemo fetched; {remedy}") from error
    for name, checksum in files.items():
        if _checksum(folder / name, "sha256") != checksum:
            raise DatasetError(f"{folder / name} is not as it was fetched; {remedy}")
    return report
