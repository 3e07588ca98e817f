"""What is embedded: a template filled from the fields of each item."""

import hashlib
import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from recdemo.dataset.catalog import Catalog, as_text
from recdemo.errors import DatasetError

CARD = "{title} ({year}). {genres}. Directed by {directors}."
NAMED = {"synopsis": "{synopsis}", "card": CARD, "full": CARD + " {synopsis}"}
# A named text needs these fields; the others of its template count as empty where a
# catalog does not have them (MovieLens latest-small has no directors).
_NEEDED = {"synopsis": ("synopsis",), "card": ("title",), "full": ("title", "synopsis")}

Token: TypeAlias = tuple[str, str | None]  # literal text, then a field or None


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """The text of every item of a catalog."""

    name: str  # synopsis, card, full or the template itself
    values: tuple[str, ...]  # one per row
    hash: str  # of item ids and texts, 64 hex digits


@dataclass(frozen=True, slots=True)
class _Group:
    """A stretch that is left out when it has fields and all of them are empty."""

    before: str  # white space that goes with it
    tokens: tuple["Token | _Group", ...]


def text_names(option: str | None, catalog: Catalog) -> list[str]:
    """Return the texts that ``--text`` asks for: one template, or a comma list of names."""
    if option is None:
        if "synopsis" in catalog.fields:
            return ["synopsis"]
        if "title" in catalog.fields:
            return ["card"]
        fields = ", ".join(f"{{{field}}}" for field in catalog.fields) or "none"
        raise DatasetError(
            f"{catalog.name} has neither synopses nor titles; say what to embed with --text, "
            f"a template of its fields: {fields}"
        )
    if "{" in option:
        return [option]
    names = [name.strip() for name in option.split(",")]
    for name in names:
        if name not in NAMED:
            known = ", ".join(NAMED)
            raise DatasetError(
                f"unknown text {name!r}; expected {known} or a template such as "
                "'{title} ({year})'"
            )
    return list(dict.fromkeys(names))


def one_text_name(option: str | None, catalog: Catalog) -> str:
    """Return the text that ``--text`` asks for where only one can be used."""
    names = text_names(option, catalog)
    if len(names) > 1:
        raise DatasetError(f"--text {option!r} names {len(names)} texts; expected one")
    return names[0]


def fill(catalog: Catalog, name: str) -> Texts:
    """Fill the named text or template *name* for every item of the catalog.

    Lists are joined by ``", "``. A sentence (a stretch of the template up to a full stop
    before a space or the end) with only empty fields is left out; parentheses around only
    empty fields go with the space before them. An unknown field, a template without
    fields, and items of whose text nothing remains are `DatasetError`.
    """
    for field in _NEEDED.get(name, ()):
        catalog.column(field)
    template = NAMED.get(name, name)
    sentences = _parse(template)
    fields = [field for sentence in sentences for field in _fields(sentence)]
    if not fields:
        raise DatasetError(f"the text {template!r} has no field; write one as {{title}}")
    if name not in NAMED:
        for field in fields:
            catalog.column(field)
    present = [field for field in dict.fromkeys(fields) if field in catalog.fields]
    columns = [catalog.fields[field] for field in present]
    empty = dict.fromkeys(fields, "")
    values = []
    for row_values in zip(*columns, strict=True):
        item = empty | {f: as_text(v).strip() for f, v in zip(present, row_values, strict=True)}
        values.append("".join(_filled(s, item) for s in sentences).strip())
    blank = [catalog.item_ids[row] for row, text in enumerate(values) if not text]
    if blank:
        shown = ", ".join(blank[:5]) + (", ..." if len(blank) > 5 else "")
        raise DatasetError(
            f"nothing remains of the text {name!r} for {len(blank):,} of {len(catalog):,} items "
            f"(item_id {shown}); use a template with more fields"
        )
    return Texts(name, tuple(values), _hash(catalog.item_ids, values))


def _hash(item_ids: Sequence[str], values: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for item_id, text in zip(item_ids, values, strict=True):
        digest.update(f"{len(item_id)}:{item_id}{len(text)}:{text}".encode("utf-8", "replace"))
    return digest.hexdigest()


def _parse(template: str) -> list[_Group]:
    """Cut a template into sentences, and each into literals, fields and parentheses."""
    sentences: list[_Group] = []
    tokens: list[Token] = []
    before = ""
    for literal, field in _tokens(template):
        *ended, rest = re.split(r"(?<=\.)(\s+)", literal)
        for i in range(0, len(ended), 2):
            tokens.append((ended[i], None))
            sentences.append(_Group(before, _parentheses(tokens)))
            tokens, before = [], ended[i + 1]
        tokens.append((rest, field))
    sentences.append(_Group(before, _parentheses(tokens)))
    return sentences


def _tokens(template: str) -> list[Token]:
    try:
        parsed = list(string.Formatter().parse(template))
    except ValueError as error:
        raise DatasetError(f"cannot read the text {template!r}: {error}") from error
    for _, field, spec, conversion in parsed:
        if field is not None and (spec or conversion or not re.fullmatch(r"[^\s.\[\]{}]+", field)):
            raise DatasetError(
                f"cannot read the field {{{field}}} in the text {template!r}; "
                "expected a plain field name, as in {title}"
            )
    return [(literal, field) for literal, field, _, _ in parsed]


def _parentheses(tokens: Sequence[Token]) -> tuple[Token | _Group, ...]:
    """Gather what stands between an opening and the next closing parenthesis."""
    result: list[Token | _Group] = []
    inside: list[Token] | None = None
    before = ""
    for literal, field in tokens:
        for piece in re.split(r"(\s?\(|\))", literal):
            if inside is None and piece.endswith("("):
                before, inside = piece[:-1], [("(", None)]
            elif inside is not None and piece == ")":
                result.append(_Group(before, (*inside, (")", None))))
                inside = None
            elif piece:
                (result if inside is None else inside).append((piece, None))
        if field is not None:
            (result if inside is None else inside).append(("", field))
    if inside is not None:  # never closed: nothing special
        result += [(before, None), *inside]
    return tuple(result)


def _fields(group: _Group) -> list[str]:
    found: list[str] = []
    for part in group.tokens:
        if isinstance(part, _Group):
            found += _fields(part)
        elif part[1] is not None:
            found.append(part[1])
    return found


def _filled(group: _Group, item: dict[str, str]) -> str:
    fields = _fields(group)
    if fields and not any(item[field] for field in fields):
        return ""
    parts = [group.before]
    for part in group.tokens:
        if isinstance(part, _Group):
            parts.append(_filled(part, item))
        else:
            parts.append(part[0] + (item[part[1]] if part[1] is not None else ""))
    return "".join(parts)
