"""Whatever the encoding of a file, the readers get UTF-8; never the platform's default.

UTF-8 is checked block by block, where only blocks beyond ASCII cost anything. What is
declared to be something else is decoded as it is read, since in UTF-16, say, a newline
is not one byte.
"""

import codecs
from typing import Protocol

from recdemo.dataset.archive import faults_of
from recdemo.dataset.faults import Fault, Kind, OnFault
from recdemo.errors import DatasetError

UTF_8 = "utf-8"
_SIGNS = (  # how files begin that are no text, and what to do with them
    (b"\x1f\x8b", "is gzipped; give it a name that ends in .gz"),
    (b"PK\x03\x04", "is a zip or an Excel file; save it as CSV in UTF-8"),
    (b"PAR1", "is a Parquet file; give it a name that ends in .parquet"),
    (codecs.BOM_UTF16_LE, "is UTF-16; read it with --encoding utf-16, or save it as UTF-8"),
    (codecs.BOM_UTF16_BE, "is UTF-16; read it with --encoding utf-16, or save it as UTF-8"),
)


class Stream(Protocol):
    """What can be read: a file, a member of a zip, the inside of a gzip."""

    def read(self, size: int, /) -> bytes:
        """Return at most *size* bytes, none at the end."""
        ...


def known_encoding(name: str) -> str:
    """Return the encoding under its common name; an unknown one is a `DatasetError`."""
    try:
        codec = codecs.lookup(name)
        "".encode(name)  # refuses what turns no text into bytes, base64 say
    except (LookupError, ValueError) as error:
        raise DatasetError(
            f"unknown encoding {name!r}; expected utf-8, latin-1, cp1252, utf-16 or another "
            "that Python knows"
        ) from error
    return UTF_8 if codec.name == "utf-8-sig" else codec.name


def refuse_other_files(start: bytes, name: str) -> None:
    """Raise a `DatasetError` where a file begins like one of another kind."""
    for sign, message in _SIGNS:
        if start.startswith(sign):
            raise DatasetError(f"{name} {message}")


def checked(data: bytes, name: str, line: int, on_fault: OnFault) -> bytes:
    """Return whole lines as valid UTF-8; each that is not is a fault.

    Args:
        line: the number of the first one.
    """
    if data.isascii() or _fault_of(data) is None:
        return data
    for number, part in enumerate(data.split(b"\n"), line):
        byte = _fault_of(part)
        if byte is not None:
            on_fault(_fault(name, number, UTF_8, byte))
    return data.decode(UTF_8, "replace").encode()


def _fault_of(data: bytes) -> int | None:
    try:
        data.decode(UTF_8)
    except UnicodeDecodeError as error:
        return data[error.start]
    return None


def _fault(name: str, line: int, encoding: str, byte: int) -> Fault:
    message = (
        f"is not {encoding.upper()} (byte 0x{byte:02x}); save the file as that, or name its "
        "encoding with --encoding"
    )
    return Fault(Kind.ENCODING, name, line, message)


class Recoded:
    """A stream in any encoding, read as UTF-8; after its first fault the rest is forgiven."""

    def __init__(self, stream: Stream, name: str, encoding: str, on_fault: OnFault) -> None:
        self._stream, self._name, self._encoding = stream, name, encoding
        self._on_fault = on_fault
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._line = 1

    def read(self, size: int, /) -> bytes:
        """Return some bytes of UTF-8, none at the end."""
        while True:
            with faults_of(self._name):
                data = self._stream.read(size)
            text = self._decoded(data)
            if text or not data:
                self._line += text.count("\n")
                return text.encode(UTF_8, "replace")

    def _decoded(self, data: bytes) -> str:
        try:
            return self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            before = error.object[: error.start].decode(self._encoding, "ignore")
            line = self._line + before.count("\n")
            byte = error.object[error.start]
        self._on_fault(_fault(self._name, line, self._encoding, byte))
        self._decoder.errors = "replace"  # the failed call has left its state alone
        return self._decoder.decode(data, final=not data)
