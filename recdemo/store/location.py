"""Where a Qdrant server is, and by which protocol it is asked.

The address stands in tables, messages and run files, so one with a name and password, or with
anything after a question mark, is refused before anybody sees it: keys have a variable of their
own. Asked by gRPC, it starts with ``grpc+``, so that a run tells how its store was asked.
"""

from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from recdemo.errors import StoreError

GRPC = "grpc+"
PORT, GRPC_PORT = 6333, 6334
_SCHEMES = ("http", "https")


@dataclass(frozen=True, slots=True)
class Location:
    """The address of a Qdrant server, or of several nodes of a cluster."""

    url: str  # scheme, host, port and path; nothing secret
    grpc: bool = False
    others: tuple["Location", ...] = ()  # nodes that are asked when this one does not answer

    @property
    def host(self) -> str:
        """The host alone."""
        return urlsplit(self.url).hostname or ""


def is_server(text: str) -> bool:
    """Tell whether *text* means a server."""
    return text.lower().removeprefix(GRPC).startswith(tuple(f"{each}://" for each in _SCHEMES))


def parse_location(text: str, grpc: bool = False) -> Location:
    """Read ``http://host:6333``, or with https, a path, ``grpc+`` before it, or a comma list."""
    first, *others = text.split(",")
    location = _parse_one(first, grpc)
    nodes = tuple(_parse_one(other, location.grpc) for other in others)
    return replace(location, others=nodes)


def _parse_one(text: str, grpc: bool) -> Location:
    plain = text.lower().startswith(GRPC)
    rest = text[len(GRPC) :] if plain else text
    try:
        parts = urlsplit(rest.strip())
        host, port = parts.hostname, parts.port
    except ValueError as error:  # a port beyond 65535 or no number, half a pair of brackets
        raise StoreError(
            "cannot read the address of the store; expected http://HOST:6333"
        ) from error
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise StoreError(
            f"the address of the store at {host!r} holds more than scheme, host, port and path; "
            "leave out any name, password or key, and set the key in RECDEMO_STORE_KEY"
        )
    if parts.scheme.lower() not in _SCHEMES or not host or any(map(str.isspace, parts.netloc)):
        raise StoreError(f"cannot read the store {text!r}; expected http://HOST:6333")
    shown = f"[{host}]" if ":" in host else host
    if port is None:
        port = 443 if parts.scheme.lower() == "https" else PORT
    path = parts.path.rstrip("/")
    return Location(f"{parts.scheme.lower()}://{shown}:{port}{path}", plain or grpc)
