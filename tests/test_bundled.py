"""The numbers of `design.md` on the bundled truth, through the embedded store; never skipped.

Expected values come from a separate slow program in float64.
"""

import hashlib
import subprocess
import sys

import numpy as np
import pytest

from recdemo.dataset import bundled, open_dataset
from recdemo.embedding import open_embedder, parse_models
from recdemo.errors import DatasetError
from recdemo.loading import ensure_collection
from recdemo.protocols import score_collection
from recdemo.scoring.recall import score_lists
from recdemo.store import Batch, CollectionInfo, VectorStore
from recdemo.store.edge import EdgeStore
from recdemo.texts import fill
from recdemo.truth.files import find_ceiling, find_truth, load_truth

KS = (10, 20, 50, 100)
DIGITS = 6e-6  # half a unit of the fifth digit, and 1e-6
EXACT = {
    "baseline:genre": (
        (0.04518, 0.06385, 0.09488, 0.12607),
        (0.04666, 0.06689, 0.10108, 0.13499),
    ),
    "baseline:genre-year": (
        (0.09865, 0.11967, 0.15429, 0.18668),
        (0.10654, 0.13230, 0.17193, 0.20691),
    ),
    "baseline:popularity": (
        (0.01504, 0.02610, 0.05375, 0.09240),
        (0.01526, 0.02653, 0.05453, 0.09322),
    ),
}
MINILM = {  # Recall@10 and @100 of float32 vectors; stored as float16 here
    "synopsis": {
        64: (0.02752, 0.05741),
        128: (0.03430, 0.06881),
        256: (0.04142, 0.07675),
        384: (0.04285, 0.08071),
    },
    "card": {
        64: (0.04787, 0.09571),
        128: (0.06274, 0.11705),
        256: (0.06749, 0.12676),
        384: (0.07102, 0.13351),
    },
    "full": {
        64: (0.03821, 0.07341),
        128: (0.04633, 0.08919),
        256: (0.05065, 0.09786),
        384: (0.05264, 0.10327),
    },
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = EdgeStore(tmp_path_factory.mktemp("collections"), lambda message: None)
    yield store
    store.close()


@pytest.fixture(scope="module")
def truth():
    return find_truth(open_dataset(), "jaccard", 100)


def scores_of(model: str, store: VectorStore, truth, text: str = "synopsis"):
    data = open_dataset()
    texts = fill(data.catalog, text)
    [name] = parse_models(model)
    loaded = ensure_collection(store, data, texts, open_embedder(name, data, texts))
    return score_collection(store, loaded.info.name, truth, KS)


def test_the_bundle_has_the_counts_of_the_published_data(truth):
    data = open_dataset()
    assert (len(data), data.n_users, data.n_interactions) == (3883, 6040, 1_000_209)
    lengths = (truth.neighbors[truth.rated] >= 0).sum(axis=1)
    assert (truth.n_rated, len(truth.queries)) == (3706, 3706)
    assert ((lengths < 100).sum(), lengths.min()) == (36, 19)
    assert (data.counts == 1).sum() == 114


@pytest.mark.parametrize("model", EXACT)
def test_a_baseline_gives_the_known_numbers_to_every_digit(model, store, truth):
    scores = scores_of(model, store, truth)
    recall, ndcg = EXACT[model]
    assert [*scores.means("recall").values()] == pytest.approx(recall, abs=DIGITS)
    assert [*scores.means("ndcg").values()] == pytest.approx(ndcg, abs=DIGITS)


def test_a_constant_vector_scores_chance_through_the_store(store, truth):
    data = open_dataset()
    rows = np.arange(len(data), dtype=np.int32)
    info = CollectionInfo(
        name="constant", dataset="ml-1m", text="none", model="fake:constant", prefix="",
        dimension=3, how="native", count=len(data), n_items=len(data), fingerprint="0" * 64,
        texts_hash="0" * 64,
    )  # fmt: skip
    store.build(info, [Batch(rows, np.full((len(data), 3), 0.3, np.float32))])
    scores = score_collection(store, "constant", truth, KS)
    for k, value in scores.means("recall").items():
        assert value == pytest.approx(k / 3705, abs=1e-12)
    expected = (0.00270, 0.00540, 0.01349, 0.02694)
    assert [round(value, 5) for value in scores.means("ndcg").values()] == list(expected)


@pytest.mark.parametrize("text", MINILM)
def test_minilm_gives_the_known_numbers_within_1e_4(text, store, truth):
    for dimension, (at_10, at_100) in MINILM[text].items():
        model = f"bundled:all-minilm-l6-v2@{dimension}"
        means = scores_of(model, store, truth, text).means("recall")
        assert means[10] == pytest.approx(at_10, abs=1e-4)
        assert means[100] == pytest.approx(at_100, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [64, 384])
def test_minilm_agrees_with_a_brute_force_in_float64(dimension, store, truth):
    stored = np.load(bundled.folder() / "all-minilm-l6-v2.synopsis.npy").astype(np.float64)
    vectors = stored[:, :dimension]
    if dimension < 384:
        vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    candidates = np.flatnonzero(truth.rated).astype(np.int32)
    own = vectors[candidates]

    def lists():
        for query in truth.queries:
            away = np.linalg.norm(own - vectors[query], axis=1)
            away[candidates == query] = np.inf
            order = np.argsort(away, kind="stable")[:150]
            yield candidates[order][None], away[order][None]

    expected = score_lists(truth, truth.queries, lists(), KS)
    found = scores_of(f"bundled:all-minilm-l6-v2@{dimension}", store, truth)
    for measure in ("recall", "ndcg"):
        assert found.means(measure) == pytest.approx(expected.means(measure), abs=1e-5)


def test_the_ceiling_lies_where_two_halves_of_the_users_agree():
    ceiling = find_ceiling(open_dataset(), "jaccard", 100)
    assert ceiling is not None
    assert min(ceiling.lower) > 0.44
    assert max(ceiling.lower) < 0.46
    assert min(ceiling.upper) > 0.67
    assert max(ceiling.upper) < 0.75


def test_beyond_the_bundled_truth_the_error_says_how_to_get_the_ratings(home):
    for overlap, k in (("jaccard", 101), ("lift", 10)):
        with pytest.raises(DatasetError, match="dataset fetch ml-1m"):
            find_truth(open_dataset(), overlap, k)


def test_the_sources_are_those_whose_hashes_the_page_states():
    page = (bundled.folder().parent / "README.md").read_text(encoding="utf-8")
    for path in (bundled.folder() / "movies.csv", *bundled.folder().glob("*.npy")):
        assert f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" in page


@pytest.mark.slow
def test_one_command_rebuilds_truth_counts_and_ceiling_to_the_byte(real_data, tmp_path):
    command = ["truth", "build", "--ceiling", "--output", str(tmp_path), "--dataset"]
    zipped = str(real_data / "ml-1m.zip")
    subprocess.run([sys.executable, "-m", "recdemo", *command, zipped], check=True)
    rebuilt = load_truth(tmp_path / "truth.npz", open_dataset().catalog.item_ids)
    stored = find_truth(open_dataset(), "jaccard", 100)
    assert rebuilt.hash() == stored.hash()
    assert rebuilt.overlaps.tolist() == stored.overlaps.tolist()
    for name in ("interaction_counts.csv", "ceiling.json"):
        assert (tmp_path / name).read_bytes() == (bundled.folder() / name).read_bytes()


def test_a_zip_of_movielens_1m_gives_the_catalog_and_truth_of_the_bundle(real_data, home):
    zipped, ours = open_dataset(str(real_data / "ml-1m.zip")), open_dataset()
    assert zipped.catalog.item_ids == ours.catalog.item_ids
    for field, values in ours.catalog.fields.items():
        assert zipped.catalog.fields[field] == values
    assert zipped.counts.tolist() == ours.counts.tolist()
    truth = find_truth(zipped, "jaccard", 100)
    assert truth.hash() == find_truth(ours, "jaccard", 100).hash()
    assert len(list((home / "truths").glob("ml-1m-*.npz"))) == 1
