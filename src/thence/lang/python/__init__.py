"""Programs as Python objects: events, patterns and definitions, with operators and methods.

Everything that the rule language says can be said here, and gives the same program.
"""

from __future__ import annotations

from thence.lang.python import fn, moments
from thence.lang.python.events import Derived, Event, Table, derived, event, table
from thence.lang.python.functions import (
    Absence,
    Collection,
    absent,
    all_of,
    any_of,
    anyone,
    at,
    both,
    collect,
    follows,
    notfollows,
    notprecedes,
    precedes,
    sequence,
    ticks,
)
from thence.lang.python.patterns import Definition, Pattern
from thence.lang.python.values import Aggregated, Attribute, Value, var

__all__ = [
    "Absence",
    "Aggregated",
    "Attribute",
    "Collection",
    "Definition",
    "Derived",
    "Event",
    "Pattern",
    "Table",
    "Value",
    "absent",
    "all_of",
    "any_of",
    "anyone",
    "at",
    "both",
    "collect",
    "derived",
    "event",
    "fn",
    "follows",
    "moments",
    "notfollows",
    "notprecedes",
    "precedes",
    "sequence",
    "table",
    "ticks",
    "var",
]
