"""Back to a restore point: the log as it was when a snapshot of the database was taken."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from seawall.api.v1alpha1.restore_status import RestoreStage
from seawall.api.v1alpha1.spark_job import JobStage
from tests.restore.test_restore import logs, request_of
from tests.worlds.backup_world import FULL
from tests.worlds.point_world import BRACKET, NAME, PointWorld
from tests.worlds.purge_world import TOPICS, WAL
from tests.worlds.restore_world import RestoreWorld
from tests.worlds.verification_world import why

BACK_TO: dict[str, Any] = {"target": {"point": "before-upgrade"}, "padAboveFlushed": False}


@dataclass
class Both(RestoreWorld, PointWorld):
    """Snapshots are taken, and logs brought back."""

    def restore_files(self) -> None:
        """Somebody puts the files of the snapshot in the place of the database's own."""
        taken = self.people.taken[self.walbackup(FULL).metadata.uid]
        for topic, region in self.store.snapshot().region_keys:
            found, last = self.data_plane.regions[region], taken[topic][1]
            found.flushed, found.last, found.memtable_bytes = min(found.flushed, last), last, 0
        self.data_plane.newest_ids.clear()


def after_a_point() -> Both:
    """A point, newer rows, which are flushed, and a Kafka whose topics somebody has deleted."""
    world = Both()
    assert world.backed_up(bracket=BRACKET).status.stage is JobStage.COMPLETED
    for topic in TOPICS:
        world.write(topic, 30)
    for region in list(world.data_plane.regions):
        world.flush(region)
    for _ in range(3):
        world.recorder().tick(WAL)
    world.foreign |= set(TOPICS)
    world.lose_kafka()
    return world


def test_the_log_ends_where_the_snapshot_needs_it_whatever_the_database_has_by_now() -> None:
    world = after_a_point()
    world.bring_back(**BACK_TO)
    found = world.live_until(RestoreStage.AWAITING_APPROVAL)
    assert request_of(world, "back-1")["target"] == {"point": "before-upgrade"}
    assert request_of(world, "back-1")["needs"] == {}
    assert found.status.plan is not None
    assert found.status.plan.restore_point is not None
    assert found.status.plan.restore_point.snapshot == NAME
    world.settle_restore(ticks=2)
    reason, message = why(world.walrestore())
    assert reason == "AwaitingApproval"
    assert f"the database's files and metadata must be those of snapshot {NAME} before it is started" in message
    world.stop_database()
    world.data_plane.is_silent = True
    world.restore_files()
    world.approve()
    done = world.settle_restore()
    assert (done.status.stage, why(done)[0]) == (RestoreStage.COMPLETED, "Restored")
    assert logs(world) == dict.fromkeys(TOPICS, (1, 48))
    assert NAME in why(done)[1]


def test_a_process_that_knew_higher_ids_forgets_them_with_the_log_that_they_were_of() -> None:
    world = after_a_point()
    watching = world.recorder()  # it observes the database before and after
    watching.tick(WAL)
    world.bring_back(**BACK_TO)
    world.live_until(RestoreStage.AWAITING_APPROVAL)
    world.stop_database()
    world.approve()
    world.settle_restore(ticks=20)
    reason, message = why(world.walrestore())
    assert (reason, "stop it, too" in message) == ("DatabaseRunning", True)  # its metasrv knows higher ids
    assert world.kafka.topics == {}
    world.data_plane.is_silent = True
    world.restore_files()
    assert world.settle_restore().status.stage is RestoreStage.COMPLETED
    world.data_plane.is_silent = False
    world.start_database()
    for _ in range(6):
        watching.tick(WAL)
        world.time.time += timedelta(seconds=5)
    assert not [name for name, record in world.records().items() if record.broken]
    for topic in TOPICS:
        world.write(topic, 20)
    for region in list(world.data_plane.regions):
        world.flush(region)
    world.start_run()
    run = world.settle()
    assert (run.status.stage, run.status.skipped) == ("Completed", ())


def test_a_database_that_is_gone_is_not_waited_for() -> None:
    world = after_a_point()
    world.stop_database()
    world.data_plane.is_silent = True
    world.bring_back(**BACK_TO)
    world.settle_restore(ticks=12)
    assert world.walrestore().status.stage is RestoreStage.AWAITING_APPROVAL


def test_a_point_that_nobody_has_made_is_refused() -> None:
    world = after_a_point()
    world.bring_back(target={"point": "another"}, padAboveFlushed=False)
    found = world.settle_restore()
    assert why(found)[0] == "RequestRefused"


def test_a_topic_that_is_there_and_that_the_point_does_not_have_stops_it() -> None:
    """Its records are of after the point, and the database of then would replay them."""
    world = Both(is_busy=False)
    for region in [region for topic, region in world.store.snapshot().region_keys if topic == "wal_2"]:
        del world.data_plane.regions[region]
        world.store.drop_region("wal_2", region)  # one that Kafka has lost under its regions would be no point
    gone = world.kafka.topics.pop("wal_2")
    world.kube.apply(WAL, {**world.spec(), "topics": {**world.spec()["topics"], "count": 2}})
    assert world.backed_up(bracket=BRACKET).status.stage is JobStage.COMPLETED
    world.kafka.topics["wal_2"] = gone
    world.kube.apply(WAL, world.spec())
    world.foreign |= set(TOPICS)
    world.lose_kafka("wal_0", "wal_1")
    world.bring_back(**BACK_TO)
    world.live_until(RestoreStage.AWAITING_APPROVAL)
    world.stop_database()
    world.data_plane.is_silent = True
    world.approve()
    found = world.settle_restore()
    assert why(found)[0] == "TopicNotEmpty"
    assert "Kafka has topic wal_2, with records that restore point before-upgrade does not have" in why(found)[1]
    assert logs(world).keys() == {"wal_2"}


def test_without_pods_nobody_knows_that_the_database_is_stopped() -> None:
    world = after_a_point()
    spec = world.spec()
    plane = {name: part for name, part in spec["dataPlane"].items() if name != "datanodes"}
    world.kube.apply(WAL, {**spec, "dataPlane": plane})
    world.bring_back(**BACK_TO)
    world.live_until(RestoreStage.AWAITING_APPROVAL)
    world.stop_database()
    world.data_plane.is_silent = True
    world.approve()
    world.settle_restore(ticks=20)
    reason, message = why(world.walrestore())
    assert reason == "DatabaseUnknown"
    assert "declare dataPlane.datanodes" in message
