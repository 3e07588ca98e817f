"""The terminal UI in a browser: textual-serve, with a limit on visitors and a look at who asks."""

import logging
from collections.abc import Callable
from urllib.parse import urlsplit

from aiohttp import web
from textual_serve.server import Server

_FULL = "All {limit} places are taken; try again in a while.\n"
_STRANGER = "This page was opened from elsewhere: {origin}.\n"


class VisitorServer(Server):
    """Serves a command that is a Textual app: a process for each visitor, at most *limit* at once.

    Args:
        public_url: where browsers reach it, behind a proxy say; None: where they say they do.
        on_start: is told when it listens.
    """

    def __init__(
        self,
        command: str,
        host: str,
        port: int,
        public_url: str | None,
        limit: int,
        on_start: Callable[[], None],
    ) -> None:
        super().__init__(command, host, port, title="recdemo", public_url=public_url)
        self._fixed_url = public_url is not None
        self._limit = limit
        self._on_start = on_start
        self._visitors = 0

    def initialize_logging(self) -> None:
        """Keep the log to what went wrong; locals are nobody's business."""
        logging.basicConfig(level="WARNING", format="%(message)s")

    async def on_startup(self, app: web.Application) -> None:
        """Say that it listens."""
        self._on_start()

    async def handle_index(self, request: web.Request) -> web.StreamResponse:
        """Answer with the page, or say that there is no place left."""
        if self._visitors >= self._limit:
            return web.Response(status=503, text=_FULL.format(limit=self._limit))
        if not self._fixed_url:
            self.public_url = f"{request.scheme}://{request.host}"
        page: web.StreamResponse = await super().handle_index(request)
        return page

    async def handle_websocket(  # type: ignore[override]  # refusals are no websockets
        self, request: web.Request
    ) -> web.StreamResponse:
        """Run the app for one visitor.

        A page of another site must not drive it, though a browser would let it connect.
        """
        origin = request.headers.get("Origin", "")
        own = urlsplit(self.public_url).netloc if self._fixed_url else request.host
        if urlsplit(origin).netloc != own:
            return web.Response(status=403, text=_STRANGER.format(origin=origin or "nowhere"))
        if self._visitors >= self._limit:
            return web.Response(status=503, text=_FULL.format(limit=self._limit))
        self._visitors += 1
        try:
            answer: web.StreamResponse = await super().handle_websocket(request)
            return answer
        finally:
            self._visitors -= 1
