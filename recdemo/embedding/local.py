"""Models that run in this process, by sentence-transformers: of its hub, or of a folder.

What is on this machine is used as it is, without asking the hub for anything newer. Vectors have
length 1, as those of the services have; many models leave that to whoever uses them, and Euclidean
order depends on it. No prompt of the model's own configuration is put before a text: prefixes are
recdemo's to choose.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from recdemo.embedding import shorten
from recdemo.embedding.known import KnownModel
from recdemo.embedding.options import EmbedOptions
from recdemo.embedding.service import Limits, Reply, TooMuch, Unusable
from recdemo.errors import EmbeddingError

TEXTS = 64  # per batch
_MISSING = (
    "local models need sentence-transformers; install it with \"pip install 'recdemo[local]'\""
)
_OFFLINE = "HF_HUB_OFFLINE is set"
_ENDLESS = 10**6  # tokens: what tokenizers say of models that have no limit is above
_WAIT = 10.0  # seconds for the hub
# Of a folder: weights for other engines, and what is for people.
_NOT_READ = (".md", ".onnx", ".h5", ".msgpack", ".gguf", ".mlmodel")


class LocalService:
    """One model in this process."""

    def __init__(self, model: Any, name: str, dimension: int | None, revision: str) -> None:
        self.revision = revision  # hash of the model's files, or its commit on the hub
        most = model.max_seq_length
        self.limits = Limits(TEXTS, text_tokens=most if most and most < _ENDLESS else None)
        self._model, self._name, self._dimension = model, name, dimension

    def request(self, texts: Sequence[str]) -> Reply:
        """Embed *texts*; the model itself would cut those that are too long."""
        tokens = self._count(texts)
        most = self.limits.text_tokens
        if most is not None and max(tokens) > most:
            raise TooMuch(f"{max(tokens):,} tokens; the model takes {most:,}")
        with _running(self._name):
            vectors = self._model.encode(
                list(texts),
                prompt="",
                batch_size=len(texts),
                normalize_embeddings=True,
                convert_to_numpy=True,
                show_progress_bar=False,
            )
        vectors = np.asarray(vectors, np.float32)
        return Reply(
            vectors if self._dimension is None else shorten(vectors, self._dimension), sum(tokens)
        )

    def _count(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text, the special ones included; 0 where all lengths do."""
        for text in texts:
            try:
                text.encode()
            except UnicodeEncodeError as error:  # the tokenizer takes no half characters
                raise Unusable(f"not encodable as UTF-8 ({error.reason})") from error
        if self.limits.text_tokens is None:
            return [0] * len(texts)
        with _running(self._name):
            found = self._model.tokenizer(list(texts), truncation=False, verbose=False)
        return [len(ids) for ids in found["input_ids"]]


def open_service(
    model: str, dimension: int | None, known: KnownModel | None, options: EmbedOptions
) -> LocalService:
    """Load a model, from its folder, from what is kept of the hub, or from the hub itself."""
    library = _library()
    folder = _folder(model)
    if folder is not None:
        loaded, digest = _load(library, str(folder), model, local_files_only=True), _hash(folder)
    else:
        loaded, digest = _from_hub(library, model)
    native = loaded.get_embedding_dimension()
    if dimension is not None and native is not None and dimension > native:
        raise EmbeddingError(
            f"local:{model}@{dimension} asks for too many dimensions; the model has {native}"
        )
    version = str(library.__version__).partition(".")[0]
    return LocalService(loaded, model, dimension, f"{digest}, sentence-transformers {version}")


def usable(model: str) -> str | None:
    """Return why a model cannot be used right now, with the remedy; None where it can.

    A model that the hub would have to be asked for counts as usable: asking takes too long.
    """
    if find_spec("sentence_transformers") is None:
        return _MISSING
    try:
        if _folder(model) is None and _is_offline() and _commit(model) is None:
            return _not_here(model, _OFFLINE)
    except EmbeddingError as error:
        return str(error)
    return None


def _library() -> Any:
    if find_spec("sentence_transformers") is None:
        raise EmbeddingError(_MISSING)
    try:
        library = import_module("sentence_transformers")
        import_module("transformers.utils.logging").disable_progress_bar()  # of reading weights
    except (ImportError, OSError, RuntimeError) as error:  # parts missing, or not made to fit
        raise EmbeddingError(
            f"sentence-transformers is installed but cannot be loaded ({_line(error)}); "
            "install it anew with \"pip install --force-reinstall 'recdemo[local]'\""
        ) from error
    return library


def _folder(model: str) -> Path | None:
    """Return the folder that is meant, None where a model of the hub is."""
    path = Path(model).expanduser()
    if path.is_dir():
        if any((path / name).is_file() for name in ("modules.json", "config.json")):
            return path
        raise EmbeddingError(
            f"{model} is no model: the folder has neither modules.json nor config.json"
        )
    if path.is_absolute() or model.startswith((".", "~")) or model.count("/") > 1:
        raise EmbeddingError(
            f"no folder {model}; expected one with a model of sentence-transformers, "
            "or a name of its hub such as sentence-transformers/all-MiniLM-L6-v2"
        )
    return None


def _from_hub(library: Any, model: str) -> tuple[Any, str]:
    """Load a model of the hub, and return it with its commit.

    Loading it by name alone would ask the hub about every file, and where there is no network
    try each again for a minute.
    """
    name = _full_name(model)
    commit = _commit(model)
    if commit is not None:
        try:
            return _load(library, name, model, local_files_only=True, revision=commit), commit[:16]
        except EmbeddingError:  # fetched in part only
            commit = _ask_hub(model)
    else:
        commit = _ask_hub(model)
    return _load(library, name, model, revision=commit), commit[:16]


def _full_name(model: str) -> str:
    return model if "/" in model else f"sentence-transformers/{model}"


def _commit(model: str) -> str | None:
    """Return the commit of what this machine has of a model, None where it has nothing."""
    hub: Any = import_module("huggingface_hub")
    for file in ("modules.json", "config.json"):
        try:
            found = hub.try_to_load_from_cache(_full_name(model), file)
        except ValueError as error:
            raise EmbeddingError(_no_name(model)) from error
        if isinstance(found, str):
            return Path(found).parent.name
    return None


def _ask_hub(model: str) -> str:
    """Return the newest commit of a model of the hub, by one short request."""
    hub: Any = import_module("huggingface_hub")
    errors: Any = import_module("huggingface_hub.errors")
    try:
        return str(hub.HfApi().model_info(_full_name(model), timeout=_WAIT).sha)
    except errors.GatedRepoError as error:
        raise EmbeddingError(
            f"the hub gives {model} only to those who accepted its terms; "
            "accept them on its page and set HF_TOKEN"
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise EmbeddingError(_no_name(model)) from error
    except (OSError, ValueError, *errors.HfHubHTTPError.__bases__) as error:  # its HTTP client's
        reason = _OFFLINE if _is_offline() else f"the hub cannot be asked: {_line(error)}"
        raise EmbeddingError(_not_here(model, reason)) from error


def _is_offline() -> bool:
    constants: Any = import_module("huggingface_hub.constants")
    return bool(constants.HF_HUB_OFFLINE)


def _load(library: Any, name: str, model: str, **options: Any) -> Any:
    try:
        return library.SentenceTransformer(name, **options)
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        if "trust_remote_code" in str(error):
            raise EmbeddingError(
                f"local:{model} brings code of its own, which recdemo does not run; "
                "choose another model, or the same one in Ollama"
            ) from error
        raise EmbeddingError(
            f"cannot load local:{model} ({type(error).__name__}: {_line(error)}); "
            "expected a model of sentence-transformers"
        ) from error


@contextmanager
def _running(model: str) -> Iterator[None]:
    """Turn what the engine raises into a refusal or an error."""
    try:
        yield
    except RuntimeError as error:
        if "out of memory" in str(error).lower():
            raise TooMuch(f"out of memory ({_line(error)})") from error
        raise EmbeddingError(f"local:{model} failed: {_line(error)}") from error


def _hash(folder: Path) -> str:
    """Return a hash over the names and bytes of the files that make a model."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        hidden = any(part.startswith((".", "__pycache__")) for part in parts)
        if hidden or path.suffix in _NOT_READ or not path.is_file():
            continue
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(f"{'/'.join(parts)}\0{content}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:16]


def _no_name(model: str) -> str:
    return (
        f"the hub has no model {model!r}, and there is no such folder; look it up at "
        "huggingface.co/models, and set HF_TOKEN for one of your own"
    )


def _not_here(model: str, reason: str) -> str:
    return (
        f"local:{model} is not on this machine, and {reason}; "
        "fetch it where there is a network, or name the folder it is in"
    )


def _line(error: BaseException) -> str:
    """Return an error's text as one short line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else f"{text[:197]}..."
