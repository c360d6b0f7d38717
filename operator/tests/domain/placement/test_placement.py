"""Properties of placements over random clusters, judged by the checker and compared with flows of least cost."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from seawall.domain.partitions import Broker, BrokerState, Partition, PartitionId
from seawall.domain.placement import Demand, Infeasible, InfeasibleReason, Placement, Why, place
from tests.domain.placement.checker import Rules, complaints
from tests.domain.placement.clusters import Case, after, cases
from tests.domain.placement.flows import Least, Row, least


def placed(case: Case) -> Placement:
    found = place(case.partitions, case.brokers, case.demand)
    assume(isinstance(found, Placement))
    assert isinstance(found, Placement)
    return found


@settings(deadline=None)
@given(cases())
def test_a_placement_keeps_all_rules(case: Case) -> None:
    assert not complaints(case, placed(case))


@settings(deadline=None)
@given(cases())
def test_what_is_infeasible_has_no_choice_and_the_rest_has_one(case: Case) -> None:
    found = place(case.partitions, case.brokers, case.demand)
    rules = Rules(case)
    stuck = [
        partition
        for partition in case.partitions
        if partition.leader is not None and not rules.is_met(partition) and not list(rules.choices(partition))
    ]
    if isinstance(found, Placement):
        assert not [partition for partition in stuck if partition.id not in found.left_alone]
    elif found.reason is InfeasibleReason.RACKS_UNKNOWN:
        assert any(rules.brokers[broker].rack is None for broker in rules.usable)
    else:
        assert stuck


@settings(deadline=None)
@given(cases(), st.randoms(use_true_random=False))
def test_the_order_in_which_kafka_tells_of_things_decides_nothing(case: Case, order: random.Random) -> None:
    partitions = order.sample(case.partitions, len(case.partitions))
    brokers = order.sample(case.brokers, len(case.brokers))
    assert place(partitions, brokers, case.demand) == place(case.partitions, case.brokers, case.demand)


@settings(deadline=None)
@given(cases())
def test_when_all_moves_are_over_nothing_is_left_to_move(case: Case) -> None:
    if not case.demand.rebalance:
        found = placed(case)
        again = place(after(case, found.wanted), case.brokers, case.demand)
        assert isinstance(again, Placement)
        assert not again.moves


def raised_factors(case: Case) -> dict[str, int]:
    """Replication factors that lower none: what is lowered keeps its leader, balanced or not."""
    raised: dict[str, int] = {}
    for p in case.partitions:
        asked = raised.get(p.id.topic, case.demand.replication_factor.get(p.id.topic, 1))
        raised[p.id.topic] = max(asked, len(p.replicas))
    return raised


@settings(deadline=None)
@given(cases(healthy=True))
def test_a_healthy_cluster_is_balanced_once_and_for_all(case: Case) -> None:
    demand = Demand(raised_factors(case), case.demand.exclude, case.demand.racks, rebalance=True)
    found = placed(Case(case.partitions, case.brokers, demand))
    again = place(after(case, found.wanted), case.brokers, demand)
    assert isinstance(again, Placement)
    assert not again.moves


def squares(case: Case, wanted: dict[PartitionId, tuple[int, ...]], usable: set[int]) -> int:
    load = Counter(broker for p in case.partitions for broker in wanted.get(p.id, p.replicas))
    return sum(load[broker] ** 2 for broker in usable)


@settings(deadline=None)
@given(cases())
def test_new_replicas_are_as_even_as_their_number_and_the_racks_allow(case: Case) -> None:
    case = Case(case.partitions, case.brokers, Demand(case.demand.replication_factor, case.demand.exclude))
    rules = Rules(case)
    found = placed(case)
    rows = []
    for partition in case.partitions:
        kept = frozenset(partition.replicas) & {*found.wanted.get(partition.id, partition.replicas)}
        count = len(found.wanted.get(partition.id, partition.replicas)) - len(kept)
        rows.append(Row(kept, count, dict.fromkeys(rules.usable - {*partition.replicas}, 1)))
    assume(all(rules.factor(partition) >= len(partition.replicas) for partition in case.partitions))
    best = least(rows, rules.usable, {broker: rules.rack(broker) for broker in rules.brokers})
    assert squares(case, found.wanted, rules.usable) == best.squares


@settings(deadline=None)
@given(cases(healthy=True))
def test_what_stays_of_lowered_partitions_is_as_even_as_it_can_be(case: Case) -> None:
    lowered = {
        partition.id.topic: min(
            len(other.replicas) for other in case.partitions if other.id.topic == partition.id.topic
        )
        for partition in case.partitions
    }
    assume(any(len(partition.replicas) > lowered[partition.id.topic] for partition in case.partitions))
    case = Case(case.partitions, case.brokers, Demand(lowered))
    rules = Rules(case)
    rows = []
    for p in case.partitions:
        assert p.leader is not None
        leader = frozenset({p.leader})
        rows.append(Row(leader, lowered[p.id.topic] - 1, dict.fromkeys({*p.replicas} - leader, 0)))
    best = least(rows, rules.usable, {broker: rules.rack(broker) for broker in rules.brokers})
    found = placed(case)
    assert not found.copies
    assert squares(case, found.wanted, rules.usable) == best.squares


@settings(deadline=None)
@given(cases(healthy=True))
def test_a_rebalance_is_as_even_as_can_be_with_the_fewest_copies(case: Case) -> None:
    """Racks are demanded, or there are none: a spread that is only hoped for would be a third thing to compare."""
    racks = case.demand.racks and all(broker.rack for broker in case.brokers)
    raised = raised_factors(case)
    demand = Demand(raised, case.demand.exclude, racks, rebalance=True)
    brokers = case.brokers if racks else tuple(Broker(b.id, None, b.state) for b in case.brokers)
    case = Case(case.partitions, brokers, demand)
    rules = Rules(case)
    found = placed(case)
    rows = [
        Row(frozenset(), raised[p.id.topic], {broker: broker not in p.replicas for broker in sorted(rules.usable)})
        for p in case.partitions
    ]
    rack = {broker: rules.rack(broker) for broker in rules.brokers} if racks else None
    assert Least(squares(case, found.wanted, rules.usable), found.copies) == least(rows, rules.usable, rack)


@settings(deadline=None)
@given(cases(healthy=True))
def test_preferred_leaders_are_as_even_as_can_be_with_the_fewest_changes(case: Case) -> None:
    found = placed(case)
    rules = Rules(case)
    lists = {p.id: found.wanted.get(p.id, p.replicas) for p in case.partitions}
    free = {p.id for p in case.partitions if case.demand.rebalance or {*lists[p.id]} != {*p.replicas}}
    rows = [
        Row(frozenset(), 1, {broker: broker != p.replicas[0] for broker in sorted(lists[p.id])})
        if p.id in free
        else Row(frozenset({lists[p.id][0]}), 0, {})
        for p in case.partitions
    ]
    leads = Counter(replicas[0] for replicas in lists.values())
    changes = sum(lists[p.id][0] != p.replicas[0] for p in case.partitions if p.id in free)
    even = sum(leads[broker] ** 2 for broker in rules.usable)
    assert Least(even, changes) == least(rows, rules.usable)


def online(*racks: str | None) -> tuple[Broker, ...]:
    return tuple(Broker(id_, rack, BrokerState.ONLINE) for id_, rack in enumerate(racks, start=1))


def partition(number: int, *replicas: int, isr: tuple[int, ...] = (), leader: int | None = None) -> Partition:
    return Partition(PartitionId("wal", number), replicas, frozenset(isr or replicas), leader or (isr or replicas)[0])


def test_a_lowered_partition_keeps_its_leader_and_what_is_in_sync() -> None:
    found = place([partition(0, 1, 2, 3, isr=(2, 3), leader=3)], online(None, None, None), Demand({"wal": 2}))
    assert isinstance(found, Placement)
    assert found.wanted == {PartitionId("wal", 0): (3, 2)}
    assert found.moves[0].why is Why.LOWER


def test_leaders_stay_in_lowered_partitions_even_if_all_are_on_one_broker() -> None:
    for rebalance in (False, True):
        found = place(
            [partition(n, 1, 2) for n in range(4)], online(None, None), Demand({"wal": 1}, rebalance=rebalance)
        )
        assert isinstance(found, Placement)
        assert {*found.wanted.values()} == {(1,)}


def test_what_is_out_of_sync_goes_even_if_its_broker_is_empty() -> None:
    found = place([partition(n, 1, 2, 3, isr=(1, 2)) for n in range(4)], online(None, None, None), Demand({"wal": 2}))
    assert isinstance(found, Placement)
    assert {frozenset(wanted) for wanted in found.wanted.values()} == {frozenset({1, 2})}


def test_a_new_replica_goes_to_another_rack() -> None:
    found = place([partition(0, 1)], online("a", "a", "b"), Demand({"wal": 2}))
    assert isinstance(found, Placement)
    assert found.wanted == {PartitionId("wal", 0): (1, 3)}


def test_what_is_not_in_sync_is_not_moved_to_balance() -> None:
    found = place([partition(n, 1, 2, isr=(1,)) for n in range(4)], online(*[None] * 4), Demand(rebalance=True))
    assert found == Placement((), {})


def test_replicas_are_balanced_within_the_racks_that_are_demanded() -> None:
    """Three replicas of each rack: the two brokers of rack a share theirs, and the one of rack b keeps its own."""
    demand = Demand(racks=True, rebalance=True)
    found = place([partition(n, 1, 3) for n in range(3)], online("a", "a", "b"), demand)
    assert isinstance(found, Placement)
    assert [(move.original, move.wanted) for move in found.moves if move.added] == [((1, 3), (2, 3))]


def test_a_preferred_leader_that_can_stay_stays() -> None:
    found = place([partition(0, 1, isr=(1,))], online(None, None), Demand({"wal": 2}))
    assert isinstance(found, Placement)
    assert found.wanted == {PartitionId("wal", 0): (1, 2)}


def test_a_replica_that_is_out_of_sync_is_not_preferred_as_leader() -> None:
    """Broker 1, whose replica is behind, was preferred; 2 leads, and goes on."""
    found = place([partition(0, 1, 2, isr=(2,))], online(None, None, None), Demand({"wal": 3}))
    assert isinstance(found, Placement)
    assert found.wanted == {PartitionId("wal", 0): (2, 1, 3)}


def test_a_new_broker_takes_its_share_and_no_more() -> None:
    """36 replicas on 3 brokers: 9 go to the fourth."""
    found = place([partition(n, 1, 2, 3) for n in range(12)], online(*[None] * 4), Demand(rebalance=True))
    assert isinstance(found, Placement)
    assert found.copies == 9
    assert all(move.added == {4} for move in found.moves if move.added)


def test_a_new_broker_gets_nothing_unless_a_rebalance_is_asked_for() -> None:
    found = place([partition(n, 1, 2, 3) for n in range(12)], online(*[None] * 4), Demand())
    assert found == Placement((), {})


def test_of_equal_moves_the_smallest_partition_is_copied() -> None:
    sizes = {PartitionId("wal", number): 100 - number for number in range(4)}
    found = place([partition(n, 1) for n in range(4)], online(None, None), Demand(rebalance=True), sizes)
    assert isinstance(found, Placement)
    assert [(move.id.partition, move.added) for move in found.moves] == [(2, frozenset({2})), (3, frozenset({2}))]


def test_a_lowered_partition_whose_rest_is_not_in_sync_waits() -> None:
    found = place(
        [partition(0, 1, 2, 3, isr=(1, 2))], online(None, None, None), Demand({"wal": 2}, exclude=frozenset({1}))
    )
    assert isinstance(found, Placement)
    assert found.left_alone == {PartitionId("wal", 0): "InSyncNeeded"}


def reason(partitions: list[Partition], brokers: tuple[Broker, ...], demand: Demand) -> tuple[str, str]:
    found = place(partitions, brokers, demand)
    assert isinstance(found, Infeasible)
    return found.reason.value, found.message


def test_what_is_infeasible_says_why() -> None:
    one = [partition(0, 1)]
    three = online("a", "a", "b")
    down = (*three[:2], Broker(3, "b", BrokerState.FENCED))
    assert reason(one, three, Demand({"wal": 4})) == (
        "TooFewBrokers",
        "4 replicas need as many brokers, and Kafka has 3",
    )
    assert reason(one, three, Demand({"wal": 3}, racks=True)) == (
        "TooFewRacks",
        "3 replicas in racks of their own need as many racks, and the brokers have 2",
    )
    assert reason(one, three, Demand({"wal": 2}, exclude=frozenset({2, 3}))) == (
        "TooManyExcluded",
        "excludeBrokers leaves 1 broker, and 2 replicas need more",
    )
    assert reason(one, three, Demand({"wal": 2}, exclude=frozenset({3}), racks=True)) == (
        "TooManyExcluded",
        "excludeBrokers leaves 1 rack, and 2 replicas need more",
    )
    assert reason(one, down, Demand({"wal": 3})) == (
        "BrokersNotOnline",
        "partition 0 of topic wal lacks a place for 1 of 3 replicas while broker 3 is not online",
    )
    assert reason(one, three, Demand(exclude=frozenset({9}))) == (
        "UnknownBrokers",
        "excludeBrokers names broker 9, which Kafka does not know: take out what is gone",
    )
    assert reason(one, online("a", None), Demand({"wal": 2}, racks=True)) == (
        "RacksUnknown",
        "each replica should be in a rack of its own, and broker.rack is not set on broker 2",
    )
