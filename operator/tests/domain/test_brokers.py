"""What is said of brokers, replicas and controllers: the worst first, and nothing twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from seawall.api.v1alpha1.kafka_brokers import BrokerState, BrokerStatus
from seawall.domain.brokers.decide import min_isr_repairs
from seawall.domain.brokers.reasons import Reason
from seawall.domain.brokers.status import Finding, quorum_health, quorum_status, replication_health, settled
from seawall.domain.brokers.view import BrokerNumbers, BrokerObservation, view_of, worth_asking
from seawall.domain.min_isr import Limit
from seawall.domain.partitions import (
    Broker,
    Partition,
    PartitionId,
    Quorum,
    QuorumReplica,
    Rates,
    Reassigning,
    Sizes,
    Throttles,
    known_brokers,
)
from seawall.domain.throttles import effective_rates, least_rate
from tests.domain.builders import make_spec

ALL = (1, 2, 3)
STOPS = "one broker that is down stops its writes"


def partition(
    topic: str = "a", replicas: Iterable[int] = ALL, isr: Iterable[int] | None = None, leader: int | None = -1
) -> Partition:
    """Partition 0 of a topic, well unless told otherwise."""
    replicas = tuple(replicas)
    in_sync = frozenset(replicas if isr is None else isr)
    return Partition(PartitionId(topic, 0), replicas, in_sync, replicas[0] if leader == -1 else leader)


def look(*partitions: Partition, fenced: Iterable[int] = (), **other: Any) -> BrokerObservation:
    """A look at three registered brokers; min.insync.replicas is 2 unless told otherwise."""
    down = set(fenced)
    registered = [Broker(broker, None, BrokerState.FENCED if broker in down else BrokerState.ONLINE) for broker in ALL]
    values: dict[str, Any] = {
        "ongoing": {},
        "min_isr": {found.id.topic: 2 for found in partitions},
        "sizes": None,
        **other,
    }
    return BrokerObservation(known_brokers(registered, partitions), partitions, **values)


def health(*partitions: Partition, spec: Mapping[str, Any] | None = None, **other: Any) -> Finding:
    return replication_health(make_spec(**(spec or {})), view_of(look(*partitions, **other)))


def test_replicas_that_are_in_sync_are_no_news() -> None:
    assert health(partition(), partition("b")) == Finding("True", Reason.IN_SYNC, "every replica is in sync")
    assert health().reason is Reason.IN_SYNC


def test_a_replica_out_of_sync_is_named_with_its_broker_and_how_that_is() -> None:
    found = health(partition("b", isr=(1, 2)), partition("a", isr=(1, 2)), partition("c"), fenced=[3])
    said = "2 of 3 partitions have replicas that are not in sync: a-0, b-0"
    assert found == Finding("False", Reason.UNDER_REPLICATED, f"{said}; not in sync are replicas on broker 3 (Fenced)")


def test_a_broker_that_kafka_forgot_is_offline_and_still_missed() -> None:
    found = health(partition(replicas=(1, 2, 7), isr=(1, 2)))
    assert found.message.endswith("not in sync are replicas on broker 7 (Offline)")


def test_refused_writes_are_said_before_replicas_that_lag_and_no_leader_before_both() -> None:
    lagging, refusing = partition("a", isr=(1, 2)), partition("b", isr=(1,))
    dead = partition("c", isr=(3,), leader=None)
    assert health(lagging, refusing).reason is Reason.UNDER_MIN_ISR
    assert health(lagging, refusing).message.startswith("1 of 2 partitions refuse writes with acks=all: b-0; ")
    assert health(lagging, refusing, dead).reason is Reason.LEADERLESS
    assert "no leader: c-0; " in health(lagging, refusing, dead).message


def test_only_some_partitions_are_named() -> None:
    found = health(*(partition(f"t{number}", isr=(1, 2)) for number in range(9)))
    assert "9 of 9 partitions have replicas that are not in sync: t0-0, t1-0, t2-0 and 6 more" in found.message


def test_a_replica_that_is_being_made_is_not_out_of_sync_but_one_that_was_there_is() -> None:
    moving = partition(replicas=(3, 1, 2), isr=(1, 2), leader=1)
    ongoing = {moving.id: Reassigning((3, 1, 2), frozenset({3}), frozenset())}
    assert health(moving, ongoing=ongoing).reason is Reason.IN_SYNC
    behind = partition(replicas=(3, 1, 2), isr=(1,), leader=1)
    view = view_of(look(behind, ongoing=ongoing, min_isr={"a": 1}))
    assert [numbers.under_replicated for numbers in view.brokers] == [0, 1, 0]


def test_min_insync_replicas_is_asked_only_where_it_matters() -> None:
    found = [partition("a"), partition("b", isr=(1,)), partition("__consumer_offsets")]
    assert worth_asking(found, {}) == {"b", "__consumer_offsets"}


def test_each_broker_is_counted() -> None:
    found = look(
        partition("a", isr=(1, 2)),
        partition("b", replicas=(2, 1)),
        partition("c", replicas=(2, 3), isr=(2,)),
        fenced=[3],
        sizes=Sizes({PartitionId("a", 0): {1: 10, 2: 20}, PartitionId("b", 0): {1: 5}}, frozenset({1, 2})),
    )
    first, second, third = (Broker(1, None, BrokerState.ONLINE), *found.brokers[1:])
    assert view_of(found).brokers == (
        BrokerNumbers(first, leaders=1, replicas=2, under_replicated=0, under_min_isr=0, log_dir_bytes=15, stored=2),
        BrokerNumbers(second, leaders=2, replicas=3, under_replicated=0, under_min_isr=1, log_dir_bytes=20, stored=1),
        BrokerNumbers(
            third, leaders=0, replicas=2, under_replicated=2, under_min_isr=1, log_dir_bytes=None, stored=None
        ),
    )


@pytest.mark.parametrize(
    ("topic", "min_isr", "wanted", "said"),
    [
        (partition("__consumer_offsets", [1]), 1, {}, "__consumer_offsets has replication factor 1, not 3"),
        (
            partition("__transaction_state"),
            3,
            {},
            f"min.insync.replicas of __transaction_state is 3, with replication factor 3: {STOPS}",
        ),
        (
            partition("__consumer_offsets"),
            1,
            {"replicationFactor": 3, "minInSyncReplicas": 2},
            "min.insync.replicas of __consumer_offsets is 1, not 2",
        ),
        (partition("__consumer_offsets"), 1, {}, None),
        (partition("__consumer_offsets", [1]), 1, {"replicationFactor": 1}, None),
        (partition("__share_group_state", [1]), 1, {}, None),
        (partition("a", [1]), 1, {}, None),
    ],
)
def test_kafkas_own_topics_are_to_survive_a_broker(
    topic: Partition, min_isr: int, wanted: dict[str, int], said: str | None
) -> None:
    found = health(topic, spec={"internalTopics": wanted}, min_isr={topic.id.topic: min_isr})
    assert found == (
        Finding("True", Reason.IN_SYNC, "every replica is in sync")
        if said is None
        else Finding("False", Reason.INTERNAL_TOPICS, said)
    )


@pytest.mark.parametrize(
    ("topic", "min_isr", "wanted", "repaired"),
    [
        (partition("__transaction_state"), 3, {}, 2),
        (partition("__transaction_state"), 5, {"minInSyncReplicas": 1}, 2),
        (partition("__transaction_state", [1, 2]), 2, {}, 1),
        (partition("__consumer_offsets"), 1, {"minInSyncReplicas": 2}, 2),
        (partition("__consumer_offsets", isr=[1]), 1, {"minInSyncReplicas": 2}, None),
        (partition("__consumer_offsets", [1, 2]), 1, {"minInSyncReplicas": 2}, None),
        (partition("__consumer_offsets"), 2, {"minInSyncReplicas": 1}, None),
        (partition("__consumer_offsets"), 1, {}, None),
        (partition("__consumer_offsets", [1]), 1, {}, None),
        (partition("__consumer_offsets"), 3, {"repair": False}, None),
        (partition("a"), 3, {}, None),
    ],
)
def test_min_insync_replicas_of_kafkas_own_topics_is_corrected_so_that_no_write_stops(
    topic: Partition, min_isr: int, wanted: dict[str, Any], repaired: int | None
) -> None:
    spec = make_spec(internalTopics={"repair": True, **wanted})
    found = min_isr_repairs(spec, view_of(look(topic, min_isr={topic.id.topic: min_isr})))
    assert [each.min_isr for each in found] == ([] if repaired is None else [repaired])


@pytest.mark.parametrize(("most", "min_isr", "repaired"), [(1, 1, []), (2, 1, [2]), (1, 3, [2])])
def test_min_insync_replicas_of_kafkas_own_topics_is_not_raised_while_a_run_may_take_replicas_back(
    most: int, min_isr: int, repaired: list[int]
) -> None:
    spec, topic = make_spec(internalTopics={"repair": True, "minInSyncReplicas": 2}), partition("__consumer_offsets")
    view = view_of(look(topic, min_isr={topic.id.topic: min_isr}))
    assert [each.min_isr for each in min_isr_repairs(spec, view, Limit(most, is_lowered=False))] == repaired


def voters(*behind_ms: int | None, lag: int = 0) -> Quorum:
    return Quorum(1, tuple(QuorumReplica(node, lag, behind) for node, behind in enumerate(behind_ms, 1)), ())


def test_voters_that_are_behind_are_told_with_what_is_left_to_lose() -> None:
    assert quorum_health(voters(0)).message == "controller 1 leads, its only voter"
    assert quorum_health(voters(0, 400, 9_000)) == Finding(
        "True", Reason.KEEPING_UP, "controller 1 leads, all 3 voters keep up"
    )
    assert quorum_health(voters(0, 400, 11_000)) == Finding(
        "False", Reason.VOTERS_BEHIND, "voter 3 of 3 do not keep up: with one more, nothing in Kafka could change"
    )
    five = quorum_health(voters(0, 0, 0, 0, None))
    assert five.message == "voter 5 of 5 do not keep up: 1 more may be lost"


def test_while_the_clock_of_the_leader_is_set_back_it_is_told_what_ends_it() -> None:
    """Who is silent seems to follow: nobody is told to restart the leader before what needs no clock says so."""
    found = quorum_health(voters(0, -600_000, -599_500))
    assert (found.status, found.reason) == ("False", Reason.VOTERS_BEHIND)
    assert "the clock of controller 1, which leads, was set back: wait until it has" in found.message
    assert "if each LogEndOffset" in found.message


@pytest.mark.parametrize(("lag", "reported"), [(0, 0), (9, 0), (10, 10), (99, 10), (100, 100), (54_321, 10_000)])
def test_a_lag_is_told_so_coarsely_that_it_is_news_a_few_times_only(lag: int, reported: int) -> None:
    assert quorum_status(voters(0, 0, lag=lag)).max_lag == reported


def item(number: int, log_dir_bytes: int | None, **other: Any) -> BrokerStatus:
    zeros = {"leaders": 0, "replicas": 0, "under_replicated": 0, "under_min_in_sync_replicas": 0}
    return BrokerStatus(id=number, state=BrokerState.ONLINE, log_dir_bytes=log_dir_bytes, **{**zeros, **other})


def test_bytes_alone_are_news_when_a_tenth_more_or_less_and_go_along_with_other_news() -> None:
    before = (item(1, 1_000), item(2, None))
    assert settled(before, (item(1, 1_090), item(2, None))) == before
    for changed_status in (
        (item(1, 1_120), item(2, None)),
        (item(1, 880), item(2, None)),
        (item(1, 1_001), item(2, 0)),
        (item(1, 1_001, leaders=1), item(2, None)),
        (item(1, 1_001),),
    ):
        assert settled(before, changed_status) == changed_status


def test_a_throttle_of_a_single_broker_is_said_whatever_else_is_with_the_command_that_removes_it() -> None:
    own = {2: Rates(follower=20_000)}
    found = health(partition(), own_rates=own)
    command = "--entity-type brokers --entity-name 2 --delete-config follower.replication.throttled.rate"
    assert (found.status, found.reason) == ("False", Reason.THROTTLED)
    assert found.message.startswith("broker 2 (fetches 20000 bytes/s) has a throttle of its own")
    assert found.message.endswith(command)
    lagging = health(partition(isr=(1, 2)), own_rates=own)
    assert lagging.reason is Reason.UNDER_REPLICATED
    assert lagging.message.endswith(command), "it may be why"


def test_several_throttled_brokers_are_named_with_the_command_for_the_first() -> None:
    found = health(partition(), own_rates={broker: Rates(9, 9) for broker in ALL})
    assert found.message.startswith("brokers 1 (9 bytes/s), 2 (9 bytes/s), 3 (9 bytes/s) have throttles of their own")
    assert found.message.endswith(", and so for the others")


def test_throttles_of_brokers_that_are_not_told_are_no_silence() -> None:
    found = health(partition(), own_rates="Kafka refused to describe throttles")
    assert (found.status, found.reason) == ("True", Reason.IN_SYNC)
    assert found.message.endswith("of their own is not known: Kafka refused to describe throttles")


def test_the_status_of_a_broker_has_the_lesser_of_its_own_rates() -> None:
    brokers = view_of(look(partition(), own_rates={3: Rates(7, 5)})).brokers
    assert [numbers.own_rates for numbers in brokers] == [Rates(), Rates(), Rates(7, 5)]


@pytest.mark.parametrize(
    ("own", "effective", "least"),
    [
        ({}, Rates(100, 90), 90),
        ({2: Rates(follower=20)}, Rates(100, 20), 20),
        ({2: Rates(leader=500)}, Rates(500, 90), 90),
        ({3: Rates(1, 1)}, Rates(100, 90), 90),
    ],
)
def test_a_brokers_own_rates_win_over_the_clusters_each_for_itself(
    own: dict[int, Rates], effective: Rates, least: int
) -> None:
    throttles = Throttles(Rates(100, 90), own)
    assert effective_rates(throttles, 2) == effective
    assert least_rate(throttles, [2]) == least
    assert least_rate(Throttles(), [1, 2]) is None


def test_leaders_that_are_not_the_preferred_ones_are_told_and_no_harm() -> None:
    led = [partition("a"), partition("b", leader=2), partition("c", leader=3)]
    found = health(*led)
    assert (found.status, found.reason) == ("True", Reason.IN_SYNC)
    assert "2 of 3 partitions are not led by their preferred leader, which could lead: b-0, c-0" in found.message
    assert "(a broker leads 1 to 1)" in found.message
    assert "a new value of seawall.dev/rebalance" in found.message
    assert health(*led, own_rates={2: Rates(1, 1)}).reason is Reason.THROTTLED, "what is wrong comes first"


@pytest.mark.parametrize(
    ("found", "other"),
    [
        (partition(leader=2, isr=(2, 3)), {}),
        (partition(leader=2), {"fenced": [1]}),
        (partition(leader=2), {"ongoing": {PartitionId("a", 0): Reassigning(ALL, frozenset(), frozenset())}}),
        (partition(leader=None, isr=(1,)), {}),
    ],
    ids=["not in sync", "not online", "on its way", "nobody leads"],
)
def test_a_preferred_leader_that_could_not_lead_is_not_missed(found: Partition, other: dict[str, Any]) -> None:
    assert view_of(look(found, **other)).led_by_others.count == 0
