"""A sentence_transformers of our own, with the hub behind it, as far as recdemo uses them.

A model is a folder with ``config.json``: ``{"dimension": 8, "limit": 5}``. A token is a word, and
two more stand for begin and end. The hub is a folder too: what it serves lies in ``hub/NAME``,
what this machine has of it in ``cached/NAME``.
"""

import json
import sys
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.embedding_faults import unit_vector

COMMIT = "c" * 40


class ClientError(Exception):
    """What the HTTP client of the hub raises; no OSError, as in its newer versions."""


class HfHubHTTPError(ClientError, OSError):
    pass


class RepositoryNotFoundError(HfHubHTTPError):
    pass


class GatedRepoError(RepositoryNotFoundError):
    pass


@dataclass
class FakeWorld:
    """Where models lie, and what was asked."""

    root: Path
    online: bool = True
    asked: list[str] = field(default_factory=list)  # names the hub was asked for
    loads: list[dict[str, Any]] = field(default_factory=list)
    encodes: list[dict[str, Any]] = field(default_factory=list)
    failure: Exception | None = None  # raised by encode
    gated: bool = False

    def write(self, place: str, **config: object) -> Path:
        folder = self.root / place
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(json.dumps({"dimension": 8, "limit": 5} | config))
        return folder


def vector(text: str, dimension: int = 8) -> np.ndarray:
    """What the fake model gives, before it is made unit length."""
    return 3 * unit_vector(text, dimension)


def install(monkeypatch: pytest.MonkeyPatch, root: Path) -> FakeWorld:
    """Put the fakes in place of the libraries, for one test."""
    world = FakeWorld(root)
    modules: dict[str, dict[str, object]] = {
        "sentence_transformers": {"SentenceTransformer": _model(world), "__version__": "6.2.0"},
        "transformers": {},
        "transformers.utils": {},
        "transformers.utils.logging": {"disable_progress_bar": lambda: None},
        **_hub(world),
    }
    for name, contents in modules.items():
        module = ModuleType(name)
        module.__spec__ = ModuleSpec(name, None)
        vars(module).update(contents)
        monkeypatch.setitem(sys.modules, name, module)
    return world


def _hub(world: FakeWorld) -> dict[str, dict[str, object]]:
    def try_to_load_from_cache(name: str, file: str) -> str | None:
        if " " in name:
            raise ValueError(f"Repo id must use alphanumeric chars: {name!r}")
        there = (world.root / "cached" / name / file).is_file()
        return f"/hub/snapshots/{COMMIT}/{file}" if there else None

    def model_info(name: str, timeout: float) -> object:
        world.asked.append(name)
        if not world.online:
            raise ClientError("[Errno -2] Name or service not known")
        if world.gated:
            raise GatedRepoError("403 Client Error")
        if not (world.root / "hub" / name).is_dir():
            raise RepositoryNotFoundError("401 Client Error")
        return SimpleNamespace(sha=COMMIT)

    client = SimpleNamespace(model_info=model_info)
    errors = (HfHubHTTPError, RepositoryNotFoundError, GatedRepoError)
    return {
        "huggingface_hub": {
            "try_to_load_from_cache": try_to_load_from_cache,
            "HfApi": lambda: client,
        },
        "huggingface_hub.constants": {"HF_HUB_OFFLINE": False},
        "huggingface_hub.errors": {error.__name__: error for error in errors},
    }


def _model(world: FakeWorld) -> type:
    class SentenceTransformer:
        def __init__(
            self, name: str, local_files_only: bool = False, revision: str | None = None
        ) -> None:
            world.loads.append({"name": name, "local": local_files_only, "revision": revision})
            places = [Path(name), world.root / "cached" / name]
            places += [] if local_files_only else [world.root / "hub" / name]
            found = next((place for place in places if (place / "config.json").is_file()), None)
            if found is None:
                raise OSError("We couldn't connect to the hub\nand found nothing in the cache")
            config = json.loads((found / "config.json").read_text())
            if config.get("error"):
                raise ValueError(config["error"])
            self.max_seq_length = config["limit"]
            self._dimension = config["dimension"]

        def get_embedding_dimension(self) -> int:
            return self._dimension

        def tokenizer(self, texts: list[str], truncation: bool, verbose: bool) -> dict[str, list]:
            assert truncation is False  # else nothing is ever too long
            return {"input_ids": [[101, *range(len(text.split())), 102] for text in texts]}

        def encode(self, texts: list[str], **options: object) -> np.ndarray:
            world.encodes.append({"texts": texts, **options})
            if world.failure is not None:
                raise world.failure
            vectors = np.stack([vector(text, self._dimension) for text in texts])
            if options["normalize_embeddings"]:
                vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            return vectors

    return SentenceTransformer
