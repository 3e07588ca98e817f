"""Have a chat model write the synopses of a catalog that has none, one paragraph per item.

Texts that are there stay: a synopsis of the catalog is taken over as it is, and what a file holds
already is not asked for again. An answer that says nothing is no text: it is counted, and the item
stays without one. Models are told to say so when they do not know an item, since an invented
synopsis is worse than none.
"""

import hashlib
import re
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from recdemo.chat import Chat, Said
from recdemo.chat.asking import ask_all
from recdemo.chat.prices import Price
from recdemo.dataset.catalog import Catalog
from recdemo.embedding.tokens import estimate_tokens
from recdemo.embedding.watching import PACE, Pace
from recdemo.errors import DatasetError, EmbeddingError
from recdemo.synopses import Synopsis, SynopsisFile
from recdemo.texts import draft

ANSWER_TOKENS = 150  # expected of one paragraph
UNTOLD = "the catalog has nothing to ask with"
CATALOG = "catalog"  # in place of a model, for texts that were there
_SENTENCES = {  # of the default prompt, each where the catalog has the field
    "genres": "Genres: {genres}.",
    "directors": "Directed by {directors}.",
}
_HOPELESS = 20  # answers of no use and none of use: the fault is not in the items
_REFUSAL = re.compile(
    r"(i'm|i am)( very)? (sorry|unable|not (able|sure|familiar|aware))|sorry,? (but )?i\b"
    r"|unknown\b.{0,3}$|i (can't|cannot|can not|don't|do not|couldn't|could not) "
    r"|as an ai\b|unfortunately, i\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked for, and what is not."""

    model: str  # provider:name
    prompt_hash: str
    prompts: tuple[str, ...]  # each once
    item_ids: tuple[tuple[str, ...], ...]  # whom the answer of each prompt is for
    taken_over: tuple[Synopsis, ...]  # texts of the catalog that the file lacks
    n_there: int  # items whose text is in the file already
    untold: tuple[str, ...]  # items of which the prompt would say nothing
    n_left: int  # items beyond a limit

    @property
    def n_items(self) -> int:
        """Items that are asked about."""
        return sum(map(len, self.item_ids))

    @property
    def tokens_in(self) -> int:
        """Tokens of all prompts, an estimate."""
        return sum(map(estimate_tokens, self.prompts))

    @property
    def tokens_out(self) -> int:
        """Tokens of all answers, an estimate."""
        return ANSWER_TOKENS * len(self.prompts)


@dataclass(slots=True)
class Written:
    """What has been written so far, and what that took."""

    items: int = 0
    answers: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = 0.0  # US dollars; None: not known
    troubles: dict[str, str] = field(default_factory=dict)  # item id -> why it has no text
    is_stopped: bool = False  # by the most it may cost


def default_prompt(catalog: Catalog) -> str:
    """Return the prompt for the fields that a catalog has; without titles one must be given."""
    if "title" not in catalog.fields:
        fields = ", ".join(f"{{{name}}}" for name in catalog.fields) or "none"
        raise DatasetError(
            f"{catalog.name} has no titles; say what to ask with --prompt, a template of its "
            f"fields: {fields}"
        )
    year = " ({year})" if "year" in catalog.fields else ""
    return " ".join(
        [
            f'Write one paragraph of 60 to 100 words about "{{title}}"{year}: what it is about, '
            "its themes and its mood.",
            *(text for name, text in _SENTENCES.items() if name in catalog.fields),
            "Answer in English with the paragraph alone, without a heading. If you do not know "
            'it, answer with the one word "unknown".',
        ]
    )


def plan(
    catalog: Catalog,
    model: str,
    prompt: str,
    file: SynopsisFile,
    *,
    overwrite: bool = False,
    limit: int | None = None,
) -> Plan:
    """Decide which items are asked about.

    Args:
        overwrite: ask about items that have a synopsis in the catalog as well; of the texts
            in the file only those of this model and prompt count as there.
        limit: at most so many items, the first ones.
    """
    _check_items(catalog, file)
    hashed, filled, told = _hash(prompt), draft(catalog, prompt).values, _told(catalog, prompt)
    asked: list[int] = []  # rows
    taken_over: list[Synopsis] = []
    untold: list[str] = []
    n_there = 0
    for row, item_id in enumerate(catalog.item_ids):
        there = file.by_item.get(item_id)
        synopsis = " ".join(catalog.text(row, "synopsis").split())
        if there and (not overwrite or (there.model, there.prompt_hash) == (model, hashed)):
            n_there += 1
        elif synopsis and not overwrite:
            taken_over.append(Synopsis(item_id, synopsis, CATALOG, "", ""))
        elif told[row]:
            asked.append(row)
        else:
            untold.append(item_id)
    groups: dict[str, list[str]] = {}
    for row in asked[:limit]:
        groups.setdefault(filled[row], []).append(catalog.item_ids[row])
    return Plan(
        model,
        hashed,
        prompts=tuple(groups),
        item_ids=tuple(map(tuple, groups.values())),
        taken_over=tuple(taken_over),
        n_there=n_there,
        untold=tuple(untold),
        n_left=len(asked[limit:]) if limit is not None else 0,
    )


def make_room(plan: Plan, file: SynopsisFile) -> Path | None:
    """Take texts that are asked for anew out of the file, and return where they still are."""
    asked = {item_id for item_ids in plan.item_ids for item_id in item_ids}
    return file.keep(lambda synopsis: synopsis.item_id not in asked)


def write(
    plan: Plan,
    chat: Chat,
    file: SynopsisFile,
    written: Written,
    *,
    price: Price | None = None,
    max_cost: float | None = None,
    on_progress: Callable[[], None] = lambda: None,
    on_wait: Callable[[str, float], None] = lambda reason, seconds: None,
    pace: Pace = PACE,
) -> None:
    """Ask, and write each answer to the file as it arrives.

    Args:
        written: is kept up to date, also where this ends by an error or by Ctrl-C.
        max_cost: US dollars; no request starts that could go beyond.
    """
    written.troubles |= dict.fromkeys(plan.untold, UNTOLD)
    if plan.taken_over:
        file.append(plan.taken_over)

    def may_start() -> bool:
        if max_cost is not None and price is not None:
            written.is_stopped = _could_cost(plan, written, price, chat.at_once) > max_cost
        return not written.is_stopped

    answers = ask_all(chat, plan.prompts, may_start=may_start, on_wait=on_wait, pace=pace)
    for position, said in answers:
        _count(written, said, price)
        trouble = _trouble(said)
        if trouble:
            written.troubles |= dict.fromkeys(plan.item_ids[position], trouble)
        else:
            file.append(_synopses(plan, position, said.text))
            written.items += len(plan.item_ids[position])
        on_progress()
        if not written.items and written.answers >= _HOPELESS:
            raise EmbeddingError(
                f"none of the first {written.answers} answers of {plan.model} is a text "
                f"(the last one: {trouble}); change the prompt with --prompt, or the model"
            )


def expected_cost(plan: Plan, price: Price | None) -> float | None:
    """Return about what a plan costs, in US dollars; None where the price is not known."""
    return None if price is None else price.of(plan.tokens_in, plan.tokens_out)


def check_cost(plan: Plan, price: Price | None, most: float) -> None:
    """Refuse a plan that costs more than *most* US dollars, or nobody knows how much."""
    cost = expected_cost(plan, price)
    if cost is None:
        raise EmbeddingError(
            f"the price of {plan.model} is not known, so --max-cost cannot be kept; leave it out "
            "to go on all the same"
        )
    if cost > most:
        raise EmbeddingError(
            f"this would cost about ${cost:.4f}, more than --max-cost {most:g}; nothing was sent"
        )


def _check_items(catalog: Catalog, file: SynopsisFile) -> None:
    known = set(catalog.item_ids)
    if file.by_item and not any(item_id in known for item_id in file.by_item):
        raise DatasetError(
            f"{file.path} has texts of other items than {catalog.name}; choose another --output"
        )


def _hash(prompt: str) -> str:
    if "{" not in prompt:
        raise DatasetError(f"the prompt {prompt!r} has no field; write one as {{title}}")
    return hashlib.sha256(prompt.encode("utf-8", "replace")).hexdigest()[:12]


def _told(catalog: Catalog, prompt: str) -> list[bool]:
    """Return of which items the prompt says something: the title where it has one, or a field."""
    names = {name for _, name, _, _ in string.Formatter().parse(prompt) if name is not None}
    names = {"title"} & names or names
    return [any(catalog.text(row, name).strip() for name in names) for row in range(len(catalog))]


def _synopses(plan: Plan, position: int, text: str) -> Iterator[Synopsis]:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    for item_id in plan.item_ids[position]:
        yield Synopsis(item_id, text, plan.model, plan.prompt_hash, now)


def _trouble(said: Said) -> str:
    """Return why an answer is no text, "" where it is one."""
    if said.trouble:
        return said.trouble
    if not said.text:
        return "empty"
    if _REFUSAL.match(said.text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").lstrip("\"'*")):
        return f"refused: {said.text[:60]!r}"
    return ""


def _count(written: Written, said: Said, price: Price | None) -> None:
    written.answers += 1
    written.tokens_in += said.tokens_in
    written.tokens_out += said.tokens_out
    if price is None or (price.written and not said.tokens_out):  # it does not tell how many
        written.cost = None
    elif written.cost is not None:
        written.cost += price.of(said.tokens_in, said.tokens_out)


def _could_cost(plan: Plan, written: Written, price: Price, at_once: int) -> float:
    """Return what is paid at the end of the requests under way and one more."""
    one = price.of(plan.tokens_in, plan.tokens_out) / len(plan.prompts)
    spent = one * written.answers if written.cost is None else written.cost
    if written.answers:
        one = spent / written.answers
    return spent + one * min(at_once, len(plan.prompts) - written.answers)
