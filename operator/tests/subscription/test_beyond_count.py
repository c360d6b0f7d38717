"""The database writes to topics beyond the pool's count, too: they are copied as others are, or said to be missing."""

from __future__ import annotations

from seawall.ports import KafkaClusters
from tests.fakes.kafka import FakeKafkaClusters
from tests.subscription.test_promotion import SILENT, assert_safe, promoted, promotion_of
from tests.subscription.test_records_sink import progress_topic
from tests.subscription.test_subscription import granted
from tests.worlds.purge_world import TOPICS
from tests.worlds.records_world import RecordsWorld
from tests.worlds.subscription_world import SubscriptionWorld
from tests.worlds.table_world import TableWorld
from tests.worlds.verification_world import why

BEYOND = "wal_7"


def beyond(world: SubscriptionWorld, name: str = BEYOND) -> None:
    """The database is told of more topics than the WALCluster declares, and writes to one of those."""
    world.kafka.add_topic(name, replicas=(1, 2, 3), configs={"min.insync.replicas": "2"}).log.now = world.time.now
    world.store.put_topic(name, 0)
    world.add_region(name, 9 << 32, datanode=0)
    world.write(name, 8)


def a_topic_beyond_the_count_is_held_copied_and_promoted() -> None:
    world = SubscriptionWorld()
    beyond(world)
    found = world.streaming()
    assert why(found) == ("Streaming", "4 topics are copied to dr")
    assert granted(world)[BEYOND] == world.target.topics[BEYOND].log.end == world.kafka.topics[BEYOND].log.end
    found = promoted(world, "Switchover")
    assert {row.name for row in promotion_of(found).topics} == {*TOPICS, BEYOND}
    assert why(found) == ("Promoted", "dr is ready for a database, and has all that the source had")
    assert_safe(world)


def test_a_topic_beyond_the_count_is_held_copied_and_promoted() -> None:
    a_topic_beyond_the_count_is_held_copied_and_promoted()


def test_a_purge_leaves_what_is_not_copied_of_a_topic_beyond_the_count() -> None:
    world = SubscriptionWorld(stride=0)
    beyond(world)
    world.subscribe()
    world.live(lambda: world.runs(1))
    for region in list(world.data_plane.regions):
        world.flush(region)
    world.start_run()
    world.settle()
    assert world.log_starts()[BEYOND] == 0


def test_a_topic_beyond_the_count_that_appears_later_is_copied_too() -> None:
    world = SubscriptionWorld()
    world.streaming()
    beyond(world)
    assert why(world.live(world.is_even)) == ("Streaming", "4 topics are copied to dr")
    assert granted(world)[BEYOND] == world.kafka.topics[BEYOND].log.end


def test_it_may_be_selected_alone_and_left_out() -> None:
    world = SubscriptionWorld()
    beyond(world)
    world.subscribe(topics=[BEYOND])
    world.live(lambda: world.runs(1) and list(granted(world)) == [BEYOND])
    assert list(world.target.topics) == [BEYOND]
    world.subscribe(topics=["wal_0"])
    world.live(lambda: list(granted(world)) == ["wal_0"])
    world.subscribe(topics=["wal_8"])
    assert why(world.live(ticks=20))[0] == "NothingSelected"


def test_what_has_begun_beyond_the_count_is_promoted_when_the_source_is_dead() -> None:
    world = SubscriptionWorld()
    beyond(world)
    world.streaming()
    world.kafka.unreachable = SILENT
    found = promoted(world)
    assert {row.name for row in promotion_of(found).topics} == {*TOPICS, BEYOND}


def what_was_held_and_never_copied_is_not_forgotten_when_the_source_dies() -> None:
    world = SubscriptionWorld()
    world.streaming()
    beyond(world)
    world.target.offline = {2, 3}
    world.live(lambda: BEYOND in granted(world) and why(world.subscription())[0] == "TooFewBrokers")
    world.kafka.unreachable = SILENT
    is_not_forgotten(world)


def test_what_was_held_and_never_copied_is_not_forgotten_when_the_source_dies() -> None:
    what_was_held_and_never_copied_is_not_forgotten_when_the_source_dies()


def is_not_forgotten(world: SubscriptionWorld) -> None:
    world.subscribe(promote="Failover")
    found = world.live(ticks=60)
    assert why(found)[0] == "CannotPromote"
    assert f"topic {BEYOND} would be forgotten" in why(found)[1]
    world.subscribe(topics=list(TOPICS))
    assert {row.name for row in promotion_of(promoted(world)).topics} == set(TOPICS)


def of_what_only_the_database_speaks_is_not_forgotten() -> None:
    world = SubscriptionWorld()
    world.streaming()
    beyond(world)
    world.flush(9 << 32)
    world.kafka.unreachable = SILENT
    is_not_forgotten(world)


def test_of_what_only_the_database_speaks_is_not_forgotten() -> None:
    of_what_only_the_database_speaks_is_not_forgotten()


class HalfDeadWorld(SubscriptionWorld):
    """The source does not answer when its topics are listed, and does when the same tick observes all of it."""

    is_listed = True

    def both_kafkas(self) -> KafkaClusters:
        """The ledger is observed over connections of its own."""
        return super().both_kafkas() if self.is_listed else FakeKafkaClusters({"dr:9092": self.target})


def of_what_only_the_observation_speaks_is_not_forgotten() -> None:
    world = HalfDeadWorld()
    world.streaming()
    beyond(world)
    world.flush(9 << 32)
    world.is_listed = False
    is_not_forgotten(world)


def test_of_what_only_the_observation_speaks_is_not_forgotten() -> None:
    of_what_only_the_observation_speaks_is_not_forgotten()


def test_rows_of_a_topic_beyond_the_count_go_to_a_topic() -> None:
    world = RecordsWorld()
    beyond(world)
    found = world.streaming()
    assert why(found)[1].startswith("the rows of 4 topics go to topic")
    assert world.target.topics[progress_topic(world)].partitions == 8
    assert {row.name: row.progress_partition for row in found.status.topics}[BEYOND] == 7


def the_progress_grows_first() -> None:
    world = RecordsWorld()
    world.streaming()
    beyond(world)
    world.live(lambda: BEYOND in {row.name for row in world.subscription().status.topics})
    assert world.target.topics[progress_topic(world)].partitions == 8


def test_the_progress_of_a_topic_beyond_the_count_grows_first() -> None:
    the_progress_grows_first()


def a_topic_without_a_place_in_the_progress_does_not_begin_and_is_named() -> None:
    world = RecordsWorld()
    world.streaming()
    beyond(world, "wal_10000")
    found = world.live(ticks=90)
    assert why(found)[1].startswith("nothing is copied yet of topic wal_10000: ")
    assert world.target.topics[progress_topic(world)].partitions == 3


def test_a_topic_without_a_place_in_the_progress_does_not_begin_and_is_named() -> None:
    a_topic_without_a_place_in_the_progress_does_not_begin_and_is_named()


def test_rows_of_a_topic_beyond_the_count_go_to_a_bucket() -> None:
    world = TableWorld()
    beyond(world)
    assert why(world.streaming())[1].startswith("the rows of 4 topics go to bucket")
