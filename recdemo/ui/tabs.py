"""What stands for a side where there is room for one."""

from rich.text import Text
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Static

SHOWN = "▸"


class SideTab(Static):
    """The name of a side where there is room for one side; the one that is shown has a mark."""

    shown = reactive(False, layout=True, toggle_class="-shown")
    title = reactive("", layout=True)

    class Clicked(Message):
        """Somebody wants to see this side."""

        def __init__(self, side: str) -> None:
            super().__init__()
            self.side = side

    def __init__(self, side: str) -> None:
        super().__init__(id=f"tab-{side}", markup=False)
        self._side = side

    def render(self) -> Text:
        """Return the mark and the name."""
        mark = SHOWN if self.shown else " "
        return Text(f"{mark} {self.title}", style="bold" if self.shown else "")

    def on_click(self) -> None:
        """Tell of it."""
        self.post_message(self.Clicked(self._side))
