"""The gate: whether a Kafka node may be restarted now. One predicate for each reason, in the order of asking.

What is not known is against it. A fact that gets worse never opens the gate, and the first predicate that holds gives
the reason. A node that is down takes nothing away that is not away already: only what its restart might mend, and what
others still are, is asked of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from seawall.domain.kafka_nodes.facts import KafkaFacts, KafkaNode
from seawall.domain.kafka_nodes.reasons import OVERRIDABLE, KafkaBlocker
from seawall.domain.partitions import Partition
from seawall.domain.rollout.refusal import Refusal, first_few, first_if_passed, first_that_counts, refusals


@dataclass(frozen=True, slots=True)
class Candidate:
    """The node in question, with what is known."""

    node: KafkaNode
    facts: KafkaFacts

    @property
    def others(self) -> Iterator[KafkaNode]:
        """All other nodes."""
        return (node for node in self.facts.nodes if node.id != self.node.id)

    @property
    def partitions(self) -> Iterator[Partition]:
        """Those with a replica on it."""
        return (each for each in self.facts.partitions or () if self.node.id in each.replicas)

    def missing(self, partition: Partition) -> frozenset[int]:
        """The replicas that are not in sync. Of a node that is down its own do not count: a restart may mend that."""
        behind = frozenset(partition.replicas) - partition.isr
        return behind if self.node.is_online else behind - {self.node.id}


def _is_paused(asked: Candidate) -> str | None:
    return "" if asked.facts.is_paused else None


def _cannot_come_back(asked: Candidate) -> str | None:
    return asked.facts.certificates_problem


def _is_too_old(asked: Candidate) -> str | None:
    return asked.facts.version_problem


def _would_be_a_stranger(asked: Candidate) -> str | None:
    return asked.node.stranger


def _a_volume_goes(asked: Candidate) -> str | None:
    """Its own; or, while it runs, another one's of its budget, which lets nobody go then."""
    alike = (each for each in asked.others if each.is_broker == asked.node.is_broker and not asked.node.has_stopped)
    return first_few(each.name for each in (asked.node, *alike) if each.loses_volume)


def _kafka_is_silent(asked: Candidate) -> str | None:
    if asked.facts.kafka_problem is not None:
        return asked.facts.kafka_problem
    return "where its replicas are is not known" if asked.facts.partitions is None else None


def _another_is_down(asked: Candidate) -> str | None:
    return first_few([*asked.facts.missing, *(node.name for node in asked.others if not node.is_online)])


def _quorum_is_degraded(asked: Candidate) -> str | None:
    voters, facts = asked.facts.voters, asked.facts
    if voters is None or facts.active_controller is None:
        # What does not run votes for nothing. All the same a person has to answer for it: Kafka is silent.
        return None if asked.node.has_stopped else "who leads the metadata quorum is not known"
    if asked.node.has_stopped or (asked.node.is_down and not asked.node.is_controller):  # the quorum misses it already
        return None
    behind = [node.name for node in asked.others if node.is_controller and node.is_caught_up is not True]
    unknown = voters - {node.id for node in facts.nodes}
    if behind or unknown:
        return first_few([*behind, *(f"node {number} is a voter without a pod" for number in sorted(unknown))])
    left = len(voters - {asked.node.id})
    is_only = voters == frozenset({asked.node.id})
    return None if is_only or 2 * left > len(voters) else f"{left} of {len(voters)} voters would be left"


def _is_last_in_sync(asked: Candidate) -> str | None:
    if asked.facts.partitions is None:
        return None if asked.node.has_stopped else "which replicas are in sync is not known"
    if asked.node.is_down:  # it leads nothing, and its records stay on its disk
        return None
    last = (each for each in asked.partitions if len(each.replicas) > 1 and each.isr <= {asked.node.id})
    return first_few(f"{each.id.topic}-{each.id.partition}" for each in last)


def _is_not_in_sync(asked: Candidate) -> str | None:
    behind = (each for each in asked.facts.partitions or () if asked.missing(each))
    return first_few(
        f"{each.id.topic}-{each.id.partition} has {len(each.isr)} of {len(each.replicas)}" for each in behind
    )


def _would_stop_writes(asked: Candidate) -> str | None:
    if asked.node.is_down:
        return None
    return first_few(clause for each in asked.partitions if (clause := _stops(asked, each)) is not None)


def _stops(asked: Candidate, partition: Partition) -> str | None:
    if len(partition.replicas) == 1:
        return None
    name, needed = partition.id.topic, asked.facts.min_isr.get(partition.id.topic)
    if needed is None:
        return f"min.insync.replicas of {name} is not known"
    left = len(partition.isr - {asked.node.id})
    return None if left >= needed else f"{name}-{partition.id.partition}: {left} left, {needed} needed"


def _is_only_replica(asked: Candidate) -> str | None:
    if asked.node.is_down:
        return None
    alone = [f"{each.id.topic}-{each.id.partition}" for each in asked.partitions if len(each.replicas) == 1]
    return first_few([*alone, *(["the only controller"] if asked.facts.voters == frozenset({asked.node.id}) else [])])


def _is_moving(asked: Candidate) -> str | None:
    return None if asked.facts.is_moving is False or asked.node.is_down else ""


def _is_cut(asked: Candidate) -> str | None:
    return None if asked.facts.is_cut is False or asked.node.is_down else asked.facts.paused_run or ""


def _datanode_is_away(asked: Candidate) -> str | None:
    return None if asked.facts.is_datanode_away is False or asked.node.is_down else ""


def _has_not_dwelt(asked: Candidate) -> str | None:
    return first_few(node.name for node in asked.others if not asked.facts.is_steady(node))


GATE: Mapping[KafkaBlocker, Callable[[Candidate], str | None]] = MappingProxyType(
    {
        KafkaBlocker.PAUSED: _is_paused,
        KafkaBlocker.CERTIFICATES: _cannot_come_back,
        KafkaBlocker.VERSION: _is_too_old,
        KafkaBlocker.NOT_BELIEVED: _would_be_a_stranger,
        KafkaBlocker.VOLUME_GOES: _a_volume_goes,
        KafkaBlocker.KAFKA_UNREACHABLE: _kafka_is_silent,
        KafkaBlocker.NODE_NOT_ONLINE: _another_is_down,
        KafkaBlocker.QUORUM_DEGRADED: _quorum_is_degraded,
        KafkaBlocker.LAST_IN_SYNC: _is_last_in_sync,
        KafkaBlocker.NOT_FULLY_IN_SYNC: _is_not_in_sync,
        KafkaBlocker.WOULD_STOP_WRITES: _would_stop_writes,
        KafkaBlocker.ONLY_REPLICA: _is_only_replica,
        KafkaBlocker.REASSIGNMENT: _is_moving,
        KafkaBlocker.DELETE_ONGOING: _is_cut,
        KafkaBlocker.DATANODE_AWAY: _datanode_is_away,
        KafkaBlocker.DWELL: _has_not_dwelt,
    }
)
"""Every reason has its predicate, in the order of the reasons."""


def against(asked: Candidate) -> tuple[Refusal, ...]:
    """All that is against a restart, in the order of the gate, whoever lets it through."""
    return refusals(GATE, asked)


def refusal(asked: Candidate) -> Refusal | None:
    """The first that is against a restart and that nobody lets through; None: the gate is open."""
    passed = frozenset[KafkaBlocker]() if asked.facts.override is None else OVERRIDABLE
    return first_that_counts(against(asked), passed)


def let_through(asked: Candidate) -> Refusal | None:
    """What would shut the gate if nobody had let it through; None: nothing, or nobody did."""
    return None if asked.facts.override is None else first_if_passed(against(asked), OVERRIDABLE)
