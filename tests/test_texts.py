import pytest

from recdemo.errors import DatasetError
from recdemo.texts import NAMED, fill, text_names
from tests import tiny

FILMS = tiny.catalog(
    title=["Jaws", "Dr. No", "Untitled"],
    year=[1975, None, None],
    genres=[("Action", "Horror"), (), ()],
    directors=[("Steven Spielberg",), ("Terence Young",), ()],
    synopsis=["A shark.", "A spy.", "Nothing is known."],
)


def test_the_named_texts_are_filled_from_the_fields():
    assert fill(FILMS, "synopsis").values[0] == "A shark."
    assert fill(FILMS, "card").values[0] == (
        "Jaws (1975). Action, Horror. Directed by Steven Spielberg."
    )
    assert fill(FILMS, "full").values[0] == (
        "Jaws (1975). Action, Horror. Directed by Steven Spielberg. A shark."
    )


def test_sentences_and_parentheses_of_only_empty_fields_are_left_out():
    assert fill(FILMS, "card").values[1:] == ("Dr. No. Directed by Terence Young.", "Untitled.")


def test_a_full_stop_inside_a_field_ends_no_sentence():
    assert fill(FILMS, "{title} {year}. {genres}.").values[1] == "Dr. No ."


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{genres}. By {directors}.", ""),
        ("{title} ({genres}; {year}) x", "Untitled x"),
        ("{title} (from {year}, by {directors}).", "Untitled."),
        ("{title} ({title}, {year}).", "Untitled (Untitled, )."),
        ("{title} (", "Untitled ("),
        ("A film. {title}.", "A film. Untitled."),
        ("{{{title}}}", "{Untitled}"),
        ("{title}. {year}? {genres}!", "Untitled."),
        ("{year}. {title}", "Untitled"),
    ],
)
def test_templates_follow_the_rules_on_an_item_that_has_only_a_title(template, expected):
    untitled = tiny.catalog(
        title=["Untitled"], year=[None], genres=[()], directors=[()], other=["x"]
    )
    if expected:
        assert fill(untitled, template).values == (expected,)
    else:
        with pytest.raises(DatasetError, match="nothing remains"):
            fill(untitled, template)


def test_a_catalog_without_directors_has_cards_without_that_sentence():
    films = tiny.catalog(title=["Jaws"], year=[1975], genres=[("Action",)])
    assert fill(films, "card").values == ("Jaws (1975). Action.",)


def test_an_unknown_field_is_named_with_the_known_ones():
    with pytest.raises(DatasetError, match="no field 'plot'; its fields: title, year"):
        fill(FILMS, "{title} {plot}")
    with pytest.raises(DatasetError, match="no field 'synopsis'"):
        fill(tiny.catalog(title=["Jaws"]), "full")


def test_a_template_without_fields_is_refused():
    with pytest.raises(DatasetError, match="has no field"):
        fill(FILMS, "just {{words}}")


@pytest.mark.parametrize("template", ["{title", "{}", "{title!r}", "{title:>9}", "{title[0]}"])
def test_what_is_not_a_plain_field_is_refused(template):
    with pytest.raises(DatasetError, match="cannot read the"):
        fill(FILMS, template)


def test_items_of_whose_text_nothing_remains_are_named():
    films = tiny.catalog(title=["A", "B", "C"], synopsis=["ok", "", " \n\t"])
    with pytest.raises(DatasetError, match=r"2 of 3 items \(item_id i1, i2\)"):
        fill(films, "synopsis")


def test_the_default_is_what_the_catalog_has():
    assert text_names(None, FILMS) == ["synopsis"]
    assert text_names(None, tiny.catalog(title=["Jaws"])) == ["card"]
    with pytest.raises(DatasetError, match="--text"):
        text_names(None, tiny.catalog("shop", brand=["Acme"]))


def test_several_names_and_one_template_can_be_asked_for():
    assert text_names("card, full,card", FILMS) == ["card", "full"]
    assert text_names("{title}, {year}", FILMS) == ["{title}, {year}"]
    with pytest.raises(DatasetError, match="unknown text 'plot'; expected synopsis, card, full"):
        text_names("card,plot", FILMS)


def test_one_letter_or_another_order_of_ids_gives_another_hash():
    one = tiny.catalog(title=["ab", "c"])
    assert fill(one, "card").hash == fill(tiny.catalog(title=["ab", "c"]), "{title}.").hash
    assert fill(one, "{title}").hash != fill(tiny.catalog(title=["a", "bc"]), "{title}").hash
    assert set(NAMED) == {"synopsis", "card", "full"}
