import random
from collections.abc import Sequence

import numpy as np
import pytest

from recdemo.dataset import open_dataset
from recdemo.dataset.catalog import Value
from recdemo.errors import DatasetError
from recdemo.search import TitleIndex, build_index, find_one, search
from recdemo.search.ranking import holding
from recdemo.search.spelling import read_query
from tests import tiny

FILMS = {  # title: year, directors, how popular
    "The Matrix": (1999, "Lana Wachowski|Lilly Wachowski", 2590),
    "Vertigo": (1958, "Alfred Hitchcock", 1033),
    "North by Northwest": (1959, "Alfred Hitchcock", 1315),
    "Storefront Hitchcock": (1998, "Jonathan Demme", 22),
    "Les Misérables": (1998, "Bille August", 438),
    "M*A*S*H": (1970, "Robert Altman", 1041),
    "Smashing Time": (1967, "Desmond Davis", 4),
    "Seven (Se7en)": (1995, "David Fincher", 1137),
    "Seven Samurai": (1954, "Akira Kurosawa", 628),
    "The City of Lost Children (La Cité des enfants perdus)": (1995, "Marc Caro", 403),
    "8MM": (1999, "Joel Schumacher", 338),
    "8½": (1963, "Federico Fellini", 172),
    "Star Wars": (1977, "George Lucas", 2991),
    "Starman": (1984, "John Carpenter", 3500),
    "Face/Off": (1997, "John Woo", 1006),
    "The Other Side of Sunday (Søndagsengler)": (1996, "Berit Nesheim", 1),
    "Mad Max 2 (a.k.a. The Road Warrior)": (1981, "George Miller", 1000),
    "Batman": (1989, "Tim Burton", 1431),
    "Batman: Mask of the Phantasm": (1993, "Eric Radomski", 100),
    "The Shawshank Redemption": (1994, "Frank Darabont", 2227),
    "2001: A Space Odyssey": (1968, "Stanley Kubrick", 1716),
    "Alive & Kicking": (1996, "Nancy Meckler", 2),
    "Das Boot": (1981, "Wolfgang Petersen", 1000),
    "Toy Story": (1995, "John Lasseter", 2077),
    "Toy Story 2": (1999, "John Lasseter", 1585),
    "Saving Private Ryan": (1998, "Steven Spielberg", 2653),
    "Ryan's Daughter": (1970, "David Lean", 100),
    "Сталкер": (1979, "Андрей Тарковский", 50),
    "千と千尋の神隠し": (2001, "宮崎 駿", 60),
    "باب الحديد": (1958, "يوسف شاهين", 5),
}
HAMLETS = [("Hamlet", year) for year in (1948, 1990, 1996, 2000)]


def index_of(
    *titles: str,
    years: Sequence[Value] = (),
    directors: Sequence[Value] = (),
    counts: Sequence[int] | None = None,
) -> TitleIndex:
    fields: dict[str, Sequence[Value]] = {"title": titles, "year": years, "directors": directors}
    given = {name: values for name, values in fields.items() if name == "title" or values}
    return build_index(tiny.catalog("tiny", **given), counts)


@pytest.fixture(scope="module")
def films() -> TitleIndex:
    return index_of(
        *FILMS,
        *(title for title, _ in HAMLETS),
        years=[year for year, _, _ in FILMS.values()] + [year for _, year in HAMLETS],
        directors=[tuple(names.split("|")) for _, names, _ in FILMS.values()] + [()] * 4,
        counts=[count for _, _, count in FILMS.values()] + [10, 500, 900, 300],
    )


def labels(index: TitleIndex, query: str) -> list[str]:
    return [index.catalog.label(row) for row in search(index, query).rows]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("the matrix", "The Matrix"),
        ("matrix", "The Matrix"),
        ("MATRIX, the", "The Matrix"),
        ("Matrix, The (1999)", "The Matrix"),
        ("matr", "The Matrix"),
        ("wachowski matrix", "The Matrix"),
        ("hitchcock 1958", "Vertigo"),
        ("1958 alfred", "Vertigo"),
        ("miserables", "Les Misérables"),
        ("LES MISÉRABLES", "Les Misérables"),
        ("les mise\N{COMBINING ACUTE ACCENT}rables", "Les Misérables"),
        ("mash", "M*A*S*H"),
        ("m.a.s.h.", "M*A*S*H"),
        ("se7en", "Seven (Se7en)"),
        ("seven se7en", "Seven (Se7en)"),
        ("cite enfants", "The City of Lost Children (La Cité des enfants perdus)"),
        ("lost city children", "The City of Lost Children (La Cité des enfants perdus)"),
        ("8mm", "8MM"),
        ("8 1/2", "8½"),
        ("face off", "Face/Off"),
        ("faceoff", "Face/Off"),
        ("sondagsengler", "The Other Side of Sunday (Søndagsengler)"),
        ("road warrior", "Mad Max 2 (a.k.a. The Road Warrior)"),
        ("the road warrior", "Mad Max 2 (a.k.a. The Road Warrior)"),
        ("the batman", "Batman"),
        ("alive and kicking", "Alive & Kicking"),
        ("boot", "Das Boot"),
        ("ryans daughter", "Ryan's Daughter"),
        ("ryan’s daughter", "Ryan's Daughter"),  # noqa: RUF001
        ("сталкер", "Сталкер"),
        ("ТАРКОВСКИЙ", "Сталкер"),
        ("千尋", "千と千尋の神隠し"),
        ("الحديد", "باب الحديد"),
    ],
)
def test_a_film_is_found_however_its_title_is_typed(
    films: TitleIndex, query: str, first: str
) -> None:
    hits = search(films, query)
    assert hits.exact
    assert films.catalog.title(hits.rows[0]) == first


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("vertgo", "Vertigo"),
        ("shawshank redempsion", "The Shawshank Redemption"),
        ("redempsion shawshank", "The Shawshank Redemption"),
        ("shawshank redmpt", "The Shawshank Redemption"),
        ("star wras", "Star Wars"),
        ("starwars", "Star Wars"),
        ("hitchcok 1958", "Vertigo"),
        ("сталкир", "Сталкер"),
    ],
)
def test_a_typo_finds_the_nearest_titles_and_says_that_they_are_not_exact(
    films: TitleIndex, query: str, first: str
) -> None:
    hits = search(films, query)
    assert not hits.exact
    assert films.catalog.title(hits.rows[0]) == first


def test_better_kinds_of_hits_come_first_and_the_more_popular_among_equals() -> None:
    titles = {  # in the order wanted for "star"; the counts alone would reverse it
        "The Star": ("Ann", 1),
        "Gwiazda (Star)": ("Ann", 2),
        "Stardust": ("Ann", 4),
        "Star Wars": ("Ann", 3),
        "A Bright Star": ("Ann", 5),
        "Mustard": ("Ann", 6),
        "Heat": ("Ringo Starr", 7),
    }
    directors = [(name,) for name, _ in titles.values()]
    index = index_of(*titles, directors=directors, counts=[count for _, count in titles.values()])
    assert labels(index, "star") == list(titles)


def test_without_counts_the_older_film_and_then_the_smaller_row_comes_first() -> None:
    index = index_of("Dune", "Dune", "Dune", "Dune", years=[2021, 1984, None, 1984])
    assert search(index, "dune").rows == (1, 3, 0, 2)


def test_the_total_counts_what_the_limit_cuts_off(films: TitleIndex) -> None:
    hits = search(films, "hamlet", limit=2)
    assert [films.catalog.label(row) for row in hits.rows] == ["Hamlet (1996)", "Hamlet (1990)"]
    assert hits.total == 4
    assert search(films, "hamlet", limit=0).rows == ()


def test_all_words_must_be_found(films: TitleIndex) -> None:
    assert labels(films, "hitchcock") == [
        "Storefront Hitchcock (1998)",
        "North by Northwest (1959)",
        "Vertigo (1958)",
    ]
    assert labels(films, "hitchcock north") == ["North by Northwest (1959)"]


def test_three_digits_may_begin_a_year_but_one_digit_is_looked_for_in_titles_only(
    films: TitleIndex,
) -> None:
    assert labels(films, "hitchcock 195") == ["North by Northwest (1959)", "Vertigo (1958)"]
    assert labels(films, "2") == [
        "2001: A Space Odyssey (1968)",
        "Toy Story 2 (1999)",
        "Mad Max 2 (a.k.a. The Road Warrior) (1981)",
        "8½ (1963)",
    ]


@pytest.mark.parametrize("query", ["", "  ", "?!", "- / *", "\x00\x1b", "\u200b", "()"])
def test_a_query_without_letters_and_digits_finds_nothing(films: TitleIndex, query: str) -> None:
    assert search(films, query) == search(films, "")
    assert search(films, query).total == 0
    with pytest.raises(DatasetError, match="expected words of a title"):
        find_one(films, query)


@pytest.mark.parametrize(
    "query", ["x" * 10_000, "matrix " * 1_500, "\ud800", "a b c " * 2000, "(" * 10_000, "1 " * 5000]
)
def test_absurd_queries_do_no_harm(films: TitleIndex, query: str) -> None:
    assert search(films, query).total <= len(FILMS)


def test_a_long_query_that_repeats_a_word_is_that_word(films: TitleIndex) -> None:
    assert labels(films, "matrix " * 1_500) == ["The Matrix (1999)"]


def test_one_clear_hit_is_what_a_query_means(films: TitleIndex) -> None:
    titles = {
        "matrix": "The Matrix",
        "toy story": "Toy Story",  # not Toy Story 2, which only starts so
        "seven": "Seven (Se7en)",
        "star": "Star Wars",  # not Starman, however popular
        "mash": "M*A*S*H",
        "2001": "2001: A Space Odyssey",
        "lasseter 1999": "Toy Story 2",
        "the batman": "Batman",
    }
    assert {query: films.catalog.title(find_one(films, query)) for query in titles} == titles


def test_every_label_means_its_own_film(films: TitleIndex) -> None:
    catalog = films.catalog
    assert [find_one(films, catalog.label(row)) for row in range(len(catalog))] == list(
        range(len(catalog))
    )


def test_titles_that_fit_equally_well_are_listed_with_their_years(films: TitleIndex) -> None:
    with pytest.raises(DatasetError) as error:
        find_one(films, "hamlet")
    assert str(error.value).splitlines() == [
        "4 titles fit 'hamlet' equally well; add the year or more of the title:",
        "  Hamlet (1996)",
        "  Hamlet (1990)",
        "  Hamlet (2000)",
        "  Hamlet (1948)",
    ]


@pytest.mark.parametrize("query", ["hamlet 1996", "Hamlet (1996)", "1996 hamlet", "HAMLET, 1996"])
def test_the_year_picks_one_of_them(films: TitleIndex, query: str) -> None:
    assert films.catalog.label(find_one(films, query)) == "Hamlet (1996)"


@pytest.mark.parametrize(("query", "n_titles"), [("hitchcock", 3), ("ryan", 2), ("1995", 3)])
def test_a_word_that_several_films_have_in_different_places_is_not_clear(
    films: TitleIndex, query: str, n_titles: int
) -> None:
    with pytest.raises(DatasetError, match=f"^{n_titles} titles fit '{query}'"):
        find_one(films, query)


def test_twins_of_one_year_are_told_apart_by_their_ids() -> None:
    index = index_of("Chaos", "Chaos", years=[2005, 2005])
    with pytest.raises(DatasetError, match=r"by its id:\n  Chaos \(2005\) id:i0\n"):
        find_one(index, "chaos 2005")
    assert find_one(index, "id:i1") == 1


def test_a_long_list_of_candidates_is_cut() -> None:
    index = index_of(*(f"Rocky {number}" for number in range(30)))
    with pytest.raises(DatasetError, match=r"and 20 more$"):
        find_one(index, "rocky")


def test_an_id_finds_its_item_and_an_unknown_id_nothing(films: TitleIndex) -> None:
    assert find_one(films, " id:i1 ") == 1
    assert search(films, "id:i1").rows == (1,)
    with pytest.raises(DatasetError, match="has no item 'i999'; expected an item id"):
        find_one(films, "id:i999")


def test_where_nothing_is_found_the_nearest_titles_are_suggested(films: TitleIndex) -> None:
    with pytest.raises(DatasetError, match=r"fits 'vertgo'; the nearest:\n  Vertigo \(1958\)$"):
        find_one(films, "vertgo")
    with pytest.raises(DatasetError, match="fits 'qwertyuiop'; expected words"):
        find_one(films, "qwertyuiop")


def test_no_title_can_break_the_lines_of_a_message() -> None:
    index = index_of("Evil\n\x1b[31mred", "Evil \u202etwin")
    with pytest.raises(DatasetError) as error:
        find_one(index, "evil")
    assert str(error.value).splitlines()[1:] == ["  Evil [31mred", "  Evil twin"]


def test_titles_of_nothing_but_signs_are_harmless() -> None:
    index = index_of("...", "(?)", "", "Heat", years=[None, 1995, None, 1995])
    assert search(index, "heat").rows == (3,)
    assert search(index, "1995").rows == (1, 3)
    assert search(index, "haet").rows == (3,)


def test_a_catalog_without_titles_searches_item_ids() -> None:
    index = build_index(tiny.catalog(text=["one", "two", "three"]))
    assert search(index, "i2").rows == (2,)
    assert find_one(index, "I1") == 1


def test_an_empty_catalog_finds_nothing() -> None:
    index = build_index(tiny.catalog(title=[]))
    assert [search(index, query).total for query in ("", "a", "abc", "1999")] == [0, 0, 0, 0]


def test_counts_of_another_catalog_are_refused() -> None:
    with pytest.raises(ValueError, match="2 counts for 1 items"):
        index_of("Heat", counts=[1, 2])


@pytest.mark.parametrize("letters", ["abcde é", "абвгд ж", "がかきく 千尋", "a0-1' b2½", "😀😁a b"])
def test_the_index_finds_exactly_what_looking_at_every_title_finds(letters: str) -> None:
    choose = random.Random(7)

    def text(longest: int) -> str:
        return "".join(choose.choices(letters, k=choose.randint(1, longest)))

    names = [text(4) for _ in range(20)]
    index = index_of(
        *(text(12) for _ in range(1003)), directors=[(choose.choice(names),) for _ in range(1003)]
    )
    n_found = 0
    for _ in range(200):
        readings = read_query(text(5))
        words = readings[0].words if readings else ()
        looked_at = [
            position
            for position, held in enumerate(zip(index.titles, index.names, strict=True))
            if all(any(spelling in text for spelling in word for text in held) for word in words)
        ]
        found = holding(index, words).tolist()
        assert found == looked_at
        n_found += 0 < len(found) < len(index)
    assert n_found > 50  # the test has seen both hits and misses


def test_search_ranks_many_hits_as_it_ranks_few() -> None:
    titles = [f"{'Alpha' if row % 3 else 'Mega alpha'} {row}" for row in range(5000)]
    hits = search(index_of(*titles), "alpha", limit=5000)
    starts = [row for row in range(5000) if row % 3]
    assert list(hits.rows) == starts + list(range(0, 5000, 3))


@pytest.mark.parametrize(
    ("query", "label"),
    [
        ("hitchcock 1958", "Vertigo (1958)"),
        ("the matrix", "The Matrix (1999)"),
        ("matrix", "The Matrix (1999)"),
        ("miserables 1998", "Les Misérables (1998)"),
        ("mash", "M*A*S*H (1970)"),
        ("hamlet 1996", "Hamlet (1996)"),
        ("8mm", "8MM (1999)"),
        ("se7en", "Seven (Se7en) (1995)"),
        ("star wars episode v", "Star Wars: Episode V - The Empire Strikes Back (1980)"),
        ("id:260", "Star Wars: Episode IV - A New Hope (1977)"),
    ],
)
def test_films_of_movielens_are_found(movielens: TitleIndex, query: str, label: str) -> None:
    assert movielens.catalog.label(find_one(movielens, query)) == label
    assert labels(movielens, query)[0] == label


@pytest.mark.parametrize(
    ("query", "label"),
    [
        ("vertgo", "Vertigo (1958)"),
        ("shawshank redempsion", "The Shawshank Redemption (1994)"),
        ("star wras", "Star Wars: Episode IV - A New Hope (1977)"),
    ],
)
def test_films_of_movielens_are_found_with_typos(
    movielens: TitleIndex, query: str, label: str
) -> None:
    assert labels(movielens, query)[0] == label


def test_every_label_of_movielens_means_its_own_film(movielens: TitleIndex) -> None:
    rows = range(0, len(movielens), 7)
    assert [find_one(movielens, movielens.catalog.label(row)) for row in rows] == list(rows)


@pytest.fixture(scope="module")
def movielens() -> TitleIndex:
    dataset = open_dataset()
    return build_index(dataset.catalog, np.asarray(dataset.counts))
