"""What is looked at once more right before a partition gets fewer replicas."""

from __future__ import annotations

from seawall.domain.partitions import Broker, BrokerState, Partition, PartitionId
from seawall.domain.reassignment.batch import why_not_now
from seawall.domain.reassignment.observed import KafkaState

BROKERS = {id_: Broker(id_, None, BrokerState.ONLINE) for id_ in range(1, 6)}


def why(replicas: tuple[int, ...], isr: tuple[int, ...], goal: tuple[int, ...], min_isr: int) -> str | None:
    found = Partition(PartitionId("wal", 0), replicas, frozenset(isr), isr[0])
    return why_not_now(found, goal, KafkaState(BROKERS, {found.id: found}, min_isr={"wal": min_isr}))


def test_replicas_go_only_if_enough_of_those_that_stay_are_in_sync() -> None:
    assert why((1, 2, 3), (1, 3), (1, 2), 1) is None
    assert why((1, 2, 3, 4), (1, 4), (1, 2, 3), 2) == "wal-0 would have 1 replicas in sync, and needs 2"


def test_a_replica_that_comes_counts_and_those_that_are_behind_do_not() -> None:
    """Four become three, and one of them is new: 2 and 3 fell behind since it was planned."""
    assert why((1, 2, 3, 4), (1, 4), (2, 3, 5), 2) == "wal-0 would have 1 replicas in sync, and needs 2"
    assert why((1, 2, 3, 4), (1, 2, 4), (2, 3, 5), 2) is None
