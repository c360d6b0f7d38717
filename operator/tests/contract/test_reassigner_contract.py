"""What every PartitionReassigner does: the fake and the adapter on real brokers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import pytest

from seawall.domain.brokers.view import ELIGIBLE_LEADER_REPLICAS, METADATA_VERSION
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.kafka import ConfigChange
from seawall.domain.kafka_log import TopicFailure, TopicTrouble
from seawall.domain.partitions import (
    NO_RATES,
    Broker,
    BrokerState,
    PartitionId,
    Rates,
    Replica,
    ThrottledReplicas,
    Throttles,
    throttled_replicas,
)
from seawall_e2e.waiting import wait_until
from tests.contract.reassigner_beds import FakeBed, RealBed, World

pytestmark = pytest.mark.xdist_group("kafka")
NOTHING = ThrottledReplicas()
MIN_ISR = "min.insync.replicas"
SLOW = 1_000
"""Bytes a second: nobody gets anywhere."""


@pytest.fixture(params=["fake", "late fake", pytest.param("real", marks=pytest.mark.integration)])
def world(request: pytest.FixtureRequest) -> World:
    if request.param == "real":
        return World(RealBed(request.getfixturevalue("kafka")))
    bed = FakeBed()
    bed.kafka.moves.late = 2 if request.param == "late fake" else 0
    return World(bed)


def why(answer: object) -> TopicTrouble:
    assert isinstance(answer, TopicFailure), answer
    return answer.why


def test_a_replication_factor_grows_and_the_leader_stays_until_the_preferred_one_is_elected(world: World) -> None:
    one = world.create([1], records=5)
    assert world.reassigner.reassign({one: (2, 1, 3)}) == {}
    world.wait(lambda: not world.reassigner.ongoing(), "it is done")
    world.becomes(one, replicas=(2, 1, 3), isr={1, 2, 3}, leader=1)
    world.elect(one)
    world.becomes(one, replicas=(2, 1, 3), isr={1, 2, 3}, leader=2)
    assert world.reassigner.elect_preferred_leaders([one]) == {}


def test_a_replication_factor_shrinks_at_once_and_a_removed_leader_is_followed_by_another(world: World) -> None:
    one = world.create([1, 2, 3], records=5)
    assert world.reassigner.reassign({one: (2, 3)}) == {}
    assert world.reassigner.ongoing() == {}
    world.becomes(one, replicas=(2, 3), isr={2, 3}, leader=2)


def test_what_is_on_its_way_is_shown_and_can_be_cancelled(world: World) -> None:
    one = world.create([1, 2], records=2_000)
    moves = {one: ((1, 2), (3, 2))}
    world.reassigner.alter_throttles(Rates(SLOW, SLOW), throttled_replicas(moves))
    try:
        assert world.reassigner.reassign({one: (3, 2)}) == {}
        moving = world.reassigner.ongoing()[one]
        assert (moving.adding, moving.removing) == (frozenset({3}), frozenset({1}))
        assert (moving.target, moving.original) == ((3, 2), frozenset({1, 2}))
        wait_until(lambda: set(world.shown(one).replicas) == {1, 2, 3}, "brokers hear of it one after another")
        wait_until(lambda: (world.shown(one).isr, world.shown(one).leader) == (frozenset({1, 2}), 1), "who led leads")
        assert world.reassigner.reassign({one: None}) == {}
        assert world.reassigner.reassign({one: None}) == {}
        assert world.reassigner.ongoing() == {}
        world.becomes(one, replicas=(2, 1), isr={1, 2}, leader=1)  # as before, in the order of the move
        assert world.reassigner.reassign({one: (1, 2)}) == {}
        world.wait(lambda: world.shown(one).replicas == (1, 2), "their order as well")
        assert world.reassigner.ongoing() == {}
    finally:
        world.clear_throttles(one.topic)


def test_asking_for_what_is_there_already_does_nothing(world: World) -> None:
    one = world.create([1, 2])
    assert world.reassigner.reassign({one: (1, 2)}) == {}
    assert world.reassigner.ongoing() == {}
    assert world.shown(one).replicas == (1, 2)


def test_what_kafka_refuses_it_says_and_moves_the_others(world: World) -> None:
    a, b, c, d = (world.create([1], name) for name in "abcd")
    gone, beyond = PartitionId(f"{world.prefix}_gone", 0), PartitionId(d.topic, 7)
    said = world.reassigner.reassign({a: (1, 9), b: (1, 1), c: (), gone: (1,), beyond: (1,), d: (2,)})
    refused = "Kafka refused partition 0 of topic"
    assert {partition: failure.message for partition, failure in said.items()} == {
        a: f"{refused} {a.topic}: The manual partition assignment includes broker 9, but no such broker is registered.",
        b: f"{refused} {b.topic}: The manual partition assignment includes the broker 1 more than once.",
        c: f"{refused} {c.topic}: The manual partition assignment includes an empty replica list.",
        gone: f"Kafka knows no partition 0 of topic {gone.topic}",
        beyond: f"Kafka knows no partition 7 of topic {d.topic}",
    }
    assert [why(said[partition]) for partition in (a, gone)] == [TopicTrouble.REFUSED, TopicTrouble.UNKNOWN_TOPIC]
    world.wait(lambda: world.shown(d).replicas == (2,), "the other one moved")
    assert why(world.reassigner.elect_preferred_leaders([d, gone])[gone]) is TopicTrouble.UNKNOWN_TOPIC


def test_every_partition_of_a_topic_is_shown_and_moved_by_itself(world: World) -> None:
    first = world.create([1, 2])
    world.bed.add_partitions(first.topic, 3)
    world.wait(lambda: len(world.described(first.topic) or ()) == 3, "there are three")
    last = PartitionId(first.topic, 2)
    world.move(last, [3])
    world.becomes(first, replicas=(1, 2), isr={1, 2}, leader=1)
    world.becomes(last, replicas=(3,), isr={3}, leader=3)
    described = world.described(first.topic) or ()
    assert [partition.id for partition in described] == [PartitionId(first.topic, index) for index in range(3)]
    wait_until(lambda: world.reassigner.partitions()[first.topic] == described, "every broker tells the same")
    world.wait(
        lambda: world.reassigner.sizes([first.topic]).by_partition[last].keys() == {3},
        "brokers delete logs that were moved away in their own time",
    )


def test_each_topic_has_its_own_answer(world: World) -> None:
    one, gone, impossible = world.create([1, 2]), f"{world.prefix}_gone", "no topic"
    asked = [impossible, gone, one.topic]
    world.admin.alter_configs([ConfigChange(one.topic, {MIN_ISR: "2"})])
    world.wait(lambda: world.reassigner.min_insync_replicas([one.topic]) == {one.topic: 2}, "it is told")
    for answer in (world.reassigner.partitions(asked), world.reassigner.min_insync_replicas(asked)):
        assert answer.keys() == set(asked)
        assert why(answer[impossible]) is TopicTrouble.REFUSED
        assert why(answer[gone]) is TopicTrouble.UNKNOWN_TOPIC
    assert gone not in world.reassigner.partitions()
    assert world.reassigner.sizes(asked).by_partition.keys() == {one}


def test_where_nothing_is_set_the_default_of_min_insync_replicas_is_in_force(world: World) -> None:
    one, own = world.create([1], "a"), world.create([1], "b")
    world.admin.alter_configs([ConfigChange(own.topic, {MIN_ISR: "3"})])

    def told() -> Mapping[str, int | TopicFailure]:
        return world.reassigner.min_insync_replicas([one.topic, own.topic])

    world.wait(lambda: told() == {one.topic: 1, own.topic: 3}, "it is told")
    world.admin.alter_default_configs({MIN_ISR: "2"})
    try:
        world.wait(lambda: told() == {one.topic: 2, own.topic: 3}, "all brokers have another default")
    finally:
        world.admin.alter_default_configs({MIN_ISR: "1"})
    world.wait(lambda: told() == {one.topic: 1, own.topic: 3}, "the default is as it was")


def test_nothing_is_asked_about_nothing(world: World) -> None:
    reassigner = world.reassigner
    assert reassigner.partitions([]) == reassigner.min_insync_replicas([]) == {}
    assert reassigner.reassign({}) == reassigner.elect_preferred_leaders([]) == {}


def test_throttles_are_set_changed_seen_and_removed(world: World) -> None:
    one, other = world.create([1], "a"), world.create([2, 3], "b")
    both = [one.topic, other.topic, f"{world.prefix}_gone"]
    wanted = throttled_replicas({one: ((1,), (1, 2, 3)), other: ((2, 3), (2, 3))})
    everything = frozenset({Replica(0, 2), Replica(0, 3)})
    assert wanted == {one.topic: ThrottledReplicas(frozenset({Replica(0, 1)}), everything)}
    shown = world.reassigner.throttles
    assert shown(both) == Throttles()
    alter = world.reassigner.alter_throttles
    try:
        alter(Rates(1_000_000, 1_000_000), wanted)
        world.wait(lambda: shown(both) == Throttles(Rates(1_000_000, 1_000_000), {}, wanted), "it is told")
        alter(None, {one.topic: NOTHING, other.topic: ThrottledReplicas(frozenset({Replica(0, 2)}))})
        world.wait(lambda: shown(both).topics.keys() == {other.topic}, "the other topic is throttled")
        world.wait(lambda: shown(both).rates == Rates(1_000_000, 1_000_000), "the rates stay")
        alter(Rates(follower=2_000_000), {})
        world.wait(lambda: shown(both).rates == Rates(follower=2_000_000), "exactly these rates are told")
        world.wait(lambda: shown(both).topics.keys() == {other.topic}, "what is throttled stays")
    finally:
        world.clear_throttles(*both)
    world.wait(lambda: shown(both) == Throttles(), "they are gone")
    world.wait(lambda: not world.configs(one.topic), "another client's broker has heard of it, too")
    world.clear_throttles(*both)


def test_a_topic_that_is_gone_cannot_be_throttled(world: World) -> None:
    gone = f"{world.prefix}_gone"
    with pytest.raises(OutsideUnavailable, match=f"The topic '{gone}' does not exist"):
        world.reassigner.alter_throttles(None, {gone: ThrottledReplicas(frozenset({Replica(0, 1)}))})


def test_a_throttle_that_makes_no_sense_is_refused(world: World) -> None:
    with pytest.raises(Refused, match="Invalid value -1 for configuration"):
        world.reassigner.alter_throttles(Rates(-1), {})
    assert world.reassigner.throttles([]).rates == NO_RATES


def test_everything_throttled_by_somebody_else_is_seen_and_removed(world: World) -> None:
    one = world.create([1])
    everybody = {"leader.replication.throttled.replicas": "*", "follower.replication.throttled.replicas": "*"}
    world.admin.alter_configs([ConfigChange(one.topic, everybody)])
    all_of_it = {one.topic: ThrottledReplicas(every_leader=True, every_follower=True)}
    world.wait(lambda: world.reassigner.throttles([one.topic]).topics == all_of_it, "it is told")
    world.clear_throttles(one.topic)
    world.wait(lambda: world.reassigner.throttles([one.topic]) == Throttles(), "it is gone")


def test_what_somebody_else_throttled_of_everything_is_put_back_as_it_was(world: World) -> None:
    one = world.create([1])
    theirs = {one.topic: ThrottledReplicas(frozenset({Replica(0, 1)}), every_follower=True)}
    try:
        world.reassigner.alter_throttles(None, theirs)
        world.wait(lambda: world.reassigner.throttles([one.topic]).topics == theirs, "it is told")
        # Another client asks another broker, which may not have heard of it yet.
        names = {
            "leader.replication.throttled.replicas": "0:1",
            "follower.replication.throttled.replicas": "*",
        }
        world.wait(lambda: world.configs(one.topic) == names, "both say it")
    finally:
        world.clear_throttles(one.topic)


def test_rates_of_single_brokers_are_told_apart_from_the_default_and_stay(world: World) -> None:
    def shown() -> Throttles:
        return world.reassigner.throttles([])

    try:
        world.bed.throttle_broker(2, Rates(20_000, 20_000))
        world.bed.throttle_broker(3, Rates(follower=5_000))
        own = {2: Rates(20_000, 20_000), 3: Rates(follower=5_000)}
        world.wait(lambda: shown() == Throttles(NO_RATES, own), "they are told")
        world.reassigner.alter_throttles(Rates(7_000, 7_000), {})
        world.wait(lambda: shown() == Throttles(Rates(7_000, 7_000), own), "the default is another thing")
        world.reassigner.alter_throttles(NO_RATES, {})
        world.wait(lambda: shown() == Throttles(NO_RATES, own), "they stay")
    finally:
        for broker in (2, 3):
            world.bed.throttle_broker(broker, NO_RATES)
    world.wait(lambda: shown() == Throttles(), "they are gone")


def test_the_sizes_of_all_replicas_are_told(world: World) -> None:
    one = world.create([1, 3], records=100)
    world.wait(lambda: len(set(size_by_broker(world, one).values())) == 1, "the follower has everything")
    assert size_by_broker(world, one).keys() == {1, 3}
    assert min(size_by_broker(world, one).values()) > 0
    everything = world.reassigner.sizes()
    assert everything.reported == {1, 2, 3}
    assert everything.by_partition[one] == size_by_broker(world, one)


def size_by_broker(world: World, partition: PartitionId) -> dict[int, int]:
    return dict(world.reassigner.sizes([partition.topic]).by_partition[partition])


def test_the_levels_of_features_are_told_and_one_that_is_off_is_not_named(world: World) -> None:
    features = world.reassigner.features
    assert features()[METADATA_VERSION] > 0
    assert features()[ELIGIBLE_LEADER_REPLICAS] == 1
    world.bed.finalize(ELIGIBLE_LEADER_REPLICAS, 0)
    try:
        world.wait(lambda: ELIGIBLE_LEADER_REPLICAS not in features(), "brokers hear of it")
        assert METADATA_VERSION in features()
    finally:
        world.bed.finalize(ELIGIBLE_LEADER_REPLICAS, 1)
    world.wait(lambda: features().get(ELIGIBLE_LEADER_REPLICAS) == 1, "brokers hear of it")


def test_a_kafka_that_does_not_answer_is_unavailable(world: World) -> None:
    nobody = world.bed.at_nobody()
    asks: tuple[Callable[[], object], ...] = (
        nobody.brokers,
        nobody.partitions,
        nobody.quorum,
        nobody.features,
        nobody.eligible_leaders,
        lambda: nobody.partitions(["a"]),
        lambda: nobody.reassign({PartitionId("a", 0): (1,)}),
        lambda: nobody.alter_throttles(None, {}),
    )
    for ask in asks:
        with pytest.raises(OutsideUnavailable):
            ask()


def test_a_broker_that_is_down_is_fenced_takes_no_lead_and_keeps_no_throttle(world: World) -> None:
    one, kept = world.create([3, 1], "a", records=5), world.create([1], "b", records=5)
    assert world.reassigner.brokers() == tuple(Broker(broker, None, BrokerState.ONLINE) for broker in (1, 2, 3))
    wanted = throttled_replicas({kept: ((1,), (1, 3))})
    world.reassigner.alter_throttles(Rates(SLOW, SLOW), wanted)
    world.bed.stop(3)
    try:
        world.wait(lambda: world.reassigner.brokers()[2].state is BrokerState.FENCED, "it is fenced")
        world.becomes(one, replicas=(3, 1), isr={1}, leader=1)
        said = world.reassigner.elect_preferred_leaders([one])[one]
        assert said.message.endswith("The preferred leader was not available.")
        assert world.reassigner.reassign({kept: (1, 3)}) == {}  # Kafka lets it wait
        assert world.reassigner.ongoing()[kept].adding == {3}
        assert 3 not in world.reassigner.sizes().reported
        quorum = world.reassigner.quorum()
        assert [voter.id for voter in quorum.voters] == [1, 2, 3]
        assert quorum.leader != 3
        world.clear_throttles(kept.topic)
    finally:
        world.bed.start(3)
    world.wait(lambda: not world.reassigner.ongoing(), "what waited for it goes on, not throttled")
    world.wait(lambda: world.shown(one).isr == {1, 3}, "it is in sync again")
    world.wait(lambda: world.reassigner.throttles([kept.topic]) == Throttles(), "no throttle is kept")
    online = {BrokerState.ONLINE}
    world.wait(lambda: {broker.state for broker in world.reassigner.brokers()} == online, "all are online")


def test_who_went_when_too_few_were_left_in_sync_may_lead_again(world: World) -> None:
    one = world.create([1, 2, 3], records=5)
    world.admin.alter_configs([ConfigChange(one.topic, {MIN_ISR: "3"})])
    assert world.reassigner.eligible_leaders()[one] == frozenset()
    world.bed.stop(3)
    try:
        world.wait(lambda: world.reassigner.eligible_leaders()[one] == {3}, "broker 3 is remembered")
        world.wait(lambda: world.shown(one).isr == {1, 2}, "the others are in sync")
    finally:
        world.bed.start(3)
    world.wait(lambda: world.reassigner.eligible_leaders()[one] == frozenset(), "all are in sync again")
    world.wait(lambda: world.shown(one).isr == {1, 2, 3}, "all are in sync again")


def test_who_went_when_enough_were_left_in_sync_may_not_lead_when_more_are_wanted(world: World) -> None:
    one = world.create([1, 2, 3], records=5)
    world.bed.stop(3)
    try:
        world.wait(lambda: world.shown(one).isr == {1, 2}, "the others are in sync")
        world.ask(lambda: world.admin.alter_configs([ConfigChange(one.topic, {MIN_ISR: "3"})]))
        world.wait(lambda: world.reassigner.min_insync_replicas([one.topic]) == {one.topic: 3}, "it is told")
        assert world.reassigner.eligible_leaders()[one] == frozenset()
    finally:
        world.bed.start(3)
    world.wait(lambda: world.shown(one).isr == {1, 2, 3}, "all are in sync again")


def test_a_new_replica_that_was_never_in_sync_may_not_lead_however_few_are(world: World) -> None:
    one = world.create([1], records=2_000)
    world.admin.alter_configs([ConfigChange(one.topic, {MIN_ISR: "2"})])
    world.wait(lambda: world.reassigner.min_insync_replicas([one.topic]) == {one.topic: 2}, "it is told")
    world.reassigner.alter_throttles(Rates(SLOW, SLOW), throttled_replicas({one: ((1,), (1, 2))}))
    try:
        assert world.reassigner.reassign({one: (1, 2)}) == {}
        assert world.reassigner.ongoing()[one].adding == {2}
        assert world.reassigner.eligible_leaders()[one] == frozenset()
        assert world.reassigner.reassign({one: None}) == {}
    finally:
        world.clear_throttles(one.topic)


def test_each_controller_tells_the_id_of_its_directory(world: World) -> None:
    directories = [voter.directory_id for voter in world.reassigner.quorum().voters]
    assert len(directories) == 3
    assert all(each is None or re.fullmatch(r"[A-Za-z0-9_-]{22}", each) for each in directories)


def test_a_broker_that_is_down_is_forgotten_and_registers_again_when_it_starts(world: World) -> None:
    world.bed.stop(3)
    try:
        world.wait(lambda: Broker(3, None, BrokerState.FENCED) in world.reassigner.brokers(), "it is fenced")
        world.reassigner.unregister(3)
        world.wait(lambda: {each.id for each in world.reassigner.brokers()} == {1, 2}, "it is forgotten")
        world.reassigner.unregister(3)
    finally:
        world.bed.start(3)
    world.wait(lambda: Broker(3, None, BrokerState.ONLINE) in world.reassigner.brokers(), "it is back")
