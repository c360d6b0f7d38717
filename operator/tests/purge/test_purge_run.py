"""A whole run on the in-memory ports: what it does in which order, and what stops it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

import pytest

from seawall.api.meta import ConditionType, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.hold import HoldState, WALHold
from seawall.api.v1alpha1.purge import Stage, WALPurge
from seawall.domain.conditions import find_condition
from seawall.domain.dataplane.connection import NotReached, PartUnavailable
from seawall.domain.dataplane.metadata import MarkerMove
from seawall.domain.dataplane.wal_settings import WALSettings
from seawall.domain.purge import stages
from tests.fakes.dataplane import settings
from tests.support.clock import START
from tests.support.mortal import Deaths, Died, Point
from tests.worlds.purge_world import NAMESPACE, REGIONS, RUN, TOPICS, WAITS, WAL, Calls, World

FULL = {"wal_0": 36, "wal_1": 36, "wal_2": 36}
NOTHING = dict.fromkeys(TOPICS, 0)
SHOWN = frozenset(
    {
        "flush_regions",
        "write_config_map",
        "advance_markers",
        "write",
        "delete_records",
        "replace_status",
        "reports",
    }
)
"""Calls of the transcript."""


def skipped(run: WALPurge) -> dict[str, str]:
    return {one.topic: one.reason for one in run.status.skipped}


def message(run: WALPurge, kind: ConditionType = ConditionType.READY) -> str:
    found = find_condition(run.status.conditions, kind)
    assert found is not None
    return f"{found.status} {found.reason}: {found.message}"


def until(world: World, reason: str) -> World:
    """Ticks until Ready has this reason."""
    process = world.process()
    for _ in range(60):
        world.settle(process, ticks=1)
        if message(world.run()).split(" ", 1)[1].startswith(reason):
            return world
    raise AssertionError(message(world.run()))


def test_the_transcript_of_a_whole_run() -> None:
    world, reported = World(), []
    world.start_run()
    calls = Calls(world.check)

    def note(name: str) -> None:
        if name in SHOWN:
            at = int((world.time.time - START).total_seconds())
            reported.append(f"{at:>3}s {name}" if name != "reports" else "look")

    calls.before = note
    run = world.settle(world.process(calls))
    assert [line for line in reported if line != "look"] == [
        "  0s replace_status",  # Preparation
        "  0s write",  # first contact: three topics in three shards
        "  0s write",
        "  0s write",
        "  0s replace_status",  # it waits for reports
        " 90s replace_status",  # Communication, with the regions that are asked
        " 90s flush_regions",
        " 90s flush_regions",
        " 90s write_config_map",  # what is seen
        " 90s replace_status",  # Purge: it is recorded
        " 90s advance_markers",
        "180s write",  # the intents
        "180s write",
        "180s write",
        "180s delete_records",
        "180s replace_status",  # Completed, with what was deleted
    ]
    assert world.log_starts() == FULL
    assert run.status.topics is not None
    assert run.status.topics.model_dump() == {"total": 3, "purged": 3, "unchanged": 0, "skipped": 0, "failed": 0}
    assert run.status.entries_deleted == sum(FULL.values())
    assert message(run, ConditionType.COMPLETE).startswith("True Completed: 108 entries of 3 topics were deleted")


def test_an_intent_is_written_and_the_holds_are_listed_before_each_delete() -> None:
    world = World()
    world.start_run()
    calls = Calls(world.check)
    world.settle(world.process(calls))
    names = calls.names
    delete = names.index("delete_records")
    intent = max(at for at, name in enumerate(names[:delete]) if name == "write")
    reads = names[intent:delete]
    assert "read" in reads, "the intent is read after it is written"
    after = reads[reads.index("read") :]
    assert after.count("list") == 2, "holds are listed after the intents were read, and policies before the delete"
    assert reads[-3:] == ["describe_topics", "get", "get"], "ids, run and WALCluster are read right before"


def test_a_dry_run_changes_nothing_and_says_what_it_would_do() -> None:
    world = World()
    world.start_run(dryRun=True)
    calls = Calls(world.check)
    run = world.settle(world.process(calls))
    assert not {"flush_regions", "advance_markers", "write", "delete_records"} & set(calls.names)
    assert message(run) == "True DryRunCompleted: it would ask 3 regions to flush, and delete 0 entries of 0 topics"
    for region in world.data_plane.regions:
        world.flush(region)
    world.kube.remove(RUN, WALPurge)
    world.start_run(dryRun=True)
    run = world.settle(world.process(calls))
    assert message(run) == "True DryRunCompleted: it would ask 0 regions to flush, and delete 108 entries of 3 topics"
    assert {row.topic: row.purge_to for row in run.status.planned} == FULL
    assert world.log_starts() == NOTHING


def test_a_hold_stops_it_where_it_begins() -> None:
    world = World()
    world.hold("spark", {"wal_1": 10}, HoldState.ACTIVE)
    world.start_run()
    run = world.settle()
    assert world.log_starts() == {**FULL, "wal_1": 10}
    assert run.status.entries_deleted == 82


def test_a_requested_hold_counts_before_anybody_looked_at_it() -> None:
    world = World()
    world.start_run()
    until(world, "WaitingForEvidence")
    world.hold("spark", {"wal_1": 10})
    world.settle()
    assert world.log_starts() == {**FULL, "wal_1": 10}


def test_a_hold_on_everything_stops_everything() -> None:
    world = World()
    world.hold("incident", {"*": "earliest"})
    world.start_run()
    run = world.settle()
    assert world.log_starts() == NOTHING
    assert run.status.topics is not None
    assert run.status.topics.unchanged == 3


def test_a_hold_that_cannot_be_read_stops_everything() -> None:
    world = World()
    world.kube.apply(Key(NAMESPACE, "new"), {"clusterRef": {"name": "wal"}, "from": "tomorrow"}, kind=WALHold)
    world.start_run()
    run = world.settle()
    assert world.log_starts() == NOTHING
    assert skipped(run) == dict.fromkeys(TOPICS, "HoldsUnreadable")


def test_stop_deletes_stops_the_next_delete() -> None:
    world = World()
    world.start_run()
    calls = Calls(world.check)

    def stop(name: str) -> None:
        if name == "describe_topics" and world.records() and max(r.intent for r in world.records().values()) > 0:
            world.annotate(stop_deletes="incident 7")

    calls.before = stop
    run = world.settle(world.process(calls))
    assert "delete_records" not in calls.names
    assert world.log_starts() == NOTHING
    assert skipped(run) == dict.fromkeys(TOPICS, "StoppedByAnnotation")
    assert run.status.stage is Stage.COMPLETED


def test_paused_is_waited_for() -> None:
    world = World()
    world.annotate(paused="true")
    world.start_run()
    world.settle(ticks=5)
    assert message(world.run()) == "False Paused: seawall.dev/paused is set on WALCluster wal"
    world.annotate()
    assert world.settle().status.stage is Stage.COMPLETED
    assert world.log_starts() == FULL


def test_a_recreated_topic_stops_the_purge_of_every_topic_of_the_pool() -> None:
    world = World()
    world.start_run()
    until(world, "WaitingForEvidence")
    world.foreign.add("wal_1")
    world.kafka.topics.pop("wal_1")
    world.kafka.add_topic("wal_1", replicas=(1, 2, 3), configs={"min.insync.replicas": "2"}).log.append(100)
    run = world.settle()
    elsewhere = dict.fromkeys(("wal_0", "wal_2"), "IdentityFenceBrokenElsewhere")
    assert skipped(run) == {"wal_1": "IdentityFenceBroken", **elsewhere}
    assert run.status.skipped[0].topic == "wal_1", "the worst comes first"
    assert "identity fence of wal_1" in message(run)
    assert world.log_starts() == NOTHING
    assert world.records()["wal_1"].broken


def test_a_topic_that_is_recreated_right_before_the_delete_is_not_deleted_from() -> None:
    world = World()
    world.start_run()
    calls = Calls(world.check)

    def recreate(name: str) -> None:
        is_next = name == "describe_topics" and calls.names[-2] == "read" and "wal_1" not in world.foreign
        if is_next and max((record.intent for record in world.records().values()), default=0) > 0:
            world.foreign.add("wal_1")
            world.kafka.topics.pop("wal_1")
            world.kafka.add_topic("wal_1", replicas=(1, 2, 3), configs={"min.insync.replicas": "2"}).log.append(100)

    calls.before = recreate
    run = world.settle(world.process(calls))
    assert world.log_starts() == NOTHING
    assert skipped(run)["wal_1"] == "IdentityFenceBroken"


def test_a_region_that_is_born_before_the_announcement_stops_its_topic() -> None:
    """It begins below what was seen: the transaction compares the topic's region keys."""
    world = World()
    world.start_run()
    calls = Calls(world.check)

    def give_birth(name: str) -> None:
        born = 2048 << 32
        if name == "advance_markers" and born not in world.rows:
            world.add_region("wal_0", born, datanode=0)
            world.rows[born] = [20]
            world.data_plane.regions[born] = type(world.data_plane.regions[1024 << 32])(0, 0, 20, 100)

    calls.before = give_birth
    run = world.settle(world.process(calls))
    assert world.log_starts() == {**FULL, "wal_0": 0}
    assert skipped(run)["wal_0"] == "NotSeenTwice"


def test_the_event_counts_the_markers_that_moved() -> None:
    """One that changed since it was read is left for the next observation."""
    world = World()
    world.start_run()
    advance = world.store.advance_markers

    def first_only(moves: Sequence[MarkerMove], prefix: str, owner: str) -> Mapping[str, str]:
        return {**advance(moves[:1], prefix, owner), **{move.topic: "changed" for move in moves[1:]}}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.store, "advance_markers", first_only)
        world.settle()
    reported = [event.message for event in world.kube.events if event.reason == "Announced"]
    assert reported == ["Moved the pruned markers of 1 topics"] * len(TOPICS)


def test_a_datanode_that_starts_from_an_older_manifest_before_the_announcement_stops_it() -> None:
    """What it needs again is above a marker that would have been announced."""
    world = World()
    world.start_run()
    calls, region = Calls(world.check), 1024 << 32

    def start_again(name: str) -> None:
        state = world.data_plane.regions[region]
        if name == "head" and "claim" in calls.names and state.flushed > 1:
            state.flushed, state.memtable_bytes = 1, 100

    calls.before = start_again
    world.settle(world.process(calls))
    assert world.data_plane.regions[region].flushed == 1, "it came in between"
    assert (world.store._now.topics["wal_0"].pruned_entry_id or 0) <= 1


def test_a_region_that_is_born_before_the_delete_reads_from_the_announced_marker() -> None:
    """Its opener reads the marker: nothing below what was announced is needed, and nothing else is deleted."""
    world = World()
    world.start_run()
    calls = Calls(world.check)

    def open_again(name: str) -> None:
        if name == "delete_records":
            for topic, marker in world.store.snapshot().topics.items():
                start = world.kafka.topics[topic].log.log_start
                assert start <= (marker.pruned_entry_id or 0), "an opener would read what is deleted"
                assert marker.pruned_entry_id == 36, "what is deleted was announced before"

    calls.before = open_again
    world.settle(world.process(calls))
    assert world.log_starts() == FULL


def test_everything_is_read_in_the_order_that_the_ledger_demands() -> None:
    world = World()
    world.start_run()
    calls = Calls(world.check)
    world.settle(world.process(calls), ticks=1)
    kinds = ["reports", "snapshot", "describe_topics", "describe_offsets"]
    at = [calls.names.index(kind) for kind in kinds]
    assert at == sorted(at)
    # A process that has just begun reads the records once before, too.
    assert "read" in calls.names[at[-1] :], "the intents are read after the offsets"
    at.append(calls.names.index("read", at[-1]))
    assert "list" in calls.names[at[-1] :], "the holds are listed after the intents were read"


def test_rows_that_are_flushed_while_it_looks_are_no_alarm() -> None:
    """Were Kafka's offsets older than the reports, what was flushed meanwhile would lie beyond the end of the log."""
    world = World()
    world.start_run()
    calls, last = Calls(world.check), [START]

    def write_and_flush(name: str) -> None:
        if name == "reports" and world.time.time - last[0] > timedelta(seconds=1):
            last[0] = world.time.time
            world.write("wal_1", REGIONS)
            world.flush((1024 + 1) << 32)

    calls.before = write_and_flush
    run = world.settle(world.process(calls))
    assert skipped(run) == {}
    assert world.log_starts()["wal_1"] >= FULL["wal_1"]


def test_one_report_is_not_enough() -> None:
    """It may have been on its way since before the value was seen."""
    world = World()
    process = world.process()
    world.start_run()
    while not world.run().status.seen_time:
        world.settle(process, ticks=1)
    while min(marker.pruned_entry_id or 0 for marker in world.store.snapshot().topics.values()) == 0:
        world.settle(process, ticks=1)
    announced = world.time.time
    world.data_plane.stopped = {2}
    while world.time.time - announced < timedelta(seconds=70):
        world.settle(process, ticks=1)
    world.data_plane.stopped = set()
    world.data_plane.reports()
    world.data_plane.stopped = {2}
    world.settle(process, ticks=3)
    assert world.log_starts() == NOTHING
    world.data_plane.stopped = set()
    world.settle(process)
    assert world.log_starts() == FULL


def test_a_silent_datanode_leaves_its_topics_alone() -> None:
    world = World()
    world.start_run()
    until(world, "WaitingForEvidence")
    world.data_plane.stopped = {2}
    run = world.settle()
    assert world.log_starts() == NOTHING
    assert skipped(run) == dict.fromkeys(TOPICS, "RegionStale")


def test_a_dead_datanode_does_not_hold_up_the_topics_of_others_for_long() -> None:
    world = World()
    lonely = (1024 << 32) | 2
    for region in [region for region, state in world.data_plane.regions.items() if state.datanode == 2]:
        if region != lonely:
            world.data_plane.regions[region].datanode = 0
            world.store.put_region(f"wal_{(region >> 32) - 1024}", region, leader=0, checkpoint=None)
    world.data_plane.reports()
    world.data_plane.stopped = {2}
    world.start_run()
    run = world.settle()
    assert world.log_starts() == {**FULL, "wal_0": 0}
    assert skipped(run) == {"wal_0": "RegionStale"}
    assert run.status.seen_time is not None
    assert run.status.seen_time - START < timedelta(minutes=3)


def test_regions_that_do_not_flush_are_waited_for_until_the_timeout_and_asked_again_meanwhile() -> None:
    world = World()
    stuck = (1024 << 32) | 3
    world.data_plane.busy = {stuck}
    world.start_run()
    calls = Calls(world.check)
    run = world.settle(world.process(calls))
    assert timedelta(minutes=20) > world.time.time - START > timedelta(minutes=10)
    assert 4 < calls.names.count("flush_regions") < 15
    assert run.status.stage is Stage.COMPLETED
    assert world.log_starts() == {**FULL, "wal_0": 0}
    assert run.status.topics is not None
    assert run.status.topics.unchanged == 1


def test_the_strictest_policy_bounds_a_manual_run() -> None:
    world = World()
    world.declare_policy(safety={"keepEntries": 30, "staleAfter": "60s", "openGrace": "70s"})
    world.start_run()
    world.settle()
    assert world.log_starts() == dict.fromkeys(TOPICS, 6)


def test_a_policy_that_cannot_be_read_stops_everything_and_is_named() -> None:
    world = World()
    world.declare_policy(topics="all")
    world.start_run()
    world.settle(ticks=5)
    assert message(world.run()).startswith("False CannotLook: WALPurgePolicy strict cannot be read, and may be strict")
    assert message(world.run(), ConditionType.WAITING).startswith("True")


def test_what_kafka_refuses_to_delete_is_told_and_not_asked_again() -> None:
    world = World()
    world.kafka.refuse_delete = lambda topic: "Broker: Topic authorization failed" if topic == "wal_1" else None
    world.start_run()
    run = world.settle()
    assert world.log_starts() == {**FULL, "wal_1": 0}
    assert skipped(run) == {"wal_1": "NotSupportedByKafka"}
    assert run.status.topics is not None
    assert run.status.topics.failed == 1
    assert [(row.topic, row.reason) for row in run.status.refused] == [("wal_1", "NotSupportedByKafka")]
    assert run.status.refused[0].message.endswith("Broker: Topic authorization failed")


def test_a_kafka_that_deletes_nothing_is_named_also_by_an_operator_that_starts_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stages, "DELETE_BATCH", 1)
    world = World()
    world.kafka.refuse_delete = lambda topic: "Broker: Policy violation" if topic == "wal_0" else "Broker: out of luck"
    world.start_run()
    process = world.process()
    while not world.run().status.refused:
        process.tick(RUN)
        world.time.time += timedelta(seconds=20)
    assert world.run().status.stage is Stage.PURGE
    run = world.settle(world.process())
    assert skipped(run) == {**dict.fromkeys(TOPICS, "DeleteRefused"), "wal_0": "NotSupportedByKafka"}
    reasons = [event.reason for event in world.kube.events if "Kafka refused" in event.message]
    assert set(reasons) == {"NotSupportedByKafka", "ChangeRefused"}


def test_an_answer_that_is_lost_is_read_again() -> None:
    world = World()
    world.start_run()
    calls = Calls(world.check)

    def lose(name: str) -> None:
        if name == "delete_records" and calls.names.count(name) == 1:
            world.kafka.lost_answers = 1

    calls.before = lose
    run = world.settle(world.process(calls))
    assert calls.names.count("delete_records") == 1, "the log start says that it happened"
    assert run.status.entries_deleted == 108
    assert run.status.stage is Stage.COMPLETED


@pytest.mark.parametrize("prunes", ["Logical", "Disabled"])
def test_who_moves_the_marker(prunes: str) -> None:
    world = World(prunes)
    if prunes == "Logical":
        for topic in TOPICS:
            world.store.put_topic(topic, 0)
    for region in world.data_plane.regions:
        world.flush(region)
    if prunes == "Logical":
        for topic in TOPICS:
            world.store.put_topic(topic, 20)
    world.start_run()
    calls = Calls(world.check)
    world.settle(world.process(calls))
    assert ("advance_markers" in calls.names) is (prunes == "Disabled")
    assert world.log_starts() == (dict.fromkeys(TOPICS, 20) if prunes == "Logical" else FULL)


def test_a_database_that_deletes_by_itself_is_only_reported_on() -> None:
    world = World("Physical")
    world.start_run()
    run = world.settle()
    assert world.log_starts() == NOTHING
    assert skipped(run) == dict.fromkeys(TOPICS, "SecondPruner")


@pytest.mark.parametrize(
    ("declared", "runs", "reason"),
    [
        ("Disabled", settings("Physical"), "SecondPruner"),
        ("Logical", settings("Physical"), "SecondPruner"),
        ("Disabled", settings("Logical"), "SettingsDiffer"),
        ("Logical", settings("Disabled"), "SettingsDiffer"),
        ("Physical", settings("Logical"), "SettingsDiffer"),
        ("Disabled", None, "SettingsUnknown"),
    ],
)
def test_what_runs_and_is_not_declared_or_not_known_is_only_reported_on(
    declared: str, runs: WALSettings | None, reason: str
) -> None:
    world = World(declared)
    world.data_plane.wal = runs
    world.start_run()
    run = world.settle()
    assert world.log_starts() == NOTHING
    assert skipped(run) == dict.fromkeys(TOPICS, reason)


@pytest.mark.parametrize("call", ["advance_markers", "delete_records"])
def test_a_metasrv_that_starts_anew_with_other_settings_is_noticed_right_before_the_act(call: str) -> None:
    """Calls are counted first; then the settings change before the last reading of them ahead of the act."""
    first = World("Disabled")
    first.start_run()
    calls = Calls(first.check)
    first.settle(first.process(calls))
    act = calls.names.index(call)
    asked = max(at for at, name in enumerate(calls.names[:act]) if name == "head")
    world = World("Disabled")
    world.start_run()
    again = Calls(world.check)

    def restart(_: str) -> None:
        if len(again.names) == asked + 1:
            world.data_plane.wal = settings("Physical")

    again.before = restart
    world.settle(world.process(again))
    assert call not in again.names[asked:]


def test_a_database_that_is_silent_is_told_and_waited_for() -> None:
    world = World()
    world.data_plane.is_silent = True
    world.start_run()
    world.settle(ticks=4)
    assert message(world.run()) == "False CannotLook: it does not answer"
    world.data_plane.is_silent = False
    assert world.settle().status.stage is Stage.COMPLETED


@pytest.mark.parametrize("is_begun", [False, True])
@pytest.mark.parametrize("what", ["frontend", "version", "config"])
def test_a_database_that_does_not_say_what_runs_for_one_observation_is_waited_for(what: str, *, is_begun: bool) -> None:
    """Its frontend or metasrv rolls, or a datanode has not said its version yet."""
    world = World()
    world.start_run()
    process = world.process()
    if is_begun:
        world.settle_until(process, lambda: world.run().status.frozen)
    nodes, wal, versions = world.data_plane.nodes, world.data_plane.wal, world.data_plane.versions

    def is_away() -> None:
        raise PartUnavailable(NotReached.FRONTEND_UNREACHABLE, "it rolls")

    with pytest.MonkeyPatch.context() as patch:
        if what == "frontend":
            patch.setattr(world.data_plane, "nodes", is_away)
        world.data_plane.wal = None if what == "config" else wal
        world.data_plane.versions = {1: ""} if what == "version" else versions
        world.settle(process, ticks=3)
    assert not world.run().status.is_finished
    assert world.data_plane.nodes == nodes
    world.data_plane.wal, world.data_plane.versions = wal, versions
    assert skipped(world.settle(process)) == {}
    assert world.log_starts() == FULL


def test_a_run_that_takes_too_long_fails_with_what_it_did() -> None:
    world = World()
    world.start_run()
    until(world, "WaitingForEvidence")
    world.data_plane.is_silent = True
    world.time.time += timedelta(hours=2)
    run = world.settle()
    assert message(run, ConditionType.FAILED) == "True DeadlineExceeded: it took too long: it does not answer"
    assert run.status.stage is Stage.FAILED


def test_without_a_cluster_it_fails() -> None:
    world = World()
    world.kube.remove(WAL, WALCluster)
    world.start_run()
    run = world.settle()
    assert message(run, ConditionType.FAILED).startswith("True ClusterMissing: there is no WALCluster wal")


def test_runs_take_turns() -> None:
    world = World()
    first = Key(NAMESPACE, "first")
    world.kube.apply(first, {"clusterRef": {"name": "wal"}}, kind=WALPurge)
    world.time.time += timedelta(seconds=1)
    world.start_run()
    world.settle(ticks=3)
    assert message(world.run(), ConditionType.WAITING).startswith("True WaitingForTurn: WALPurge first of the same")
    world.kube.remove(first, WALPurge)
    assert world.settle().status.stage is Stage.COMPLETED


def test_evidence_is_of_one_process_of_a_datanode_and_a_new_operator_starts_over() -> None:
    world = World()
    world.start_run()
    until(world, "WaitingForEvidence")
    for _ in range(3):
        world.settle(world.process(), ticks=2)
    assert world.log_starts() == NOTHING, "each of these operators has seen too little"
    world.settle()
    assert world.log_starts() == FULL


@pytest.mark.parametrize("before", ["flush_regions", "write_config_map", "claim", "advance_markers", "write"])
def test_an_operator_that_takes_over_late_watches_and_gathers_anew_before_the_run_ends(before: str) -> None:
    """The one before it died at its first such call, and all time that a run has for its waits has passed."""
    world = World()
    world.start_run()
    with pytest.raises(Died):
        world.settle(world.process(Deaths(Point(before, 0, after=False))))
    world.time.time += timedelta(minutes=8)
    run = world.settle(world.process(Calls(world.check)))
    assert skipped(run) == {}
    assert world.log_starts() == FULL


def test_an_operator_that_takes_over_late_gathers_the_evidence_anew_before_the_run_ends() -> None:
    """Nothing was deleted by the one before it, and all that time has passed."""
    world = World()
    world.start_run()
    calls = Calls(world.check)
    process = world.process(calls)
    while "advance_markers" not in calls.names:
        process.tick(RUN)
        world.time.time += timedelta(seconds=WAITS)
    world.time.time += timedelta(minutes=8)
    run = world.settle(world.process())
    assert world.log_starts() == FULL
    assert message(run, ConditionType.COMPLETE).startswith("True Completed: 108 entries of 3 topics were deleted")
