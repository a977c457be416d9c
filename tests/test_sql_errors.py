"""Queries that cannot mean anything: where the caret stands, what it says, what it suggests."""

from __future__ import annotations

import pytest

import thence
from thence.model.errors import Diagnostic, ProgramError

EVENTS = """event a(k int, n int); event b(k int, m int); event c(x int);
event t(k int, temp float); table book(id int, name string);
"""


def problem(text: str) -> Diagnostic:
    """The one error of a text, which stands below some declared events."""
    with pytest.raises(ProgramError) as caught:
        thence.compile(EVENTS + text)
    (found,) = caught.value.diagnostics
    return found


def pointed_at(found: Diagnostic) -> str:
    """The text over the carets."""
    assert found.excerpt is not None
    text, carets = found.excerpt.splitlines()
    return text[carets.index("^") : len(carets)]


NAMES = [
    # query, what the carets point at, the message, the hint
    ("SELECT * FROM aa x", "aa", "unknown stream 'aa'", "did you mean 'a'?"),
    ("SELECT * FROM zzz", "zzz", "unknown stream 'zzz'", "declare it: event zzz(…);"),
    ("SELECT x.nn FROM a x", "x.nn", "'a' has no column 'nn'", "did you mean 'n'?"),
    ("SELECT zzz FROM a x", "zzz", "no alias has a column 'zzz'", "there is k, n"),
    ("SELECT k FROM a x, b y EVENT SEQ(x, y)", "k", "of several aliases", "write x.k or y.k"),
    ("SELECT y.n FROM a x", "y", "no alias 'y' in FROM", "FROM …, stream y"),
    ("SELECT a.n FROM a x", "a", "no alias 'a' in FROM", "'a' has the alias x here"),
    ("SELECT x FROM a x", "x", "'x' is an alias, not a column", "x.start, x.end"),
    ("SELECT x.n FROM a x, a x EVENT SEQ(x, x)", "x", "is given twice", "FROM stream a b"),
    ("SELECT x.n FROM a x, b y PARTITION BY n EVENT SEQ(x, y)", "n",
     "'b' (y) has no column 'n' to partition by", "all streams of the query must have it"),
    ("SELECT x.n FROM a x, b y EVENT SEQ(x, y) WHERE [n]", "n", "'b' (y) has no column 'n'", "all"),
    ("SELECT x.n FROM a x, b y EVENT SEQ(x, z)", "z", "no alias 'z' in FROM", "stream z"),
    ("SELECT z.* FROM a x", "z", "no alias 'z' in FROM", "stream z"),
    ("WITH e AS (SELECT * FROM a) e AS (SELECT * FROM b) SELECT * FROM e", "e",
     "'e' is defined twice by WITH", None),
    ("SELECT x.n FROM (SELECT n FROM a)", "(SELECT n FROM a)", "no alias", "FROM (SELECT …) a"),
    # functions
    ("SELECT DURATION(n) AS d FROM a x", "DURATION(n)", "takes an alias", "write DURATION(x)"),
    ("SELECT DURATION(x, x) AS d FROM a x", "DURATION(x, x)", "takes an alias", "DURATION(x)"),
    ("SELECT DURATION(zz) AS d FROM a x", "zz", "no alias has a column 'zz'", "there is k, n"),
    ("SELECT CAUSED_BY(x, x) AS d FROM a x", "CAUSED_BY(x, x)", "not part of event SQL", "a rule"),
    ("SELECT n FROM a x WHERE FOLLOWS(x, x)", "FOLLOWS", "joins events", "is said in EVENT"),
    ("SELECT n FROM a x WHERE foor(n) > 1", "foor", "unknown function 'foor'", "'floor'?"),
    ("SELECT n FROM a x USING foo", "foo", "there is no policy 'foo'", "a policy is one of"),
    # columns
    ("SELECT x.n, x.n FROM a x", "x.n", "cannot be called 'x_n'", "name it with AS"),
    ("SELECT n, n + 1 AS n FROM a", "n", "another column has that name", "name it with AS"),
    ("SELECT start FROM a", "start", "every result has a column of that name", "with AS"),
    ("SELECT n AS start FROM a", "n AS start", "that name is reserved", "choose another"),
    ("SELECT y.m FROM a x, b y EVENT NOTFOLLOWS(x, y, '1 s')", "y.m", "'y' must be absent",
     "an alias that occurs"),
    ("SELECT x.n FROM a x, b y EVENT ANYONE(x, y)", "x.n", "not occur in every alternative",
     "one CREATE EVENT for each alternative"),
    ("SELECT * FROM a x, b y EVENT OR(x, y)", "*", "not occur in every alternative", "PARTITION"),
    ("SELECT x.n, t.temp FROM a x, b y, t EVENT BETWEEN(x, y)", "t.temp", "'t' is collected",
     "with an aggregate"),
    ("SELECT AVG(MAX(t.temp)) FROM a x, b y, t EVENT BETWEEN(x, y)", "MAX",
     "cannot stand inside another", "over this one"),
    ("SELECT n FROM a WHERE COUNT(*) > 1", "COUNT", "WHERE looks at one match", "in HAVING"),
    ("SELECT AVG(n) FROM a", "AVG(n)", "nothing to aggregate", "BETWEEN(a, b)"),
    ("SELECT COUNT(y) FROM a x, b y, c z EVENT OR(APERIODIC*(x, y, z), x)", "APERIODIC*(x, y, z)",
     "cannot stand in a choice or an absence", "of its own"),
    ("SELECT y.m FROM a x, b y, c z EVENT APERIODIC*(x, y, z)", "y.m", "'y' is collected",
     "with an aggregate"),
]  # fmt: skip

ROWS = [
    ("SELECT n FROM a WHERE n > 1 OR EXISTS (SELECT * FROM book)",
     "n > 1 OR EXISTS (SELECT * FROM book)", "stands by itself", "one CREATE EVENT for each"),
    ("SELECT n FROM a WHERE n + n IN (SELECT id FROM book) OR n > 1",
     "n + n IN (SELECT id FROM book) OR n > 1", "stands by itself", "one CREATE EVENT for each"),
    ("SELECT n FROM a WHERE EXISTS (SELECT * FROM b WHERE b.k = a.k)", "b", "'b' is no table",
     "NOTPRECEDES(a, b, '1 min')"),
    ("SELECT n FROM a WHERE EXISTS (SELECT * FROM bok)", "bok", "'bok' is no table", "'book'?"),
    ("SELECT n FROM a WHERE EXISTS (SELECT * FROM (SELECT * FROM book) x)",
     "SELECT * FROM book", "this query is no table", "NOTPRECEDES"),
    ("SELECT n FROM a WHERE EXISTS (SELECT * FROM book GROUP BY id)",
     "EXISTS (SELECT * FROM book GROUP BY id)", "SELECT, FROM and WHERE alone", "t.x = a.x"),
    ("SELECT n FROM a WHERE n IN (SELECT id, name FROM book)", "id, name", "with one column",
     "x IN (SELECT"),
    ("SELECT n FROM a WHERE n IN (SELECT * FROM book)", "*", "with one column", "x IN (SELECT"),
    ("SELECT n FROM a WHERE n IN (SELECT ID FROM book)", "ID", "has a column 'ID'", "'id'"),
    ("SELECT n FROM a WHERE EXISTS (SELECT zz FROM book)", "zz", "has a column 'zz'", "k, n"),
    ("SELECT n FROM a WHERE EXISTS (SELECT * FROM book x WHERE x.zz = n)", "x.zz",
     "'book' has no column 'zz'", "id, name"),
    ("SELECT n FROM a WHERE EXISTS (SELECT * FROM book x y WHERE id = n)", "id",
     "could be a column of several aliases", "x.id or y.id"),
    ("SELECT n FROM a WHERE EXISTS (SELECT * FROM book x, book x)", "x", "is given twice", None),
    ("SELECT n FROM a WHERE NOT EXISTS (SELECT * FROM book x y WHERE x.id = n)", "book x y",
     "a row of one table", "with EXISTS"),
    ("SELECT n FROM a WHERE EXISTS (SELECT * FROM book WHERE n IN (SELECT id FROM book))",
     "n IN (SELECT id FROM book)", "cannot hold another one", "FROM t1, t2"),
    ("SELECT n FROM a, b EVENT SEQ(a, b+) WHERE COUNT(b) IN (SELECT id FROM book)", "COUNT(b)",
     "reads single events, and no aggregates", "query of its own"),
    ("SELECT n FROM a, b EVENT NOTFOLLOWS(a, b, '1 s')"
     " WHERE EXISTS (SELECT * FROM book WHERE id = a.n + b.m)",
     "EXISTS (SELECT * FROM book WHERE id = a.n + b.m)", "rows up for 'a' and 'b', of which some",
     "for one of them"),
    ("SELECT COUNT(b) FROM b EVENT b{2} WHERE b.m IN (SELECT id FROM book) USING STRICT",
     "b.m IN (SELECT id FROM book)", "with STRICT, 'b' is every event", "query of its own"),
    ("SELECT EXISTS (SELECT * FROM book) FROM a", "EXISTS (SELECT * FROM book)",
     "only in FROM, WITH, and the WHERE", "in a rule"),
]  # fmt: skip

REPETITIONS = [
    ("SELECT b.m FROM a, b, c EVENT SEQ(a, b+, c)", "b.m", "'b' is repeated", "with an aggregate"),
    ("SELECT b.* FROM a, b, c EVENT SEQ(a, b+, c)", "b.*", "'b' is repeated", "with an aggregate"),
    ("SELECT n FROM a, b EVENT SEQ(b, a, b+)", "b", "'b' is repeated, so it is several", "b b b2"),
    ("SELECT n FROM a, b EVENT SEQ(b{2}, a, b+)", "b", "'b' is repeated, so it is", "b b b2"),
    ("SELECT n FROM a, b EVENT SEQ(a, b{2,1})", "{2,1}", "can never be", "lower limit first"),
    ("SELECT n FROM a, b EVENT SEQ(a, b{x})", "{x", "in whole numbers", "{3} for three times"),
    ("SELECT COUNT(b) FROM b EVENT b*", "b*", "may be empty needs another event", "write +"),
    ("SELECT n FROM a, b EVENT SEQ(a, b+) USING GREEDY", "b+", "known to be over only", "until c"),
    ("SELECT n FROM a, b EVENT SEQ(a, b+) WHERE a.n > PREV(a.n)", "PREV(a.n)",
     "only in a condition on what is repeated", "b.price > PREV(b.price)"),
    ("SELECT PREV(b.m) FROM a, b EVENT SEQ(a, b+)", "PREV(b.m)", "only in a condition", "WHERE"),
    ("SELECT n FROM a, b, c EVENT SEQ(a, b+, c+) WHERE b.m < c.x", "b.m < c.x",
     "asked of each 'b', and of each 'c'", "FIRST(b.x) < LAST(c.x)"),
    ("SELECT n FROM a, b EVENT SEQ(a, b+) WHERE b.m < AVG(b.m)", "b.m < AVG(b.m)",
     "is about all repetitions together", "2 * AVG(b.x)"),
    ("SELECT n FROM a, b EVENT SEQ(a, b+) WHERE AVG(a.n) > 1", "AVG", "one match at a time",
     "what EVENT repeats"),
    ("SELECT COUNT(v) FROM b v w EVENT AND(v{2}, w{2})", "AND(v{2}, w{2})",
     "cannot be told apart here", "SEQ(v+, w+)"),
    ("SELECT COUNT(t) FROM a, b, c, t EVENT SEQ(BETWEEN(a, c), b+)", "b+",
     "collects events, or repeats them, but not both", "a query of its own"),
    ("SELECT COUNT(b) FROM a, b, c EVENT APERIODIC*(a, b{2}, c)", "b{2}",
     "collects events, or repeats them, but not both", "a query of its own"),
    ("SELECT n FROM a, b, c EVENT SEQ(a, NOT b{2,}, c) WHERE COUNT(b) > 3", "COUNT(b) > 3",
     "all repetitions of what must be absent", "NOT b{3,}"),
    ("SELECT n FROM a, b, c EVENT SEQ(a, NOT b{2,}, c) WHERE b.m > a.n", "b.m > a.n",
     "compares 'b', which is deep inside", "PARTITION BY"),
    ("SELECT COUNT(b) FROM a, b, c EVENT OR(SEQ(a, b+), c)", "COUNT(b)",
     "not occur in every alternative", "one CREATE EVENT for each alternative"),
    ("SELECT n FROM a, b, c EVENT UNTIL(a, b, c)", "UNTIL(a, b, c)", "UNTIL takes two", "(a, b)"),
]  # fmt: skip

EVENT_CLAUSE = [
    ("FOLOWS(x, y, '1 s')", "FOLOWS", "unknown operator 'FOLOWS'", "did you mean 'FOLLOWS'?"),
    ("FOLLOWS(x, y)", "FOLLOWS(x, y)", "needs a duration", "FOLLOWS(a, b, '1 min')"),
    ("FOLLOWS(x, '1 s')", "FOLLOWS(x, '1 s')", "takes two or more events, and 1 is", "(a, b, "),
    ("FOLLOWS(x, y, 10)", "10", "10 has no unit of time", "10 s"),
    ("FOLLOWS(x, y, 'soon')", "'soon'", "'soon' is not a duration", None),
    ("FOLLOWS(x, 1 s, y)", "1 s", "an event is needed here", "its last argument"),
    ("NOTFOLLOWS(x, y, x, '1 s')", "NOTFOLLOWS(x, y, x, '1 s')", "takes two events, and 3 are",
     "NOTFOLLOWS(a, ANYONE(b, c), '1 min')"),
    ("SEQ(x, y, '1 s')", "'1 s'", "SEQ takes no duration", "SEQ(…) WITHIN 1 min"),
    ("DURING(x, y, x)", "DURING(x, y, x)", "DURING takes two events, and 3 are given", "(a, b)"),
    ("SEQ(x, !y)", "!y", "at the end of SEQ has no limit in time", "NOTFOLLOWS"),
    ("SEQ(NOT y, x)", "NOT y", "at the beginning of SEQ has no limit", "NOTPRECEDES"),
    ("x and not y", "not y", "an absence needs the time", "SEQ(a, NOT c, b)"),
    ("NOT(y, SEQ(x, x))", "NOT(y, SEQ(x, x))", "an absence needs the time", "BETWEEN(a, b)"),
    ("(x, y)", "(x, y)", "a comma does not join events", "AND(a, b)"),
    ("ANY(x, y)", "ANY(x, y)", "ANY needs to know how many", "ANY(2, a, b, c)"),
    ("ANY(3, x, y)", "3", "ANY 3 of 2 events is not possible", "from 1 to 2"),
    ("APERIODIC(x, y)", "APERIODIC(x, y)", "takes three events, and 2 are", "(a, b, c)"),
    ("APERIODIC*(x, y)", "APERIODIC*(x, y)", "takes three events, and 2 are", "(a, b, c)"),
    ("RELATIVE+(x, y)", "RELATIVE+(x, y)", "RELATIVE+ takes one event, and 2 are given", "+(a)"),
    ("THEN(x)", "THEN(x)", "THEN takes two or more events, and 1 is given", "THEN(a, b)"),
    ("THEN(x, y, '1 s')", "'1 s'", "THEN takes no duration", "in WHERE"),
    ("PERIODIC*(x, y)", "PERIODIC*(x, y)", "needs a duration", "PERIODIC*(a, '1 min', b)"),
    ("SEQ(x, y) USING chronic", "chronic", "there is no policy 'chronic'", "chronicle"),
    ("SEQ(x, y) USING first(z)", "first(z)", "no alias 'z' in FROM", "stream z"),
    ("NOTFOLLOWS(x, y, '1 s') USING last(y)", "last(y)", "does not occur in every match",
     "always occurs"),
    ("SEQ(x, y) USING last WITHIN 1 s USING first", "first", "USING is said twice", "in one"),
    ("BOTH(NOTFOLLOWS(x, y, '1 s'), y, '1 s')", "y", "cannot be absent as well", "FROM b y y2"),
    ("x", "y", "EVENT says nothing about it", "BETWEEN(a, b)"),
]  # fmt: skip

CLAUSES = [
    ("SELECT temp FROM t LEFT JOIN a ON t.k = a.k", "LEFT", "LEFT JOIN is not part", "NOTFOLLOWS"),
    ("SELECT temp FROM t RIGHT OUTER JOIN a ON t.k = a.k", "RIGHT", "RIGHT JOIN is", "NOTFOLLOWS"),
    ("SELECT temp FROM t FULL JOIN a ON t.k = a.k", "FULL", "FULL JOIN is not", "NOT EXISTS"),
    ("SELECT temp FROM t NATURAL JOIN a", "NATURAL", "NATURAL JOIN is not", "ON a.id = b.id"),
    ("SELECT temp FROM t JOIN a USING (k)", "JOIN", "this JOIN has no condition", "ON a.id"),
    ("SELECT temp FROM t JOIN a", "JOIN", "this JOIN has no condition", "ON a.id = b.id"),
    ("SELECT temp FROM t CROSS JOIN a ON t.k = a.k", "CROSS JOIN", "has no condition", "JOIN b ON"),
    ("SELECT temp FROM t JOIN a ON t.k = a.k", "t JOIN a", "how its events relate", "add EVENT"),
    ("SELECT temp FROM t UNION SELECT n FROM a", "UNION", "UNION is not part of", "with one name"),
    ("SELECT temp FROM t ORDER BY k", "ORDER", "ORDER BY is not part of", "sorted by their start"),
    ("SELECT temp FROM t LIMIT 10", "LIMIT", "LIMIT is not part of event SQL", None),
    ("SELECT temp FROM t WHERE k > 1 EVENT t", "EVENT", "EVENT comes before", "SELECT … FROM"),
    ("SELECT temp FROM t WHERE k > 1 PARTITION BY k", "PARTITION", "BY comes before", "SELECT …"),
    ("SELECT temp FROM t WHERE [k] OR k > 1", "OR", "only be joined by AND", "[id] AND"),
    ("SELECT temp FROM t WHERE [k] AND k > 1 OR k < 0", "OR", "OR cannot make up", "parentheses"),
    ("SELECT FROM t", "FROM", "nothing is selected", "SELECT * FROM"),
    ("SELECT (SELECT n FROM a) FROM a", "SELECT", "a query cannot stand here", "FROM or WITH"),
    ("SELECT temp t", "t", "unexpected 't'", "`FROM`"),
    ("SELECT n FROM a, b", "a, b", "does not say how its events relate", "EVENT SEQ(a, b)"),
    ("SELECT n FROM a WITHIN 10", "10", "10 has no unit of time", "10 s"),
    # conditions
    ("SELECT n FROM a WHERE n = 'x'", "n = 'x'", "'=' cannot take int and string", "quote both"),
    ("SELECT n FROM a WHERE foo(n) = 1", "foo", "unknown function 'foo'", "floor"),
    ("SELECT x.n FROM a x, b y z EVENT NOTFOLLOWS(NOTPRECEDES(x, y, '1 s'), z, '1 s')"
     " WHERE y.m = z.m", "y.m = z.m", "reads 'y' and 'z', which are looked for one by one",
     "FROM (SELECT … EVENT …) a"),
    ("SELECT z.n FROM a x z, b y EVENT SEQ(OR(x, y), z) WHERE x.n = z.n", "x.n = z.n",
     "do not all occur in the same alternatives", "one CREATE EVENT for each"),
    ("SELECT z.n FROM a w z, b y EVENT BOTH(OR(w, y), z, '1 s')", "BOTH(OR(w, y), z, '1 s')",
     "two different events of one stream", "one CREATE EVENT for each"),
    ("SELECT x.n FROM a x, b y z EVENT NOTFOLLOWS(x, NOTFOLLOWS(y, z, '1 s'), '1 s')"
     " WHERE z.m = x.n", "z.m = x.n", "compares 'z', which is deep inside", "PARTITION BY"),
    ("SELECT x.n FROM a x, b y z, c EVENT NOTFOLLOWS(x, SEQ(y, OR(z, c)), '1 s')"
     " WHERE z.m = x.n", "z.m = x.n", "compares 'z', which is deep inside", "PARTITION BY"),
    # conditions on aggregates
    ("SELECT x.n FROM a x, b y, t EVENT BETWEEN(x, y) WHERE COUNT(t) > 1", "COUNT",
     "WHERE looks at one match at a time", "come in HAVING"),
    ("SELECT x.n FROM a x, b y, t EVENT BETWEEN(x, y) HAVING x.n > 1", "x.n > 1",
     "HAVING is about aggregates", "into WHERE"),
    ("SELECT x.n AS v FROM a x, b y, t EVENT BETWEEN(x, y) HAVING v > 1", "v > 1",
     "HAVING is about aggregates", "into WHERE"),
    ("SELECT x.n FROM a x, b y, t EVENT BETWEEN(x, y) HAVING COUNT(t) > y.m", "y.m",
     "'y.m' is neither selected nor in an aggregate", "select y.m"),
    ("SELECT COUNT(t) AS n FROM a x, b y, t EVENT BETWEEN(x, y) HAVING n > MAX(t.temp)", "n",
     "'x.n' is neither selected nor in", "AS must give another name"),
    ("SELECT x.n FROM a x, b y, t EVENT BETWEEN(x, y) HAVING t.temp > AVG(t.temp)",
     "t.temp > AVG(t.temp)", "'t' is collected", "with an aggregate"),
    ("SELECT x.n FROM a x, b y EVENT SEQ(x, y) HAVING COUNT(x) > 1", "COUNT(x) > 1",
     "nothing to aggregate", "BETWEEN(a, b)"),
    ("SELECT x.n FROM a x, b y, t EVENT BETWEEN(x, y) HAVING COUNT(t) > 1 USING LAST", "USING",
     "USING comes before HAVING", "WHERE … GROUP BY … HAVING"),
    # windows
    ("SELECT x.n FROM a x, b y, t EVENT BETWEEN(x, y)", "t", "neither in EVENT nor in an aggregate",
     "COUNT(t)"),
    ("SELECT COUNT(*) FROM a w z, t EVENT AND(BETWEEN(w, z), BETWEEN(z, w))", "BETWEEN(z, w)",
     "several windows in which 't'", "a query for each window"),
]  # fmt: skip


WINDOWS = [
    ("SELECT AVG(temp) FROM t x [RANGE BY '5 min']", "[", "before the alias", "] alias"),
    ("SELECT AVG(temp) FROM t GROUP BY k", "k", "GROUP BY goes with a window", "[RANGE BY"),
    ("SELECT x.n FROM a x, b y EVENT SEQ(x, y) GROUP BY k", "k", "GROUP BY goes with a window",
     "with EVENT"),
    ("SELECT temp FROM t HAVING temp > 1", "temp > 1", "HAVING goes with EVENT", "[RANGE BY"),
    ("SELECT AVG(temp) FROM t [SLIDE BY 1 s]", "[SLIDE BY 1 s]", "needs its length", "RANGE BY"),
    ("SELECT AVG(temp) FROM t [RANGE BY '-1 s']", "'-1 s'", "must be more than nothing", None),
    ("SELECT AVG(temp) FROM t [RANGE BY 5]", "5", "5 has no unit of time", "5 s"),
    ("SELECT AVG(temp) FROM t [ROWS 0]", "0", "no rows are nothing", "1 or more"),
    ("SELECT AVG(temp) FROM t [RANGE 5 s RANGE 6 s]", "[RANGE 5 s RANGE 6 s]", "RANGE twice", "["),
    ("SELECT AVG(temp) FROM t [RANGE 1 day SLIDE 1 ms]", "[RANGE 1 day SLIDE 1 ms]",
     "in 86,400,000 windows", "slide by more"),
    ("SELECT AVG(temp) FROM t [5 s], a", "[5 s]", "over one stream", "EVENT BOTH"),
    ("SELECT AVG(x.temp) FROM t [5 s] x y", "[5 s]", "under one alias", "EVENT BOTH"),
    ("SELECT AVG(temp) FROM t [5 s] WITHIN 1 s", "[5 s]", "no EVENT, WITHIN or USING", "FROM ("),
    ("SELECT k FROM t [5 s] GROUP BY k", "[5 s]", "aggregates nothing", "COUNT(*)"),
    ("SELECT * FROM t [5 s]", "*", "not all columns", "AVG(price)"),
    ("SELECT k, AVG(temp) FROM t [5 s]", "k", "'k' is neither in GROUP BY nor", "GROUP BY k"),
    ("SELECT k, COUNT(*), x.temp FROM t [5 s] x GROUP BY k", "x.temp", "'temp' is neither",
     "GROUP BY k, temp"),
    ("SELECT x.start, COUNT(*) FROM t [5 s] x", "x.start", "'start' is neither", "MAX(start)"),
    ("SELECT kk, COUNT(*) FROM t [5 s] GROUP BY k", "kk", "no alias has a column 'kk'", "'k'"),
    ("SELECT k, COUNT(*) FROM t [5 s] GROUP BY kk", "kk", "no column 'kk' to group by", "'k'"),
    ("SELECT k, COUNT(*) FROM t [5 s] x GROUP BY y.k", "y", "no alias 'y' in FROM", "stream y"),
    ("SELECT COUNT(*) FROM t [5 s] WHERE COUNT(*) > 1", "COUNT", "WHERE looks at one", "HAVING"),
    ("SELECT k, COUNT(*) FROM t [5 s] GROUP BY k HAVING k > 1", "k > 1", "there is none in it",
     "into WHERE"),
    ("SELECT k, COUNT(*) FROM t [5 s] GROUP BY k HAVING MAX(temp) > temp", "temp",
     "'temp' is neither in GROUP BY", "GROUP BY k, temp"),
    ("SELECT AVG(MAX(temp)) FROM t [5 s]", "MAX", "MAX is an aggregate", "over this one"),
    ("SELECT COUNT(*) FROM t [5 s] GROUP BY k WHERE k > 1", "WHERE", "WHERE comes before GROUP BY",
     "SELECT … FROM"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "where", "message", "hint"), [*NAMES, *CLAUSES, *WINDOWS, *REPETITIONS, *ROWS]
)
def test_what_a_query_is_refused_for(text: str, where: str, message: str, hint: str | None) -> None:
    check(f"CREATE EVENT r AS {text};", where, message, hint)


@pytest.mark.parametrize(("text", "where", "message", "hint"), EVENT_CLAUSE)
def test_what_an_event_clause_is_refused_for(
    text: str, where: str, message: str, hint: str | None
) -> None:
    check(f"CREATE EVENT r AS SELECT x.n FROM a x, b y EVENT {text};", where, message, hint)


@pytest.mark.parametrize(
    ("text", "where", "message", "hint"),
    [
        (
            "CREATE TABLE r (x int);",
            "CREATE TABLE",
            "not part of the language",
            "CREATE EVENT name",
        ),
        ("CREATE EVENT r AS SELECT n FROM a", "a", "a `;` is missing", "ends with `;`"),
        ("p <- a\nCREATE EVENT r AS SELECT n FROM a;", "a", "a `;` is missing", "ends with `;`"),
        ("CREATE EVENT a AS SELECT * FROM b;", "a", "declared with `event`", "another name"),
        ("CREATE EVENT follows AS SELECT * FROM b;", "follows", "an operator of", "another name"),
        ("CREATE EVENT r AS SELECT * FROM r;", "r", "follow from its own", "list the columns"),
        ("CREATE EVENT r SELECT n FROM a;", "SELECT", "unexpected 'SELECT'", "expected `as`"),
    ],
)
def test_what_a_statement_is_refused_for(text: str, where: str, message: str, hint: str) -> None:
    check(text, where, message, hint)


def check(text: str, where: str, message: str, hint: str | None) -> None:
    found = problem(text)
    assert pointed_at(found) == where
    assert message in found.message
    assert (hint is None) == (found.hint is None)
    assert hint is None or hint in str(found.hint)


def test_one_run_shows_what_is_wrong_with_several_queries() -> None:
    text = "CREATE EVENT p AS SELECT zz FROM a;\nCREATE EVENT q AS SELECT * FROM yy;"
    with pytest.raises(ProgramError) as caught:
        thence.compile(EVENTS + text)
    assert [found.line for found in caught.value.diagnostics] == [3, 4]


def test_what_rests_on_a_wrong_query_is_not_reported_as_well() -> None:
    found = problem("CREATE EVENT p AS SELECT * FROM zz; CREATE EVENT q AS SELECT * FROM p;")
    assert "unknown stream 'zz'" in found.message


@pytest.mark.parametrize(
    "deep", ["({}) seq x", "NOTFOLLOWS({}, y, '1 s')", "SEQ({}, x) WITHIN 1 s"]
)
def test_nesting_has_a_limit(deep: str) -> None:
    clause = "x"
    for _ in range(300):
        clause = "(" + deep.replace("{}", clause) + ")"
    found = problem(f"CREATE EVENT r AS SELECT k FROM a x, b y PARTITION BY k EVENT {clause};")
    assert "nested more than 200 levels deep" in found.message


def test_a_long_row_has_a_limit() -> None:
    row = ", ".join(["x"] * 300)
    found = problem(f"CREATE EVENT r AS SELECT x.n FROM a x EVENT FOLLOWS({row}, '1 s');")
    assert "nested more than 200 levels deep" in found.message


def test_queries_inside_queries_have_a_limit() -> None:
    text = "SELECT * FROM a"
    for _ in range(300):
        text = f"SELECT * FROM ({text}) x"
    assert "nested more than 200 levels deep" in problem(f"CREATE EVENT r AS {text};").message
