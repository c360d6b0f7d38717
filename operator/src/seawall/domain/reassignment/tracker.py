"""How far each partition of a run is, by what Kafka says; who should lead at its end, and the sentences about it.

Nothing is remembered of what was submitted: a partition is on its way because Kafka says so, and whose way it is tells
its target. So it does not matter whether an answer was lost, or a process died.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from seawall.api.meta import APPROVE_ANNOTATION
from seawall.domain.partitions import Partition, PartitionId, led_by_others
from seawall.domain.placement import Why
from seawall.domain.reassignment.journal import Journal, PlannedMove
from seawall.domain.reassignment.observed import KafkaState


class Direction(StrEnum):
    """Where the partitions of a run go."""

    FORWARD = "Forward"
    """To the wanted replicas."""
    BACK = "Back"
    """To the original replicas: a person aborts."""
    STAY = "Stay"
    """Nowhere: what is on its way is cancelled, what was moved stays."""


class Progress(StrEnum):
    """How far one partition is."""

    DONE = "Done"
    """It has the replicas that it should have, and nobody moves it."""
    IN_FLIGHT = "InFlight"
    """It is on its way there."""
    TO_CANCEL = "ToCancel"
    """It is on its way to where it should not go any more."""
    OPEN = "Open"
    """It is where it was, and can be submitted."""
    REFUSED = "Refused"
    """It is where it was, and Kafka refused to move it."""
    LEFT_ALONE = "LeftAlone"
    """It is not as it was planned any more: deleted, moved by somebody else, or its leader would be dropped."""
    UNKNOWN = "Unknown"
    """Kafka did not tell."""


@dataclass(frozen=True)
class MoveTracker:
    """A run and a look at its partitions. `refused` has those that Kafka refused to move."""

    journal: Journal
    kafka: KafkaState
    direction: Direction
    refused: frozenset[PartitionId] = frozenset()

    @cached_property
    def progress(self) -> Mapping[PartitionId, Progress]:
        """How far each partition is."""
        return {move.id: self._progress(move) for move in self.journal.moves}

    @cached_property
    def counts(self) -> Mapping[Progress, int]:
        """How many partitions are how far."""
        return Counter(self.progress.values())

    def count(self, *states: Progress) -> int:
        """How many partitions are in one of these states."""
        return sum(self.counts.get(state, 0) for state in states)

    def moves_in(self, state: Progress) -> tuple[PlannedMove, ...]:
        """The moves that are this far, in their order."""
        return tuple(move for move in self.journal.moves if self.progress[move.id] is state)

    @cached_property
    def foreign(self) -> tuple[PartitionId, ...]:
        """Partitions that somebody else moves, anywhere in the cluster."""
        ours = {Progress.IN_FLIGHT, Progress.TO_CANCEL}
        return tuple(sorted(found for found in self.kafka.ongoing if self.progress.get(found) not in ours))

    @cached_property
    def bytes_left(self) -> int:
        """Bytes that the plan copies for partitions that do not have their replicas yet."""
        states = {Progress.OPEN, Progress.IN_FLIGHT, Progress.UNKNOWN}
        return sum(move.copied for move in self.journal.moves if self.progress[move.id] in states)

    def goal(self, move: PlannedMove) -> tuple[int, ...]:
        """The replicas that a partition should have at the end."""
        return move.original if self.direction is Direction.BACK else move.wanted

    def _progress(self, move: PlannedMove) -> Progress:
        found = self.kafka.partitions.get(move.id)
        if found is None:
            return Progress.UNKNOWN if move.id.topic in self.kafka.silent else Progress.LEFT_ALONE
        if move.id in self.kafka.ongoing:
            return self._of_ongoing(move)
        if self.direction is Direction.STAY:
            return Progress.DONE
        if found.replicas == self.goal(move):
            return Progress.DONE
        return self._of_settled(move, found)

    def _of_settled(self, move: PlannedMove, found: Partition) -> Progress:
        """All its replicas together are what a broker shows that has not heard of the end of the move yet."""
        original, wanted, goal = frozenset(move.original), frozenset(move.wanted), frozenset(self.goal(move))
        if frozenset(found.replicas) not in {original, wanted, original | wanted}:
            return Progress.LEFT_ALONE
        if move.id in self.refused:
            return Progress.REFUSED
        drops_leader = found.leader is not None and found.leader not in goal and goal < frozenset(found.replicas)
        return Progress.LEFT_ALONE if drops_leader and self._plans_again(found.leader) else Progress.OPEN

    def _plans_again(self, leader: int | None) -> bool:
        """Whether the next plan keeps who leads by now. None follows an abort, and none keeps an excluded broker.

        Kafka then elects another leader in the same change, of those in sync, which are asked for right before.
        """
        return self.direction is Direction.FORWARD and leader not in self.journal.exclude

    def _of_ongoing(self, move: PlannedMove) -> Progress:
        """Whose way it is, by its target: who sends it where we send it helps us."""
        target = frozenset(self.kafka.ongoing[move.id].target)
        towards = {frozenset(move.wanted): Direction.FORWARD, frozenset(move.original): Direction.BACK}.get(target)
        if towards is None:
            return Progress.LEFT_ALONE
        if towards is self.direction:
            return Progress.IN_FLIGHT
        return Progress.LEFT_ALONE if self.direction is Direction.FORWARD else Progress.TO_CANCEL


BALANCES = frozenset({str(Why.BALANCE), str(Why.LEADERS)})


def not_preferred(tracker: MoveTracker) -> tuple[PartitionId, ...]:
    """Partitions of a run that others lead; of one that is for balance, all of the pool."""
    kafka = tracker.kafka
    found = {
        move.id
        for move in tracker.moves_in(Progress.DONE)
        if kafka.partitions[move.id].leader != move.wanted[0] and kafka.is_online(move.wanted[0])
    }
    if not BALANCES.isdisjoint(tracker.journal.why):
        found.update(not_preferred_in(kafka))
    return tuple(sorted(found))


def not_preferred_in(kafka: KafkaState) -> tuple[PartitionId, ...]:
    """The partitions that were looked at whose preferred leader could lead, and does not."""
    online = [broker for broker in kafka.brokers if kafka.is_online(broker)]
    return led_by_others(kafka.partitions.values(), online, kafka.ongoing)


def asks(journal: Journal) -> str:
    """What a person has to do."""
    moves = len(journal.moves)
    return f"{moves} partitions are to be moved: set {APPROVE_ANNOTATION}: {journal.digest} to let it begin"


def so_far(tracker: MoveTracker) -> str:
    """How far it is."""
    total, done = len(tracker.journal.moves), tracker.count(Progress.DONE)
    return f"{done} of {total} partitions are moved, {tracker.count(Progress.IN_FLIGHT)} are on their way"


def at_end(tracker: MoveTracker) -> str:
    """What became of all."""
    done, total = tracker.count(Progress.DONE), len(tracker.journal.moves)
    parts = [f"{done} of {total} partitions were moved"]
    if refused := tracker.count(Progress.REFUSED):
        parts.append(f"Kafka refused {refused}")
    if left := tracker.count(Progress.LEFT_ALONE):
        parts.append(f"{left} are not as they were planned any more, and were left alone")
    return "; ".join(parts)
