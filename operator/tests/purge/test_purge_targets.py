"""What a run has seen is kept beside its status: it counts once the status names it, and ends the run if it is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import ConditionType, Key
from seawall.api.v1alpha1.purge import (
    AskedRegion,
    FlushStatus,
    FrozenTargets,
    PlannedTopic,
    RefusedTopic,
    RunTopics,
    SkippedTopic,
    Stage,
    WALPurge,
    WALPurgeStatus,
)
from seawall.domain.conditions import find_condition
from seawall.domain.errors import Conflict
from seawall.domain.frozen_targets import DATA_KEY, Target, freeze, parts_of
from seawall.domain.kubernetes import ConfigMap
from seawall.reconciler import Reconciler
from tests.support.clock import START
from tests.worlds.purge_world import RUN, TOPICS, WAITS, Calls, World

Process = Reconciler[Any, Any, Any, Any]
FULL = dict.fromkeys(TOPICS, 36)
NOTHING = dict.fromkeys(TOPICS, 0)
FORGED = Target(recorded=10**9, log_start=0, purge_to=10**9)
LARGEST_OBJECT = 1_500_000
"""Bytes of a request that etcd takes."""


def until_frozen(world: World, process: Process) -> FrozenTargets:
    """Ticks until the status says what was seen."""
    while (frozen := world.run().status.frozen) is None:
        world.settle(process, ticks=1)
    return frozen


def the_config_map(world: World) -> ConfigMap:
    (found,) = world.kube.config_maps().values()
    return found


def put(world: World, key: Key, data: bytes) -> None:
    """Somebody deletes the ConfigMap and makes another one."""
    world.kube.remove_config_map(key)
    world.kube.write_config_map(world.run(), ConfigMap(key, {}, binary_data={DATA_KEY: data}, is_immutable=True))


def forge(run: WALPurge, topic: str) -> tuple[FrozenTargets, ConfigMap]:
    """Targets beyond everything."""
    frozen, (part,) = freeze(run, {topic: FORGED})
    return frozen, part


def is_removed(world: World, key: Key) -> None:
    world.kube.remove_config_map(key)


def is_forged(world: World, key: Key) -> None:
    put(world, key, forge(world.run(), TOPICS[0])[1].binary_data[DATA_KEY])


def is_cut(world: World, key: Key) -> None:
    put(world, key, the_config_map(world).binary_data[DATA_KEY][:-1])


def is_emptied(world: World, key: Key) -> None:
    world.kube.put_config_map(key, {"targets": "none"})


@pytest.mark.parametrize("harm", [is_removed, is_forged, is_cut, is_emptied])
@pytest.mark.parametrize("restarts", [False, True])
def test_targets_that_are_lost_or_changed_end_the_run_and_nothing_more_is_deleted(
    harm: Callable[[World, Key], None], *, restarts: bool
) -> None:
    world = World()
    world.start_run()
    process = world.process()
    until_frozen(world, process)
    harm(world, the_config_map(world).key)
    run = world.settle(world.process() if restarts else process)
    assert run.status.stage is Stage.FAILED
    failed = find_condition(run.status.conditions, ConditionType.FAILED)
    assert failed is not None
    assert failed.reason == "TargetsLost"
    assert failed.message.endswith("; nothing more is deleted")
    assert world.log_starts() == NOTHING


def test_the_next_run_purges_what_one_that_lost_its_targets_left() -> None:
    world = World()
    world.start_run()
    process = world.process()
    until_frozen(world, process)
    is_removed(world, the_config_map(world).key)
    world.settle(process)
    world.kube.remove(RUN, WALPurge)
    world.start_run()
    world.settle()
    assert world.log_starts() == FULL


@pytest.mark.parametrize("prunes", ["Disabled", "Logical"])
def test_forged_targets_with_a_forged_digest_delete_no_needed_row(prunes: str) -> None:
    """World.check holds: a target alone permits nothing, the ledger of this moment does."""
    world = World(prunes)
    for topic in TOPICS:
        world.store.put_topic(topic, 20 if prunes == "Logical" else 0)
        for region in world.data_plane.regions:
            world.flush(region)
    world.start_run()
    process = world.process()
    until_frozen(world, process)
    run = world.run()
    frozen, part = forge(run, TOPICS[0])
    world.kube.write_config_map(run, part)
    world.kube.replace_status(run, run.status.model_copy(update={"frozen": frozen}))
    world.write(TOPICS[0], 8)
    world.settle(process)
    assert world.log_starts()[TOPICS[0]] <= 40


def test_evidence_counts_from_when_the_status_says_what_was_seen_and_not_from_when_it_was_written() -> None:
    """The status cannot be written for ten minutes: what was reported meanwhile was no answer to anything recorded.

    Where the database moves the markers: announcing would take its time, too.
    """
    world = World("Logical")
    for region in world.data_plane.regions:
        world.flush(region)
    for topic in TOPICS:
        world.store.put_topic(topic, 36)
    world.start_run()
    deleted: list[Any] = []
    calls = Calls(world.check)
    written: list[Any] = []

    def note(name: str) -> None:
        now = world.time.time
        if name == "write_config_map" and not written:
            written.append(now)
        if name == "replace_status" and written and now < written[0] + timedelta(minutes=10):
            raise Conflict("somebody annotates the run all the time")
        if name == "delete_records":
            deleted.append(now)

    calls.before = note
    process = world.process(calls)
    while world.run().status.frozen is None:
        world.settle(process, ticks=1)
        world.time.time += timedelta(seconds=WAITS)
    world.settle(process)
    seen_time = world.run().status.seen_time
    assert seen_time is not None
    assert seen_time >= written[0] + timedelta(minutes=10)
    assert calls.names.count("write_config_map") == 1, "what this process has written is recorded as it is"
    assert deleted[0] >= seen_time + timedelta(seconds=70)
    assert world.log_starts() == FULL


def test_what_was_written_is_recorded_before_anything_else_is_begun() -> None:
    """Rows that come in between are a reason to flush; what was seen before that would be recorded only after it."""
    world = World()
    for region in world.data_plane.regions:
        world.flush(region)
    world.start_run()
    calls = Calls(world.check)

    def write(name: str) -> None:
        if name == "write_config_map":
            world.write(TOPICS[0], 60)

    calls.before = write
    run = world.settle(world.process(calls))
    assert run.status.flush is None
    assert calls.names.count("write_config_map") == 1
    assert world.log_starts() == {name: target.purge_to for name, target in world.targets().items()}


def test_what_is_read_back_otherwise_is_not_recorded_and_is_written_anew() -> None:
    world = World()
    world.start_run()
    calls = Calls(world.check)
    harmed: list[Key] = []

    def harm(name: str) -> None:
        if name == "get_config_map" and world.kube.config_maps() and not harmed:
            harmed.append(the_config_map(world).key)
            is_removed(world, harmed[0])

    calls.before = harm
    run = world.settle(world.process(calls))
    assert harmed
    assert run.status.stage is Stage.COMPLETED
    assert world.log_starts() == FULL


def test_a_leader_that_slept_does_not_touch_what_the_next_one_recorded() -> None:
    """It wakes up right before it writes; the database has moved on meanwhile, so it has seen less."""
    world = World()
    world.start_run()
    calls, slept = Calls(world.check), [False]

    def sleep(name: str) -> None:
        if name == "write_config_map" and not slept[0]:
            slept[0] = True
            world.write(TOPICS[0], 8)
            for region in world.data_plane.regions:
                world.flush(region)
            until_frozen(world, world.process())

    calls.before = sleep
    process = world.process(calls)
    while not slept[0]:
        world.settle(process, ticks=1)
    run = world.run()
    assert run.status.frozen is not None
    assert len(world.kube.config_maps()) == 2, "each is named by what it holds"
    assert the_recorded(world).is_immutable
    run = world.settle(process)
    assert run.status.stage is Stage.COMPLETED
    assert world.log_starts() == {name: target.purge_to for name, target in world.targets().items()}


def the_recorded(world: World) -> ConfigMap:
    run = world.run()
    assert run.status.frozen is not None
    (key,) = parts_of(run, run.status.frozen)
    return world.kube.config_maps()[key]


def test_the_run_owns_its_targets() -> None:
    world = World()
    world.start_run()
    world.settle()
    assert the_config_map(world).controller_uid == world.run().metadata.uid


def test_a_dry_run_and_a_run_with_nothing_to_purge_write_none() -> None:
    world = World()
    world.start_run(dryRun=True)
    world.settle()
    assert not world.kube.config_maps()
    world.kube.remove(RUN, WALPurge)
    world.annotate(stop_deletes="true")
    world.start_run()
    world.settle()
    assert not world.kube.config_maps()


def test_a_run_of_an_older_operator_that_kept_its_targets_in_the_status_sees_anew() -> None:
    world = World()
    world.start_run()
    process = world.process()
    until_frozen(world, process)
    older = dict(world.kube.raw_status(RUN, WALPurge))
    del older["frozen"]
    older["targets"] = {name: {"seen": 10**9, "logStart": 0, "purgeTo": 10**9} for name in TOPICS}
    world.kube.write_raw_status(RUN, WALPurge, older)
    world.time.time += timedelta(seconds=WAITS)
    run = world.settle(world.process())
    assert run.status.seen_time is not None
    assert run.status.seen_time > START + timedelta(seconds=90 + WAITS)
    assert {name: target.purge_to for name, target in world.targets().items()} == FULL
    assert world.log_starts() == FULL


def test_no_status_is_larger_than_etcd_takes() -> None:
    """Whatever a pool has: each field at its longest (crdgen refuses fields without a bound)."""
    topic, sentence = "t" * 249, "\u0001" * 512  # six characters in JSON
    largest = 2**63 - 1
    status = WALPurgeStatus(
        stage=Stage.COMPLETED,
        start_time=START,
        completion_time=START,
        topics=RunTopics(total=largest, purged=largest, unchanged=largest, skipped=largest, failed=largest),
        flush=FlushStatus(
            start_time=START,
            regions=(AskedRegion(region_id="9" * 20, flushed_to=largest),) * 1000,
        ),
        frozen=FrozenTargets(topics=largest, digest="f" * 32, parts=16),
        planned=(PlannedTopic(topic=topic, log_start=largest, purge_to=largest, declared=sentence, dead=sentence),)
        * 50,
        refused=(RefusedTopic(topic=topic, message=sentence),) * 50,
        skipped=(SkippedTopic(topic=topic, reason="r" * 128, held_by="h" * 1024),) * 50,
    )
    assert len(json.dumps(status.model_dump(mode="json", by_alias=True))) < LARGEST_OBJECT / 2
