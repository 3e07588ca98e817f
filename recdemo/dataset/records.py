"""Lines and fields of a text file of any size, with line numbers for whatever is wrong.

Two forms: CSV (quotes as usual, a separator of one character) and lines whose separator
has more characters, as ``::`` in MovieLens 1M, where a quote is a letter like any other.
"""

import codecs
import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from recdemo.dataset.archive import faults_of
from recdemo.dataset.decoding import UTF_8, Recoded, Stream, checked, refuse_other_files
from recdemo.dataset.faults import Fault, Kind, OnFault, shortened
from recdemo.errors import DatasetError

BLOCK = 4 << 20  # bytes read at once
_LONGEST = 64 << 20  # bytes of one line; more is no text file with lines
csv.field_size_limit(8 << 20)  # characters; of itself it refuses a description above 128 KiB


@dataclass(frozen=True, slots=True)
class TextForm:
    """How the lines of a file are written."""

    separator: str = ","
    encoding: str = UTF_8

    @property
    def quotes(self) -> bool:
        """Whether fields may stand in double quotes."""
        return len(self.separator) == 1


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines of a file in UTF-8, each ending in a newline."""

    line: int  # number of the first line, from 1
    data: bytes


@dataclass(frozen=True, slots=True)
class Record:
    """The fields of one line, or of several where a quoted field spans them."""

    line: int  # where it starts, from 1
    fields: list[str]


def read_blocks(
    stream: Stream, name: str, encoding: str, on_fault: OnFault, size: int = BLOCK
) -> Iterator[Block]:
    """Read a stream as blocks of whole lines in UTF-8; a byte order mark is dropped.

    Args:
        name: what messages call the stream.
        size: bytes to read at once.
    """
    if encoding != UTF_8:
        stream = Recoded(stream, name, encoding, on_fault)
    line, rest, start = 1, b"", True
    while True:
        with faults_of(name):
            data = stream.read(size)
        if start:
            refuse_other_files(data, name)
            data, start = data.removeprefix(codecs.BOM_UTF8), False
        if not data:
            break
        cut = data.rfind(b"\n") + 1
        if cut:
            lines = rest + data[:cut]
            yield Block(line, checked(lines, name, line, on_fault))
            line += lines.count(b"\n")
        rest = data[cut:] if cut else rest + data
        if len(rest) > _LONGEST:
            raise DatasetError(
                f"{name}, line {line}: is longer than 64 MB; expected lines that end in a newline"
            )
    if rest:
        yield Block(line, checked(rest + b"\n", name, line, on_fault))


def read_records(
    blocks: Iterable[Block], name: str, form: TextForm, on_fault: OnFault
) -> Iterator[Record]:
    """Split blocks into records; blank lines are left out.

    Args:
        name: what messages call the file.
    """
    lines = numbered_lines(blocks)
    if form.quotes:
        yield from _Csv(lines, name, form.separator, on_fault).records()
        return
    for number, text in lines:
        if text.strip():
            yield Record(number, text.rstrip("\r\n").split(form.separator))


def numbered_lines(blocks: Iterable[Block]) -> Iterator[tuple[int, str]]:
    """Yield each line with its number and its newline."""
    for block in blocks:
        text = block.data.decode(UTF_8)
        # Not splitlines(): it also splits at characters that CSV takes for letters.
        yield from enumerate((part + "\n" for part in text[:-1].split("\n")), block.line)


class _Csv:
    """Reads CSV; after a broken record it goes on at the line behind the one that began it."""

    def __init__(
        self, lines: Iterator[tuple[int, str]], name: str, separator: str, on_fault: OnFault
    ) -> None:
        self._lines, self._name, self._separator = lines, name, separator
        self._on_fault = on_fault
        self._fed: list[tuple[int, str]] = []  # lines of the record being read
        self._again: list[tuple[int, str]] = []  # lines to read once more, the next one last

    def records(self) -> Iterator[Record]:
        reader = csv.reader(self._feed(), delimiter=self._separator, strict=True)
        while True:
            self._fed.clear()
            try:
                fields = next(reader, None)
            except csv.Error as error:
                first, *others = self._fed
                self._on_fault(Fault(Kind.BROKEN, self._name, first[0], f"is not CSV: {error}"))
                self._again += reversed(others)
                reader = csv.reader(self._feed(), delimiter=self._separator, strict=True)
                continue
            if fields is None:
                return
            if len(fields) > 1 or (fields and fields[0].strip()):
                yield Record(self._fed[0][0], fields)

    def _feed(self) -> Iterator[str]:
        while True:
            line = self._again.pop() if self._again else next(self._lines, None)
            if line is None:
                return
            self._fed.append(line)
            yield line[1]


def position(column: str, header: Sequence[str], name: str, remedy: str = "") -> int:
    """Return where a column stands; one that is missing or repeated is a `DatasetError`."""
    if header.count(column) == 1:
        return header.index(column)
    how = "more than one" if column in header else "no"
    known = ", ".join(map(repr, header)) or "none"
    what = f"{name} has {how} column {column!r}; its columns are {known}"
    raise DatasetError(f"{what}; {remedy}" if remedy else what)


def field_count_fault(record: Record, expected: int, name: str, form: TextForm) -> Fault:
    """Return the fault of a record with too few or too many fields."""
    message = (
        f"expected {expected} fields separated by {form.separator!r}, got "
        f"{len(record.fields)}: {shown(record, form)}"
    )
    return Fault(Kind.BROKEN, name, record.line, message)


def shown(record: Record, form: TextForm) -> str:
    """Return a record as a short line for messages."""
    return shortened(form.separator.join(record.fields))
