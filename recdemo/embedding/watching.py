"""Who is told how embedding goes, and how long it waits for what."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


class Watcher(Protocol):
    """Is told how the work goes, always in the calling thread; draws a progress bar, say."""

    def embedded(self, texts: int, tokens: int) -> None:
        """So many more texts are done, for so many tokens; 0 where the service does not tell."""
        ...

    def waiting(self, reason: str, seconds: float) -> None:
        """No request starts for so many seconds."""
        ...

    def truncated(self, position: int) -> None:
        """A text was cut, since the model takes no more; told once for each."""
        ...


class _Nobody:
    def embedded(self, texts: int, tokens: int) -> None:
        pass

    def waiting(self, reason: str, seconds: float) -> None:
        pass

    def truncated(self, position: int) -> None:
        pass


UNWATCHED: Watcher = _Nobody()


def wait_line(reason: str, seconds: float) -> str:
    """Say that a service is being waited for; a wait below a second counts as one."""
    return f"waiting {max(seconds, 1):.0f} s: {reason}"


@dataclass(frozen=True, slots=True)
class Pace:
    """How long to wait for what, in seconds, and by which clock."""

    first: float = 0.5  # before the second attempt; doubles with each
    longest: float = 30.0  # between two attempts, unless the service asks for more
    patience: float = 300.0  # for one request, from its first failure
    grace: float = 5.0  # for answers under way when the run has failed: they are paid for
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random  # 0 to 1, so that clients do not march in step

    def delay(self, attempts: int, after: float | None) -> float:
        """Return seconds until the next attempt.

        Args:
            attempts: that failed before the one that failed now.
            after: seconds that the service asks for; never fewer are waited.
        """
        if after is not None:
            return max(after, self.first) * (1 + self.chance() / 10)
        longest = min(self.first * 2.0 ** min(attempts, 20), self.longest)
        return longest * (1 + self.chance()) / 2


PACE = Pace()
