"""Points and shapes: conditions in all three languages, an index in place of a product, errors."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import oracle_geometry
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thence
from thence.lang.python import event, fn, table

pytest.importorskip("shapely")

DECLARED = "event seen(x float, y float); table area(name string, shape string);\n"
PROGRAM = DECLARED + "at_(n) <- seen(x, y), area(n, shape), inside(x, y, shape);"
SQUARE = "POLYGON ((0 0, 2 0, 2 2, 0 2, 0 0))"
AREAS = [{"name": "square", "shape": SQUARE}]


def names(program: thence.Program, areas: Any = AREAS) -> list[str]:
    events = {"seen": [{"x": 1.0, "y": 2.0, "time": 1}, {"x": 1.0, "y": 2.5, "time": 2}]}
    (derived,) = [schema.name for schema in program.derived]
    return program.run(events, tables={"area": areas})[derived]["n"].to_pylist()  # type: ignore[no-any-return]


def test_text_sql_and_python_ask_alike() -> None:
    Seen, Area = event("seen", x=float, y=float), table("area", name=str, shape=str)
    s, a = Seen("s"), Area("a")
    built = (s & a).where(fn.inside(s.x, s.y, a.shape)).select("at_", n=a.name)
    query = DECLARED + (
        "CREATE EVENT at_ AS SELECT a.name AS n FROM seen s, area a "
        "WHERE inside(s.x, s.y, a.shape) AND distance(s.x, s.y, 1, 1) < 3;"
    )
    for program in (thence.compile(PROGRAM), thence.compile(query), thence.build(built)):
        assert names(program) == ["square"]


def candidates(program: thence.Program, events: Any, areas: Any) -> int:
    results = program.run({"seen": events}, tables={"area": areas})
    (join,) = program.plan.stages[0].rules[0]
    return sum(t.candidates for t in results._measured.meter.of(join).terms.values())


def test_shapes_are_looked_up_in_an_index() -> None:
    size = 20
    cells = [(i, j) for i in range(size) for j in range(size)]
    shapes = [
        f"POLYGON (({i} {j}, {i + 1} {j}, {i + 1} {j + 1}, {i} {j + 1}, {i} {j}))" for i, j in cells
    ]
    areas = pa.table({"name": [str(cell) for cell in cells], "shape": shapes})
    random = np.random.default_rng(1)
    events = pa.table(
        {"x": random.uniform(0, size, 300), "y": random.uniform(0, size, 300), "time": range(300)}
    )
    program = thence.compile(PROGRAM)
    assert candidates(program, events, areas) == 2 * 300
    off = thence.compile(PROGRAM, without=["value_ranges"])
    assert candidates(off, events, areas) == 300 * size**2 + min(300, size**2)
    told = thence.compile(PROGRAM, statistics={"seen": {"rows": 9}, "area": {"rows": 99}})
    assert "order: seen, then area by where shapes are\n" in told.explain()


def test_points_that_are_near_are_looked_up_by_range() -> None:
    text = (
        "event seen(x float, y float); table area(name string, u float, v float);\n"
        "at_(n) <- seen(x, y), area(n, u, v), distance(x, y, u, v) <= 1;"
    )
    areas = pa.table({"name": map(str, range(400)), "u": np.arange(400.0), "v": np.zeros(400)})
    events = pa.table({"x": np.arange(0.5, 100), "y": np.zeros(100), "time": range(100)})
    assert candidates(thence.compile(text), events, areas) == 3 * 100
    found = [
        thence.compile(text, without=without).run({"seen": events}, tables={"area": areas})["at_"]
        for without in ([], ["value_ranges"])
    ]
    assert found[0].num_rows == 200 and found[0].equals(found[1])


ANYWHERE = st.sampled_from(
    [None, -1.0, 0.0, 0.1, 0.3, 3.0, 4.0, 1e9, 5e-324, 1e308, *map(float, ("nan", "inf", "-inf"))]
)


@given(
    st.lists(st.tuples(ANYWHERE, ANYWHERE, ANYWHERE), max_size=4),
    st.lists(st.tuples(ANYWHERE, ANYWHERE), max_size=5),
    st.sampled_from(["distance(x, y, u, v) <= r", "r > distance(u, v, x, y)"]),
)
def test_how_near_is_found_does_not_change_what_is(seen: Any, areas: Any, condition: str) -> None:
    text = (
        "event seen(i int, x float, y float, r float); table area(n int, u float, v float);\n"
        f"near(i, n) <- seen(i, x, y, r), area(n, u, v), {condition};"
    )
    events = [{"i": i, "x": x, "y": y, "r": r, "time": i} for i, (x, y, r) in enumerate(seen)]
    rows = [{"n": n, "u": u, "v": v} for n, (u, v) in enumerate(areas)]
    found = []
    for without in ([], ["value_ranges"]):
        program = thence.compile(text, without=without)
        near = program.run({"seen": events}, tables={"area": rows})["near"].to_pylist()
        found.append({(row["i"], row["n"]) for row in near})
    assert found[0] == found[1]


COORDINATES = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 1e6, float("nan"), float("inf")])
CORNERS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=3, max_size=3)


@given(st.lists(st.tuples(COORDINATES, COORDINATES), max_size=6), st.lists(CORNERS, max_size=4))
def test_what_is_found_is_what_a_textbook_says(points: Any, triangles: Any) -> None:
    def area(a: Any, b: Any, c: Any) -> int:
        return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])  # type: ignore[no-any-return]

    shapes = [
        f"POLYGON (({', '.join(f'{x} {y}' for x, y in (*t, t[0]))}))" for t in triangles if area(*t)
    ]
    text = DECLARED.replace("x float", "i int, x float")
    text += "r(i, n) <- seen(i, x, y), area(n, shape), inside(x, y, shape);"
    events = [{"i": i, "x": x, "y": y, "time": i} for i, (x, y) in enumerate(points)]
    areas = [{"name": str(n), "shape": shape} for n, shape in enumerate(shapes)]
    expected = {
        (i, str(n))
        for i, (x, y) in enumerate(points)
        for n, shape in enumerate(shapes)
        if oracle_geometry.inside(x, y, shape)
    }
    for without in ([], ["value_ranges"]):
        program = thence.compile(text, without=without)
        found = program.run({"seen": events}, tables={"area": areas})["r"].to_pylist()
        assert {(row["i"], row["n"]) for row in found} == expected


# --- what is wrong --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ("BLOB (1 2)", "Unknown type: 'BLOB'"),
        ("POLYGON ((0 0, 2 2, 2 0, 0 2, 0 0))", "Self-intersection"),
    ],
)
def test_a_row_whose_shape_is_none_is_named(shape: str, reason: str) -> None:
    areas = [*AREAS, {"name": "none", "shape": None}, {"name": "bad", "shape": shape}]
    for run in (
        lambda program: names(program, areas),
        lambda program: program.session(tables={"area": areas}),
    ):
        with pytest.raises(thence.InputError) as raised:
            run(thence.compile(PROGRAM))
        said = str(raised.value)
        assert said.startswith(f"table 'area', column 'shape', row 3: '{shape}' is no shape: ")
        assert reason in said


def test_a_literal_that_is_no_shape_is_pointed_at() -> None:
    with pytest.raises(thence.ProgramError, match="this is no shape: Unknown type: 'BLOB'"):
        thence.compile("event a(x int); b(x) <- a(x) where inside(x, x, 'BLOB (1 2)');")


def test_an_event_whose_shape_is_none_is_shown() -> None:
    program = thence.compile("event a(x int, s string); b(x) <- a(x, s) where inside(x, x, s);")
    with pytest.raises(thence.EvaluationError, match=r"inside\(1, 1, 'BLOB'\): this is no shape"):
        program.run({"a": [{"x": 1, "s": "BLOB", "time": 1}]})


@pytest.mark.parametrize("call", ["inside('a', 1, s)", "inside(1, 1, 1)", "distance(1, 1, 1, s)"])
def test_arguments_have_types(call: str) -> None:
    with pytest.raises(thence.ProgramError, match=r"must be|cannot take"):
        thence.compile(f"event a(s string); b(s) <- a(s) where {call} = {call};")


def test_without_shapely_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    program = thence.compile(PROGRAM)
    monkeypatch.setitem(sys.modules, "shapely", None)
    with pytest.raises(thence.InputError, match=r"pip install 'thence\[geo\]'"):
        names(program)
    literal = thence.compile(f"event a(x int); b(x) <- a(x) where inside(x, x, '{SQUARE}');")
    with pytest.raises(thence.EvaluationError, match=r"pip install 'thence\[geo\]'"):
        literal.run({"a": [{"x": 1, "time": 1}]})
    far = thence.compile("event a(x int); b(x) <- a(x) where distance(x, 0, 0, 0) > 1;")
    assert far.run({"a": [{"x": 3, "time": 1}]})["b"].num_rows == 1
