"""Stories of promotions: nothing writes late, no replay skips a new row, and what is lost is listed."""

from __future__ import annotations

import yaml

from seawall.api.v1alpha1.subscription import WALSubscription
from seawall.api.v1alpha1.subscription_status import PromotedTopic, PromotionStatus, SubscriptionState
from seawall.domain.kafka import NoKafka, Unreachable
from seawall.domain.subscription.needed import MARGIN
from tests.support.deaths import die_at_every_call
from tests.support.kube import CRDS
from tests.worlds.purge_world import Guard
from tests.worlds.subscription_world import CHANGES, SubscriptionWorld
from tests.worlds.verification_world import why

SILENT = NoKafka(Unreachable.NOT_ANSWERING, "No broker of Kafka answered.")


def promotion_of(found: WALSubscription) -> PromotionStatus:
    assert found.status.promotion is not None
    return found.status.promotion


def topic_of(found: WALSubscription, name: str) -> PromotedTopic:
    return next(row for row in promotion_of(found).topics if row.name == name)


def promoted(world: SubscriptionWorld, how: str = "Failover") -> WALSubscription:
    """Somebody promotes; until nothing is left to do."""
    world.subscribe(promote=how)
    return world.live(lambda: world.subscription().status.state is SubscriptionState.PROMOTED and not world.holds())


def behind(lacks: int = 9) -> SubscriptionWorld:
    """All is copied but for the newest rows of one topic, which some regions have flushed."""
    world = SubscriptionWorld()
    world.streaming()
    world.stride = 0
    world.write("wal_0", lacks)
    for region in sorted(region for name, region in world.store.snapshot().region_keys if name == "wal_0")[:2]:
        world.flush(region)
    return world


def assert_safe(world: SubscriptionWorld) -> None:
    """No row that a database on the copy writes is skipped by its next replay, and no old driver can write."""
    for topic, region in world.store.snapshot().region_keys:
        log = world.target.topics[topic].log
        assert log.end > world.data_plane.regions[region].flushed, f"a replay skips new rows of {topic}"
    before = {name: topic.log.end for name, topic in world.target.topics.items()}
    world.stride = 50
    for request in world.requests():
        for topic in request["topics"]:
            world.copy(topic, request["producer"])
    assert {name: topic.log.end for name, topic in world.target.topics.items()} == before, "an old driver writes"


def test_a_failover_fences_pads_and_lists_what_is_lost() -> None:
    world = behind()
    found = promoted(world)
    row = topic_of(found, "wal_0")
    assert (row.end, row.known_end, row.pad_to) == (40, 49, 49)
    behind_regions = sorted(
        region
        for name, region in world.store.snapshot().region_keys
        if name == "wal_0" and world.data_plane.regions[region].flushed < 48
    )
    assert row.regions == tuple(map(str, behind_regions))
    assert promotion_of(found).lost_entries == 9
    assert promotion_of(found).regions_known
    assert {name: topic.log.end for name, topic in world.target.topics.items()} == {
        "wal_0": 49,
        "wal_1": 41,
        "wal_2": 41,
    }
    assert why(found) == ("Promoted", "dr is ready for a database, and lacks 9 entries")
    assert (world.holds(), world.spark.applications) == ([], {})
    assert_safe(world)


def test_ids_of_regions_are_told_in_digits_which_no_number_of_json_can_hold() -> None:
    """Found by a reader: the API server refuses a greater number, and the promotion never ended."""
    most = {"name": "wal_0", "end": 1, "knownEnd": 2, "padTo": 2, "regions": [str(2**64 - 1)]}
    assert PromotedTopic.model_validate(most).regions == (str(2**64 - 1),)
    of_before = PromotedTopic.model_validate({**most, "regions": [4398046511104]})
    assert of_before.regions == ("4398046511104",)
    (version,) = yaml.safe_load((CRDS / "walsubscriptions.yaml").read_text())["spec"]["versions"]
    promotion = version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["promotion"]
    declared = promotion["properties"]["topics"]["items"]["properties"]["regions"]["items"]
    assert (declared["type"], declared["maxLength"]) == ("string", 20)


def test_regions_that_say_nothing_are_not_taken_for_regions_that_have_flushed_all() -> None:
    world = behind()
    silent = min(region for name, region in world.store.snapshot().region_keys if name == "wal_0")
    before = topic_of(promoted(behind()), "wal_0").regions
    del world.data_plane.regions[silent]
    world.foreign.add("wal_0")
    found = promoted(world)
    row = topic_of(found, "wal_0")
    assert (row.end, row.known_end) == (40, 49)
    assert list(row.regions) == [region for region in before if region != str(silent)]
    assert row.regions
    assert not promotion_of(found).regions_known


def test_when_source_and_database_are_gone_seawalls_own_records_say_where_the_logs_ended() -> None:
    world = behind()
    world.observer().observe(world.cluster())
    records = {name: record.high_watermark for name, record in world.records().items()}
    world.kafka.unreachable = SILENT
    world.store.is_silent = world.data_plane.is_silent = True
    found = promoted(world)
    topics = promotion_of(found).topics
    assert {row.name: row.known_end for row in topics} == {name: max(40, end) for name, end in records.items()}
    assert all(row.pad_to == row.known_end + MARGIN for row in topics)
    assert not promotion_of(found).regions_known
    assert "that are known of: the source did not say where it ended" in why(found)[1]
    world.store.is_silent = False
    assert_safe(world)


def test_where_the_source_is_silent_it_pads_beyond_all_that_the_database_says() -> None:
    world = behind()
    world.live(ticks=4)
    world.data_plane.newest_ids["wal_0"] = 48
    world.kafka.unreachable = SILENT
    found = promoted(world)
    assert not promotion_of(found).source_known
    row = topic_of(found, "wal_0")
    assert (row.known_end, row.pad_to) == (49, 49 + MARGIN)
    assert_safe(world)


def test_a_lost_subscription_can_be_promoted() -> None:
    world = SubscriptionWorld()
    world.subscribe(lagBudget={"maxBytes": 16000})
    world.live(world.is_even)
    world.stride = 0
    world.write("wal_0", 175)
    world.live_until(SubscriptionState.LOST)
    assert topic_of(promoted(world), "wal_0").known_end == 215
    assert_safe(world)


def test_a_switchover_waits_until_all_is_copied_and_loses_nothing() -> None:
    world = behind()
    world.subscribe(promote="Switchover")
    found = world.live(lambda: why(world.subscription())[0] == "WaitingForCopy")
    assert found.status.promotion is None
    world.stride = 3
    found = world.live(lambda: world.subscription().status.state is SubscriptionState.PROMOTED)
    assert promotion_of(found).lost_entries == 0
    assert all(row.end == row.pad_to for row in promotion_of(found).topics)
    assert why(found)[1] == "dr is ready for a database, and has all that the source had"
    assert_safe(world)


def test_a_topic_that_is_gone_from_the_target_is_not_promoted_and_can_be_left_out() -> None:
    world = SubscriptionWorld()
    world.streaming()
    world.subscribe(suspend=True)
    world.live(lambda: not world.spark.applications)
    world.recreate("wal_1", world.target)
    world.subscribe(promote="Failover")
    found = world.live(lambda: why(world.subscription())[0] == "CannotPromote")
    assert why(found)[1] == "topic wal_1 of the target is gone, or was made again: leave it out of spec.topics"
    assert world.target.topics["wal_1"].log.end == 0
    world.subscribe(topics=["wal_0", "wal_2"])
    found = world.live(lambda: world.subscription().status.state is SubscriptionState.PROMOTED)
    assert [row.name for row in promotion_of(found).topics] == ["wal_0", "wal_2"]
    assert world.target.topics["wal_1"].log.end == 0


def test_what_was_promoted_stays_so() -> None:
    world = behind()
    promoted(world)
    ends = {name: topic.log.end for name, topic in world.target.topics.items()}
    for topic in world.target.topics.values():
        topic.log.append(5)  # a database goes on with it
    found = world.live(ticks=40)
    assert found.status.state is SubscriptionState.PROMOTED
    assert {name: topic.log.end - 5 for name, topic in world.target.topics.items()} == ends


def test_two_operators_at_once_promote_once() -> None:
    world = behind()
    world.subscribe(promote="Failover")
    processes = [world.subscriber(), world.subscriber()]
    for number in range(60):
        found = world.live(process=processes[number % 2], ticks=1)
    assert found.status.state is SubscriptionState.PROMOTED
    assert {name: topic.log.end for name, topic in world.target.topics.items()} == {
        "wal_0": 49,
        "wal_1": 41,
        "wal_2": 41,
    }


def test_a_death_at_any_call_of_a_promotion_changes_nothing_about_the_end() -> None:
    world = behind()
    world.subscribe(promote="Failover")

    def live(each: SubscriptionWorld, guard: Guard | None) -> None:
        each.live(
            lambda: each.subscription().status.state is SubscriptionState.PROMOTED and not each.holds(),
            each.subscriber(guard),
        )

    def end_state(each: SubscriptionWorld) -> object:
        status = each.subscription().status
        rows = () if status.promotion is None else status.promotion.topics
        return (
            (status.state, rows, each.holds(), sorted(key.name for key in each.spark.applications)),
            [(found.type, found.status, found.reason, found.message) for found in status.conditions],
            {name: topic.log.end for name, topic in each.target.topics.items()},
        )

    assert die_at_every_call(world, live, end_state, CHANGES) > 5
    assert_safe(world)
