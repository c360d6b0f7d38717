"""The API server comes back from a backup of the middle of a restore, whose topics the database has used since."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from seawall.api.v1alpha1.restore_status import RestoreStage
from seawall.controllers import restore
from seawall.domain.kafka_log import TopicFailure, TopicTrouble
from seawall.domain.restore import removal
from seawall.observe import topic_logs
from tests.fakes.kafka_logs import FakeKafkaLogs
from tests.restore.test_restore_crash import approved
from tests.support import api_server_backup
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.purge_world import TOPICS
from tests.worlds.restore_world import RestoreWorld
from tests.worlds.verification_world import why


def back_up(world: RestoreWorld) -> Callable[[], None]:
    """What brings all of it back, with other versions; pods of later end, and the driver's machine is gone."""
    bring_objects_back, sets = api_server_backup.back_up(world.kube, world.intents), dict(world.datanodes.statefulsets)
    applications = {key: replace(each, state="FAILED") for key, each in world.spark.applications.items()}

    def bring_back() -> None:
        bring_objects_back()
        world.datanodes.statefulsets, world.datanodes.running = sets, {}
        world.data_plane.stopped = {0, 1, 2}
        world.spark.applications, world.spark.drivers = applications, {}

    return bring_back


def used_and_brought_back(*names: str) -> tuple[RestoreWorld, dict[str, tuple[str | None, int]]]:
    """The API server of the middle of a restore, and what Kafka has since the database wrote to these topics."""
    world = approved()
    process = world.restorer()
    while "back-2" not in {key.name for key in world.spark.applications}:
        world.settle_restore(process=process, ticks=1)
    assert world.walrestore().status.stage is RestoreStage.WRITING
    bring_back = back_up(world)
    assert world.settle_restore(process=process).status.stage is RestoreStage.COMPLETED
    world.start_database()
    for topic in names:
        world.kafka.topics[topic].log.now = world.time.now
        world.write(topic, 5)
    used = what_is_there(world)
    bring_back()
    return world, used


def what_is_there(world: RestoreWorld) -> dict[str, tuple[str | None, int]]:
    """By topic its id, and where its log ends."""
    return {name: (topic.log.topic_id, topic.log.end) for name, topic in world.kafka.topics.items()}


def test_topics_that_the_database_has_used_since_stay() -> None:
    """The StatefulSet is the one of before, without replicas, and so are the records of the logs."""
    world, used = used_and_brought_back(*TOPICS)
    found = world.settle_restore()
    assert what_is_there(world) == used
    assert (found.status.stage, why(found)[0]) == (RestoreStage.FAILED, "NotOurs")
    assert "may have records of others, and is left as it is" in why(found)[1]


def test_a_topic_whose_leader_cannot_be_asked_for_younger_records_is_waited_for() -> None:
    """Its id would do to delete it. No other topic goes before all are asked, and what it has is found in the end."""
    world, used = used_and_brought_back("wal_1")
    world.kafka.brokers = (1, 2, 3, 4)
    for topic in world.kafka.topics.values():
        topic.replicas = (2, 3, 4)
    world.kafka.topics["wal_1"].replicas = (1,)
    world.kafka.offline = {1}
    world.settle_restore(ticks=60)
    assert what_is_there(world) == used
    reason, message = why(world.walrestore())
    assert (world.walrestore().status.stage, reason) == (RestoreStage.REMOVING, "KafkaUnreachable")
    assert "wal_1 may have records of others, which only its leader can say" in message
    world.kafka.offline = set()
    found = world.settle_restore()
    assert what_is_there(world) == used
    assert (found.status.stage, why(found)[0]) == (RestoreStage.FAILED, "NotOurs")


def test_a_leader_that_has_its_offsets_but_not_whether_any_record_is_younger_is_waited_for() -> None:
    world, used = used_and_brought_back("wal_1")
    for trouble in (TopicTrouble.UNANSWERED, TopicTrouble.UNKNOWN_TOPIC):
        with pytest.MonkeyPatch.context() as patch:
            silent = TopicFailure(trouble, "it moves")
            patch.setattr(FakeKafkaLogs, "find_first_since", lambda *_, silent=silent: {"wal_1": silent})
            world.settle_restore(ticks=30)
        assert what_is_there(world) == used
        assert why(world.walrestore())[0] == "KafkaUnreachable"


def test_the_guards_are_missed() -> None:
    any_age = rewritten(removal, "_is_all_ours", " and not _has_younger(case)", "")
    by_ids = rewritten(removal, "_left", "if (silent := _find_silent(pool, left)) is not None", "if False")
    unknown = rewritten(topic_logs, "written_since", "isinstance(each, TopicFailure)", "False", restore)
    assert (
        find_survivors(
            [
                (any_age, test_topics_that_the_database_has_used_since_stay),
                (by_ids, test_a_topic_whose_leader_cannot_be_asked_for_younger_records_is_waited_for),
                (unknown, test_a_leader_that_has_its_offsets_but_not_whether_any_record_is_younger_is_waited_for),
            ]
        )
        == []
    )
