"""What a run froze when it was planned, and what others had throttled of its topics before it began.

It is kept in the binaryData of one ConfigMap (packed): equal plans are equal bytes. A plan of 10,000 topics takes
about 100 KiB of the megabyte that a ConfigMap may have.

It stands beside the plan in the journal's ConfigMap, and is written right before the run takes its turn (`stages`): a
list that somebody removes between the planning and the turn must not come back. It is no part of the plan's digest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Any

from pydantic import TypeAdapter

from seawall.api.meta import Key
from seawall.domain.errors import SeawallError
from seawall.domain.kubernetes import Damaged, pack, plain, unpack
from seawall.domain.partitions import PartitionId, Replica, ThrottledReplicas
from seawall.domain.placement import Move

VERSION = 1
ABOUT_KEY, DATA_KEY = "about", "plan"
MAX_PLAIN = 16 * 2**20
"""A journal that unpacks to more was not written by us."""


class UnreadableJournal(SeawallError):  # noqa: N818 - named for what happened
    """A ConfigMap is not what this version writes: nobody knows what the run meant to do."""


@dataclass(frozen=True, slots=True)
class PlannedMove:
    """One partition of a plan.

    Attributes:
        original: its replicas when it was planned, the preferred leader first.
        wanted: those that it should have.
        size: bytes of one replica then; 0: not known.
    """

    id: PartitionId
    original: tuple[int, ...]
    wanted: tuple[int, ...]
    size: int = 0

    @property
    def adding(self) -> frozenset[int]:
        """Brokers that get a new replica."""
        return frozenset(self.wanted) - frozenset(self.original)

    @property
    def copied(self) -> int:
        """Bytes that the move copies."""
        return self.size * len(self.adding)


@dataclass(frozen=True, slots=True)
class Journal:
    """A plan, frozen.

    Attributes:
        planned_at: when; part of the digest, so that an approval is of this plan and of no later one that is alike.
        why: what it is for, as the status shows it.
        exclude: the brokers that were excluded then.
        moves: by partition, in their order.
    """

    planned_at: datetime
    why: tuple[str, ...]
    exclude: frozenset[int]
    moves: tuple[PlannedMove, ...]

    @property
    def digest(self) -> str:
        """What an approval must name: 16 hexadecimal digits of all that is frozen."""
        return blake2b(plain(_body(self)), digest_size=8).hexdigest()

    @property
    def topics(self) -> frozenset[str]:
        """The topics that it moves partitions of."""
        return frozenset(move.id.topic for move in self.moves)

    @property
    def copied(self) -> int:
        """Bytes that it copies."""
        return sum(move.copied for move in self.moves)

    def plans_the_same(self, other: Journal) -> bool:
        """Whether both move the same, whenever they were planned and however large the logs were."""
        mine, theirs = _targets(self.moves), _targets(other.moves)
        return mine == theirs and self.exclude == other.exclude and self.why == other.why


def build_journal(
    moves: Iterable[Move], exclude: frozenset[int], sizes: Mapping[PartitionId, int], now: datetime
) -> Journal:
    """Freezes what placement planned."""
    found = sorted(moves, key=lambda move: move.id)
    return Journal(
        planned_at=now.replace(microsecond=0),
        why=tuple(sorted({str(move.why) for move in found})),
        exclude=exclude,
        moves=tuple(PlannedMove(move.id, move.original, move.wanted, sizes.get(move.id, 0)) for move in found),
    )


def journal_key(cluster: Key) -> Key:
    """The ConfigMap of a WALCluster's journal."""
    return Key(cluster.namespace, f"{cluster.name}-reassignment")


def encode_journal(journal: Journal) -> bytes:
    """The bytes of the ConfigMap."""
    return pack(_body(journal))


def decode_journal(data: bytes) -> Journal:
    """What `encode_journal` wrote.

    Raises:
        UnreadableJournal: another version, or damaged.
    """
    try:
        version, planned_at, why, exclude, topics = unpack(data, _SHAPE, MAX_PLAIN)
    except Damaged as error:
        raise UnreadableJournal(f"the journal of the reassignment {error}") from error
    if version != VERSION:
        raise UnreadableJournal(
            f"the journal of the reassignment has format {version}, this version of Seawall knows {VERSION}"
        )
    moves = tuple(
        PlannedMove(PartitionId(topic, number), tuple(original), tuple(wanted), size)
        for topic, partitions in topics
        for number, original, wanted, size in partitions
    )
    return Journal(planned_at, tuple(why), frozenset(exclude), moves)


_Row = tuple[int, list[int], list[int], int]
_SHAPE = TypeAdapter(tuple[int, datetime, list[str], list[int], list[tuple[str, list[_Row]]]])


def _body(journal: Journal) -> list[object]:
    """Partitions are grouped by topic: names are most of it."""
    topics: dict[str, list[object]] = {}
    for move in journal.moves:
        topics.setdefault(move.id.topic, []).append([move.id.partition, move.original, move.wanted, move.size])
    return [VERSION, journal.planned_at.isoformat(), journal.why, sorted(journal.exclude), list(topics.items())]


def _targets(moves: Iterable[PlannedMove]) -> dict[PartitionId, tuple[tuple[int, ...], tuple[int, ...]]]:
    return {move.id: (move.original, move.wanted) for move in moves}


LISTS_KEY = "throttled"

Lists = Mapping[str, ThrottledReplicas]
"""By topic; one of which nothing is throttled is left out."""

_Side = tuple[bool, list[tuple[int, int]]]
_SHAPE_OF_LISTS = TypeAdapter(dict[str, tuple[_Side, _Side]])


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
        read = unpack(data, _SHAPE_OF_LISTS, MAX_PLAIN)
    except Damaged as error:
        raise UnreadableJournal(f"what others had throttled before the reassignment {error}") from error
    return {
        topic: ThrottledReplicas(_replicas(leaders), _replicas(followers), every_leader, every_follower)
        for topic, ((every_leader, leaders), (every_follower, followers)) in read.items()
    }


def _replicas(pairs: Iterable[tuple[int, int]]) -> frozenset[Replica]:
    return frozenset(Replica(partition, broker) for partition, broker in pairs)
