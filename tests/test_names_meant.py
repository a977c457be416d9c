"""Which name was meant: among few, and among many, in a time that does not depend on how many."""

from __future__ import annotations

import difflib
import random
from collections.abc import Iterator
from unittest.mock import patch

import pytest

import thence
from thence.model.suggestions import COMPARED, FEW, did_you_mean, nearest

MANY = tuple(f"sensor_{number * 7919 % 10007}_{number}" for number in range(10_000))


@pytest.fixture
def compared() -> Iterator[list[str]]:
    """The names that were compared letter by letter since the test began."""
    names: list[str] = []
    set_seq1 = difflib.SequenceMatcher.set_seq1

    def counted(self: difflib.SequenceMatcher[str], name: str) -> None:
        if name:  # its first name is empty
            names.append(name)
        set_seq1(self, name)

    with patch.object(difflib.SequenceMatcher, "set_seq1", counted):
        yield names


def slips(name: str) -> Iterator[str]:
    """Two letters swapped, one left out, one too many, one wrong, another case."""
    yield name[1] + name[0] + name[2:]
    yield name[:3] + name[4:]
    yield name[:3] + "x" + name[3:]
    yield name[:3] + "x" + name[4:]
    yield name[:-1]
    yield name.upper()


@pytest.mark.parametrize("at", [0, 4321, 9999])
def test_one_of_many_names_is_found_by_comparing_a_few(at: int, compared: list[str]) -> None:
    for slip in slips(MANY[at]):
        assert nearest(slip, MANY) == MANY[at]
    assert len(compared) <= COMPARED * 6


def test_what_is_known_in_one_place_only_is_looked_at_too() -> None:
    assert nearest("lable", MANY, also=["label"]) == "label"
    assert (
        did_you_mean("sensr_0_0", MANY, "or else", also=["label"]) == "did you mean 'sensor_0_0'?"
    )
    assert did_you_mean("quite another", MANY, "or else", also=["label"]) == "or else"


def test_a_name_as_long_as_a_book_is_compared_with_nothing(compared: list[str]) -> None:
    assert nearest("x" * 1_000_000, ["x" * 1_000_001, "y"]) is None
    assert not compared


def test_what_is_known_is_its_own_nearest() -> None:
    chance = random.Random(7)
    names = ("".join(chance.choices("abc_", k=chance.randint(1, 8))) for _ in range(200))
    known = list(dict.fromkeys(names))
    assert len(known) > FEW
    assert [nearest(name, known) for name in known] == known


def test_thousands_of_slips_are_told_at_once(compared: list[str]) -> None:
    events = "".join(f"event {name}(k int);" for name in MANY)
    rules = "".join(f"\nr(k) <- {name.replace('sensor', 'senser')}(k);" for name in MANY[:500])
    with pytest.raises(thence.ThenceError) as caught:
        thence.compile(events + rules)
    assert isinstance(caught.value, thence.ProgramError)
    hints = [found.hint for found in caught.value.diagnostics]
    assert hints == [f"did you mean '{name}'?" for name in MANY[:500]]
    assert len(compared) <= 500 * 3 * COMPARED  # among the events, and the words of the language
