"""What draws the app for a visitor: Textual's way into a browser, with an end to it.

In a module of its own, since the app's process needs nothing of a server.
"""

import asyncio
from contextlib import suppress
from typing import Any

from textual import events, messages
from textual.drivers.web_driver import WebDriver
from textual.geometry import Size


class VisitDriver(WebDriver):
    """Ends the app when whoever serves it is gone; Textual's own driver would go on for nobody."""

    def write(self, data: str) -> None:
        """Write for the screen, or to nobody if the visitor is gone."""
        with suppress(BrokenPipeError):
            super().write(data)

    def write_meta(self, data: dict[str, object]) -> None:
        """Do the same with what is not for the screen."""
        with suppress(BrokenPipeError):
            super().write_meta(data)

    def start_application_mode(self) -> None:
        """Begin, and know the loop of the app."""
        self._loop_of_app = asyncio.get_running_loop()
        super().start_application_mode()

    def on_meta(self, packet_type: str, payload: dict[str, Any]) -> None:
        """Take a new size after the first one, which the driver hands on by way of the loop.

        Posted at once, the size of a window that changes while the app starts would come before
        it, and the app would keep a size that the window no longer has.
        """
        if packet_type != "resize":
            super().on_meta(packet_type, payload)
            return
        size = Size(payload["width"], payload["height"])
        self._size = size
        event = events.Resize(size, size)
        asyncio.run_coroutine_threadsafe(self._app._post_message(event), self._loop_of_app)

    def run_input_thread(self) -> None:
        """Read what the visitor does until there is no more to come."""
        super().run_input_thread()
        self._app.post_message(messages.ExitApp())
