import gzip
import io
from pathlib import Path
from typing import IO, cast

import numpy as np
import pytest

from recdemo.dataset.entries import Columns
from recdemo.dataset.interactions import in_order_of_appearance, latest
from recdemo.dataset.options import Filters
from recdemo.dataset.reading import Reading, read_interactions
from recdemo.dataset.records import BLOCK, TextForm
from recdemo.dataset.tables import Table, table_at
from recdemo.errors import DatasetError

PLAIN = Columns(item="item", user="user")
RATED = Columns(item="item", user="user", value="value", timestamp="time")
HEADER = ("user", "item", "value", "time")


def read(
    text: str | bytes,
    *ids: str,
    columns: Columns = RATED,
    filters: Filters = Filters(),  # noqa: B008 - frozen
    separator: str = ",",
) -> Reading:
    data = text.encode() if isinstance(text, str) else text
    header = HEADER if separator == "::" else None
    table = Table("r.csv", TextForm(separator), lambda: io.BytesIO(data), header)
    return read_interactions(table, ids, columns, filters)


def pairs(reading: Reading) -> list[tuple[int, int]]:
    found = reading.interactions
    return list(zip(found.users.tolist(), found.rows.tolist(), strict=True))


def test_entries_keep_the_order_of_the_file_and_users_are_numbered_as_they_appear() -> None:
    reading = read("user,item,value,time\nzoe,b,5,30\nadam,a,3,10\nzoe,a,4,20\n", "a", "b")
    assert pairs(reading) == [(0, 1), (1, 0), (0, 0)]
    assert reading.interactions.timestamps is not None
    assert reading.interactions.timestamps.tolist() == [30, 10, 20]
    assert (reading.interactions.n_users, reading.interactions.n_items) == (2, 2)


def test_columns_are_found_by_name_and_the_others_do_not_matter() -> None:
    reading = read("note,time,item,x,user,value\nso so,5,a,,u,1\n,6,b,y,u,2\n", "a", "b")
    assert pairs(reading) == [(0, 0), (0, 1)]


def test_a_file_without_timestamps_has_none() -> None:
    reading = read("user,item\nu,a\n", "a", columns=PLAIN)
    assert reading.interactions.timestamps is None


def test_ids_are_text_so_007_and_7_are_two_items_and_na_is_an_id() -> None:
    text = "user,item,value,time\nu,7,1,1\nu,007,1,1\nu,NA,1,1\n07,7,1,1\n7,7,1,1\n"
    reading = read(text, "007", "7", "NA")
    assert pairs(reading) == [(0, 1), (0, 0), (0, 2), (1, 1), (2, 1)]
    quoted = read(text.replace("7,1,1", '"7",1,1').replace('00"7"', '"007"'), "007", "7", "NA")
    assert pairs(quoted)[1] == (0, 0)


@pytest.mark.parametrize("quote", ["", '"'])
def test_the_latest_entry_of_a_repeated_pair_counts_and_the_later_line_of_equals(
    quote: str,
) -> None:
    lines = ["u,a,1,50", "u,a,2,90", "u,b,9,10", "u,a,3,70", "v,a,4,5", "v,a,5,5"]
    text = "user,item,value,time\n" + "\n".join(
        f"{quote}{line[0]}{quote}{line[1:]}" for line in lines
    )
    reading = read(text, "a", "b")
    assert reading.interactions.timestamps is not None
    assert pairs(reading) == [(0, 0), (0, 1), (1, 0)]
    assert reading.interactions.timestamps.tolist() == [90, 10, 5]
    assert (reading.n_entries, reading.n_repeated) == (6, 3)
    assert pairs(read(text, "a", "b", filters=Filters(5))) == [(0, 1), (1, 0)]  # 9, and the later 5


def test_a_value_that_was_lowered_later_does_not_count_as_the_higher_one() -> None:
    reading = read("user,item,value,time\nu,a,5,1\nu,a,2,2\nv,a,4,1\n", "a", filters=Filters(4))
    assert pairs(reading) == [(0, 0)]
    assert (reading.interactions.n_users, reading.n_repeated, reading.n_below) == (1, 1, 1)


def test_repeats_are_found_as_a_slow_loop_finds_them() -> None:
    random = np.random.default_rng(3)
    for n_entries in (0, 1, 2, 60):
        users = random.integers(0, 5, n_entries).astype(np.int32)
        rows = random.integers(0, 4, n_entries).astype(np.int32)
        times = random.integers(0, 3, n_entries)
        best: dict[tuple[int, int], int] = {}
        for i in range(n_entries):
            pair = (int(users[i]), int(rows[i]))
            if pair not in best or times[i] >= times[best[pair]]:
                best[pair] = i
        found = np.flatnonzero(latest(users, rows, times, 4)).tolist()
        assert found == sorted(best.values())


def test_without_timestamps_the_last_line_of_a_pair_counts() -> None:
    users, rows = np.array([0, 0, 1, 0], np.int32), np.array([2, 1, 2, 2], np.int32)
    assert latest(users, rows, None, 3).tolist() == [False, True, True, True]


def test_codes_are_renumbered_as_they_appear() -> None:
    codes, n_present = in_order_of_appearance(np.array([4, 1, 4, 0], np.int32), 6)
    assert (codes.tolist(), n_present) == ([0, 1, 0, 2], 3)


def test_unknown_items_are_left_out_and_counted_and_so_are_users_of_nothing_else() -> None:
    reading = read("user,item,value,time\nu,x,1,1\nv,a,1,1\nu,y,1,1\n", "a")
    assert pairs(reading) == [(0, 0)]
    assert (reading.interactions.n_users, reading.n_entries, reading.n_unknown) == (1, 3, 2)
    assert reading.unknown_id == "x"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_byte_order_marks_blank_lines_and_blanks_are_forgiven(
    newline: str, mark: bytes
) -> None:
    lines = ["user,item,value,time", "u,a,1.5,10", "", " v , b ,2, 20.9", "   ", "u,é,3,1e1"]
    reading = read(mark + newline.join(lines).encode(), "a", "b", "é")
    assert pairs(reading) == [(0, 0), (1, 1), (0, 2)]
    assert reading.interactions.timestamps is not None
    assert reading.interactions.timestamps.tolist() == [10, 20, 10]


def test_timestamps_beyond_53_bits_stay_exact() -> None:
    reading = read("user,item,value,time\nu,a,1,1700000000000000001\n", "a")
    assert reading.interactions.timestamps is not None
    assert reading.interactions.timestamps.tolist() == [1700000000000000001]


def test_separators_of_several_characters_leave_quotes_and_single_colons_alone() -> None:
    reading = read('u::a:b::5::1\nu::"c::4::2\n', "a:b", '"c', separator="::")
    assert pairs(reading) == [(0, 0), (0, 1)]


def test_quoted_fields_may_hold_separators_quotes_and_line_ends() -> None:
    text = 'user,item,note\nu,a,plain\n"u,1",b,"two\nlines, ""quoted"""\nu,b,after\n'
    assert pairs(read(text, "a", "b", columns=PLAIN)) == [(0, 0), (1, 1), (0, 1)]


def test_a_path_is_read_and_so_is_a_gzip(tmp_path: Path) -> None:
    text = b"user\titem\nu\ta\nv\ta\n"
    (tmp_path / "r.tsv").write_bytes(text)
    (tmp_path / "r.tsv.gz").write_bytes(gzip.compress(text))
    for name in ("r.tsv", "r.tsv.gz"):
        reading = read_interactions(table_at(tmp_path / name, "utf-8", "item"), ["a"], PLAIN)
        assert pairs(reading) == [(0, 0), (1, 0)]


def faulty_lines() -> list[tuple[str, str]]:
    return [
        ("u,a,4", "expected 4 fields separated by ',', got 3: 'u,a,4'"),
        ("u,a,4,5,6", "expected 4 fields separated by ',', got 5: 'u,a,4,5,6'"),
        ("u,a,good,5", "expected a number in column 'value', got 'good': 'u,a,good,5'"),
        ("u,a,nan,5", "expected a number in column 'value', got 'nan': 'u,a,nan,5'"),
        ("u,a,4,", "expected seconds or an ISO 8601 date in column 'time', got '': 'u,a,4,'"),
        (
            "u,a,4,1_0",
            "expected seconds or an ISO 8601 date in column 'time', got '1_0': 'u,a,4,1_0'",
        ),
        (
            "u,a,4,1e30",
            "expected seconds or an ISO 8601 date in column 'time', got '1e30': 'u,a,4,1e30'",
        ),
        ("u, ,4,5", "the id in column 'item' is empty: 'u, ,4,5'"),
        (",a,4,5", "the id in column 'user' is empty: ',a,4,5'"),
        ('"u,a,4,5', "is not CSV: unexpected end of data"),
    ]


@pytest.mark.parametrize(("line", "message"), faulty_lines())
def test_a_broken_line_is_named_by_its_number(line: str, message: str) -> None:
    with pytest.raises(DatasetError) as error:
        read(f"user,item,value,time\nu,b,1,1\n\n{line}\n", "a", "b")
    assert str(error.value) == f"r.csv, line 4: {message}"


def test_a_long_broken_line_is_shortened() -> None:
    with pytest.raises(DatasetError) as error:
        read(f"user,item,value,time\n{'x' * 500}\n", "a")
    assert len(str(error.value)) < 200


@pytest.mark.parametrize("user", ["u" * 200, f'"{"u" * 200}"', f'"{"u" * 200},1"'])
def test_the_line_number_is_right_in_a_later_block(user: str) -> None:
    line = f"{user},a,4.5,978300760\n"
    n_lines = 2 * BLOCK // len(line)
    text = "user,item,value,time\n" + line * n_lines + "u,a,4.5\n" + line
    with pytest.raises(DatasetError, match=rf"^r\.csv, line {n_lines + 2}: expected 4 fields"):
        read(text, "a")


def test_two_faults_that_make_the_number_of_separators_right_are_still_found() -> None:
    with pytest.raises(DatasetError, match=r"line 2: expected 4 fields.* got 3"):
        read("user,item,value,time\nu,a,4\nu,a,4,5,6\n", "a")


def test_bytes_that_are_not_utf8_are_an_error_with_their_line() -> None:
    with pytest.raises(DatasetError, match=r"^r\.csv, line 3: is not UTF-8 \(byte 0xe9\)"):
        read(b"user,item\nu,a\nv,\xe9\n", "a", columns=PLAIN)


def test_a_missing_or_repeated_column_is_an_error_that_shows_the_columns() -> None:
    with pytest.raises(DatasetError, match=r"has no column 'item'; its columns are 'user;item'$"):
        read("user;item\nu;a\n", "a", columns=PLAIN)
    with pytest.raises(DatasetError, match="has more than one column 'item'"):
        read("user,item,item\nu,a,a\n", "a", columns=PLAIN)
    with pytest.raises(DatasetError, match=r"r\.csv is empty"):
        read("", "a")


def test_a_truncated_or_altered_gzip_is_an_error(tmp_path: Path) -> None:
    whole = gzip.compress(b"user,item\n" + b"".join(b"u%d,a\n" % i for i in range(2000)))
    broken = tmp_path / "r.csv.gz"
    for data in (whole[:-9], whole[:200], whole[:-8] + b"\0" * 8, b"user,item\nu,a\n"):
        broken.write_bytes(data)
        with pytest.raises(DatasetError, match=r"cannot read .*gz: .*damaged"):
            read_interactions(table_at(broken, "utf-8", "item"), ["a"], PLAIN)
    with pytest.raises(DatasetError, match=r"none\.csv does not exist"):
        table_at(tmp_path / "none.csv", "utf-8", "item")


def test_a_file_that_has_no_lines_is_not_read_into_memory() -> None:
    class Endless(io.RawIOBase):
        def read(self, size: int = -1, /) -> bytes:
            return b"x" * size

    with pytest.raises(DatasetError, match="longer than 64 MB"):
        read_interactions(
            Table("r.dat", TextForm("::"), lambda: cast(IO[bytes], Endless()), HEADER), ["a"], RATED
        )


@pytest.mark.parametrize("user", ['"u{}"', '"u,{}"', '"u""{}"', '"u\n{}"'])
def test_many_random_files_are_read_alike_with_and_without_quotes(user: str) -> None:
    """The fast way takes what needs no quotes, the slow way the rest; both have to agree."""
    random = np.random.default_rng(7)
    head, ids = "user,item,value,time\n", ("00", "01", "02")
    for _ in range(25):
        rows = [
            (int(who), f"{item:02},{value}.5,{time}\n")
            for who, item, value, time in random.integers(0, 5, (random.integers(1, 12), 4))
        ]
        plain = read(head + "".join(f"u{who},{rest}" for who, rest in rows), *ids)
        quoted = read(head + "".join(f"{user.format(who)},{rest}" for who, rest in rows), *ids)
        assert pairs(plain) == pairs(quoted)
        assert plain.n_entries == quoted.n_entries == len(rows)
        assert (plain.n_unknown, plain.n_repeated) == (quoted.n_unknown, quoted.n_repeated)
