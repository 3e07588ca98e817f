"""A CSV file of texts that a chat model wrote, which grows by one line per answer.

It is whole after every line, so a run that is killed loses nothing but answers under way. A line
that was cut by that is dropped the next time the file is opened.
"""

import csv
import io
import shutil
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Self

from recdemo.errors import DatasetError, StoreError


@dataclass(frozen=True, slots=True)
class Synopsis:
    """A text and where it comes from; the fields are the columns of the file."""

    item_id: str
    text: str  # one line
    model: str  # provider:name, or catalog
    prompt_hash: str  # of the prompt before its fields were filled
    created: str  # when, in UTC


COLUMNS = tuple(field.name for field in fields(Synopsis))


class SynopsisFile:
    """Opens a file, or the place of one; what `append` is given is on disk when it returns."""

    def __init__(self, path: Path) -> None:
        if path.suffix != ".csv":
            raise DatasetError(f"cannot write texts to {path}; expected a name that ends in .csv")
        self.path = path
        self.by_item: dict[str, Synopsis] = {}
        self._file: io.FileIO | None = None
        try:
            content = path.read_bytes() if path.exists() else b""
        except OSError as error:
            raise StoreError(f"cannot read {path}: {error.strerror}") from error
        self._is_whole = self._read(content)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def append(self, synopses: Iterable[Synopsis]) -> None:
        """Write texts of items that the file does not have."""
        new = list(synopses)
        try:
            if not self._is_whole:
                self._rewrite()
            if self._file is None:
                self._file = self.path.open("ab", buffering=0)  # so that closing writes nothing
            rest = memoryview(_lines(new))
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise StoreError(
                f"cannot write {self.path}: {error.strerror}; the texts in it are kept, so make "
                "room or mend that and run the same command again"
            ) from error
        self.by_item |= {synopsis.item_id: synopsis for synopsis in new}

    def keep(self, stays: Callable[[Synopsis], bool]) -> Path | None:
        """Drop the other texts from the file, which stays whole under another name.

        Returns:
            That name; None where all texts stay.
        """
        kept = {item: synopsis for item, synopsis in self.by_item.items() if stays(synopsis)}
        if len(kept) == len(self.by_item):
            return None
        try:
            aside = _free_name(self.path)
            shutil.copy2(self.path, aside)  # first: at no moment is there less than before
            self.by_item = kept
            self._rewrite()
        except OSError as error:
            raise StoreError(f"cannot write beside {self.path}: {error.strerror}") from error
        return aside

    def _read(self, content: bytes) -> bool:
        """Take in the content of the file; False where it must be written anew to be whole."""
        end = content.rfind(b"\n") + 1
        try:
            body = content[:end].decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise DatasetError(f"{self.path} is not UTF-8; choose another --output") from error
        tail = content[end:].decode("utf-8-sig", "replace")
        rows = self._rows(body) if body else []
        if tuple(rows[0] if rows else COLUMNS if not tail else [tail]) != COLUMNS:
            raise DatasetError(
                f"{self.path} was not written by this command: its columns are not "
                f"{', '.join(COLUMNS)}; choose another --output"
            )
        for place, row in enumerate(rows[1:], start=2):
            if len(row) != len(COLUMNS):
                raise DatasetError(
                    f"{self.path}, row {place}: {len(row)} fields, expected {len(COLUMNS)}; "
                    "mend or delete it"
                )
        last = next(csv.reader([tail]), [])
        if len(last) == len(COLUMNS) and len(last[-1]) == len("2026-01-01T00:00:00+00:00"):
            rows.append(last)  # only its line break is missing: an editor took it
        for row in rows[1:]:
            synopsis = Synopsis(*row)
            if synopsis.text.strip():
                self.by_item.setdefault(synopsis.item_id, synopsis)
        return bool(rows) and not tail and len(self.by_item) == len(rows) - 1

    def _rows(self, body: str) -> list[list[str]]:
        try:
            return [row for row in csv.reader(io.StringIO(body, newline=""), strict=True) if row]
        except csv.Error as error:
            raise DatasetError(
                f"{self.path} cannot be read as CSV ({error}); mend it, or choose another --output"
            ) from error

    def _rewrite(self) -> None:
        partial = self.path.with_name(f"{self.path.name}.part")
        header = ",".join(COLUMNS).encode() + b"\n"
        partial.write_bytes(header + _lines(self.by_item.values()))
        partial.replace(self.path)
        self._is_whole = True


def _lines(synopses: Iterable[Synopsis]) -> bytes:
    written = io.StringIO(newline="")
    csv.writer(written, lineterminator="\n").writerows(map(astuple, synopses))
    return written.getvalue().encode()


def _free_name(path: Path) -> Path:
    n = 1
    while (aside := path.with_name(f"{path.stem}.old-{n}{path.suffix}")).exists():
        n += 1
    return aside
