"""Which nodes can be reached from which: by rules, by SciPy and by rustworkx. All give pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import rustworkx
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import breadth_first_order

import thence
from benchmarks.knowledge.graphs import Graph

RULES = {
    "rules, to the right": "reach(x, z) :- edge(x, y), reach(y, z);",
    "rules, to the left": "reach(x, z) :- reach(x, y), edge(y, z);",
    "rules, twice": "reach(x, z) :- reach(x, y), reach(y, z);",
}


def program(recursion: str, without: tuple[str, ...] = ()) -> thence.Program:
    """Reachability, with one of the rules."""
    return thence.compile(
        f"table edge(x int, y int); reach(x, y) :- edge(x, y); {recursion}"
        "event ask(x int); reached(x, y) <- ask(x), reach(x, y);",
        without=without,
    )


def by_rules(made: thence.Program, graph: Graph, every: bool) -> Any:
    """The pairs as Thence gives them: from the sources, or all."""
    given = {} if every else {"x": graph.sources}
    found = made.rows("reach", given, tables={"edge": graph.table})
    return found["x"].to_numpy(), found["y"].to_numpy()


def by_events(made: thence.Program, graph: Graph) -> Any:
    """The same asked by events: a result for each pair."""
    asked = pa.table({"x": graph.sources, "time": np.arange(len(graph.sources))})
    found = made.run({"ask": asked}, tables={"edge": graph.table})["reached"]
    return found["x"].to_numpy(), found["y"].to_numpy()


def by_scipy(graph: Graph) -> Any:
    """A breadth-first search from each source. It finds the source itself, which is a pair only
    where an edge leads back."""
    shape = graph.nodes, graph.nodes
    matrix = csr_matrix((np.ones(len(graph.x), dtype=np.int8), (graph.x, graph.y)), shape=shape)
    found = [breadth_first_order(matrix, s, return_predecessors=False) for s in graph.sources]
    sizes = [len(each) for each in found]
    return np.repeat(graph.sources, sizes), np.concatenate(found)


def by_rustworkx(graph: Graph) -> Any:
    """The descendants of each source."""
    made = rustworkx.PyDiGraph()
    made.add_nodes_from(range(graph.nodes))
    made.add_edges_from_no_data(list(zip(graph.x.tolist(), graph.y.tolist(), strict=True)))
    found = [
        np.fromiter(descendants, np.int64)
        for descendants in (rustworkx.descendants(made, int(s)) for s in graph.sources)
    ]
    return np.repeat(graph.sources, [len(each) for each in found]), np.concatenate(found)


def others(pairs: Any, graph: Graph) -> Any:
    """Pairs of different nodes, as sorted numbers: what all ways agree on."""
    x, y = (np.asarray(each, dtype=np.int64) for each in pairs)
    return np.sort((x * graph.nodes + y)[x != y])
