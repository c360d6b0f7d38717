"""What others had throttled of a run's topics before it began: put back when the topics have arrived, as rates are.

It stands beside the plan in the journal's ConfigMap, and is written right before the run takes its turn (`stages`): a
list that somebody removes between the planning and the turn must not come back. It is no part of the plan's digest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import TypeAdapter

from seawall.domain.packed import Damaged, pack, unpack
from seawall.domain.partitions import Replica, ThrottledReplicas
from seawall.domain.reassignment.journal import MAX_PLAIN, UnreadableJournal

LISTS_KEY = "throttled"

Lists = Mapping[str, ThrottledReplicas]
"""By topic; one of which nothing is throttled is left out."""

_Side = tuple[bool, list[tuple[int, int]]]
_SHAPE = TypeAdapter(dict[str, tuple[_Side, _Side]])


def encode_lists(lists: Lists) -> bytes:
    """The bytes of the ConfigMap. For leaders, then followers: whether all are, and pairs of partition and broker."""
    rows: dict[str, Any] = {
        topic: [
            [found.every_leader, sorted(found.leaders)],
            [found.every_follower, sorted(found.followers)],
        ]
        for topic, found in sorted(lists.items())
    }
    return pack(rows)


def decode_lists(data: bytes) -> dict[str, ThrottledReplicas]:
    """What `encode_lists` wrote.

    Raises:
        UnreadableJournal: it is damaged.
    """
    try:
        read = unpack(data, _SHAPE, MAX_PLAIN)
    except Damaged as error:
        raise UnreadableJournal(f"what others had throttled before the reassignment {error}") from error
    return {
        topic: ThrottledReplicas(_replicas(leaders), _replicas(followers), every_leader, every_follower)
        for topic, ((every_leader, leaders), (every_follower, followers)) in read.items()
    }


def _replicas(pairs: Iterable[tuple[int, int]]) -> frozenset[Replica]:
    return frozenset(Replica(partition, broker) for partition, broker in pairs)
