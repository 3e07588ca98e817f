"""The latest evaluation as the UI shows it."""

from recdemo.charts import Series, measure_of, references_of, series_of
from recdemo.report import columns
from recdemo.runs import Run
from recdemo.runs.files import LATEST, find_run, read_run
from recdemo.settings import settings
from recdemo.ui.services import Curve, Level, Point, Results


def latest() -> Results | None:
    """Return the latest evaluation; None where there is none."""
    if not any(settings().runs.glob("*.json")):
        return None
    return shown(read_run(find_run(LATEST)))


def shown(run: Run) -> Results:
    """Return a run as plain tables and curves."""
    table = columns(run)
    return Results(
        title=f"{run.dataset.name}, {run.created[:16].replace('T', ' ')} UTC",
        heads=tuple(column.title for column in table),
        numeric=tuple(column.numeric for column in table),
        ranks=tuple(column.rank for column in table),
        rows=tuple(zip(*(column.cells for column in table), strict=True)),
        models=tuple(row.label for row in run.rows),
        measure=measure_of(run).title,
        curves=tuple(map(_curve, series_of(run))),
        levels=tuple(Level(each.label, each.value) for each in references_of(run)),
    )


def _curve(series: Series) -> Curve:
    points = zip(series.dimensions, series.values, series.lows, series.highs, strict=True)
    return Curve(series.label, tuple(Point(*point) for point in points), series.published)
