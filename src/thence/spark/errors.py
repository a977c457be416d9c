"""What went wrong in a Spark job, in one message of Thence's own.

Events are read and rules are evaluated in Spark's worker processes. An error there comes back
inside an exception of Spark's, between two stack traces; here it is taken out again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from thence.model import errors
from thence.model.errors import InputError, ThenceError
from thence.spark.jvm import log_file
from thence.spark.required import Py4JError, PySparkException

_CLASSES: dict[str, type[ThenceError]] = {
    kind.__name__: kind
    for kind in (
        errors.InputError,
        errors.EvaluationError,
        errors.LimitError,
        errors.StateError,
        ThenceError,
    )
}
# The message of an exception ends where Spark's own words go on.
_END = r"\s*SQLSTATE: |\n\s+at [\w.$]+\(|\n\nJVM stacktrace|\n\nDuring handling|\Z"
_REST = rf"(?P<message>.*?)(?={_END})"
_RAISED = re.compile(rf"thence\.model\.errors\.(?P<kind>\w+): {_REST}", re.DOTALL)
_REFUSED = re.compile(rf"\[USER_RAISED_EXCEPTION\] {_REST}", re.DOTALL)
_OTHER_STAGES = "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"
_HEADLINE = re.compile(r"\[(?P<condition>[A-Z][A-Z0-9_.]+)\] *(?P<text>[^\n]*)")


def explain_failure(exception: BaseException) -> ThenceError | None:
    """The error of Thence that an exception of Spark's was caused by; None if it is Spark's own.

    >>> text = '''[STREAM_FAILED] Query ended with exception: Traceback (most recent call last):
    ... thence.model.errors.EvaluationError: 'n * 2' overflows
    ...  SQLSTATE: 38000'''
    >>> explain_failure(RuntimeError(text))
    EvaluationError("'n * 2' overflows")
    >>> explain_failure(RuntimeError("[USER_RAISED_EXCEPTION] no time SQLSTATE: P0001"))
    InputError('no time')
    """
    if isinstance(exception, ThenceError):
        return exception
    text = str(exception)
    # Where one error led to another, the last is the one that was meant for the user.
    raised = [found for found in _RAISED.finditer(text) if found["kind"] in _CLASSES]
    if raised:
        return _CLASSES[raised[-1]["kind"]](raised[-1]["message"].rstrip())
    if _OTHER_STAGES in text:
        return errors.StateError(
            "the changed program has other stages than the query that made the checkpoint, so it "
            "cannot go on from there. Go on with the program as it was, or begin with a new "
            "checkpoint. thence.spark.explain(program, streaming=True) shows the stages."
        )
    refused = _REFUSED.search(text)
    return None if refused is None else InputError(refused["message"].rstrip())


def headline(exception: BaseException) -> str:
    """The line of a failure of Spark's own that says most, without stack traces.

    >>> headline(RuntimeError("[A_B] Query ended: [PATH_NOT_FOUND] No path. SQLSTATE: 42K03"))
    'No path. (PATH_NOT_FOUND)'
    >>> headline(ValueError("first\\nsecond"))
    'first'
    """
    text = str(exception).strip()
    found = list(_HEADLINE.finditer(re.sub(r"(?<=.)(\[[A-Z][A-Z0-9_.]+\])", r"\n\1", text)))
    if not found:
        return text.split("\n", 1)[0]
    said = re.sub(r"\s*SQLSTATE: \w+", "", found[-1]["text"]).strip()
    said = re.sub(r"^Query \[.*?\] terminated with exception: ", "", said)
    return f"{said} ({found[-1]['condition']})"


@contextmanager
def explained() -> Iterator[None]:
    """Turn whatever a Spark job fails with into an error of Thence's, in one message."""
    try:
        yield
    except (PySparkException, Py4JError) as problem:
        known = explain_failure(problem)
        if known is not None:
            raise known from None
        log = log_file()
        more = "" if log is None else f" Spark's log is {log}."
        raise InputError(f"Spark could not do this: {headline(problem)}{more}") from problem
