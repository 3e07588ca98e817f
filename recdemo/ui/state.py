"""What the UI showed last, kept in a small file."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

KS = (5, 10, 20, 50, 100)


@dataclass(frozen=True, slots=True)
class State:
    """What is remembered; None: nothing yet."""

    left: str | None = None
    right: str | None = None
    one: bool = False  # a single model, without a right side
    k: int = 20
    theme: str = "textual-dark"


def read_state(path: Path) -> tuple[State, str]:
    """Return what was kept, and a note where it cannot be read; nothing then stands in its way."""
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        return _checked(plain), ""
    except FileNotFoundError:
        return State(), ""
    except (OSError, ValueError, TypeError) as error:
        return State(), f"what {path.name} remembered is lost: {type(error).__name__}"


def write_state(path: Path, state: State) -> None:
    """Keep *state*, whole or not at all; where that cannot be, it is forgotten."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps(asdict(state), indent=1) + "\n", encoding="utf-8")
        partial.replace(path)
    except OSError:  # a home that cannot be written to; the UI works all the same
        partial.unlink(missing_ok=True)


def _checked(plain: object) -> State:
    if not isinstance(plain, dict):
        raise TypeError("not an object")
    state = State(**plain)
    names = (state.left, state.right)
    if not all(name is None or isinstance(name, str) for name in names):
        raise TypeError("models are texts")
    if state.k not in KS or not isinstance(state.one, bool) or not isinstance(state.theme, str):
        raise ValueError("out of range")
    return state
