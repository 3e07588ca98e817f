"""One visitor's app: a process that ends with the visit, and a visit that ends with it."""

import asyncio
import shlex
from asyncio.subprocess import PIPE, Process
from contextlib import suppress

from aiohttp import WSMessage, WSMsgType, web
from textual_serve.app_service import AppService

_DRIVER = "recdemo.ui.visit_driver:VisitDriver"
_PATIENCE = 5.0  # seconds that an app has to end by itself
_LARGEST = 1000  # cells; a screen costs memory by its size


class Visit(AppService):
    """An app that is driven over a websocket.

    textual-serve's own leaves a page dead when the app fails, and an app that does not end in
    peace, blocked on a pipe that nobody reads any more, alone.
    """

    def _build_environment(self, width: int = 80, height: int = 24) -> dict[str, str]:
        return {**super()._build_environment(width, height), "TEXTUAL_DRIVER": _DRIVER}

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        # No shell between, which would be ended in its place; and Ctrl-C is for the server alone.
        self._process = process = await asyncio.create_subprocess_exec(
            *shlex.split(self.command), stdin=PIPE, stdout=PIPE, stderr=PIPE,
            env=self._build_environment(width, height), start_new_session=True,
        )  # fmt: skip
        self._stdin = process.stdin
        return process

    async def run(self) -> None:
        """Pass on what the app writes; its end, whatever the reason, ends the visit."""
        await super().run()
        await self.remote_close()

    async def stop(self) -> None:
        """Ask the app to end, and see to it."""
        process = self._process
        try:
            async with asyncio.timeout(_PATIENCE):
                await super().stop()
                if process is not None:
                    await process.wait()
        except TimeoutError:
            pass
        finally:
            self._task = None
            if process is not None and process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()


async def obey(socket: web.WebSocketResponse, visit: Visit) -> None:
    """Pass on what a visitor does, until they leave; what makes no sense is left out."""
    async for message in socket:
        if message.type is not WSMsgType.TEXT:
            continue
        match _parsed(message):
            case ["stdin", str(typed)]:
                await visit.send_bytes(typed.encode("utf-8", "replace"))
            case ["resize", {"width": int(width), "height": int(height)}]:
                await visit.set_terminal_size(cells(width), cells(height))
            case ["ping", str(when)]:
                await socket.send_json(["pong", when])
            case ["blur", *_]:
                await visit.blur()
            case ["focus", *_]:
                await visit.focus()


def cells(wanted: int) -> int:
    """Return a width or height that a screen may have."""
    return min(max(wanted, 1), _LARGEST)


def _parsed(message: WSMessage) -> object:
    try:
        return message.json()
    except ValueError:
        return None
