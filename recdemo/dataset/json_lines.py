"""JSON lines: one object per line."""

import json
from collections.abc import Iterable, Iterator

from recdemo.dataset.entries import Chunk, Columns, RawEntry, chunks_of
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

    value, timestamp = columns.value or "", columns.timestamp or ""
    entries = (
        RawEntry(
            line,
            found.get(columns.item),
            found.get(columns.user),
            found.get(value),
            found.get(timestamp),
            found,
        )
        for line, found in read_objects(blocks, name, on_fault)
    )
    return chunks_of(entries, columns, tell)


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
