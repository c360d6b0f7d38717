"""A WALCluster that is pointed at another database deletes nothing, whichever address is wrong and whatever it says.

`World.check` judges after each change by the database that wrote the logs: what it has not flushed must stay.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from seawall.api.meta import Key
from seawall.domain.dataplane.identity import weakest_version
from seawall.domain.ledger.observation import Unavailable
from seawall.domain.ledger.reasons import Reason
from seawall.domain.times import LEDGER_REPLACED_MS
from seawall.reconciler import Reconciler
from tests.fakes.dataplane import FakeDataPlane, FakeMetadataStore, FakeRegion
from tests.ledger.test_ledger_watch import look, watch
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.purge_world import NAMESPACE, REGIONS, TOPICS, WAL, World

AGAIN = Key(NAMESPACE, "again")
STAGING_METASRV, STAGING_ETCD = "http://metasrv.staging:4000", "http://etcd.staging:2379"
FAR = 400


def purged(auto_prune: str = "Disabled") -> World:
    """Production: looked at and purged once, and then written to; all that was written last is only in the log."""
    world = World(auto_prune=auto_prune)
    for topic in TOPICS:
        world.write(topic, 200)
        if auto_prune == "Logical":
            world.store.put_topic(topic, 2)
    world.start_run()
    world.settle()
    for topic in TOPICS:
        world.write(topic, 200)
    return world


def add_staging(world: World, table: int = 2024, domain: str = ".staging", marker: int = 0) -> None:
    """Another installation of the same layout, far ahead: all of it is flushed."""
    data_plane, store = (
        FakeDataPlane(now=world.time.now, domain=domain, wal=world.data_plane.wal),
        FakeMetadataStore(domain),
    )
    for number, topic in enumerate(TOPICS):
        store.put_topic(topic, marker)
        for index in range(REGIONS):
            region = (table + number) << 32 | index
            data_plane.regions[region] = FakeRegion(index % 3, FAR, FAR)
            store.put_region(topic, region, leader=index % 3, checkpoint=None)
    data_plane.epochs = {0: 7, 1: 7, 2: 7}
    world.data_planes[STAGING_METASRV], world.stores[STAGING_ETCD] = data_plane, store


def point(world: World, *, metasrv: bool, etcd: bool) -> None:
    """Somebody edits the addresses."""
    edited: dict[str, Any] = {"metasrv": STAGING_METASRV} if metasrv else {}
    if etcd:
        edited["metadataStore"] = {"etcd": {"endpoints": [STAGING_ETCD]}}
    world.kube.apply(WAL, world.spec(**edited))


def blocked(world: World) -> Unavailable:
    """What a process finds that observes the ledger now."""
    watching = watch(world)
    Reconciler(watching, may_write=lambda: True).tick(WAL)
    found = watching.latest(WAL)
    assert isinstance(found, Unavailable)
    return found


def run_again(world: World, *, same_process: bool, **edit: bool) -> dict[str, int]:
    """Points it elsewhere, by one process or before another begins, and runs; returns how far each log was cut."""
    process = world.process()
    world.settle(process, ticks=1)
    before = world.log_starts()
    point(world, **edit)
    world.start_run(AGAIN)
    world.settle(process if same_process else world.process(), ticks=120, key=AGAIN)
    after = world.log_starts()
    return {topic: after[topic] - before[topic] for topic in TOPICS if after[topic] != before[topic]}


@pytest.mark.parametrize("same_process", [True, False])
@pytest.mark.parametrize("auto_prune", ["Logical", "Disabled"])
@pytest.mark.parametrize("table", [1024, 2024], ids=["the same region ids", "other region ids"])
def test_an_edited_data_plane_that_is_another_database_purges_nothing(
    auto_prune: str, table: int, *, same_process: bool
) -> None:
    world = purged(auto_prune)
    add_staging(world, table, marker=FAR if auto_prune == "Logical" else 0)
    assert run_again(world, same_process=same_process, metasrv=True, etcd=True) == {}
    page = blocked(world)
    assert (page.why.value, "is pinned" in page.message) == ("DatabaseChanged", True)


@pytest.mark.parametrize("same_process", [True, False])
def test_only_the_metasrv_of_another_installation_purges_nothing(*, same_process: bool) -> None:
    world = purged()
    add_staging(world, table=1024)
    assert run_again(world, same_process=same_process, metasrv=True, etcd=False) == {}
    page = blocked(world)
    assert page.why.value == "DatabaseContradictsItself"
    assert "datanode-0.staging:4001" in page.message


@pytest.mark.parametrize("same_process", [True, False])
def test_a_metasrv_of_another_installation_with_the_same_host_names_is_contradicted_by_the_log(
    *, same_process: bool
) -> None:
    """Two Kubernetes clusters, one manifest: ids and names are the same, and only the log is not."""
    world = purged()
    add_staging(world, table=1024, domain="")
    assert run_again(world, same_process=same_process, metasrv=True, etcd=False) == {}
    skipped = world.run(AGAIN).status.skipped
    assert {one.topic: one.reason for one in skipped} == dict.fromkeys(TOPICS, Reason.RECORDS_OF_OTHERS.value)


def test_another_kafka_at_first_contact_purges_nothing_where_no_record_is_of_the_databases_regions() -> None:
    """Staging got production's bootstrapServers, with its YAML: nothing was pinned before, and all ids fit the logs."""
    world = World()
    for topic in TOPICS:
        world.write(topic, FAR + 100)
    add_staging(world, table=2024)
    pinned, staging = world.cluster(), world.stores[STAGING_ETCD].snapshot().store_id
    assert pinned.status.data_plane is not None
    met = pinned.status.data_plane.model_copy(update={"identity": staging})
    world.kube.replace_status(pinned, pinned.status.model_copy(update={"data_plane": met}))
    point(world, metasrv=True, etcd=True)
    world.start_run(AGAIN)
    world.settle(ticks=120, key=AGAIN)
    assert set(world.log_starts().values()) == {0}
    skipped = world.run(AGAIN).status.skipped
    assert {one.topic: one.reason for one in skipped} == dict.fromkeys(TOPICS, Reason.RECORDS_OF_OTHERS.value)


def test_a_log_that_there_was_no_time_to_read_is_asked_again() -> None:
    """A broker that was slow once has not said that the regions are its log's."""
    world = purged()
    add_staging(world, table=1024, domain="")
    world.kafka.late_keys = 1
    assert run_again(world, same_process=False, metasrv=True, etcd=False) == {}
    assert world.kafka.late_keys == 0


def test_a_log_that_answered_is_not_asked_the_same_again() -> None:
    world = World()
    world.start_run()
    world.settle()
    before = world.kafka.requests["read_keys"]
    assert before < world.kafka.requests["describe_offsets"] / 2


@pytest.mark.parametrize("auto_prune", ["Logical", "Disabled"])
def test_only_the_metadata_store_of_another_installation_purges_nothing(auto_prune: str) -> None:
    world = purged(auto_prune)
    add_staging(world, table=1024, domain="", marker=FAR)
    assert run_again(world, same_process=True, metasrv=False, etcd=True) == {}
    assert blocked(world).why.value == "DatabaseChanged"


def test_an_empty_metadata_store_beside_reports_is_a_contradiction_and_no_all_clear() -> None:
    world = World()
    world.stores["http://etcd:2379"] = FakeMetadataStore()
    pinned = world.cluster()
    assert pinned.status.data_plane is not None
    identity = world.stores["http://etcd:2379"].snapshot().store_id
    status = pinned.status.model_copy(
        update={"data_plane": pinned.status.data_plane.model_copy(update={"identity": identity})}
    )
    world.kube.replace_status(pinned, status)
    page = blocked(world)
    assert (page.why.value, "knows none of them" in page.message) == ("DatabaseContradictsItself", True)


def test_before_the_database_was_met_nothing_is_purged() -> None:
    world = World()
    cluster = world.cluster()
    world.kube.replace_status(cluster, cluster.status.model_copy(update={"data_plane": None}))
    world.start_run()
    world.settle(ticks=60)
    assert set(world.log_starts().values()) == {0}
    assert blocked(world).why.value == "NoDatabaseYet"


def test_a_declared_version_that_does_not_run_purges_nothing() -> None:
    """GreptimeDB 1.0.2, declared 1.1: it never reads the marker, and a region below it could not be opened."""
    world = World()
    world.data_plane.versions[1] = "1.0.2"
    world.start_run()
    run = world.settle()
    assert set(world.log_starts().values()) == {0}
    assert {one.reason for one in run.status.skipped} == {"VersionDiffers"}


def test_a_version_that_nobody_knows_purges_nothing() -> None:
    world = World()
    world.data_plane.versions[1] = ""
    world.start_run()
    run = world.settle()
    assert set(world.log_starts().values()) == {0}
    assert {one.reason for one in run.status.skipped} == {"VersionUnknown"}


def test_the_version_of_a_datanode_that_reports_and_is_not_listed_is_one_that_nobody_knows() -> None:
    """A metasrv that leads since a moment ago lists who has spoken to it since; 1.0.2 never reads the marker."""
    world = World()
    world.data_plane.unlisted.add(1)
    world.data_plane.versions[1] = "1.0.2"
    world.start_run()
    run = world.settle()
    assert set(world.log_starts().values()) == {0}
    assert {one.reason for one in run.status.skipped} == {"VersionUnknown"}


def test_a_metadata_store_that_was_restored_from_yesterday_purges_nothing() -> None:
    """The same store by its id: its revision went back, and with it regions and markers."""
    world = World()
    yesterday = world.store.snapshot()
    world.start_run()
    world.settle()
    for topic in TOPICS:
        world.write(topic, 200)
    starts = world.log_starts()
    world.markers.clear()  # the restore lowered them, not the operator
    world.store._now = yesterday
    for region in world.data_plane.regions:
        if world.data_plane.regions[region].flushed > 0:
            world.flush(region)
    world.start_run(AGAIN)
    run = world.settle(key=AGAIN)
    assert world.log_starts() == starts
    assert run.status.skipped[0].reason == Reason.FENCE_BROKEN.value


def test_a_log_that_was_cut_and_grew_beyond_between_two_observations_is_noticed() -> None:
    """The record of before does not show it: the log is longer than it was then, and so is its epoch."""
    world = World()
    watcher = watch(world)
    look(world, watcher, times=3)
    for topic in TOPICS:
        world.write(topic, 500)
    look(world, watcher)
    log = world.kafka.topics["wal_1"].log
    world.foreign.add("wal_1")
    log.truncate(60)
    log.append(900)
    page = look(world, watcher, times=2)
    assert {line.name: line.reason for line in page.lines}["wal_1"] is Reason.FENCE_BROKEN
    assert world.records()["wal_1"].broken


def test_a_leader_that_was_replaced_and_does_not_know_it_is_not_asked_where_its_epoch_ended() -> None:
    """It has the log as it was: nobody would ever ask again, once the record is of the next epoch."""
    world = World()
    watcher = watch(world)
    for topic in TOPICS:
        world.write(topic, 500)
    look(world, watcher, times=3)
    log = world.kafka.topics["wal_1"].log
    world.kafka.deposed["wal_1"] = deepcopy(log)
    world.foreign.add("wal_1")
    log.truncate(60)
    log.append(900)
    page = look(world, watcher, times=3)
    assert {line.name: line.reason for line in page.lines}["wal_1"] is Reason.OFFSETS_UNKNOWN
    assert world.records()["wal_1"].leader_epoch == 0, "it is as it was before"
    del world.kafka.deposed["wal_1"]
    page = look(world, watcher, times=2)
    assert {line.name: line.reason for line in page.lines}["wal_1"] is Reason.FENCE_BROKEN


@pytest.mark.parametrize("seconds", [200, 900])
def test_a_leader_that_was_replaced_and_is_asked_for_the_offsets_too_breaks_nothing_for_ten_minutes(
    seconds: int,
) -> None:
    """A clean election, and the operator's clients reach the broker of before, which is cut off from the controllers.

    For longer than that it may lead by metadata of an older copy.
    """
    world = World()
    watcher = watch(world)
    for topic in TOPICS:
        world.write(topic, 500)
    look(world, watcher, times=3)
    found = world.kafka.topics["wal_1"]
    replaced, first = deepcopy(found.log), found.replicas[0]
    world.kafka.offline.add(first)
    look(world, watcher)
    world.write("wal_1", 100)
    look(world, watcher)
    assert world.records()["wal_1"].leader_epoch == 1
    known, found.log = found.log, replaced
    world.kafka.offline.clear()
    page = look(world, watcher, times=seconds // 10)
    is_broken = seconds > LEDGER_REPLACED_MS // 1000
    reason = Reason.FENCE_BROKEN if is_broken else Reason.OFFSETS_UNKNOWN
    assert {line.name: line.reason for line in page.lines}["wal_1"] is reason
    assert world.records()["wal_1"].broken is is_broken
    if not is_broken:
        found.log = known
        world.kafka.offline.add(first)
        page = look(world, watcher, times=3)
        assert {line.name: line.reason for line in page.lines}["wal_1"] is not Reason.FENCE_BROKEN


def test_every_guard_against_the_wrong_database_is_missed_when_it_is_taken_away() -> None:
    from seawall import observe  # noqa: PLC0415 - what is patched
    from seawall.domain.ledger import fence  # noqa: PLC0415
    from seawall.observe import topic_logs  # noqa: PLC0415
    from seawall.observe.memory import LogWitnesses  # noqa: PLC0415
    from seawall.observe.replaced_leaders import ReplacedLeaders  # noqa: PLC0415

    def no_pin(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(observe.database, "why_other_database", lambda *_: None)
        patch.setattr(observe.opened_cluster, "why_other_database", lambda *_: None)
        patch.setattr(fence, "CHECKS", tuple(check for check in fence.CHECKS if "database" not in check.__name__))

    def no_contradictions(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(observe.database, "find_contradiction", lambda *_: None)
        no_witness(patch)

    def no_witness(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(LogWitnesses, "ask", lambda _self, _logs, found, _read: found)

    def versions_believed(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(observe.database, "weakest_version", lambda *_: "99.0.0")

    def unlisted_forgotten(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(observe.database, "weakest_version", lambda nodes, _: weakest_version(nodes, ()))

    def no_revisions(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(fence, "CHECKS", tuple(check for check in fence.CHECKS if "metadata" not in check.__name__))

    def cuts_forgotten(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(observe.reading, "read_cuts", lambda _logs, _before, known: ({}, known))

    assert not find_survivors(
        [
            (no_pin, lambda: test_only_the_metadata_store_of_another_installation_purges_nothing("Logical")),
            (
                no_contradictions,
                lambda: test_only_the_metasrv_of_another_installation_purges_nothing(same_process=False),
            ),
            (no_contradictions, test_an_empty_metadata_store_beside_reports_is_a_contradiction_and_no_all_clear),
            (
                no_witness,
                lambda: test_a_metasrv_of_another_installation_with_the_same_host_names_is_contradicted_by_the_log(
                    same_process=False
                ),
            ),
            (
                rewritten(LogWitnesses, "ask", "are_of_others(answered.values(), found.inputs.regions)", "False"),
                test_another_kafka_at_first_contact_purges_nothing_where_no_record_is_of_the_databases_regions,
            ),
            (
                rewritten(LogWitnesses, "_keep", "answer.strangers or question.is_answered(keys.by_offset)", "True"),
                test_a_log_that_there_was_no_time_to_read_is_asked_again,
            ),
            (
                rewritten(
                    LogWitnesses,
                    "_keep",
                    "answer.strangers or question.is_answered(keys.by_offset)",
                    "answer.strangers",
                ),
                test_a_log_that_answered_is_not_asked_the_same_again,
            ),
            (versions_believed, test_a_declared_version_that_does_not_run_purges_nothing),
            (versions_believed, test_a_version_that_nobody_knows_purges_nothing),
            (
                unlisted_forgotten,
                test_the_version_of_a_datanode_that_reports_and_is_not_listed_is_one_that_nobody_knows,
            ),
            (no_revisions, test_a_metadata_store_that_was_restored_from_yesterday_purges_nothing),
            (
                rewritten(topic_logs, "read_epoch_ends", "epoch, current)", "epoch, -1)", observe.reading),
                test_a_leader_that_was_replaced_and_does_not_know_it_is_not_asked_where_its_epoch_ended,
            ),
            (
                rewritten(ReplacedLeaders, "left_out", "< LEDGER_REPLACED_MS", "< 0"),
                lambda: test_a_leader_that_was_replaced_and_is_asked_for_the_offsets_too_breaks_nothing_for_ten_minutes(
                    200
                ),
            ),
            (cuts_forgotten, test_a_log_that_was_cut_and_grew_beyond_between_two_observations_is_noticed),
        ]
    )
