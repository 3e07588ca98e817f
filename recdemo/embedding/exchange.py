"""Embeddings in a file, to share with others: ``.npz``, or Parquet for other tools.

Both carry the checksum of every vector, over its model, its text and its numbers, so what was
altered on the way is noticed. Texts go as hashes: who has the texts finds their vectors.
"""

import json
import zipfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recdemo.dataset.archive import UNREADABLE
from recdemo.embedding.cache import Cache, ModelKey
from recdemo.embedding.cache_file import checksum
from recdemo.embedding.service import FloatArray
from recdemo.embedding.upkeep import held
from recdemo.errors import StoreError

FORMAT = 1  # a file with a larger one was written by a newer recdemo
ENDINGS = (".npz", ".parquet")
PART = 4096  # vectors at a time
_DIGEST, _CHECK = 32, 16  # bytes
_KEY = ("provider", "name", "revision", "dimension", "prefix", "rule")


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some vectors of one model."""

    key: ModelKey
    texts: NDArray[np.uint8]  # (b, 32) hashes of texts
    checksums: NDArray[np.uint8]  # (b, 16)
    vectors: FloatArray  # (b, dimension)


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of the vectors of a file."""

    added: int
    known: int  # were there already
    damaged: int  # were left out


def check_ending(path: Path) -> None:
    """Refuse a file of a kind that is not offered."""
    if path.suffix not in ENDINGS:
        raise StoreError(f"cannot use {path}; expected a file that ends in {' or '.join(ENDINGS)}")


def export(cache: Cache, path: Path, model: str | None = None) -> int:
    """Write vectors to a file, whole or not at all, and return how many.

    Args:
        model: ``provider:name``; None for all.
    """
    check_ending(path)
    keys = [each.key for each in held(cache, model)]
    if not keys:
        what = "nothing" if model is None else f"nothing of {model}"
        raise StoreError(f"the cache {cache.path} has {what} to export")
    parts = (part for key in keys for part in _parts(cache, key))
    partial = path.with_name(path.name + ".part")
    try:
        written = _write_npz(partial, parts) if path.suffix == ".npz" else _write(partial, parts)
        partial.replace(path)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {_reason(error)}") from error
    finally:
        partial.unlink(missing_ok=True)
    return written


def import_from(cache: Cache, path: Path) -> Imported:
    """Take the vectors of a file into the cache; those whose checksum does not hold stay out."""
    check_ending(path)
    added = known = damaged = 0
    try:
        for part in _read_npz(path) if path.suffix == ".npz" else _read(path):
            good = _good(part)
            damaged += len(good) - int(good.sum())
            texts = [row.tobytes() for row in part.texts[good]]
            there = cache.has(part.key, texts)
            cache.write(part.key, texts, part.vectors[good])
            known += len(there)
            added += len(texts) - len(there)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {_reason(error)}") from error
    except (*UNREADABLE, KeyError, TypeError) as error:  # but for OSError, see above
        raise StoreError(
            f"cannot read {path}: {error}; expected a file of 'recdemo cache export'; "
            f"{added:,} vectors were taken in before the fault"
        ) from error
    return Imported(added, known, damaged)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _parts(cache: Cache, key: ModelKey) -> Iterator[Part]:
    texts = cache.texts(key)
    for start in range(0, len(texts), PART):
        asked = texts[start : start + PART]
        found = cache.read(key, asked)
        digest = key.digest()
        kept = [asked[i] for i in found.positions]
        if kept:
            checks = [
                checksum(digest, text, vector.astype("<f4").tobytes())
                for text, vector in zip(kept, found.vectors, strict=True)
            ]
            yield Part(key, _bytes(kept, _DIGEST), _bytes(checks, _CHECK), found.vectors)


def _bytes(rows: list[bytes], width: int) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), width)


def _good(part: Part) -> NDArray[np.bool_]:
    digest = part.key.digest()
    finite = np.isfinite(part.vectors).all(axis=1)
    right = [
        check.tobytes() == checksum(digest, text.tobytes(), vector.astype("<f4").tobytes())
        for text, check, vector in zip(part.texts, part.checksums, part.vectors, strict=True)
    ]
    return finite & np.array(right, bool)


def _write_npz(path: Path, parts: Iterator[Part]) -> int:
    """Write array after array, so that only one part is in memory."""
    written = 0
    with zipfile.ZipFile(path, "w", allowZip64=True) as archive:

        def put(name: str, array: NDArray[Any]) -> None:
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)

        put("format", np.array(FORMAT))
        for i, part in enumerate(parts):
            put(f"key.{i}", np.array(json.dumps(asdict(part.key))))
            put(f"texts.{i}", part.texts)
            put(f"checksums.{i}", part.checksums)
            put(f"vectors.{i}", part.vectors)
            written += len(part.vectors)
    return written


def _read_npz(path: Path) -> Iterator[Part]:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        _check_format(path, int(arrays["format"]))
        for i in range(sum(name.startswith("key.") for name in arrays.files)):
            key = ModelKey(**json.loads(str(arrays[f"key.{i}"])))
            texts, checks = arrays[f"texts.{i}"], arrays[f"checksums.{i}"]
            vectors = arrays[f"vectors.{i}"].astype(np.float32, copy=False)
            if texts.shape != (len(vectors), _DIGEST) or checks.shape != (len(vectors), _CHECK):
                raise ValueError("its arrays do not fit together")
            yield Part(key, texts, checks, vectors)


def _check_format(path: Path, found: int) -> None:
    if found > FORMAT:
        raise StoreError(f"{path} was written by a newer recdemo; update recdemo to import it")


def _write(path: Path, parts: Iterator[Part]) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema(
        [(name, pa.int64() if name == "dimension" else pa.string()) for name in _KEY]
        + [("text_sha256", pa.binary(_DIGEST)), ("checksum", pa.binary(_CHECK))]
        + [("vector", pa.list_(pa.float32()))],
        metadata={"recdemo.format": str(FORMAT)},
    )
    written = 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for part in parts:
            count, length = part.vectors.shape
            ends = pa.array(np.arange(count + 1, dtype=np.int32) * length)
            columns = [pa.array([getattr(part.key, name)] * count, schema.field(name).type)
                       for name in _KEY]  # fmt: skip
            columns += [
                pa.array([row.tobytes() for row in part.texts], pa.binary(_DIGEST)),
                pa.array([row.tobytes() for row in part.checksums], pa.binary(_CHECK)),
                pa.ListArray.from_arrays(ends, pa.array(part.vectors.reshape(-1))),
            ]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))
            written += count
    return written


def _read(path: Path) -> Iterator[Part]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        metadata = file.schema_arrow.metadata or {}
        _check_format(path, int(metadata[b"recdemo.format"]))
        for group in range(file.num_row_groups):  # of one model each, as they were written
            table = file.read_row_group(group)
            if not table.num_rows:
                continue
            key = ModelKey(**{name: table[name][0].as_py() for name in _KEY})
            numbers = table["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
            yield Part(
                key,
                _bytes(table["text_sha256"].to_pylist(), _DIGEST),
                _bytes(table["checksum"].to_pylist(), _CHECK),
                numbers.astype(np.float32, copy=False).reshape(table.num_rows, -1),
            )
