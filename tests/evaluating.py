"""Evaluations of the invented data, for tests of what is made of runs."""

from recdemo import benchmark
from recdemo.embedding import parse_models
from recdemo.protocols import Overlap
from recdemo.texts import fill
from recdemo.truth import build_truth
from tests import tiny
from tests.fakes import MemoryStore


def plan(data, *models: str, must_run: bool = True, ks=(1, 2), text="synopsis") -> benchmark.Plan:
    names = tuple(name for model in models for name in parse_models(model))
    return benchmark.Plan(
        names, (fill(data.catalog, text),), ks, must_run, asked={"models": list(models)}
    )


def evaluate(*models: str, data=None, store=None, **options):
    data = data or tiny.dataset()
    truth = build_truth(data.interactions(), "jaccard", 2)
    planned = plan(data, *models, **options)
    judge = Overlap((truth,), planned.ks)
    return benchmark.evaluate(data, store or MemoryStore(), planned, judge)
