"""Downloads a file over HTTPS; the only module that knows pooch and requests."""

import ssl
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from recdemo.errors import DatasetError

Progress: TypeAlias = Callable[[int, int], None]  # bytes so far, bytes in all (0: unknown)

_TIMEOUT = 30  # seconds without an answer


def download(
    address: str, md5: str | None, target: Path, on_progress: Progress, remedy: str
) -> None:
    """Download to *target*, or leave nothing there.

    Args:
        md5: what the checksum has to be; None: whatever comes is taken.
        remedy: what a person can do where it fails.
    """
    import pooch
    import requests

    pooch.get_logger().setLevel("ERROR")
    try:
        pooch.retrieve(
            address,
            known_hash=None if md5 is None else f"md5:{md5}",
            fname=target.name,
            path=target.parent,
            downloader=lambda url, file, _: _stream(url, Path(file), on_progress),
        )
    except requests.RequestException as error:
        raise DatasetError(f"cannot fetch {address}: {_reason(error)}; {remedy}") from error
    except ValueError as error:  # pooch says so of a checksum
        raise DatasetError(
            f"cannot use {address}: the checksum of what came is not {md5}; {remedy}"
        ) from error


def _stream(address: str, target: Path, on_progress: Progress) -> None:
    """Do what pooch's own downloader does, but close the connection whatever happens."""
    import requests

    with requests.get(address, stream=True, timeout=_TIMEOUT) as response:
        response.raise_for_status()
        length = response.headers.get("content-length", "")
        total = int(length) if length.isdecimal() else 0
        done = 0
        with target.open("wb") as file:
            for piece in response.iter_content(1 << 16):
                file.write(piece)
                done += len(piece)
                on_progress(done, total)


def _reason(error: BaseException) -> str:
    """Return the innermost cause, which is the one that a person can read."""
    response = getattr(error, "response", None)
    if response is not None:
        return f"the server answers {response.status_code} {response.reason}"
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate cannot be trusted ({error.verify_message})"
    return str(getattr(error, "strerror", None) or error or type(error).__name__)
