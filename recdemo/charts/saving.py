"""Charts as files, and as parts of a page that needs no network."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import vl_convert

from recdemo.charts.drawing import Chart, Figure, fluid
from recdemo.errors import RecdemoError, StoreError
from recdemo.templates import render

ENDINGS = ("svg", "png", "html")
SCALE = 2  # pixels of a PNG for each pixel of the chart

_PAGE = "recdemo: how much of the truth models recover"


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """A chart in a page: its values for JavaScript, and a picture for readers without."""

    name: str
    title: str
    about: tuple[str, ...]
    description: str
    spec: dict[str, Any]  # in the language of Vega-Lite
    svg: str


def check_ending(path: Path) -> str:
    """Return the ending of a file's name, which says how a chart is written."""
    ending = path.suffix.lower().removeprefix(".")
    if ending not in ENDINGS:
        raise RecdemoError(f"cannot draw {str(path)!r}; expected a name in .svg, .png or .html")
    return ending


def save(chart: Chart, path: Path) -> None:
    """Write a chart as SVG, PNG or HTML, by the ending of the name; whole or not at all."""
    ending = check_ending(path)
    if ending == "png":
        _write(vl_convert.vegalite_to_png(chart.to_dict(), scale=SCALE), path)
    elif ending == "svg":
        _write(_svg(chart).encode(), path)
    else:
        _write(_page([Drawn("chart", "", (), _words(chart), chart.to_dict(), _svg(chart))]), path)


def save_page(figures: Sequence[Figure], path: Path) -> None:
    """Write charts one below another as an HTML page, each as wide as the window allows."""
    _write(_page([drawn(figure) for figure in figures]), path)


def drawn(figure: Figure) -> Drawn:
    """Return a chart as a page takes it."""
    chart = fluid(figure)
    picture = _svg(chart.properties(width=640, autosize="pad"))
    return Drawn(figure.name, figure.title, figure.about, _words(chart), chart.to_dict(), picture)


def _words(chart: Chart) -> str:
    return str(chart.description)


def _svg(chart: Chart) -> str:
    return vl_convert.vegalite_to_svg(chart.to_dict())


def _page(charts: Sequence[Drawn]) -> bytes:
    return render("chart.html", title=_PAGE, charts=charts, javascript=javascript())


@cache
def javascript() -> str:
    """Return the JavaScript that draws charts in a page, with all that it needs."""
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle.replace("</script", "<\\/script")


def _write(content: bytes, path: Path) -> None:
    partial = path.with_name(path.name + ".part")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from error
