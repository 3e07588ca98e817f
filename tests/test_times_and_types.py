"""What the fast ways of reading take, the slow ones take alike; faults name their line."""

import io
import json
from collections.abc import Sequence

import numpy as np
import pytest

from recdemo.dataset.entries import Columns, id_text, number, seconds
from recdemo.dataset.reading import Reading, read_interactions
from recdemo.dataset.records import TextForm
from recdemo.dataset.tables import Form, JsonForm, Table
from recdemo.errors import DatasetError

COLUMNS = Columns("item", "user", "value", "time")
MARK = {"item": "zz", "user": "other", "value": 1, "time": 1}  # of an item that nobody knows


def read(data: str, form: Form, ids: Sequence[str] = ("a", "b")) -> Reading:
    table = Table("r", form, lambda: io.BytesIO(data.encode()))
    return read_interactions(table, ids, COLUMNS)


def times(reading: Reading) -> list[int]:
    found = reading.interactions.timestamps
    assert found is not None
    return [int(second) for second in found]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("1970-01-02", 86_400),
        ("1970-01-01T00:01", 60),
        ("1970-01-01 00:00:01.9", 1),
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T23:59:59.5Z", -1),
        ("1970-01-01 00:00:07 UTC", 7),
        ("19700102", 19_700_102),  # a number of seconds like any other
        ("12.7", 12),
        ("-1.5", -2),
        ("1e3", 1000),
    ],
)
def test_times_are_seconds_or_iso_dates_in_utc(written: str, expected: int) -> None:
    assert seconds(written) == expected
    line = f"u,a,1,{written}\n"
    head = "user,item,value,time\n"
    assert times(read(head + line, TextForm())) == [expected]
    assert times(read(f'{head}{line}"other,",zz,1,1\n', TextForm())) == [expected]
    as_json = json.dumps({"user": "u", "item": "a", "value": 1, "time": written})
    assert times(read(as_json + "\n", JsonForm())) == [expected]


@pytest.mark.parametrize("written", ["", "soon", "2020-13-01", "2020-1-5", "1e30", "nan", "inf"])
def test_what_is_no_time_is_a_fault(written: str) -> None:
    assert seconds(written) is None
    for extra in ("", '"other,",zz,1,1\n'):
        data = f"user,item,value,time\nu,a,1,{written}\n{extra}"
        with pytest.raises(DatasetError, match="line 2: expected seconds or an ISO 8601 date"):
            read(data, TextForm())


def test_numbers_and_ids_of_every_type() -> None:
    assert [id_text(value) for value in ("007", 7, 7.0, 7.5, None, float("nan"))] == [
        "007", "7", "7", "7.5", "", "",
    ]  # fmt: skip
    for odd in (True, [7], {"a": 7}):
        with pytest.raises(TypeError, match="expected text or a number"):
            id_text(odd)
    assert [number(value) for value in ("4.5", 4, "x", "", True, None, float("nan"), 10**400)] == [
        4.5, 4.0, None, None, None, None, None, None,
    ]  # fmt: skip


def test_json_lines_read_alike_block_by_block_and_line_by_line() -> None:
    random = np.random.default_rng(5)
    for _ in range(25):
        rows = [
            {"item": "ab"[item], "user": int(user), "value": value / 2, "time": int(time)}
            for item, user, value, time in random.integers(0, 2, (random.integers(1, 12), 4))
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        fast = read(text, JsonForm())
        slow = read(text + json.dumps({**MARK, "note": "é"}) + "\n", JsonForm())  # an escape
        assert np.array_equal(fast.interactions.users, slow.interactions.users)
        assert np.array_equal(fast.interactions.rows, slow.interactions.rows)
        assert times(fast) == times(slow)
        assert (fast.n_entries, fast.n_repeated) == (slow.n_entries - 1, slow.n_repeated)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({**MARK, "user": " "}, "the id in column 'user' is empty"),
        ({**MARK, "user": None}, "the id in column 'user' is empty"),
        ({"user": "u", "value": 1, "time": 1}, "the id in column 'item' is empty"),
        ({**MARK, "user": True}, "expected text or a number, got True in column 'user'"),
        ({**MARK, "value": "good"}, "expected a number in column 'value', got 'good'"),
        ({**MARK, "value": False}, "expected a number in column 'value', got False"),
        ({**MARK, "value": float("nan")}, "expected a number in column 'value', got nan"),
        ({**MARK, "value": 10**400}, "expected a number in column 'value', got 1000"),
        ({**MARK, "time": None}, "expected seconds or an ISO 8601 date in column 'time', got None"),
        ({**MARK, "time": 10**19}, "expected seconds or an ISO 8601 date in column 'time', got 1"),
        ([1], "expected a JSON object, got an array: '[1]'"),
    ],
)
def test_a_fault_in_json_lines_names_its_line(row: object, message: str) -> None:
    text = f"{json.dumps(MARK)}\n\n{json.dumps(row)}\n"
    with pytest.raises(DatasetError) as error:
        read(text, JsonForm())
    assert str(error.value).startswith(f"r, line 3: {message}")
