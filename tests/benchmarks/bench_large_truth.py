"""Truth of a large data set, from files to kept lists: seconds and peak memory of all processes.

    uv run python -m tests.benchmarks.bench_large_truth
    uv run python -m tests.benchmarks.bench_large_truth --users 20000 --items 20000 \
        --interactions 3000000

An invented data set (`tests.benchmarks.generate`) is written to ``--folder`` unless it is there,
then ``recdemo truth build`` runs on it as a person would run it, and ``recdemo truth show`` finds
the kept lists. Memory is looked at twice a second and summed over the processes: pages that
several of them share count for each (resident), or for each its part (proportional). Only Linux
tells that; elsewhere memory is that of the largest process.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.generate import Shape, write

SECONDS, MEGABYTES = 600, 4096
PAUSE = 0.5  # seconds between two looks
PROC = Path("/proc")


@dataclass(frozen=True)
class Use:
    seconds: float
    resident: float  # MB
    proportional: float  # MB

    def __str__(self) -> str:
        memory = f"{self.resident:6,.0f} MB resident, {self.proportional:6,.0f} MB proportional"
        return f"{self.seconds:6.1f} s, {memory}"


def measured(arguments: list[str], home: Path) -> Use:
    """Run recdemo and watch it and the processes it starts."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "recdemo", *arguments],
        env={**os.environ, "RECDEMO_HOME": str(home)},
    )
    resident = proportional = 0.0
    while process.poll() is None:
        rss, pss = _memory(process.pid) if PROC.is_dir() else (0.0, 0.0)
        resident, proportional = max(resident, rss), max(proportional, pss)
        time.sleep(PAUSE)
    if process.returncode:
        raise SystemExit(f"recdemo {' '.join(arguments)} ended with {process.returncode}")
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return Use(time.perf_counter() - started, resident or largest, proportional or largest)


def _memory(root: int) -> tuple[float, float]:
    """Return MB resident and proportional of a process and all below it."""
    found = {"Rss": 0.0, "Pss": 0.0}
    waiting = [root]
    while waiting:
        place = PROC / str(waiting.pop())
        try:
            for task in (place / "task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
            lines = (place / "smaps_rollup").read_text().splitlines()[1:]
        except OSError:  # it has just ended
            continue
        for line in lines:
            name, _, rest = line.partition(":")
            if name in found:
                found[name] += int(rest.split()[0]) / 1024
    return found["Rss"], found["Pss"]


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the truth of a large data set.")
    parser.add_argument("--users", type=int, default=200_000)
    parser.add_argument("--items", type=int, default=87_000)
    parser.add_argument("--interactions", type=int, default=32_000_000)
    parser.add_argument("--format", choices=("parquet", "csv"), default="parquet", dest="kind")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    given = parser.parse_args()
    shape = Shape(given.users, given.items, given.interactions)
    name = f"generated-{shape.users}-{shape.items}-{shape.interactions}"
    data = given.folder / f"{name}-{given.kind}"
    if not (data / f"interactions.{given.kind}").exists():
        started = time.perf_counter()
        write(shape, data, given.kind)
        print(f"writing      {time.perf_counter() - started:6.1f} s ({data})")
    with tempfile.TemporaryDirectory() as home:
        built = measured(["truth", "build", "--dataset", str(data)], Path(home))
        print(f"truth build  {built} (budget {SECONDS} s, {MEGABYTES:,} MB)")
        found = measured(["truth", "show", "--dataset", str(data)], Path(home))
        print(f"truth show   {found}")
    return 0 if built.seconds <= SECONDS and built.resident <= MEGABYTES else 1


if __name__ == "__main__":
    sys.exit(main())
