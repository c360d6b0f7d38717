"""What is asked again right before replicas go: who tends topics may have raised min.insync.replicas meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from seawall.domain.errors import Conflict
from seawall.domain.kafka_log import TopicFailure
from seawall.domain.min_isr import why_not_cancel, why_not_fewer
from seawall.domain.partitions import Partition, PartitionId
from seawall.ports import PartitionReassigner

WhyNot = Callable[[Partition, Collection[int], int | None], str | None]


def require_replicas(reassigner: PartitionReassigner, targets: Mapping[PartitionId, tuple[int, ...]]) -> None:
    """Of the partitions that lose replicas by a batch, all may.

    Raises:
        Conflict: one may not: decide again.
        SeawallError: Kafka did not answer, or refused.
    """
    found = _read(reassigner, targets)
    fewer = {each: goal for each, goal in targets.items() if each in found and len(goal) < len(found[each].replicas)}
    _require(reassigner, found, fewer, why_not_fewer)


def require_cancel(reassigner: PartitionReassigner, partitions: Collection[PartitionId]) -> None:
    """All moves of these partitions may be cancelled; one that has arrived meanwhile is refused by Kafka.

    Raises:
        Conflict: one may not: decide again.
        SeawallError: Kafka did not answer, or refused.
    """
    ongoing = reassigner.ongoing()
    found = _read(reassigner, partitions)
    original = {each: ongoing[each].original for each in partitions if each in ongoing and each in found}
    _require(reassigner, found, original, why_not_cancel)


def _read(reassigner: PartitionReassigner, asked: Collection[PartitionId]) -> dict[PartitionId, Partition]:
    described = reassigner.partitions(sorted({each.topic for each in asked}))
    return {
        found.id: found
        for reported in described.values()
        if not isinstance(reported, TopicFailure)
        for found in reported
    }


def _require(
    reassigner: PartitionReassigner,
    found: Mapping[PartitionId, Partition],
    left: Mapping[PartitionId, Collection[int]],
    why_not: WhyNot,
) -> None:
    """min.insync.replicas is the last that is read."""
    if not left:
        return
    reported = reassigner.min_insync_replicas(sorted({each.topic for each in left}))
    for each, replicas in sorted(left.items()):
        min_isr = reported.get(each.topic)
        why = why_not(found[each], replicas, min_isr if isinstance(min_isr, int) else None)
        if why is not None:
            raise Conflict(why)
