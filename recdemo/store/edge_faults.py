"""What the embedded engine raises, as a line for the user."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from recdemo.errors import StoreError
from recdemo.store.files import damaged

_NOT_ITS_FAULT = re.compile(r"\(os error (5|12|13|23|24|28|30)\)")  # no rights, room, memory, ...


@contextmanager
def engine_errors(path: Path, *, reading: bool = False) -> Iterator[None]:
    """Turn what the engine raises into a line for the user; what is not known passes.

    The engine raises plain `Exception` whatever happens, and where it does not expect what it
    reads a `PanicException`, which is a `BaseException` of a module that cannot be imported.
    """
    try:
        yield
    except BaseException as error:
        text = " ".join(str(error).split())
        panic = type(error).__name__ == "PanicException"
        if not panic and not (type(error) is Exception and text.startswith("Service runtime")):
            raise
        if _NOT_ITS_FAULT.search(text):
            raise StoreError(f"the engine cannot use {path}: {text}") from error
        if reading:
            raise damaged(path) from error
        raise
