"""An evaluation in a process of its own, so that the UI stays free and can stop it at once.

The parent writes the request as JSON to the child's standard input and reads a line of JSON for
each step. A parent that is gone breaks the pipe, which ends the child.
"""

import json
import subprocess
import sys
import threading
from contextlib import closing, suppress
from dataclasses import asdict
from typing import Any

from recdemo.errors import RecdemoError
from recdemo.ui.services import Steps, Stopped
from recdemo.workbench.wanted import Wanted, location_of

_COMMAND = "from recdemo.workbench.evaluating import child; child()"
_CHECK = 0.1  # seconds between two looks at whether it is still wanted
_RUNNING: set[subprocess.Popen[str]] = set()


def evaluate(wanted: Wanted, steps: Steps) -> None:
    """Evaluate the offline suite and keep the run; *steps* may stop it by raising `Stopped`."""
    request = {"dataset": wanted.dataset, "text": wanted.text, "read": asdict(wanted.read)}
    process = subprocess.Popen(
        [sys.executable, "-c", _COMMAND],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # nothing may be written over the screen
        text=True,
        encoding="utf-8",
    )
    _RUNNING.add(process)
    ended = threading.Event()
    last: list[Any] = ["starting", 0, 1]
    watch = threading.Thread(target=_watch, args=(process, steps, last, ended), daemon=True)
    watch.start()
    try:
        _talk(process, {"request": request, "store": location_of(wanted)}, last)
    finally:
        ended.set()
        process.kill()
        process.wait()
        _RUNNING.discard(process)
        watch.join()
    steps(*last)  # raises if that was the reason for the end
    if last[0] != "done":
        raise RecdemoError(
            "the evaluation ended early; run 'recdemo evaluate' in a terminal to see why"
        )


def stop_all() -> None:
    """End evaluations that still run, when the program ends."""
    for process in list(_RUNNING):
        process.kill()


def _watch(
    process: "subprocess.Popen[str]", steps: Steps, last: list[Any], ended: threading.Event
) -> None:
    """Pass on how far it is, and end the process as soon as nobody wants it any more."""
    while not ended.wait(_CHECK):
        try:
            steps(*last)
        except Stopped:
            process.kill()
            return


def _talk(process: "subprocess.Popen[str]", request: dict[str, Any], last: list[Any]) -> None:
    if process.stdin is None or process.stdout is None:
        raise ValueError("the process has no pipes")
    with process.stdin as stdin, process.stdout as stdout:
        with suppress(BrokenPipeError):  # it did not start; the end says so
            stdin.write(json.dumps(request) + "\n")
            stdin.flush()
        for line in stdout:
            message = json.loads(line)
            if "error" in message:
                raise RecdemoError(message["error"])
            last[:] = message["step"]


def child() -> None:
    """Evaluate what standard input asks for, and write how it gets on to standard output."""
    from recdemo import plans
    from recdemo.dataset import open_dataset
    from recdemo.dataset.options import ReadOptions
    from recdemo.embedding.options import EmbedOptions
    from recdemo.runs.files import write_run
    from recdemo.store import open_store
    from recdemo.suites import DEFAULT_KS

    told = json.loads(sys.stdin.readline())
    watcher = _Writer()
    read = ReadOptions(**told["request"].pop("read"))
    try:
        dataset = open_dataset(told["request"]["dataset"], read)
        few = dataset.n_rated <= min(DEFAULT_KS)
        request = plans.Request(
            **told["request"],
            ks=(max(1, dataset.n_rated - 1),) if few else None,
            read=read,
            embed=EmbedOptions(on_empty="skip"),
        )
        with closing(open_store(told["store"], watcher.wait)) as store:
            run = plans.carry_out(request, store, told["store"], watcher, dataset)
        write_run(run)
        _write({"step": ["done", 1, 1]})
    except RecdemoError as error:
        _write({"error": str(error)})


class _Writer:
    """A watcher that writes how many models of how many are done."""

    def __init__(self) -> None:
        self._model, self._done, self._total = "", 0, 1

    def row(self, label: str, done: int, total: int) -> None:
        self._model, self._done, self._total = label, done, total
        _write({"step": [label, done, total]})

    def wait(self, reason: str) -> None:
        _write({"step": [reason, self._done, self._total]})

    def step(self, name: str, done: int, total: int) -> None:
        if name == "querying" and self._done == self._total - 1:  # all are loaded, now judged
            _write({"step": [f"{name} {done} of {total}", done, total]})
        else:
            _write({"step": [f"{self._model}: {name}", self._done, self._total]})


def _write(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()
