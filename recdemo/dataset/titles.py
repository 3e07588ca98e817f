"""Titles as MovieLens writes them, turned into the way people say them."""

import re

# As they stand after the last comma, capital first, so "Love, etc." stays. Not the
# Portuguese "O": ML-1M has it once, and the bundled titles keep it where it is.
_ARTICLES = (
    *("The", "A", "An"),
    *("Le", "La", "Les", "L'", "Un", "Une"),
    *("El", "Los", "Las", "Lo", "Una"),
    *("Il", "I", "Gli"),
    *("Der", "Die", "Das", "Ein", "Eine"),
    *("Det", "Den", "De", "En", "Et"),
)
_ARTICLE_LAST = re.compile(
    rf"(?P<alias>a\.?k\.?a\.?:? )?(?P<rest>.+), (?P<article>{'|'.join(_ARTICLES)})"
)
_PART = re.compile(r"[^()\s](?:[^()]*[^()\s])?")  # what stands outside or inside parentheses
_YEAR = re.compile(r"\s*\((?P<first>\d{4})(?:\s*[-–—]\s*(?:\d{4})?)?\)\s*$")  # noqa: RUF001


def split_title(text: str) -> tuple[str, int | None]:
    """Split ``Matrix, The (1999)`` into ``The Matrix`` and 1999; of a range the first year."""
    year = _YEAR.search(text)
    title = _PART.sub(_article_first, text[: year.start()] if year else text)
    title = title.replace("( ", "(").replace(" )", ")")
    return " ".join(title.split()), int(year["first"]) if year else None


def _article_first(part: re.Match[str]) -> str:
    found = _ARTICLE_LAST.fullmatch(part[0])
    if found is None:
        return part[0]
    space = "" if found["article"].endswith("'") else " "
    return f"{found['alias'] or ''}{found['article']}{space}{found['rest']}"
