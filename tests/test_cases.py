"""Every case of ``cases/*.yaml`` on every host."""

from __future__ import annotations

import pytest
from case_files import Case, load_cases
from hosts import HOSTS

CASES = load_cases()


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Case, host: str) -> None:
    found = HOSTS[host](case.program, case.events, case.until, coverage=case.coverage)
    assert found == case.expected(found.keys())


def test_cases_have_names_of_their_own() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
