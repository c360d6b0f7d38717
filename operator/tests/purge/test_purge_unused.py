"""A run over a topic that nobody writes to: only by an annotation that is in time, and for all to see."""

from __future__ import annotations

from seawall.api.meta import Key
from seawall.api.v1alpha1.hold import WALHold
from seawall.domain.ledger.observation import Observation
from seawall.domain.policy.runs import is_success
from tests.ledger.test_ledger_watch import intact, look, watch
from tests.worlds.purge_world import NAMESPACE, REGIONS, ROWS, TOPICS, World

TOPIC = "wal_1"
TOMORROW = "2026-11-22T11:00:00Z"
IN_TWO_MINUTES = "2026-11-21T12:02:00Z"
SENTENCE = f"declared unused by annotation until {TOMORROW} (table dropped)"


def abandoned() -> World:
    """The tables of a topic were dropped long ago."""
    world = World()
    for index in range(REGIONS):
        region = (1024 + 1) << 32 | index
        world.store.drop_region(TOPIC, region)
        del world.data_plane.regions[region]
    return world


def test_a_topic_that_was_declared_unused_goes_and_the_run_says_by_whose_word() -> None:
    world = abandoned()
    world.annotate(purge_unused_topics=f"{TOPIC}: table dropped@{TOMORROW}")
    world.start_run()
    run = world.settle()
    assert world.log_starts()[TOPIC] == ROWS - 1
    assert {name: target.declared for name, target in world.targets().items()} == {
        "wal_0": None,
        TOPIC: SENTENCE,
        "wal_2": None,
    }
    assert (run.status.planned[0].topic, run.status.planned[0].declared) == (TOPIC, SENTENCE)
    reported = [event.message for event in world.kube.events if event.reason == "DeclaredUnused"]
    assert reported == [f"No region writes to topic {TOPIC}: {SENTENCE}"]


def test_without_a_declaration_it_stays() -> None:
    world = abandoned()
    world.start_run()
    run = world.settle()
    assert world.log_starts()[TOPIC] == 0
    assert [(one.topic, one.reason) for one in run.status.skipped] == [(TOPIC, "NoRegions")]


def test_topics_that_are_left_alone_for_one_reason_are_in_the_order_of_their_numbers() -> None:
    world = abandoned()
    for name in ("wal_10", "wal_9"):
        world.kafka.add_topic(name, replicas=(1, 2, 3), configs={"min.insync.replicas": "2"}).log.append(5)
        world.store.put_topic(name, 0)
    world.start_run()
    run = world.settle()
    assert [one.topic for one in run.status.skipped if one.reason == "NoRegions"] == [TOPIC, "wal_9", "wal_10"]


def test_a_run_that_could_do_nothing_is_no_success_although_more_topics_are_unused_than_a_status_names() -> None:
    """Found by a reader: of a pool of 64 topics most may be unused, and the trouble of the others was not named."""
    world = World()
    for number in range(len(TOPICS), 64):
        world.kafka.add_topic(f"wal_{number}", replicas=(1, 2, 3), configs={"min.insync.replicas": "2"}).log.append(5)
        world.store.put_topic(f"wal_{number}", 0)
    world.kube.apply(Key(NAMESPACE, "new"), {"clusterRef": {"name": "wal"}, "from": "tomorrow"}, kind=WALHold)
    world.start_run()
    run = world.settle()
    assert run.status.topics is not None
    assert (run.status.topics.total, run.status.topics.skipped, len(run.status.skipped)) == (64, 64, 50)
    assert [(one.topic, one.reason) for one in run.status.skipped[:3]] == [(name, "HoldsUnreadable") for name in TOPICS]
    assert {one.reason for one in run.status.skipped[3:]} == {"NoRegions"}
    assert not is_success(run)


def test_a_declaration_that_expires_during_the_run_deletes_nothing() -> None:
    world = abandoned()
    world.annotate(purge_unused_topics=f"{TOPIC}: table dropped@{IN_TWO_MINUTES}")
    world.start_run()
    run = world.settle()
    assert TOPIC in world.targets()
    assert world.log_starts()[TOPIC] == 0
    assert [(one.topic, one.reason) for one in run.status.skipped] == [(TOPIC, "NoRegions")]


def test_a_region_that_appears_during_the_run_stops_it() -> None:
    world = abandoned()
    world.annotate(purge_unused_topics=f"{TOPIC}: table dropped@{TOMORROW}")
    world.start_run()
    process = world.process()
    while world.run().status.frozen is None:
        world.settle(process, ticks=1)
    world.add_region(TOPIC, 9 << 32, datanode=0)
    world.write(TOPIC, 5)
    world.settle(process)
    assert world.log_starts()[TOPIC] < ROWS


def test_what_is_wrong_with_the_annotation_is_said_where_people_look() -> None:
    world = abandoned()
    world.annotate(purge_unused_topics="wal_1: dropped@2027-01-01T00:00:00Z")
    watching = watch(world)
    page = look(world, watching)
    assert page.problems == (
        "seawall.dev/purge-unused-topics: the expiry 2027-01-01T00:00:00Z is more than 24 hours ahead",
    )
    assert page.problems[0] in intact(world, watching).message
    observation = watching.observer.observe(world.cluster())
    assert isinstance(observation, Observation)
    assert observation.read.unused is None
