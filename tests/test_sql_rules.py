"""Queries are rules: the same situation in both notations is the same program."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import thence
from thence.lang.parser import parse_program
from thence.lang.text import format_program, format_rule
from thence.logic.expr import read_by
from thence.logic.ops import Atom, Rule, exprs_of, walk
from thence.model.source import Source, Span

EVENTS = """event a(k int, n int); event b(k int, m int); event c(k int);
table book(id int, name string);
"""


def rules(text: str) -> tuple[Rule, ...]:
    return parse_program(Source(EVENTS + text)).rules


@pytest.mark.parametrize(
    ("query", "rule"),
    [
        ("SELECT n FROM a", "r(a.n) <- a: a()"),
        ("SELECT x.n AS v FROM a AS x WHERE x.n > 1", "r(x.n as v) <- x: a where x.n > 1"),
        ("SELECT x.n, y.m FROM a x, b y EVENT x seq y", "r(x.n, y.m) <- x: a() seq y: b()"),
        (
            "SELECT x.n FROM a x, b y PARTITION BY k EVENT SEQ(x, y) WITHIN 5 s",
            "r(x.n) <- x: a(k=k) seq y: b(k=k) within 5 s",
        ),
        (
            "SELECT k FROM a x, c PARTITION BY k EVENT NOTFOLLOWS(x, c, '2 s') WHERE x.n > 1",
            "r(k) <- notfollows(x: a(k=k), c: c(k=k), 2 s) where x.n > 1",
        ),
        (
            "SELECT x.n FROM a x, b y, c z WHERE [k] AND x.n < y.m WITHIN 5 s",
            "r(x.n) <- x: a(k=k) and y: b(k=k) and z: c(k=k) within 5 s where x.n < y.m",
        ),
        (
            "SELECT x.n FROM a x, b y, c z PARTITION BY k EVENT SEQ(x, !z, y) WHERE z.k > x.n",
            "r(x.n) <- not(z: c(k=k) where z.k > x.n).[x: a(k=k), y: b(k=k)]",
        ),
        (
            "SELECT duration(x) AS d FROM a x WHERE duration(x) > 1 s",
            "r(duration(x) as d) <- x: a() where duration(x) > 1 s",
        ),
        ("SELECT DISTINCT n FROM a", "r(a.n) <- a: a()"),
        (
            "SELECT k, AVG(y.m) AS mean FROM a x, b y, c z PARTITION BY k "
            "EVENT SEQ(x, y+, z) WITHIN 5 s WHERE y.m > PREV(y.m) USING GREEDY",
            "r(k, avg(y.m) as mean) <- x: a(k=k) seq y: b(k=k)+ seq z: c(k=k) within 5 s "
            "where y.m > prev(y.m) using greedy",
        ),
        (
            "SELECT n FROM a WHERE NOT EXISTS (SELECT * FROM book WHERE id = n)",
            "r(a.n) <- a: a(n=n), not book: book(id=n)",
        ),
        (
            "SELECT n FROM a WHERE a.n + 1 IN (SELECT id FROM book WHERE name > 'x')",
            "r(a.n) <- a: a(), (book: book() where book.name > 'x' and book.id = a.n + 1)",
        ),
        (
            "SELECT y.k, COUNT(y) AS n FROM b y PARTITION BY k EVENT y{2,5} USING STRICT",
            "r(k, count(y) as n) <- y: b(k=k){2,5} using strict",
        ),
        (
            "SELECT x.n FROM a x, b y, c z PARTITION BY k EVENT x seq y* until z WHERE z.k > 1",
            "r(x.n) <- x: a(k=k) seq y: b(k=k)* until (z: c(k=k) where z.k > 1)",
        ),
    ],
)
def test_a_query_and_its_rule(query: str, rule: str) -> None:
    assert rules(f"CREATE EVENT r AS {query};") == rules(f"{rule};")


def test_the_clauses_may_be_written_in_any_case() -> None:
    small = "create event r as select x.n from a x, b y partition by k event both(x, y, '1 s');"
    capital = "CREATE EVENT r AS SELECT x.n FROM a x, b y PARTITION BY k EVENT BOTH(x, y, '1 s');"
    assert rules(small) == rules(capital)


def test_a_query_is_printed_as_its_rules() -> None:
    text = (
        EVENTS
        + """CREATE EVENT r AS
        WITH big AS (SELECT * FROM a WHERE n > 5)
        SELECT big.n FROM big, b PARTITION BY k EVENT FOLLOWS(big, b, 1 min);"""
    )
    program = parse_program(Source(text))
    assert [format_rule(rule) for rule in program.rules] == [
        "`#r.big`(a.k, a.n) <- a: a() where a.n > 5;",
        "r(big.n) <- follows(big: `#r.big`(k=k), b: b(k=k), 1 min);",
    ]
    assert "CREATE" not in format_program(program)


def test_repetitions_agree_in_partition_columns_that_are_not_selected() -> None:
    found = rules("CREATE EVENT r AS SELECT COUNT(y) AS n FROM b y PARTITION BY k EVENT y{2};")
    assert [format_rule(rule) for rule in found] == [
        "`#r.groups`(k, count(y.start) as a2) <- y: b(k=k){2};",
        "r(group.a2 as n) <- group: `#r.groups`();",
    ]


def test_queries_inside_queries_stay_inside() -> None:
    program = thence.compile(
        EVENTS + "CREATE EVENT r AS SELECT x.n FROM (SELECT n FROM a) x, (SELECT m FROM b) y, "
        "(SELECT k FROM c) z z2 EVENT SEQ(x, y, z, z2);"
    )
    assert [schema.name for schema in program.derived] == ["r"]
    assert list(program.run({"a": [], "b": [], "c": []})) == ["r"]
    assert "inner pattern #r.x(n int)" in program.explain()


def test_two_queries_inside_may_have_one_alias() -> None:
    found = rules(
        "CREATE EVENT r AS SELECT x.n FROM (SELECT x.n FROM (SELECT n FROM a) x) x WHERE x.n > 1;"
    )
    assert [rule.event for rule in found] == ["#r.x", "#r.x′", "r"]


def test_aliases_may_have_the_names_of_columns_streams_and_functions() -> None:
    found = rules("CREATE EVENT r AS SELECT k.n, b.m FROM a k, b PARTITION BY k EVENT SEQ(k, b);")
    assert found == rules("r(k.n, b.m) <- k: a(k=k) seq b: b(k=k);")
    assert rules("CREATE EVENT r AS SELECT count.n FROM a count;") == rules(
        "r(count.n) <- count: a;"
    )


def test_statements_may_come_in_any_order() -> None:
    first = "CREATE EVENT p AS SELECT * FROM q x WHERE x.n > 1;"
    second = "CREATE EVENT q AS SELECT * FROM s;"
    third = "s(n) <- a(_, n);"
    for text in (first + second + third, third + second + first):
        program = thence.compile(EVENTS + text)
        assert {str(schema) for schema in program.derived} == {"p(n int)", "q(n int)", "s(n int)"}


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT * FROM a", ["k", "n"]),
        ("SELECT * FROM a x, b y EVENT SEQ(x, y)", ["x_k", "n", "y_k", "m"]),
        ("SELECT * FROM a x, b y PARTITION BY k EVENT SEQ(x, y)", ["k", "n", "m"]),
        ("SELECT * FROM a x, b y PARTITION BY k EVENT NOTFOLLOWS(x, y, 1 s)", ["k", "n"]),
        ("SELECT x.*, y.m FROM a x, b y EVENT SEQ(x, y)", ["k", "n", "m"]),
        ("SELECT x.n, y.n FROM a x y EVENT SEQ(x, y)", ["x_n", "y_n"]),
        ("SELECT x.n, y.n AS other FROM a x y EVENT SEQ(x, y)", ["n", "other"]),
        ("SELECT x.n, y.m AS n FROM a x, b y EVENT SEQ(x, y)", ["x_n", "n"]),
        ("SELECT x.start, x.end FROM a x", ["x_start", "x_end"]),
        ("SELECT n + 1, n AS c2, n * 2 FROM a", ["c1", "c2", "c3"]),
        ("SELECT n + 1, k AS c1 FROM a", ["c1_", "c1"]),
        ("SELECT k, COUNT(*), COUNT(c) AS n FROM a x, b y, c PARTITION BY k EVENT BETWEEN(x, y)",
         ["k", "c2", "n"]),
    ],
)  # fmt: skip
def test_how_columns_are_called(query: str, columns: list[str]) -> None:
    (schema,) = thence.compile(f"{EVENTS}CREATE EVENT r AS {query};").derived
    assert list(schema.names) == columns


@pytest.mark.parametrize(
    ("clause", "said"),
    [
        ("FOLLOWS(x, y, '1 s')", 0),
        ("SEQ(x, y)", 0),
        ("x during y", 0),
        ("x overlaps y", 0),
        ("SEQ(x, AND(y, y))", 0),
        ("NOTPRECEDES(x, y, '1 s')", 0),
        ("NOTFOLLOWS(x, y, '1 s')", 0),
        ("BETWEEN(x, y)", 0),
        ("ANYONE(SEQ(x, y), SEQ(y, x))", 0),
        ("BOTH(FOLLOWS(x, y, '1 s'), FOLLOWS(x, y, '2 s'), '1 s')", 0),
        ("BOTH(x, y, '1 s')", 1),
        ("AND(x, y)", 1),
        ("x meets y", 1),
        ("x equals y", 1),
        ("x par y", 1),
    ],
)
def test_a_condition_tells_events_apart_only_where_time_does_not(clause: str, said: int) -> None:
    (rule,) = rules(f"CREATE EVENT r AS SELECT k FROM a x y PARTITION BY k EVENT {clause};")
    assert format_rule(rule).count("x.n is distinct from y.n") == said


def test_words_of_sql_are_free_in_rules() -> None:
    for word in (
        "create", "select", "from", "with", "by", "partition", "group", "having", "join", "using",
        "range", "slide", "rows", "now", "over", "of", "exists",
    ):  # fmt: skip
        text = f"event {word}({word} int); r({word}) <- l: {word}({word}) where l.{word} > 1;"
        assert thence.compile(text).derived[0].names == (word,)


def test_a_query_in_a_condition_needs_a_query_around_it() -> None:
    for condition in ("exists (select * from book)", "x in (select id from book)"):
        with pytest.raises(thence.ParseError, match="the WHERE of another query"):
            rules(f"r(x) <- a(x, _) where {condition};")
    for free in ("exists(select)", "x in (select, 3)", "select in (select)"):
        text = f"event exists(select bool); r() <- exists(select), b(_, x) where {free};"
        assert len(rules(text.replace("where exists(select)", "where select"))) == 1


def test_a_result_tells_which_events_it_rests_on() -> None:
    program = thence.compile(
        EVENTS + "CREATE EVENT r AS SELECT x.n FROM (SELECT * FROM a WHERE n > 1) x, b y "
        "PARTITION BY k EVENT FOLLOWS(x, y, '5 s');"
    )
    events = {"a": [{"k": 1, "n": 2, "time": 1}], "b": [{"k": 1, "m": 3, "time": 2}]}
    (row,) = program.run(events, lineage=True)["r"].to_pylist()
    assert [(entry["label"], entry["event"]) for entry in row["lineage"]] == [
        ("a", "a"),
        ("y", "b"),
    ]


def test_the_library_finds_the_same_in_both_notations() -> None:
    library = Path(__file__).resolve().parent.parent / "examples" / "library"
    as_rules, as_queries = (
        thence.load(library / name).run(library / "events.jsonl")
        for name in ("library.thence", "queries.thence")
    )
    assert as_rules.total > 0
    assert {name: as_rules[name].to_pylist() for name in as_rules} == {
        name: as_queries[name].to_pylist() for name in as_queries
    }


def test_all_that_a_query_reads_has_a_place_in_its_text() -> None:
    text = """event a(k int, n int); event b(k int, m int); table book(id int, name string);
CREATE EVENT r AS
  WITH d AS (SELECT x.k, z.m - x.n AS rise FROM a x, b y z, a w PARTITION BY k
             EVENT BOTH(NOTFOLLOWS(x, y, '1 s'), BETWEEN(w, z), '9 s') WHERE w.n > z.m AND y.m = 2)
  SELECT k, AVG(rise) / 2 AS half FROM d [RANGE BY '1 min' SLIDE BY '5 s'] e, book
  WHERE book.id = e.k AND NOT EXISTS (SELECT * FROM book WHERE id = e.rise) GROUP BY k
  HAVING COUNT(*) > 3;
"""
    query = Span(text.index("CREATE"), text.rindex(";") + 1)
    found = parse_program(Source(text)).rules
    assert len(found) == 5
    for rule in found:
        atoms = [part for part in walk(rule.body) if isinstance(part, Atom)]
        leaves = [leaf for expr in exprs_of(rule) for leaf in read_by(expr)]
        for part in (*atoms, *leaves, *rule.terms, rule):
            span = part.span  # type: ignore[attr-defined]
            assert query.start <= span.start < span.end <= query.end, part


def test_what_closes_a_window_earlier_takes_no_name_that_is_there() -> None:
    query = "SELECT x.n FROM a x, b y, c `{}` EVENT AND(BETWEEN(x, y), `{}`) WITHIN 10 s"
    plain, primed = (rules(f"CREATE EVENT r AS {query.format(z, z)};") for z in ("z", "y′"))
    assert format_rule(plain[0]) == format_rule(primed[0]).replace("`y′`", "z").replace("′′", "′")


@pytest.mark.parametrize(
    ("query", "call", "inside"),
    [
        ("SELECT x.n FROM a x, b y EVENT BETWEEN(x, {})", "ANYONE(", "y"),
        ("SELECT x.n FROM a x, b y EVENT SEQ(x, y) WHERE 3 > {}", "-(", "y.m"),
        ("SELECT MAX(n) AS n FROM a [RANGE BY '1 s'] HAVING 3 > {}", "-(", "MAX(k)"),
    ],
)
def test_a_query_may_be_as_deep_as_a_rule(query: str, call: str, inside: str) -> None:
    def deep(levels: int) -> str:
        return f"CREATE EVENT r AS {query.format(call * levels + inside + ')' * levels)};"

    assert rules(deep(150))
    with pytest.raises(thence.ProgramError, match="more than 200 levels deep"):
        rules(deep(250))


def test_queries_become_logic_without_the_syntax_of_rules() -> None:
    """What the parser has built is read; nothing of the tree is made to be resolved once more."""
    folder = Path(thence.__file__).parent / "lang" / "sql"
    for file in sorted(set(folder.glob("*.py")) - {folder / "build.py"}):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = node.func.value
                if isinstance(owner, ast.Name) and owner.id in ("s", "q"):
                    assert node.func.attr.islower(), f"{file.name}:{node.lineno}"
