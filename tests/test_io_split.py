"""Rows are found by the name of their event, however the names are stored."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence.io.split import rows_by_name

NAMES = ["a", "b", "ab", "tick", "tock", "event_one", "event_two", "événement", "x" * 17, ""]
FORMS = {
    "string": lambda column: column,
    "large string": lambda column: column.cast(pa.large_string()),
    "string view": lambda column: column.cast(pa.string_view()),
    "dictionary": lambda column: column.dictionary_encode(),
    "slice": lambda column: pa.concat_arrays([pa.array(["a", "tick"]), column])[2:],
    "chunks": lambda column: pa.chunked_array([column[:1], column[1:4], column[4:]], pa.string()),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@given(words=st.lists(st.sampled_from(NAMES)), wanted=st.sets(st.sampled_from([*NAMES[:-1], "z"])))
def test_each_name_has_the_rows_that_hold_it(
    form: object, words: list[str], wanted: set[str]
) -> None:
    assert callable(form)
    found = rows_by_name(form(pa.array(words, pa.string())), wanted)
    expected = {name: [row for row, word in enumerate(words) if word == name] for name in wanted}
    assert {name: rows.tolist() for name, rows in found.items()} == expected


@given(words=st.lists(st.sampled_from(["event_one", "event_two", "other_one"])))
def test_names_of_one_length_are_told_apart(words: list[str]) -> None:
    found = rows_by_name(pa.array(words, pa.string()), ["event_one", "other_one"])
    assert found["event_one"].tolist() == [i for i, w in enumerate(words) if w == "event_one"]
    assert found["other_one"].tolist() == [i for i, w in enumerate(words) if w == "other_one"]


def test_a_null_is_no_name() -> None:
    found = rows_by_name(pa.array(["a", None, "a"]), ["a"])
    assert found["a"].tolist() == [0, 2]
    doubled = pa.DictionaryArray.from_arrays([0, 1, None, 0], ["a", "a"])
    assert rows_by_name(doubled, ["a"])["a"].tolist() == [0, 1, 3]
