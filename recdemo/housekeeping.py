"""Collections that nothing asks for any more, and collections that move to another store."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

from recdemo.errors import StoreError
from recdemo.runs import Run
from recdemo.store import PLAIN, Batch, CollectionInfo, Layout, VectorStore
from recdemo.study_copies import DEAD


def unasked(
    collections: Sequence[CollectionInfo], runs: Iterable[Run], older_than: int, now: datetime
) -> list[CollectionInfo]:
    """Return the collections that no run has a row of, and that were not made lately.

    A run asks for exactly the collections of its rows: after a change of texts, of a model's
    revision or of options, the same request gives other fingerprints, and the old ones stay
    behind. What was loaded ahead of a run has none yet, so what is young is kept, and so is
    what may be under way. The copy of an index study serves nobody once that has ended.

    Args:
        older_than: days.
    """
    wanted = {row.fingerprint for run in runs for row in run.rows}
    age = timedelta(days=older_than)

    def is_old(info: CollectionInfo) -> bool:
        return _made(info) <= now - (min(age, DEAD) if info.is_study else age)

    return [info for info in collections if info.fingerprint not in wanted and is_old(info)]


def _made(info: CollectionInfo) -> datetime:
    try:
        made = datetime.fromisoformat(info.created)
    except ValueError:  # not known: as old as can be
        return datetime.min.replace(tzinfo=UTC)
    return made if made.tzinfo else made.replace(tzinfo=UTC)


def chosen(store: VectorStore, names: Sequence[str]) -> list[CollectionInfo]:
    """Return the complete collections of these names, or all of them; what is not there fails."""
    there = {info.name: info for info in store.collections()}
    for name in names:
        if name not in there or not there[name].complete:
            store.read(name)  # which says what is wrong with it
            raise StoreError(f"no complete collection {name!r}")
    return [
        info
        for info in there.values()
        if (info.name in names if names else info.complete and not info.is_study)
    ]


def copy(
    source: VectorStore,
    target: VectorStore,
    info: CollectionInfo,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    layout: Layout = PLAIN,
) -> bool:
    """Copy a collection whole into another store; False where it was there already.

    Args:
        on_progress: is told how many of how many points have been written.
    """
    copied = False

    def batches() -> Iterator[Batch]:
        nonlocal copied
        copied = True
        done = 0
        for batch in source.read(info.name, payloads=True):
            yield batch
            done += len(batch.rows)
            on_progress(done, info.count)

    target.build(info, batches(), layout=layout)
    count = target.status(info.name).count
    if count != info.count:
        raise StoreError(f"{info.name}: {count} points arrived of {info.count}; copy it again")
    return copied
