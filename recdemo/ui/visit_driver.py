"""What draws the app for a visitor: Textual's way into a browser, with an end to it.

In a module of its own, since the app's process needs nothing of a server.
"""

from contextlib import suppress

from textual import messages
from textual.drivers.web_driver import WebDriver


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

    def run_input_thread(self) -> None:
        """Read what the visitor does until there is no more to come."""
        super().run_input_thread()
        self._app.post_message(messages.ExitApp())
