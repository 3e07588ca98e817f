"""Pages that recdemo writes: one file each, without any part that comes from elsewhere."""

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def render(template: str, **values: Any) -> bytes:
    """Fill a template of this folder, and return the page as UTF-8.

    Every value is escaped; what is marked ``safe`` in a template is code of ours. Half of a
    surrogate pair, which UTF-8 cannot hold, becomes a question mark.
    """
    page: str = _environment().get_template(template).render(values)
    return page.encode("utf-8", "replace")


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("recdemo.templates", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
