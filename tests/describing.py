"""What tests of describing share: invented items, a chat model of our own, a quick run."""

import csv

from recdemo.chat import Said
from recdemo.chat.prices import Price
from recdemo.describe import Written, make_room, plan, write
from recdemo.embedding.watching import Pace
from recdemo.synopses import SynopsisFile
from tests.tiny import catalog

PROMPT = "What is {title}?"
MODEL = "fake:chat"
CENT = Price(0.0, 10_000.0, "2026-05")  # a cent for each token of an answer


def quick(**options):
    """Return a pace by which time passes by waiting only."""
    slept = [0.0]
    return Pace(grace=0.5, now=lambda: sum(slept), sleep=slept.append, **options)


class FakeChat:
    """Says what it is told to, or raises it; once each where there is a list."""

    def __init__(self, at_once=1, **says):
        self.at_once = at_once
        self.says = says
        self.prompts = []

    def ask(self, prompt):
        self.prompts.append(prompt)
        said = self.says[prompt.removeprefix("What is ").removesuffix("?")]
        if isinstance(said, list):
            said = said.pop(0)
        if isinstance(said, BaseException):
            raise said
        return Said(said, 3, len(said.split())) if isinstance(said, str) else said


def animals(*titles, **fields):
    return catalog(title=list(titles or ("Ant", "Bee", "Cat")), **fields)


def run(items, chat, path, model=MODEL, prompt=PROMPT, overwrite=False, limit=None, **options):
    """Describe a catalog, and return what was written."""
    written = Written()
    with SynopsisFile(path) as file:
        planned = plan(items, model, prompt, file, overwrite=overwrite, limit=limit)
        make_room(planned, file)
        write(planned, chat, file, written, pace=quick(), **options)
    return written


def rows(path):
    with path.open(encoding="utf-8-sig", newline="") as file:
        return [(row["item_id"], row["text"]) for row in csv.DictReader(file)]
