"""The benchmark's queries as a user of Spark SQL would write them: what Thence is compared with.

``PLAIN`` is the query as a join, with nothing added: the opponent of the bars. ``within 10 s`` says
that the last event ends at most 10 s after the first begins, and so does the join: ``b.time -
a.time <= INTERVAL 10 SECONDS``. ``TUNED`` holds what somebody who knows Spark well may write
instead. They are figures beside the bars, and say what a query costs at best without Thence:

- *plus*: ``b.time <= a.time + INTERVAL 10 SECONDS``.
- *micros*: times compared as numbers. Spark computes with intervals for each pair of rows anew, in
  the session's time zone, and that is most of what the plain join spends.
- *buckets*: joined on the id and on time cut into pieces as long as the window, where an event
  that may match in two pieces is in both. Then few pairs are compared at all.

Q5 has no key. Spark runs its plain join as nested loops over all pairs of events. It is given
``LIMIT`` seconds; where it has not ended by then, that is what it is said to take at least.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

_Q1 = """
SELECT a.id, a.time AS t1, b.time AS t2, c.time AS t3, a.time AS start, c.time AS end
FROM {events} a
JOIN {events} b ON b.id = a.id AND a.time < b.time AND b.time - a.time <= INTERVAL 10 SECONDS
JOIN {events} c ON c.id = a.id AND b.time < c.time AND c.time - a.time <= INTERVAL 10 SECONDS
WHERE a.type = 'a' AND b.type = 'b' AND c.type = 'c'
"""

_Q2 = """
SELECT a.id, a.price AS p1, b.price AS p2, a.time AS start, b.time AS end
FROM {events} a
JOIN {events} b ON b.id = a.id AND a.time < b.time AND b.time - a.time <= INTERVAL 10 SECONDS
WHERE a.type = 'a' AND b.type = 'b' AND b.price > a.price
"""

_Q1_PLUS = """
SELECT a.id, a.time AS t1, b.time AS t2, c.time AS t3, a.time AS start, c.time AS end
FROM {events} a
JOIN {events} b ON b.id = a.id AND a.time < b.time AND b.time <= a.time + INTERVAL 10 SECONDS
JOIN {events} c ON c.id = a.id AND b.time < c.time AND c.time <= a.time + INTERVAL 10 SECONDS
WHERE a.type = 'a' AND b.type = 'b' AND c.type = 'c'
"""

_Q2_PLUS = """
SELECT a.id, a.price AS p1, b.price AS p2, a.time AS start, b.time AS end
FROM {events} a
JOIN {events} b ON b.id = a.id AND a.time < b.time AND b.time <= a.time + INTERVAL 10 SECONDS
WHERE a.type = 'a' AND b.type = 'b' AND b.price > a.price
"""

_Q5_LOOPS = """
SELECT a.time AS t1, b.time AS t2, c.time AS t3, a.time AS start, c.time AS end
FROM {events} a
JOIN {events} b ON a.time < b.time AND b.time - a.time <= INTERVAL '0.2' SECOND
JOIN {events} c ON b.time < c.time AND c.time - a.time <= INTERVAL '0.2' SECOND
WHERE a.type = 'a' AND b.type = 'b' AND c.type = 'c'
"""

_Q1_MICROS = """
SELECT a.id, a.time AS t1, b.time AS t2, c.time AS t3, a.time AS start, c.time AS end
FROM {events} a
JOIN {events} b ON b.id = a.id AND a.time < b.time
  AND unix_micros(b.time) <= unix_micros(a.time) + 10000000
JOIN {events} c ON c.id = a.id AND b.time < c.time
  AND unix_micros(c.time) <= unix_micros(a.time) + 10000000
WHERE a.type = 'a' AND b.type = 'b' AND c.type = 'c'
"""

_Q2_MICROS = """
SELECT a.id, a.price AS p1, b.price AS p2, a.time AS start, b.time AS end
FROM {events} a
JOIN {events} b ON b.id = a.id AND a.time < b.time
  AND unix_micros(b.time) <= unix_micros(a.time) + 10000000
WHERE a.type = 'a' AND b.type = 'b' AND b.price > a.price
"""

# An `a` is in its own piece; what may follow it is in its own piece and in the one before.
_PIECES = """
WITH pieces AS (SELECT *, unix_micros(time) DIV {width} AS piece FROM {events}),
a AS (SELECT * FROM pieces WHERE type = 'a'),
later AS (
  SELECT type, time, id, price, explode(array(piece, piece - 1)) AS piece FROM pieces
  WHERE type IN ('b', 'c')
),
b AS (SELECT * FROM later WHERE type = 'b'),
c AS (SELECT * FROM later WHERE type = 'c')
"""

_Q1_BUCKETS = """
SELECT a.id, a.time AS t1, b.time AS t2, c.time AS t3, a.time AS start, c.time AS end
FROM a
JOIN b ON b.id = a.id AND b.piece = a.piece AND a.time < b.time
  AND unix_micros(b.time) <= unix_micros(a.time) + {width}
JOIN c ON c.id = a.id AND c.piece = a.piece AND b.time < c.time
  AND unix_micros(c.time) <= unix_micros(a.time) + {width}
"""

_Q2_BUCKETS = """
SELECT a.id, a.price AS p1, b.price AS p2, a.time AS start, b.time AS end
FROM a
JOIN b ON b.id = a.id AND b.piece = a.piece AND a.time < b.time AND b.price > a.price
  AND unix_micros(b.time) <= unix_micros(a.time) + {width}
"""

_Q5 = """
SELECT a.time AS t1, b.time AS t2, c.time AS t3, a.time AS start, c.time AS end
FROM a
JOIN b ON b.piece = a.piece AND a.time < b.time AND b.time <= a.time + INTERVAL '0.2' SECOND
JOIN c ON c.piece = a.piece AND b.time < c.time AND c.time <= a.time + INTERVAL '0.2' SECOND
"""

_Q5_MICROS = """
SELECT a.time AS t1, b.time AS t2, c.time AS t3, a.time AS start, c.time AS end
FROM a
JOIN b ON b.piece = a.piece AND a.time < b.time
  AND unix_micros(b.time) <= unix_micros(a.time) + {width}
JOIN c ON c.piece = a.piece AND b.time < c.time
  AND unix_micros(c.time) <= unix_micros(a.time) + {width}
"""


def _in_pieces(query: str, width: int) -> str:
    return (_PIECES + query).replace("{width}", str(width))


PLAIN = {"q1": _Q1, "q2": _Q2, "q5": _Q5_LOOPS}
LIMIT = 30.0  # seconds for the plain join of Q5

TUNED = {
    "q1": {
        "plus": _Q1_PLUS,
        "micros": _Q1_MICROS,
        "buckets": _in_pieces(_Q1_BUCKETS, 10_000_000),
    },
    "q2": {
        "plus": _Q2_PLUS,
        "micros": _Q2_MICROS,
        "buckets": _in_pieces(_Q2_BUCKETS, 10_000_000),
    },
    "q5": {
        "buckets": _in_pieces(_Q5, 200_000),
        "buckets, micros": _in_pieces(_Q5_MICROS, 200_000),
    },
}


def query(text: str, events: DataFrame) -> DataFrame:
    """A query of this module over some events; over a stream they need a watermark."""
    return events.sparkSession.sql(text, events=events)
