"""A run as files of TREC: run and qrels files for ir_measures, ranx or trec_eval."""

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from recdemo.dataset import Dataset
from recdemo.errors import DatasetError, StoreError
from recdemo.neighbors import nearest_with_ties
from recdemo.protocols import OVERLAP
from recdemo.runs import Row, Run
from recdemo.store import Candidates, IntArray, Neighbors, VectorStore
from recdemo.truth import Progress, Truth, no_progress

QRELS = "qrels"

_UNSAFE = re.compile(r"[\s%\x00-\x1f\x7f\ud800-\udfff]")
_SMALLEST = np.float32(1e-3)  # scores nearer to 0 than this are told apart as if they were this


@dataclass(frozen=True, slots=True)
class _File:
    """A run file and what its rows scored."""

    name: str
    rows: tuple[Row, ...]  # one for each truth
    tied: int  # queries with equal distances in their list


def write_trec(
    run: Run,
    dataset: Dataset,
    store: VectorStore,
    truths: Mapping[str, Truth],
    folder: Path,
    on_progress: Progress = no_progress,
) -> list[str]:
    """Write the truth lists and the lists of every model into a new folder, whole or not at all.

    The lists are asked from the collections of the run. A model whose collection is gone is
    left out; what is returned says so.

    Args:
        truths: overlap -> lists, for every overlap of the run.
    """
    groups = _by_collection(run)
    if not groups:
        raise StoreError(f"run {run.id} has no lists of neighbors; expected protocol {OVERLAP!r}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StoreError(f"cannot write into {folder}: it is not empty; name a new folder")
    ids = [encode(item_id) for item_id in dataset.catalog.item_ids]
    try:
        partial = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
        try:
            notes = _fill(run, groups, ids, store, truths, partial, on_progress)
            partial.chmod(0o755)  # a temporary folder is its owner's alone
            if folder.exists():
                folder.rmdir()
            partial.rename(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        raise StoreError(f"cannot write {folder}: {error.strerror or error}") from error
    return notes


def encode(item_id: str) -> str:
    """Return an item id without white space: that and ``%`` as ``%`` and hex digits.

    ``urllib.parse.unquote`` gives the id back.
    """
    if not item_id:
        raise DatasetError("an item has an empty item_id, which a file of TREC cannot hold")
    return _UNSAFE.sub(lambda found: quote(found[0], safe="", errors="surrogatepass"), item_id)


def _by_collection(run: Run) -> list[list[Row]]:
    """Return the rows that share a collection: the same model and text by other truths."""
    groups: dict[str, list[Row]] = {}
    for row in run.rows:
        if row.protocol == OVERLAP:
            groups.setdefault(row.collection, []).append(row)
    return list(groups.values())


def _fill(
    run: Run,
    groups: Sequence[Sequence[Row]],
    ids: Sequence[str],
    store: VectorStore,
    truths: Mapping[str, Truth],
    folder: Path,
    on_progress: Progress,
) -> list[str]:
    first = next(iter(truths))
    for overlap, truth in truths.items():
        for k in run.ks:
            parts = [QRELS, *([] if overlap == first else [overlap])]
            parts += [] if k == run.headline else [str(k)]
            _write_qrels(truth.cut(k), ids, folder / (".".join(parts) + ".txt"))
    files, notes = [], []
    for done, (name, rows) in enumerate(zip(_names(groups), groups, strict=True)):
        on_progress(done, len(groups))
        try:
            tied = _write_run(truths[rows[0].truth], rows[0], max(run.ks), ids, store, folder, name)
            files.append(_File(name, tuple(rows), tied))
        except StoreError as error:
            (folder / name).unlink(missing_ok=True)
            notes.append(f"{rows[0].label} is left out: {error}")
    if not files:
        raise StoreError(f"no collection of run {run.id} is there any more: {'; '.join(notes)}")
    (folder / "README.txt").write_text(_readme(run, files, list(truths), notes), "utf-8")
    return notes


def _names(groups: Sequence[Sequence[Row]]) -> list[str]:
    """Return a file name for each group: ``model@dimension``, and the text where it is needed."""
    several = len({rows[0].text for rows in groups}) > 1
    labels = [rows[0].label + (f".{rows[0].text}" if several else "") for rows in groups]
    stems = [re.sub(r"[^A-Za-z0-9._@+-]+", "-", label)[:100] for label in labels]
    lower = [stem.lower() for stem in stems]  # some file systems know no difference
    return [
        stem + (f".{rows[0].fingerprint[:8]}" if lower.count(low) > 1 else "") + ".run"
        for stem, low, rows in zip(stems, lower, groups, strict=True)
    ]


def _write_qrels(truth: Truth, ids: Sequence[str], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for query in truth.queries.tolist():
            lines = (
                f"{ids[query]} 0 {ids[row]} 1\n"
                for row in truth.neighbors[query].tolist()
                if row >= 0
            )
            file.writelines(lines)


def _write_run(
    truth: Truth, row: Row, k: int, ids: Sequence[str], store: VectorStore, folder: Path, name: str
) -> int:
    """Write the *k* nearest of every query; return how many lists have equal distances."""
    tag, tied, start = name.removesuffix(".run"), 0, 0
    queries = truth.queries
    with (folder / name).open("w", encoding="utf-8", newline="\n") as file:
        for part in nearest_with_ties(store, row.collection, queries, k, Candidates(truth.rated)):
            near = part.distances
            tied += int(
                ((near[:, 1:] == near[:, :-1]) & np.isfinite(near[:, 1:])).any(axis=1).sum()
            )
            _write_lists(file, queries[start : start + len(near)], part, k, ids, tag)
            start += len(near)
    return tied


def _write_lists(
    file: TextIO, queries: IntArray, part: Neighbors, k: int, ids: Sequence[str], tag: str
) -> None:
    rows, scores = part.rows[:, :k], distinct_scores(part.distances[:, :k])
    for query, found, own in zip(queries.tolist(), rows.tolist(), scores.tolist(), strict=True):
        for rank, (row, score) in enumerate(zip(found, own, strict=True), 1):
            if row >= 0:
                file.write(f"{ids[query]} Q0 {ids[row]} {rank} {score:.9g} {tag}\n")


def distinct_scores(distances: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return scores that fall strictly from rank to rank: minus the distance.

    Tools sort by score and break ties each in its own way, so an item at the same distance as
    the one before it gets the next smaller number.

    Args:
        distances: ``(b, k)`` ascending.
    """
    scores = -distances
    for rank in range(1, scores.shape[1]):
        before = scores[:, rank - 1]
        below = before - np.spacing(np.maximum(np.abs(before), _SMALLEST))
        scores[:, rank] = np.minimum(scores[:, rank], below)
    return scores


def _readme(run: Run, files: Sequence[_File], truths: Sequence[str], notes: Sequence[str]) -> str:
    return "\n".join(_lines(run, files, truths, notes)) + "\n"


def _lines(
    run: Run, files: Sequence[_File], truths: Sequence[str], notes: Sequence[str]
) -> Iterator[str]:
    k = run.headline
    yield f"Run {run.id} of recdemo {run.recdemo} on {run.dataset.name}, as files of TREC."
    yield ""
    yield f"{QRELS}.txt holds the truth lists ({truths[0]}) at K = {k}. A list at another K is"
    yield f"shorter, so {QRELS}.K.txt goes with measures at that K, as in"
    yield f"    ir_measures {QRELS}.txt {files[0].name} R@{k} nDCG@{k}"
    yield "A truth list can be shorter than K; recall divides by its length, as these tools do."
    for overlap in truths[1:]:
        yield f"{QRELS}.{overlap}.txt and {QRELS}.{overlap}.K.txt hold those by {overlap}."
    yield "The score is minus the Euclidean distance. White space and % in item ids are written as"
    yield "% and hex digits."
    yield ""
    yield "Items at equal distances share their places in recdemo's own numbers. A file must put"
    yield "them into one order: that of the catalog, each with the next smaller score. So where"
    yield "lists have ties, other tools find slightly other numbers than these:"
    yield ""
    for file in files:
        for row in file.rows:
            yield (
                f"{file.name}: {row.truth} Recall@{k} {row.recall[k]:.5f}, nDCG@{k} "
                f"{row.ndcg[k]:.5f}; {file.tied:,} of {row.queries:,} lists have ties"
            )
    yield from notes
