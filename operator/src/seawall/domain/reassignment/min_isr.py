"""Which partitions have too few replicas in sync for reasons other than a move."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from seawall.domain.partitions import Partition, PartitionId, Reassigning


def required_in_sync(min_isr: int, replicas: int) -> int:
    """What Seawall sets as min.insync.replicas on a topic with so many replicas (`topics.pool.desired_configs`)."""
    return min_isr if min_isr < replicas or min_isr == replicas == 1 else 1


def find_under_min_isr(
    partitions: Iterable[Partition], ongoing: Mapping[PartitionId, Reassigning], min_isr: int
) -> tuple[PartitionId, ...]:
    """Those with fewer replicas in sync than they need.

    Of a partition that is moved only the replicas count that it had before: those that come are not in sync yet.
    """
    found = []
    for partition in partitions:
        under_way = ongoing.get(partition.id)
        settled = under_way.original if under_way is not None else frozenset(partition.replicas)
        if partition.leader is None or len(partition.isr) < required_in_sync(min_isr, len(settled)):
            found.append(partition.id)
    return tuple(sorted(found))
