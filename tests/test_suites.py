from pathlib import Path

import pytest

from recdemo.dataset import bundled
from recdemo.embedding.options import EmbedOptions
from recdemo.errors import EmbeddingError
from recdemo.suites import open_suite


def test_the_study_is_its_18_published_rows_without_a_prefix() -> None:
    suite = open_suite("study")
    rows = {f"{row.model}@{row.dimension}" for row in bundled.read_published()}
    assert len(suite.models) == 18
    assert {str(name) for name in suite.models} == rows
    assert suite.options(EmbedOptions()).prefix == "none"
    assert suite.options(EmbedOptions(prefix="default")).prefix == "default"  # asked for


def test_a_file_names_models_text_prefix_and_who_shortens(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'models = ["baseline:lsa@64,128", "ollama:bge-m3"]\n'
        'text = "card"\nprefix = "p: "\nshorten = "here"\n'
    )
    suite = open_suite(str(path))
    assert [str(n) for n in suite.models] == [
        "baseline:lsa@64",
        "baseline:lsa@128",
        "ollama:bge-m3",
    ]
    assert suite.text == "card"
    asked = suite.options(EmbedOptions(max_cost=1.0))
    assert (asked.prefix, asked.shorten, asked.max_cost) == ("p: ", "here", 1.0)
    assert suite.options(EmbedOptions(shorten="service")).shorten == "service"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("models = []", "no models in"),
        ("", "no models in"),
        ('models = "baseline:genre"', "no models in"),
        ("models = [1]", "no models in"),
        ('models = ["genre"]', "cannot read the model 'genre'"),
        ('models = ["baseline:genre"]\nk = 3\nb = 1', "unknown b, k in"),
        ('models = ["baseline:genre"]\ntext = 3', "cannot use text = 3 in"),
        (
            'models = ["baseline:genre"]\nshorten = "no"',
            "unknown shorten 'no' in .*; expected auto",
        ),
        ("models = [", "cannot read the suite"),
        (b"\xff\xfe", "cannot read the suite"),
    ],
)
def test_a_file_that_says_something_else_is_one_line(
    tmp_path: Path, content: str | bytes, message: str
) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(EmbeddingError, match=message) as error:
        open_suite(str(path))
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_and_an_unknown_name_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match="cannot read the suite"):
        open_suite(str(tmp_path / "none.toml"))
    with pytest.raises(EmbeddingError, match=r"expected offline, study, or a file FILE\.toml"):
        open_suite("nope")
