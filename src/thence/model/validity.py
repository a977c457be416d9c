"""When rows of a versioned table are valid, as two columns without nulls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thence.model.errors import InputError
from thence.model.schema import VALID_FROM, VALID_TO, Validity
from thence.model.time import EARLIEST, LATEST, format_timestamp
from thence.model.types import TIMESTAMP


def validity_columns(
    valid: Validity, count: int, read: Callable[[str], Any], what: str
) -> dict[str, Any]:
    """From when and up to when each row is valid, where ``read`` gives a column of timestamps;
    null is a side without a bound. ``what`` the rows are of stands in errors.

    >>> times = {"since": pa.array([0, None], TIMESTAMP.arrow)}
    >>> found = validity_columns(Validity("since", None), 2, times.get, "table 'rank'")
    >>> found[VALID_FROM].cast(pa.int64()).to_pylist() == [0, EARLIEST]
    True
    """
    found = {}
    for name, column, unbounded in (
        (VALID_FROM, valid.since, EARLIEST),
        (VALID_TO, valid.until, LATEST + 1),
    ):
        times = pa.nulls(count, TIMESTAMP.arrow) if column is None else read(column)
        found[name] = times.fill_null(pa.scalar(unbounded, TIMESTAMP.arrow))
    wrong = pc.greater(found[VALID_FROM], found[VALID_TO])
    at = pc.index(wrong, True).as_py()
    if at >= 0:
        since, until = (format_timestamp(found[name][at].value) for name in found)
        raise InputError(
            f"{what}, row {at + 1}: it is valid from {since}, which is after {until}, up to which "
            "it is valid."
        )
    return found
