"""Lines and fields of a text file of any size, with line numbers for whatever is wrong.

Two forms: CSV (quotes as usual, a separator of one character) and lines whose separator
has more characters, as ``::`` in MovieLens 1M, where a quote is a letter like any other.
"""

import codecs
import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from recdemo.dataset.archive import faults_of
from recdemo.errors import DatasetError

BLOCK = 4 << 20  # bytes read at once
_LONGEST = 64 << 20  # bytes of one line; more is no text file with lines


class Stream(Protocol):
    """What can be read: a file, a member of a zip, the inside of a gzip."""

    def read(self, size: int, /) -> bytes:
        """Return at most *size* bytes, none at the end."""
        ...


@dataclass(frozen=True, slots=True)
class TextForm:
    """How the lines of a file are written."""

    separator: str = ","
    encoding: str = "utf-8"

    @property
    def quotes(self) -> bool:
        """Whether fields may stand in double quotes."""
        return len(self.separator) == 1


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines of a file, each ending in a newline."""

    line: int  # number of the first line, from 1
    data: bytes


@dataclass(frozen=True, slots=True)
class Record:
    """The fields of one line, or of several where a quoted field spans them."""

    line: int  # where it starts, from 1
    fields: list[str]


def read_blocks(stream: Stream, name: str, size: int = BLOCK) -> Iterator[Block]:
    """Read a stream as blocks of whole lines; a byte order mark is dropped.

    Args:
        name: what messages call the stream.
        size: bytes to read at once.
    """
    line, rest = 1, b""
    while True:
        with faults_of(name):
            data = stream.read(size)
        if line == 1 and not rest:
            data = data.removeprefix(codecs.BOM_UTF8)
        if not data:
            break
        cut = data.rfind(b"\n") + 1
        if cut:
            yield Block(line, rest + data[:cut])
            line += rest.count(b"\n") + data.count(b"\n")
        rest = data[cut:] if cut else rest + data
        if len(rest) > _LONGEST:
            raise fault(name, line, "is longer than 64 MB; expected lines that end in a newline")
    if rest:
        yield Block(line, rest + b"\n")


def read_records(blocks: Iterable[Block], name: str, form: TextForm) -> Iterator[Record]:
    """Split blocks into records; blank lines are left out.

    Args:
        name: what messages call the file.
    """
    lines = _lines(blocks, name, form)
    if not form.quotes:
        for number, text in lines:
            if text.strip():
                yield Record(number, text.rstrip("\r\n").split(form.separator))
        return
    first, last = 0, 0  # of the lines handed to the CSV reader since the last record

    def feed() -> Iterator[str]:
        nonlocal first, last
        for last, text in lines:
            first = first or last
            yield text

    reader = csv.reader(feed(), delimiter=form.separator, strict=True)
    while True:
        first = 0
        try:
            fields = next(reader, None)
        except csv.Error as error:
            raise fault(name, first or last, f"is not CSV: {error}") from error
        if fields is None:
            return
        if len(fields) > 1 or (fields and fields[0].strip()):
            yield Record(first, fields)


def _lines(blocks: Iterable[Block], name: str, form: TextForm) -> Iterator[tuple[int, str]]:
    for block in blocks:
        text = decode(block, name, form)
        # Not splitlines(): it also splits at characters that CSV takes for letters.
        yield from enumerate((part + "\n" for part in text[:-1].split("\n")), block.line)


def decode(block: Block, name: str, form: TextForm) -> str:
    """Decode a block; a byte that does not fit is a `DatasetError` with its line."""
    try:
        return block.data.decode(form.encoding)
    except UnicodeDecodeError as error:
        line = block.line + block.data.count(b"\n", 0, error.start)
        byte = block.data[error.start]
        raise fault(
            name, line, f"is not {form.encoding.upper()} (byte 0x{byte:02x}); save the file as that"
        ) from error


def field_count_fault(record: Record, expected: int, name: str, form: TextForm) -> DatasetError:
    """Return the error of a record with too few or too many fields."""
    return fault(
        name,
        record.line,
        f"expected {expected} fields separated by {form.separator!r}, got "
        f"{len(record.fields)}: {shown(record, form)}",
    )


def fault(name: str, line: int, message: str) -> DatasetError:
    """Return the error of one line."""
    return DatasetError(f"{name}, line {line}: {message}")


def shown(record: Record, form: TextForm) -> str:
    """Return a record as a short line for messages."""
    text = form.separator.join(record.fields)
    return repr(text if len(text) <= 80 else f"{text[:77]}...")
