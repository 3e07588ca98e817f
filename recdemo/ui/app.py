"""The app: style sheet, keys that work everywhere, and what is remembered between two starts."""

import asyncio
import sys
from collections.abc import Iterable
from typing import ClassVar

from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.theme import Theme

from recdemo.ui.asking import Threads
from recdemo.ui.dialogs import Help
from recdemo.ui.results_screen import ResultsScreen
from recdemo.ui.screens import MainScreen
from recdemo.ui.services import Services

_THREADS = 16  # questions at once, those that nobody waits for any more among them
_TURN = 0.001  # seconds after which a thread that computes lets the screen go on


class RecdemoApp(App[None]):
    """Look an item up, and see side by side what two models would recommend."""

    TITLE = "recdemo"
    CSS_PATH = "recdemo.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "help", "Help"),
        Binding("question_mark", "help", show=False),
        Binding("ctrl+q", "quit", "Quit", priority=True),
        Binding("q", "quit", show=False),
    ]

    def __init__(self, services: Services) -> None:
        super().__init__()
        self.main = MainScreen(services)

    def on_mount(self) -> None:
        """Show the main screen."""
        sys.setswitchinterval(_TURN)
        asyncio.get_running_loop().set_default_executor(Threads(_THREADS, "recdemo"))
        self.theme_changed_signal.subscribe(self, self._theme_changed)
        self.push_screen(self.main)

    def _theme_changed(self, theme: Theme) -> None:
        self.main.remember_theme(theme.name)

    def action_help(self) -> None:
        """Say what the keys do."""
        if not isinstance(self.screen, Help):
            self.push_screen(Help())

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Add every action of the screen to the command palette."""
        for command in super().get_system_commands(screen):
            if command.title not in ("Keys", "Maximize", "Minimize"):
                yield command
        yield SystemCommand("Help", "what the keys do", self.action_help)
        if isinstance(screen, ResultsScreen):
            yield SystemCommand("Evaluate", "the offline suite", screen.action_evaluate)
            yield SystemCommand("Sort", "by the next column", lambda: screen.action_sort(1))
            yield SystemCommand("Reverse", "the order of the results", screen.action_reverse)
            yield SystemCommand("Back", "stop the evaluation, or leave", screen.action_back)
        if screen is not self.main:
            return
        main = self.main
        yield SystemCommand("Search", "move to the search field", main.action_search)
        yield SystemCommand("Left model", "choose it", lambda: main.action_pick("left"))
        yield SystemCommand("Right model", "choose it", lambda: main.action_pick("right"))
        yield SystemCommand("Truth list", "show it, or the model again", main.action_truth)
        yield SystemCommand("Results", "of the latest evaluation", main.action_results)
        yield SystemCommand("How many", "recommendations are shown", main.action_more)
        yield SystemCommand("Back", "to the item before", main.action_back)
