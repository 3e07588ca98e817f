"""The terminal UI in a browser: textual-serve, with a limit on visitors and a look at who asks."""

import logging
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp_jinja2
from aiohttp import WSCloseCode, web
from textual_serve.server import Server, to_int

from recdemo.ui.visits import Visit, cells, obey

_PAGE = Path(__file__).parent / "page"
_STRANGER = "This page was opened from elsewhere: {origin}.\n"
_NAME = "Nothing goes by the name {name} here; --public-url says by which name browsers come.\n"
_PATIENCE = 10.0  # seconds that visits have to end when the server does


class VisitorServer(Server):
    """Serves a command that is a Textual app: a process for each visitor, at most *limit* at once.

    Args:
        public_url: where browsers reach it, behind a proxy say; None: where they say they do.
        names: the names of this machine that browsers may use; None: any.
        on_start: is told when it listens.
    """

    def __init__(
        self,
        command: str,
        public_url: str | None,
        names: Callable[[str], bool] | None,
        limit: int,
        on_start: Callable[[], None],
    ) -> None:
        super().__init__(command, title="recdemo", public_url=public_url, templates_path=_PAGE)
        self._fixed_url = public_url
        self._names = names
        self._limit = limit
        self._on_start = on_start
        self._open: set[web.WebSocketResponse] = set()
        self._visitors = 0

    def listen(self, sockets: Sequence[socket.socket]) -> None:
        """Answer until Ctrl-C."""
        # What went wrong only; and locals are nobody's business.
        logging.basicConfig(level="WARNING", format="%(message)s")
        web.run_app(
            self._make_app(), sock=sockets, shutdown_timeout=_PATIENCE,
            print=lambda *_: self._on_start(),  # called once it listens
        )  # fmt: skip

    async def _make_app(self) -> web.Application:
        app: web.Application = await super()._make_app()
        app.router.add_static("/page", _PAGE)
        return app

    async def on_startup(self, app: web.Application) -> None:
        """Say nothing yet."""

    async def on_shutdown(self, app: web.Application) -> None:
        """Tell the visitors; their apps end with the connection."""
        for visitor in list(self._open):
            await visitor.close(code=WSCloseCode.GOING_AWAY)

    async def handle_index(self, request: web.Request) -> web.StreamResponse:
        """Answer with the page, or with one that says that there is no place left."""
        if refusal := self._refusal(request):
            return refusal
        full = self._visitors >= self._limit
        shown = {
            "base": f"{self._fixed_url}/" if self._fixed_url else "./",
            "full": full,
            "limit": self._limit,
            "font_size": cells(to_int(request.query.get("fontsize", ""), 16)),
        }
        status = 503 if full else 200
        page: web.StreamResponse = aiohttp_jinja2.render_template(
            "index.html", request, shown, status=status
        )
        page.headers["Cache-Control"] = "no-store"
        return page

    async def handle_websocket(  # type: ignore[override]  # refusals are no websockets
        self, request: web.Request
    ) -> web.StreamResponse:
        """Run the app for one visitor.

        A page of another site must not drive it, though a browser would let it connect.
        """
        if refusal := self._refusal(request):
            return refusal
        origin = request.headers.get("Origin", "")
        own = urlsplit(self._fixed_url).netloc if self._fixed_url else request.host
        if urlsplit(origin).netloc != own:
            return web.Response(status=403, text=_STRANGER.format(origin=origin or "nowhere"))
        if self._visitors >= self._limit:
            return web.Response(status=503, text="All places are taken.\n")
        self._visitors += 1
        try:
            return await self._visit(request)
        finally:
            self._visitors -= 1

    async def _visit(self, request: web.Request) -> web.WebSocketResponse:
        visitor = web.WebSocketResponse(heartbeat=15)
        await visitor.prepare(request)
        self._open.add(visitor)

        async def close() -> None:
            await visitor.close()

        visit = Visit(
            self.command, write_bytes=visitor.send_bytes, write_str=visitor.send_str,
            close=close, download_manager=self.download_manager,
        )  # fmt: skip
        width, height = (to_int(request.query.get(of, ""), 80) for of in ("width", "height"))
        try:
            await visit.start(cells(width), cells(height))
            await obey(visitor, visit)
        finally:
            self._open.discard(visitor)
            await visit.stop()
        return visitor

    def _refusal(self, request: web.Request) -> web.Response | None:
        """Refuse names that are not this machine's, which a page elsewhere could have put on it."""
        name = urlsplit(f"//{request.host}").hostname or ""
        if self._names is None or self._names(name):
            return None
        return web.Response(status=403, text=_NAME.format(name=name))
