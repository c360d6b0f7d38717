"""Placements of new topics, beside those that there are: within the rules, and as even as a flow of least cost."""

from __future__ import annotations

from collections import Counter

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from seawall.domain.partitions import Broker, BrokerState, Partition, PartitionId
from seawall.domain.placement import Demand, Infeasible, InfeasibleReason, place_new
from tests.domain.placement.checker import Rules
from tests.domain.placement.clusters import Case, cases
from tests.domain.placement.flows import Row, least

FRESH = st.integers(1, 9)
FACTOR = st.integers(1, 3)


def names(count: int, first: int = 0) -> list[str]:
    return [f"new_{number}" for number in range(first, first + count)]


def placed_new(case: Case, count: int, factor: int, *, racks: bool = False) -> dict[str, tuple[int, ...]]:
    demand = Demand(dict.fromkeys(names(count), factor), case.demand.exclude, racks)
    found = place_new(names(count), case.partitions, case.brokers, demand)
    assume(not isinstance(found, Infeasible))
    assert not isinstance(found, Infeasible)
    return found


def online(*racks: str | None) -> list[Broker]:
    """Brokers from 1 on."""
    return [Broker(number, rack, BrokerState.ONLINE) for number, rack in enumerate(racks, start=1)]


def loads(placed: dict[str, tuple[int, ...]]) -> tuple[list[int], list[int]]:
    """Replicas and preferred leaders by broker."""
    replicas = Counter(broker for found in placed.values() for broker in found)
    leaders = Counter(found[0] for found in placed.values())
    brokers = sorted(replicas)
    return [replicas[broker] for broker in brokers], [leaders[broker] for broker in brokers]


def in_sync(placed: dict[str, tuple[int, ...]]) -> list[Partition]:
    """The topics once they are made."""
    return [Partition(PartitionId(name, 0), on, frozenset(on), on[0]) for name, on in placed.items()]


@settings(deadline=None)
@given(cases(), FRESH, FACTOR)
def test_new_topics_are_on_brokers_that_are_online_and_not_excluded_each_once(
    case: Case, count: int, factor: int
) -> None:
    found = placed_new(case, count, factor, racks=case.demand.racks)
    rules = Rules(case)
    assert found.keys() == set(names(count))
    for on in found.values():
        assert len(on) == len(set(on)) == factor
        assert set(on) <= rules.usable
        if case.demand.racks:
            assert len({rules.rack(broker) for broker in on}) == factor


@settings(deadline=None)
@given(cases(), FRESH, FACTOR)
def test_new_topics_are_as_even_as_what_is_there_and_the_racks_allow(case: Case, count: int, factor: int) -> None:
    found, rules = placed_new(case, count, factor), Rules(case)
    rows = [Row(frozenset(partition.replicas), 0, {}) for partition in case.partitions]
    rows += [Row(frozenset(), factor, dict.fromkeys(rules.usable, 0)) for _ in found]
    best = least(rows, rules.usable, {broker: rules.rack(broker) for broker in rules.brokers})
    load = Counter(broker for partition in case.partitions for broker in partition.replicas)
    load.update(broker for on in found.values() for broker in on)
    assert sum(load[broker] ** 2 for broker in rules.usable) == best.squares


@settings(deadline=None)
@given(cases(healthy=True), FRESH, FACTOR)
def test_preferred_leaders_of_new_topics_are_as_even_as_their_replicas_allow(
    case: Case, count: int, factor: int
) -> None:
    found, rules = placed_new(case, count, factor), Rules(case)
    rows = [Row(frozenset({partition.replicas[0]}), 0, {}) for partition in case.partitions]
    rows += [Row(frozenset(), 1, dict.fromkeys(on, 0)) for on in found.values()]
    best = least(rows, rules.usable)
    load = Counter([*(partition.replicas[0] for partition in case.partitions), *(on[0] for on in found.values())])
    assert sum(load[broker] ** 2 for broker in rules.usable) == best.squares


def test_a_fresh_pool_of_64_topics_on_two_racks_is_even() -> None:
    found = place_new(names(64), [], online("a", "a", "b", "b"), Demand(dict.fromkeys(names(64), 3)))
    assert not isinstance(found, Infeasible)
    assert loads(found) == ([48] * 4, [16] * 4)
    assert all({"a", "b"} == {"aabb"[broker - 1] for broker in on} for on in found.values())


def test_a_pool_that_grows_makes_up_for_what_is_uneven() -> None:
    there = in_sync({f"wal_{number}": (1, 2) for number in range(4)})
    found = place_new(names(4), there, online(None, None, None, None), Demand(dict.fromkeys(names(4), 2)))
    assert not isinstance(found, Infeasible)
    assert all(set(on) == {3, 4} for on in found.values())
    assert Counter(on[0] for on in found.values()) == {3: 2, 4: 2}


def squares_of(placed: dict[str, tuple[int, ...]] | Infeasible, there: list[Partition]) -> int:
    """How uneven it is, with what was there before."""
    assert not isinstance(placed, Infeasible)
    load = Counter(broker for partition in there for broker in partition.replicas)
    load.update(broker for on in placed.values() for broker in on)
    return sum(count**2 for count in load.values())


def test_the_least_loaded_broker_of_the_emptiest_rack_is_not_always_best() -> None:
    """One topic after the other, the broker alone in rack b would get two, and one of rack a none."""
    found = place_new(names(2), [], online("c", "b", "a", "a"), Demand(dict.fromkeys(names(2), 2)))
    assert squares_of(found, []) == 4


def test_new_ones_are_even_with_what_is_there_and_not_with_what_could_move() -> None:
    there = in_sync({"wal_0": (4,)})
    found = place_new(names(5), there, online("b", "b", "c", "a", "b"), Demand(dict.fromkeys(names(5), 2)))
    assert squares_of(found, there) == 27


def test_a_topic_that_was_there_and_is_made_anew_does_not_count_twice() -> None:
    there = in_sync({"wal_0": (1,), "wal_1": (2,)})
    assert place_new(["wal_1"], there, online(None, None), Demand({"wal_1": 1})) == {"wal_1": (2,)}


def test_too_few_brokers_are_a_reason() -> None:
    found = place_new(names(1), [], online("a", "a"), Demand({"new_0": 2}, racks=True))
    assert isinstance(found, Infeasible)
    assert found.reason is InfeasibleReason.TOO_FEW_RACKS
