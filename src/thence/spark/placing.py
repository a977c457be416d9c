"""Numbers that lead to chosen partitions.

Spark puts a row into partition ``hash(column) mod partitions``. With shard numbers 0, 1, 2, …
some partitions would get several shards and others none. So each shard has a number that was
looked for: one whose hash leads to the shard's own partition.
"""

from __future__ import annotations

from functools import lru_cache

_SEED = 42
_WORD = 0xFFFFFFFF


@lru_cache(maxsize=256)
def places(shards: int) -> tuple[int, ...]:
    """A number for each shard; with as many partitions, each shard has one of its own.

    The numbers depend on nothing else, since in a stream they are what state is found by.

    >>> [partition_of(place, 4) for place in places(4)]
    [0, 1, 2, 3]
    """
    found: dict[int, int] = {}
    number = 0
    while len(found) < shards:
        found.setdefault(partition_of(number, shards), number)
        number += 1
    return tuple(found[shard] for shard in range(shards))


def partition_of(number: int, partitions: int) -> int:
    """The partition into which Spark puts a row whose only key is this 32-bit integer."""
    return _signed(_murmur3(number)) % partitions


def _murmur3(number: int) -> int:
    """Murmur3 of one 32-bit integer, with the seed that Spark's partitioning uses."""
    mixed = (number * 0xCC9E2D51) & _WORD
    mixed = _rotated(mixed, 15)
    mixed = (mixed * 0x1B873593) & _WORD
    total = _rotated(_SEED ^ mixed, 13)
    total = (total * 5 + 0xE6546B64) & _WORD
    total ^= 4
    total = ((total ^ (total >> 16)) * 0x85EBCA6B) & _WORD
    total = ((total ^ (total >> 13)) * 0xC2B2AE35) & _WORD
    return total ^ (total >> 16)


def _rotated(word: int, by: int) -> int:
    return ((word << by) | (word >> (32 - by))) & _WORD


def _signed(word: int) -> int:
    return word - (1 << 32) if word >= 1 << 31 else word
