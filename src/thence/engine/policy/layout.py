"""What the compiled search runs over: a few arrays, whose columns have names here.

Few arrays, since what a compiled function is given it takes time to compile.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from thence.engine.arrays.array_types import Index, IntTable, Mask

FAR = 2**62
"""Beyond all times."""

EACH, FIRST, LAST = 0, 1, -1
"""How a level goes through its candidates: all of them, or to the first (the last) that fits."""

REQUESTED, TRUE, FALSE = 1, 2, 3
"""What is known of a condition; 0 is an empty place of the table."""

BASE, INITIATOR, SHARP = range(3)
"""Of a variant: its first level; the level of the event that its matches begin with; and whether it
finds no more than one match of those that are alternatives."""

BEGIN, SIZE = 0, 1
"""Of a level: where its rows begin among all, and how many there are."""
MODE, SLOT, CHOICE = 2, 3, 4
"""How it goes through them; the place of its event in a match, -1 for a fact; 0 if all events count
there, 1 or -1 for the first or the last, 2 for all as one."""
SKIPS, READY, CONDITIONAL = 5, 6, 7
"""Whether events that are used up cannot stand there; how many levels must be bound before its key
is known; whether it has conditions that only Python can evaluate."""
LINKS, FENCES, COMPARED, KEYS = 8, 9, 10, 11
"""Where its links, fences, comparisons and keys begin; those of the next level begin where these
end."""
LEVEL = 12
"""How many numbers there are for a level."""

PARTNER, OFFSET, FACTOR = range(3)
"""Of a link: the level of the variant that it is to; where the codes of that level for it begin;
and what a code is multiplied with, to be one code with those of the others."""

SOURCE, VALUES, AT_END, LOW = range(4)
"""Of a fence: the level of the variant that it is from; where the times begin that it has for the
rows of that; whether it is about the end of an event, or its start; and whether none may be earlier
than the time, or none later."""

SIGN, WITH, MINE, THEIRS, REAL = range(5)
"""Of a comparison: its sign; the level of the variant that it is with; where the numbers of the two
sides begin; and whether they are floats."""


class Places(NamedTuple):
    """The levels of all variants, one after another; a level's rows are sorted by key and rank.

    A level is an atom of a variant; the first level of each is its terminator.
    """

    variants: IntTable
    levels: IntTable
    bounds: Any
    """Per variant, by how much one end of a level's event may be after that of another."""
    involved: Any
    """Per level, which levels of its variant the conditions read that only Python can evaluate."""
    starts: Index
    ends: Index
    numbers: Index
    """The numbers that events have in the order of time, type and attributes."""
    links: IntTable
    codes: Index
    keys: Index
    """The keys of each level, sorted."""
    key_rows: Index
    """Where the rows of each key begin."""
    fences: IntTable
    fence_values: Index
    comparisons: IntTable
    whole_numbers: Index
    real_numbers: Any


class Supply(NamedTuple):
    """Which events are not used up yet."""

    spent: Mask
    places: Any
    """Per level, where it has the event of a number; -1 where it does not."""
    alive: Mask
    """Per level a tree over its rows: whether some below are not used up."""
    trees: Index
    """Where the tree of each level begins."""
    widths: Index
    """How many leaves it has."""
    everything: bool
    """Whether a match uses up all its events, or only the one that it began with."""


class Verdicts(NamedTuple):
    """What is known of conditions: a hash table from a level and its rows to a verdict."""

    keys: IntTable
    states: Any
    counts: Index
    """How many places are taken, and how many verdicts are asked for."""
    requests: Index
    """Places whose verdicts are asked for."""


class Walk(NamedTuple):
    """Where a walk stands: ranges of times and of rows, by depth and level."""

    low: IntTable
    high: IntTable
    groups: IntTable
    """Per level, the rows that have its key."""
    rows: IntTable
    """Per depth, the first and the last row to try."""
