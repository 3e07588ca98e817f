"""What is embedded: a template filled from the fields of each item, or texts from a file."""

import hashlib
import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from recdemo.dataset.catalog import Catalog, as_text
from recdemo.dataset.faults import stop
from recdemo.dataset.items import plain_text, unique_items
from recdemo.dataset.options import DEFAULT_OPTIONS, ReadOptions
from recdemo.dataset.records import position
from recdemo.dataset.tables import ENDINGS, columns_of, table_at
from recdemo.errors import DatasetError

CARD = "{title} ({year}). {genres}. Directed by {directors}."
NAMED = {"synopsis": "{synopsis}", "card": CARD, "full": CARD + " {synopsis}"}
# A named text needs these fields; the others of its template count as empty where a
# catalog does not have them (MovieLens latest-small has no directors).
_NEEDED = {"synopsis": ("synopsis",), "card": ("title",), "full": ("title", "synopsis")}
_FIELD = re.compile(r"[^\s.\[\]{}]([^.\[\]{}]*[^\s.\[\]{}])?")

Token: TypeAlias = tuple[str, str | None]  # literal text, then a field or None


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """The text of every item of a catalog."""

    name: str  # synopsis, card, full, the template itself, or a file's name without its ending
    values: tuple[str, ...]  # one per row
    hash: str  # of item ids and texts, 64 hex digits
    unknown: tuple[str, ...] = ()  # item ids in a file of texts that the catalog does not have

    @property
    def n_blank(self) -> int:
        """How many items have no text, and so no vector of a model that reads it."""
        return self.values.count("")

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out, in sentences."""
        found = []
        if self.unknown:
            found.append(
                f"{len(self.unknown):,} texts of {self.name!r} are left out, since the catalog "
                f"does not have their items (item_id {_some(self.unknown)})"
            )
        if self.n_blank:
            found.append(
                f"{self.n_blank:,} of {len(self.values):,} items have no text {self.name!r}, so "
                "no vector of models that read it; as queries they score 0"
            )
        return tuple(found)


@dataclass(frozen=True, slots=True)
class _Group:
    """A stretch that is left out when it has fields and all of them are empty."""

    before: str  # white space that goes with it
    tokens: tuple["Token | _Group", ...]


def text_names(option: str | None, catalog: Catalog) -> list[str]:
    """Return the texts that ``--text`` asks for: a template, or a comma list of names and files."""
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
    names = list(dict.fromkeys(_parts(option)))
    for name in names:
        if name not in NAMED and "{" not in name and not _is_file(name):
            known = ", ".join(NAMED)
            raise DatasetError(
                f"unknown text {name!r}; expected {known}, a template such as "
                "'{title} ({year})', or a file that ends in .csv or .jsonl"
            )
    called = [_called(name) for name in names]
    for name in called:
        if called.count(name) > 1:
            raise DatasetError(f"--text {option!r} has two texts called {name!r}; rename a file")
    return names


def portable(option: str | None) -> str | None:
    """Return ``--text`` so that it means the same in another folder: its files by full path."""
    if option is None:
        return None
    parts = _parts(option)
    return ",".join(str(Path(part).resolve()) if _is_file(part) else part for part in parts)


def _parts(option: str) -> list[str]:
    if "{" in option or (_is_file(option) and Path(option).is_file()):  # it may have commas
        return [option]
    return [name.strip() for name in option.split(",")]


def _is_file(name: str) -> bool:
    return "{" not in name and name.endswith(ENDINGS)


def _called(name: str) -> str:
    """Return what a text is called in reports."""
    if not _is_file(name):
        return name
    ending = max((end for end in ENDINGS if name.endswith(end)), key=len)
    return Path(name).name.removesuffix(ending)


def one_text_name(option: str | None, catalog: Catalog) -> str:
    """Return the text that ``--text`` asks for where only one can be used."""
    names = text_names(option, catalog)
    if len(names) > 1:
        raise DatasetError(f"--text {option!r} names {len(names)} texts; expected one")
    return names[0]


def fill(
    catalog: Catalog, name: str, read: ReadOptions = DEFAULT_OPTIONS, skip_blank: bool = False
) -> Texts:
    """Return the text of every item: a named text or a template filled, or a file joined.

    Items of whose text nothing remains are a `DatasetError`; so is what `draft` refuses.

    Args:
        skip_blank: leave such items without a text, as the notes then say.
    """
    texts = draft(catalog, name, read)
    blank = [catalog.item_ids[row] for row, text in enumerate(texts.values) if not text]
    if not blank or (skip_blank and len(blank) < len(catalog)):
        return texts
    items = f"{len(blank):,} of {len(catalog):,} items (item_id {_some(blank)})"
    if _is_file(name):
        raise DatasetError(f"{name} has no text for {items}; add them, or use --on-empty skip")
    raise DatasetError(
        f"nothing remains of the text {name!r} for {items}; use a template with more fields, or "
        "--on-empty skip"
    )


def draft(catalog: Catalog, name: str, read: ReadOptions = DEFAULT_OPTIONS) -> Texts:
    """Return the text of every item as `fill` does, ``""`` where nothing remains.

    Lists are joined by ``", "``. A sentence (a stretch of the template up to a full stop
    before a space or the end) with only empty fields is left out; parentheses around only
    empty fields go with the space before them. An unknown field and a template without
    fields are `DatasetError`.

    Args:
        read: the encoding of a file, and what its column of ids may be called.
    """
    if _is_file(name):
        return _joined(catalog, name, read)
    values = _filled_values(catalog, name)
    return Texts(name, tuple(values), _hash(catalog.item_ids, values))


def _joined(catalog: Catalog, path: str, read: ReadOptions) -> Texts:
    """Join the texts of a file by item id; repeated ids are a `DatasetError`."""
    table = table_at(Path(path), read.text_encoding, "text")
    header = columns_of(table)
    item_id = read.item_id if read.item_id in header else DEFAULT_OPTIONS.item_id
    for column in (item_id, "text"):
        position(column, header, path, "a file of texts needs item_id and text")
    cells = unique_items(table, item_id, stop)
    found = {item: plain_text(cells.get("text")) for item, cells in cells}
    known = set(catalog.item_ids)
    unknown = [item for item in found if item not in known]
    if found and len(unknown) == len(found):
        raise DatasetError(
            f"{path} has texts of other items: its ids are {_some(unknown)}, those of "
            f"{catalog.name} {_some(catalog.item_ids)}"
        )
    values = [found.get(item, "") for item in catalog.item_ids]
    return Texts(_called(path), tuple(values), _hash(catalog.item_ids, values), tuple(unknown))


def _some(item_ids: Sequence[str]) -> str:
    return ", ".join(item_ids[:5]) + (", ..." if len(item_ids) > 5 else "")


def _filled_values(catalog: Catalog, name: str) -> list[str]:
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
    return values


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
        if field is not None and (spec or conversion or not _FIELD.fullmatch(field)):
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
