"""What a running stream tells: a line for each batch in which something happened, and a summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from thence.model.time import format_timestamp, parse_timestamp
from thence.spark.idle import SINCE
from thence.spark.stream_sources import EVENTS, FILES

_EPOCH = "1970-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class Batch:
    """What one batch of a stream did. ``seconds`` is how long it took; ``watermark`` is the time
    before which no event is expected any more, in microseconds; ``idle`` are the inputs that have
    gone quiet and no longer hold anything up."""

    number: int
    events: int
    results: int
    late: int
    state_rows: int
    state_bytes: int
    seconds: float
    watermark: int | None
    idle: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether nothing came and nothing was found."""
        return not (self.events or self.results or self.late)

    def __str__(self) -> str:
        parts = [f"{counted(self.events, 'event')} ({self._rate}/s)"]
        parts.append(counted(self.results, "result"))
        if self.late:
            parts.append(f"{self.late:,} late")
        if self.idle:
            parts.append(f"idle: {' and '.join(self.idle)}")
        if self.watermark is not None:
            parts.append(f"watermark {format_timestamp(self.watermark)}")
        parts.append(f"state {counted(self.state_rows, 'row')}, {size(self.state_bytes)}")
        return f"batch {self.number}: " + ", ".join(parts)

    @property
    def _rate(self) -> str:
        rate = self.events / self.seconds if self.seconds else 0.0
        return f"{rate:.1f}" if 0 < rate < 10 else f"{rate:,.0f}"


@dataclass(frozen=True, slots=True)
class Totals:
    """What a stream has done since it was started."""

    batches: int = 0
    events: int = 0
    results: int = 0
    late: int = 0

    def plus(self, batch: Batch) -> Totals:
        """With one more batch."""
        return replace(
            self,
            batches=self.batches + 1,
            events=self.events + batch.events,
            results=self.results + batch.results,
            late=self.late + batch.late,
        )

    def __str__(self) -> str:
        return (
            f"{counted(self.events, 'event')} in "
            f"{counted(self.batches, 'batch', 'batches')}, {counted(self.results, 'result')}, "
            f"{self.late:,} late"
        )


def read_progress(progress: Any, name: str = "thence") -> Batch:
    """A batch from what Spark reports of it: a ``StreamingQueryProgress``, or its fields."""
    observed = _get(progress, "observedMetrics") or {}
    figures = _row(observed.get(name))
    durations = _get(progress, "durationMs") or {}
    return Batch(
        number=int(_get(progress, "batchId")),
        events=_events(int(_get(progress, "numInputRows")), observed),
        results=int(figures.get("results") or 0),
        late=int(figures.get("late") or 0),
        state_rows=int(figures.get("state_rows") or 0),
        state_bytes=int(figures.get("state_bytes") or 0),
        seconds=float(durations.get("triggerExecution", 0)) / 1000,
        watermark=_watermark(_get(progress, "eventTime") or {}),
        idle=tuple(
            figure.removeprefix(SINCE)
            for figure, since in figures.items()
            if figure.startswith(SINCE) and since is not None
        ),
    )


def _events(rows: int, observed: Mapping[str, Any]) -> int:
    """How many events came. Where files are read by workers, Spark has counted the files."""
    found = rows
    for name, row in observed.items():
        count = int(_row(row).get("count") or 0)
        if name.startswith(FILES):
            found -= count
        elif name.startswith(EVENTS):
            found += count
    return found


def _watermark(times: Mapping[str, str]) -> int | None:
    text = times.get("watermark")
    return None if text is None or _EPOCH[:19] == text[:19] else parse_timestamp(text)


def _get(progress: Any, name: str) -> Any:
    # Spark Connect's is a dict with attributes, of which only these are always right.
    found = getattr(progress, name, None)
    return progress[name] if found is None and isinstance(progress, Mapping) else found


def _row(row: Any) -> Mapping[str, Any]:
    """The figures of an observation by name.

    >>> _row({"values": [3], "schema": {"fields": [{"name": "results"}]}})
    {'results': 3}
    """
    if row is None:
        return {}
    found: Mapping[str, Any] = row if isinstance(row, Mapping) else row.asDict(recursive=True)
    if found.keys() == {"values", "schema"}:  # so a query of Spark Connect has them
        names = [field["name"] for field in found["schema"]["fields"]]
        return dict(zip(names, found["values"], strict=True))
    return found


def new_batches(query: Any, after: int, name: str = "thence") -> Iterator[Batch]:
    """The batches that a query has finished after the one with a number.

    A query that waits reports too, under the number of the batch that is to come.
    """
    for progress in query.recentProgress:
        done = "addBatch" in (_get(progress, "durationMs") or {})
        if done and int(_get(progress, "batchId")) > after:
            yield read_progress(progress, name)


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number of things.

    >>> counted(1, "event"), counted(2500, "event"), counted(0, "batch", "batches")
    ('1 event', '2,500 events', '0 batches')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def size(count: int) -> str:
    """A number of bytes, roughly.

    >>> size(0), size(1500), size(3_400_000)
    ('0 B', '1.5 kB', '3.4 MB')
    """
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"
