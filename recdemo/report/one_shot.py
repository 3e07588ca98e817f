"""What is said of an evaluation by the one-shot protocol."""

from collections.abc import Sequence

from recdemo.protocols import ONE_SHOT, ONE_SHOT_FULL
from recdemo.report.columns import Column
from recdemo.report.overlap import interval, paid_columns
from recdemo.runs import Row, Run


def definition(run: Run) -> str:
    """Say in one sentence how the numbers are defined."""
    facts, k = run.one_shot, run.headline
    last = "item" if facts["shots"] == 1 else f"{facts['shots']} items"
    return (
        f"nDCG@{k}: the newest item of each user, ranked by its Euclidean distance from the "
        f"{last} before it among {facts['negatives']} items that the user did not touch (and, "
        f"full, among all of them); mean over {facts['users']:,} users of {run.dataset.name}, "
        f"ties {facts['ties']}."
    )


def columns(run: Run) -> list[Column]:
    """Return the result table: a line per model, the sample and the full ranking side by side."""
    k = run.headline
    pairs = _pairs(run)
    sampled, full = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    texts = len({row.text for row in sampled}) > 1
    result = [
        Column("Model", False, tuple(row.model for row in sampled)),
        Column("Dim", True, tuple(str(row.dimension) for row in sampled)),
        Column("How", False, tuple(row.how for row in sampled), 4),
        Column("Text", False, tuple(row.text for row in sampled), 0 if texts else 9),
        Column(f"nDCG@{k}", True, tuple(f"{row.ndcg[k]:.4f}" for row in sampled)),
        Column("95 %", True, tuple(interval(row, f"ndcg@{k}") for row in sampled), 1),
        Column(f"Hit@{k}", True, tuple(f"{row.recall[k]:.4f}" for row in sampled), 3),
        Column(f"full nDCG@{k}", True, tuple(f"{row.ndcg[k]:.4f}" for row in full)),
        Column("95 %", True, tuple(interval(row, f"ndcg@{k}") for row in full), 2),
        Column(f"full Hit@{k}", True, tuple(f"{row.recall[k]:.4f}" for row in full), 5),
        Column("B/item", True, tuple(f"{row.bytes_per_item:,}" for row in sampled), 6),
        *paid_columns(sampled),
    ]
    return [column for column in result if column.rank < 9]


def _pairs(run: Run) -> list[tuple[Row, Row]]:
    full = {(r.label, r.text): r for r in run.rows if r.protocol == ONE_SHOT_FULL}
    sampled = [row for row in run.rows if row.protocol == ONE_SHOT]
    return [(row, full[row.label, row.text]) for row in sampled]


def notes(run: Run) -> list[str]:
    """Return what must be read with the table: chance, what was left out, what a sample is."""
    facts, k = run.one_shot, run.headline
    sampled, full = _pairs(run)[0]
    few = facts["users_with_fewer_than_two_interactions"]
    lines = [
        f"Chance: nDCG@{k} {sampled.chance[f'ndcg@{k}']:.4f} and Hit@{k} "
        f"{sampled.chance[f'recall@{k}']:.4f} among the sample; "
        f"{full.chance[f'ndcg@{k}']:.4f} and {full.chance[f'recall@{k}']:.4f} in full.",
        "Order models by the full ranking: a sample can reverse it (Krichene and Rendle 2020).",
        f"The newest item is decided by the order of the file, not by time, for "
        f"{100 * facts['targets_decided_by_a_timestamp_tie']:.1f} % of the users.",
        f"Negatives: seed {facts['seed']}, hash {facts['negatives_hash'][:16]}, the same for all "
        f"models. Users left out for fewer than two interactions: {few:,}.",
    ]
    lines += _missing([row for pair in _pairs(run) for row in pair], facts["users"])
    lines += dict.fromkeys(f"{row.model}: {row.note}." for row in run.rows if row.note)
    return lines


def _missing(rows: Sequence[Row], users: int) -> list[str]:
    lines = []
    for row in rows:
        if row.protocol == ONE_SHOT and (row.without_vector or row.queries < users):
            lines.append(
                f"{row.label}: {users - row.queries:,} users left out, whose history has no "
                f"vector; {row.without_vector:,} targets without a vector count as missed."
            )
    return lines
