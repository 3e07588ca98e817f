"""The item that is looked at."""

from rich.text import Text
from textual.widgets import Static

from recdemo.ui.cells import clean
from recdemo.ui.services import Item


class ItemCard(Static):
    """The item that is looked at."""

    def __init__(self) -> None:
        super().__init__(id="item", markup=False)

    def show(self, item: Item) -> None:
        """Show an item: title, year, who made it, how many touched it, what it is about."""
        line = item.line
        title = clean(line.title) + (f" ({clean(line.year)})" if line.year else "")
        facts = [clean(line.directors), clean(line.genres), f"{item.users:,} users"]
        text = Text(title, style="bold")
        text.append("  " + " · ".join(part for part in facts if part), style="not bold")
        text.append("\n" + (clean(item.synopsis) or "no text"), style="not bold")
        self.update(text)
