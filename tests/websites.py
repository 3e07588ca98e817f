"""``recdemo web`` as a process, and a look at the apps that it runs."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

Seen = TypeVar("Seen")


@contextmanager
def website(*options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run ``recdemo web`` on a free port; give its address and its process."""
    process = subprocess.Popen(
        [sys.executable, "-m", "recdemo", "web", "--port", "0", *options],
        stderr=subprocess.PIPE, text=True, env=dict(os.environ),
    )  # fmt: skip
    assert process.stderr is not None
    with process, process.stderr as told:
        try:
            said = told.readline()
            found = re.search(r"open (http://\S+) in a browser", said)
            assert found is not None, said
            yield found[1], process
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)


def apps_of(process: subprocess.Popen[str]) -> list[int]:
    """The apps that a website runs now, one for each visitor."""
    told = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii")
    return [int(word) for word in told.split()]


def until(look: Callable[[], Seen], fits: Callable[[Seen], object]) -> Seen:
    """Look until what is seen fits."""
    end = time.monotonic() + 60
    while True:
        seen = look()
        if fits(seen):
            return seen
        assert time.monotonic() < end, seen
        time.sleep(0.05)
