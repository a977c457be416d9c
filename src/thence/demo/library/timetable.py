"""When doors and the counter are in use: one party at a time."""

from __future__ import annotations

from bisect import bisect_left, insort


class Timetable:
    """The times at which one place is taken, in milliseconds.

    >>> door = Timetable()
    >>> door.take(5_000, 15_000)
    >>> door.is_free(0, 5_000), door.is_free(4_000, 6_000), door.is_free(15_000, 16_000)
    (True, False, True)
    """

    def __init__(self) -> None:
        self._taken: list[tuple[int, int]] = []

    def is_free(self, begin: int, end: int) -> bool:
        """Whether nobody is there from ``begin`` until ``end``."""
        after = bisect_left(self._taken, (begin, begin))
        later = after < len(self._taken) and self._taken[after][0] < end
        earlier = after > 0 and self._taken[after - 1][1] > begin
        return not (later or earlier)

    def take(self, begin: int, end: int) -> None:
        """Take a time that is free."""
        insort(self._taken, (begin, end))
