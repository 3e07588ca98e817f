"""JSON lines: one object per line.

Interactions go block by block where all is as it should be, else line by line, which names
the line of any fault.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np

from recdemo.dataset.entries import Chunk, Columns, RawEntry, chunks_of, numbered
from recdemo.dataset.faults import Fault, Kind, OnFault, shortened
from recdemo.dataset.records import Block, numbered_lines


def read_objects(
    blocks: Iterable[Block], name: str, on_fault: OnFault
) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield the object of each line with its number; blank lines are left out.

    Args:
        name: what messages call the file.
    """
    for line, text in numbered_lines(blocks):
        if not text.strip():
            continue
        found = _parsed(text)
        if isinstance(found, dict):
            yield line, found
        else:
            message = f"expected a JSON object, {found}: {shortened(text.strip())}"
            on_fault(Fault(Kind.BROKEN, name, line, message))


def read_json_chunks(
    blocks: Iterable[Block], name: str, columns: Columns, on_fault: OnFault
) -> Iterator[Chunk]:
    """Parse JSON lines into chunks; a key that is missing counts as null."""

    def tell(kind: Kind, line: int, message: str, whole: object) -> None:
        shown = shortened(json.dumps(whole, ensure_ascii=False))
        on_fault(Fault(kind, name, line, f"{message}: {shown}"))

    for block in blocks:
        chunk = _chunk_of(block, columns)
        if chunk is not None:
            yield chunk
        else:
            yield from chunks_of(_entries([block], name, columns, on_fault), columns, tell)


def _chunk_of(block: Block, columns: Columns) -> Chunk | None:
    """Parse a block whose lines are all as they should be; None where one might not be."""
    decode = json.JSONDecoder().decode
    value, timestamp = columns.value, columns.timestamp
    if b"\\u" in block.data:  # maybe half a surrogate pair
        return None
    try:
        found = [decode(line) for line in block.data.decode().split("\n") if line]
        items = [entry[columns.item] for entry in found]
        users = [entry[columns.user] for entry in found]
        values = None if value is None else [entry[value] for entry in found]
        times = None if timestamp is None else [entry[timestamp] for entry in found]
    except (ValueError, RecursionError, TypeError, KeyError):
        return None
    if not set(map(type, items)) | set(map(type, users)) <= {str, int}:  # bool is another type
        return None
    if values is not None and not set(map(type, values)) <= {int, float}:
        return None
    if times is not None and not set(map(type, times)) <= {int}:
        return None
    try:
        chunk = Chunk(
            numbered(map(str, items)),
            numbered(map(str, users)),
            None if values is None else np.array(values, np.float64),
            None if times is None else np.array(times, np.int64),
        )
    except OverflowError:
        return None
    names = chain(chunk.items.names, chunk.users.names)
    is_finite = chunk.values is None or bool(np.isfinite(chunk.values).all())
    return chunk if is_finite and all(map(str.strip, names)) else None


def _entries(
    blocks: Iterable[Block], name: str, columns: Columns, on_fault: OnFault
) -> Iterator[RawEntry]:
    value, timestamp = columns.value or "", columns.timestamp or ""
    for line, found in read_objects(blocks, name, on_fault):
        yield RawEntry(
            line,
            found.get(columns.item),
            found.get(columns.user),
            found.get(value),
            found.get(timestamp),
            found,
        )


def _parsed(text: str) -> dict[str, object] | str:
    """Return the object of a line, or what there is instead."""
    try:
        found = json.loads(text)
        if "\\ud" in text or "\\uD" in text:
            json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "got half a surrogate pair"
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a ValueError
        return f"got none ({getattr(error, 'msg', None) or error})"
    kinds = {list: "an array", str: "text", bool: "a truth value", type(None): "null"}
    return found if isinstance(found, dict) else f"got {kinds.get(type(found), 'a number')}"
