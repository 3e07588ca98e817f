"""Texts of a catalog made fit for cells of a terminal; they are data and may hold anything."""

from rich.cells import cell_len, set_cell_size
from rich.text import Text

MORE = "…"


def clean(text: str) -> str:
    """Return *text* on one line, without control characters and marks that turn the direction."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(text.split())


def fit(text: str, width: int) -> str:
    """Return *text* in at most *width* columns, with an ellipsis where it is cut."""
    if cell_len(text) <= width:
        return text
    if width < 1:
        return ""
    return set_cell_size(text, width - 1).rstrip() + MORE


def cell(text: str, width: int, right: bool = False) -> Text:
    """Return a cell of exactly *width* columns, the last one a gap; never markup."""
    shown = fit(clean(text), width - 1)
    blank = " " * max(0, width - 1 - cell_len(shown))
    return Text(f"{blank}{shown} " if right else f"{shown}{blank} ", no_wrap=True, end="")


def name_cell(names: str, width: int) -> Text:
    """Return a cell with names of persons; where they are too long, with how the first ends."""
    shown = clean(names)
    if cell_len(shown) >= width:
        first = shown.partition(", ")[0].split()
        ends = (" ".join(first[start:]) for start in range(1, len(first)))
        shown = next((MORE + end for end in ends if cell_len(MORE + end) < width), shown)
    return cell(shown, width)
