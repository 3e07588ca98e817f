"""Texts that a service does not embed, all told in one error."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from recdemo.errors import EmbeddingError

_SHOWN = 3  # texts
_START = 60  # characters of each


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why one text was not embedded."""

    text: str
    reason: str
    too_long: bool = False


class RefusedTexts(EmbeddingError):
    """Some texts cannot be embedded; all others have been, unless it was clear beforehand."""

    def __init__(self, troubles: Mapping[int, Trouble], n_texts: int, embedded: int) -> None:
        self.troubles = dict(sorted(troubles.items()))  # by position in the texts asked for
        self.n_texts = n_texts
        self.embedded = embedded  # how many of them have vectors now
        super().__init__(self.tell(lambda position: f"text {position + 1}"))

    @property
    def positions(self) -> tuple[int, ...]:
        """Where the refused texts stand in the texts asked for."""
        return tuple(self.troubles)

    def tell(self, name: Callable[[int], str]) -> str:
        """Return the error in one line, each text named by *name*, as in ``item 12``."""
        first = list(self.troubles.items())[:_SHOWN]
        shown = ", ".join(
            f"{name(position)} {_start(trouble.text)} ({trouble.reason})"
            for position, trouble in first
        )
        more = len(self.troubles) - len(first)
        also = f" and {more:,} more" if more else ""
        kept = f"; the {self.embedded:,} others are embedded and kept" if self.embedded else ""
        return (
            f"{len(self.troubles):,} of {self.n_texts:,} texts cannot be embedded: {shown}{also}"
            f"{kept}; {self._remedy()}"
        )

    def _remedy(self) -> str:
        long = [trouble.too_long for trouble in self.troubles.values()]
        if all(long):
            return "shorten them, or have them cut with --on-long truncate"
        if any(long):
            return "change or leave out these items; --on-long truncate cuts what is too long"
        return "change or leave out these items, or choose another model"


def _start(text: str) -> str:
    return repr(text if len(text) <= _START else text[: _START - 1] + "…")
