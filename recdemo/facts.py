"""What stands beside the rows of a run: chance and ceiling, agreement of truths, published rows."""

from collections.abc import Sequence

from recdemo.dataset import Dataset, bundled
from recdemo.runs import CeilingFacts, Published, Row, TruthFacts, headline_of
from recdemo.truth import Truth
from recdemo.truth.files import find_ceiling


def truth_facts(dataset: Dataset, truth: Truth, ks: Sequence[int]) -> TruthFacts:
    """Return what a truth allows at worst, and at best where that was computed."""
    chance = {k: k / (truth.n_rated - 1) for k in ks}
    ceiling = find_ceiling(dataset, truth.overlap, headline_of(ks))
    if ceiling is None:
        return TruthFacts(chance, None)
    return TruthFacts(chance, CeilingFacts(ceiling.k, ceiling.lower, ceiling.upper, ceiling.seeds))


def agreement(rows: Sequence[Row], overlaps: Sequence[str], k: int) -> dict[str, float]:
    """Return Kendall's tau-b between the orders of the models that each two truths give."""
    from scipy.stats import kendalltau  # half a second to import, for a line that few ask for

    found = {}
    for i, a in enumerate(overlaps):
        for b in overlaps[i + 1 :]:
            mine, other = (
                {(row.label, row.text): row.recall[k] for row in rows if row.truth == overlap}
                for overlap in (a, b)
            )
            both = sorted(set(mine) & set(other))
            if len(both) > 1:
                tau = kendalltau([mine[key] for key in both], [other[key] for key in both])
                found[f"{a}/{b}"] = float(tau.statistic)
    return found


def published_rows(
    dataset: Dataset, truths: Sequence[Truth], ks: Sequence[int]
) -> tuple[Published, ...]:
    """Return the study's rows where they can be set beside ours: same items, truth and K."""
    if dataset.name != bundled.NAME or 100 not in ks:
        return ()
    if not truths or truths[0].overlap != "jaccard":
        return ()
    if dataset.n_interactions != bundled.open_bundled().n_interactions:
        return ()  # filtered
    rows = sorted(bundled.read_published(), key=lambda row: -row.recall_at_100)
    return tuple(
        Published(row.model, row.dimension, {100: row.recall_at_100}, row.source) for row in rows
    )
