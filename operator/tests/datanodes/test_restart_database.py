"""Maintenance counts as off only by the word of the database in which it was turned on, and ends by true clocks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from seawall.api.meta import MAINTENANCE_FINALIZER, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.policy import WALPurgePolicy
from seawall.api.v1alpha1.rollout import RollStage
from seawall.domain.datanodes import health, maintenance
from seawall.domain.datanodes.actions import SetMaintenance
from seawall.domain.errors import Conflict
from tests.datanodes.test_restart import ALL, asked, waits
from tests.datanodes.test_restart_maintenance import COMMAND, HERE, count, in_the_middle
from tests.fakes.dataplane import FakeDataPlane
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.purge_world import Calls
from tests.worlds.restart_world import NAMESPACE, WAL, World

STAGES = [RollStage.MAINTENANCE, RollStage.RESTARTING, RollStage.REPLAYING]
HOURS = [timedelta(hours=2), timedelta(hours=-2)]
WAY_OUT = "seawall.dev/override-restart-gate: <reason>@<expiry> ends the wait after ten minutes"


def lead_elsewhere(world: World, *, with_store: bool = True) -> FakeDataPlane:
    """The same addresses lead to another database whose hosts have the same names; or only the metasrv's does."""
    other = world.add_database(HERE)
    if not with_store:
        del world.stores[HERE]
    return other


def lead_back(world: World) -> None:
    world.others.clear()
    world.stores.clear()


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("with_store", [True, False])
def test_what_another_database_says_at_the_same_address_ends_no_maintenance(
    stage: RollStage, *, with_store: bool
) -> None:
    world = in_the_middle(stage)
    went = list(world.went)
    other, world.late = lead_elsewhere(world, with_store=with_store), 10.0
    waits(world, seconds=1_500)
    assert world.data_plane.maintenance
    assert not other.maintenance
    assert world.restart().maintenance is not None
    assert (world.health().status, world.health().reason) == ("False", "MaintenanceLeftOn")
    assert "another database answers there" in world.health().message
    assert COMMAND in world.health().message
    assert count(world, "MaintenanceLeftOn") == 1
    assert world.went == went
    lead_back(world)
    world.settle()
    assert world.in_maintenance() == []
    assert sorted(world.went) == ALL
    assert world.cluster().metadata.finalizers == ()


def test_no_database_enters_maintenance_while_another_one_answers_even_if_a_person_lets_restarts_through() -> None:
    world = in_the_middle(RollStage.FLUSHING)
    until = (world.time.now() + timedelta(hours=2)).isoformat()
    world.annotate(override_restart_gate=f"it is urgent@{until}")
    other = lead_elsewhere(world)
    waits(world, seconds=600)
    assert not other.maintenance
    assert world.went == []


@pytest.mark.parametrize("enabled", [True, False])
def test_who_answers_is_asked_again_right_before_the_switch_is_turned(*, enabled: bool) -> None:
    world = in_the_middle()
    other = lead_elsewhere(world)
    other.maintenance = not enabled
    with pytest.raises(Conflict):
        world.process().controller.perform(world.cluster(), SetMaintenance(enabled=enabled, metasrv=HERE))
    assert other.maintenance is not enabled


def wanted() -> tuple[World, Calls, Callable[[], object]]:
    """Maintenance is wanted in the status; the calls of the leader, and how it turns the switch."""
    world, calls = asked(), Calls(lambda _: None)
    world.settle(until=lambda: world.restart().maintenance is not None)
    controller, read = world.process(calls).controller, world.cluster()
    return world, calls, lambda: controller.perform(read, SetMaintenance(enabled=True, metasrv=HERE))


@pytest.mark.parametrize("what", ["it was deleted", "the next leader gave it back", "a person has just paused it"])
def test_what_became_of_the_object_while_the_database_answered_is_noticed_and_nothing_turned_on(what: str) -> None:
    world, calls, turn_on = wanted()

    def succeed(name: str) -> None:
        """The last that is asked of the database may take so long that the next leader is done with maintenance."""
        if name != "maintenance":
            return
        if what == "it was deleted":
            world.kube.deletes_at = world.time.now()
            world.kube.remove(WAL)
            world.settle(until=lambda: world.kube.get(WALCluster, WAL) is None)
        else:
            world.annotate(paused="true")
            if what == "the next leader gave it back":
                world.settle(until=lambda: world.restart().maintenance is None)

    calls.before = succeed
    with pytest.raises(Conflict):
        turn_on()
    assert "maintenance" in calls.names
    assert not world.data_plane.maintenance


@pytest.mark.parametrize("seconds", [4, 6])
def test_a_leader_that_was_frozen_while_it_read_the_object_turns_nothing_on(seconds: int) -> None:
    """A request that is sent later arrives when the next leader has seen that maintenance is off."""
    world, calls, turn_on = wanted()

    def sleep(name: str) -> None:
        if name == "get":
            world.time.time += timedelta(seconds=seconds)

    calls.before = sleep
    if seconds == 4:
        turn_on()
    else:
        with pytest.raises(Conflict):
            turn_on()
    assert world.data_plane.maintenance is (seconds == 4)


@pytest.mark.parametrize("is_policy_readable", [True, False])
def test_the_maintenance_of_another_databases_own_people_stays_on(*, is_policy_readable: bool) -> None:
    world = in_the_middle()
    other = lead_elsewhere(world, with_store=False)
    other.domain, other.maintenance = ".staging", True
    if not is_policy_readable:
        spec = {"clusterRef": {"name": "wal"}, "newField": 1}
        world.kube.apply(Key(NAMESPACE, "newer"), spec, kind=WALPurgePolicy)
    process = world.process()
    for _ in range(200):
        process.tick(WAL)
        world.pass_time(timedelta(seconds=5))
    assert other.maintenance
    assert world.health().reason == "MaintenanceLeftOn"
    assert "staging" in world.health().message
    assert "conflict" not in world.health().message, "nothing is tried"


def test_a_metasrv_that_says_off_is_not_believed_while_the_store_is_silent() -> None:
    world = in_the_middle()
    other = lead_elsewhere(world, with_store=False)
    world.store.is_silent = True
    waits(world, seconds=600)
    assert not other.maintenance
    assert world.restart().maintenance is not None
    assert world.health().reason == "MaintenanceLeftOn"


def test_a_person_ends_the_wait_for_a_database_in_whose_place_another_one_answers() -> None:
    world = in_the_middle()
    other = lead_elsewhere(world)
    world.adopt(world.stores[HERE])
    waits(world, seconds=1_000)
    assert world.health().reason == "MaintenanceLeftOn"
    assert WAY_OUT in world.health().message, "the first one may have been restored under this id: it never comes back"
    until = (world.time.now() + timedelta(hours=1)).isoformat()
    world.annotate(override_restart_gate=f"that database is no more@{until}")
    world.is_given_up = True
    world.settle()
    assert sorted(world.went) == ALL
    assert count(world, "MaintenanceGivenUp") == 1
    assert world.data_plane.maintenance
    assert not other.maintenance


def test_the_way_out_is_said_by_nothing_else() -> None:
    unsaid = rewritten(maintenance, "left_on_message", "{by_hand(status)}. {NO_MORE}", "{by_hand(status)}", health)
    story = test_a_person_ends_the_wait_for_a_database_in_whose_place_another_one_answers
    assert not find_survivors(((unsaid, story),))


def test_a_persons_word_counts_only_after_ten_minutes() -> None:
    world = in_the_middle()
    lead_elsewhere(world)
    until = (world.time.now() + timedelta(hours=1)).isoformat()
    world.annotate(override_restart_gate=f"that database is no more@{until}")
    waits(world, seconds=590)
    assert world.restart().maintenance is not None
    assert count(world, "MaintenanceGivenUp") == 0


def test_a_deletion_waits_ten_minutes_for_the_first_database_and_says_that_another_one_answers() -> None:
    world = in_the_middle()
    lead_elsewhere(world)
    world.kube.deletes_at = deleted = world.time.now()
    world.kube.remove(WAL)
    waits(world, seconds=500)
    assert world.cluster().metadata.finalizers == (MAINTENANCE_FINALIZER,)
    world.is_given_up = True
    world.settle(until=lambda: world.kube.get(WALCluster, WAL) is None)
    assert timedelta(minutes=10) <= world.time.now() - deleted <= timedelta(minutes=12)
    line = next(line for line in world.lines if line.startswith("FinalizerRemoved: "))
    assert "another database answers" in line
    assert COMMAND in line


def test_which_database_it_is_is_written_where_an_older_version_did_not() -> None:
    world = in_the_middle()
    found = world.cluster()
    assert found.status.restart is not None
    assert found.status.restart.maintenance is not None
    lease = found.status.restart.maintenance.model_copy(update={"database": None})
    restart = found.status.restart.model_copy(update={"maintenance": lease})
    world.kube.replace_status(found, found.status.model_copy(update={"restart": restart}))
    world.settle(until=lambda: (kept := world.restart().maintenance) is not None and kept.database is not None)
    kept = world.restart().maintenance
    assert kept is not None
    assert kept.database == world.store.head().store_id


@pytest.mark.parametrize("stage", [RollStage.FLUSHING, *STAGES])
@pytest.mark.parametrize("ahead", HOURS)
def test_a_clock_that_jumps_in_mid_roll_makes_nobody_wait(stage: RollStage, ahead: timedelta) -> None:
    world = in_the_middle(stage)
    if stage is RollStage.MAINTENANCE:
        world.settle(until=lambda: (lease := world.restart().maintenance) is not None and lease.seen_time is not None)
    world.time.ahead = ahead
    began = world.time.time
    world.settle(until=lambda: world.restart().stage is RollStage.COMPLETED)
    assert world.time.time - began < timedelta(minutes=5)
    world.settle()
    assert world.in_maintenance() == []
    assert sorted(world.went) == ALL


@pytest.mark.parametrize("ahead", HOURS)
def test_maintenance_ends_in_time_by_the_true_clock_whatever_the_operators_says(ahead: timedelta) -> None:
    world = in_the_middle(RollStage.REPLAYING)
    lease = world.restart().maintenance
    assert lease is not None
    world.crashing |= {0, 1, 2}
    world.time.ahead = ahead
    world.settle(until=lambda: not world.data_plane.maintenance)
    assert lease.expiry_time <= world.time.time <= lease.expiry_time + timedelta(minutes=1)


def test_a_deletion_waits_ten_true_minutes_though_the_operators_clock_is_ahead() -> None:
    world = in_the_middle()
    world.data_plane.is_silent = True
    deleted = world.kube.deletes_at = world.time.time
    world.kube.remove(WAL)
    waits(world, seconds=360)
    world.time.ahead = timedelta(minutes=4)
    world.is_given_up = True
    world.settle(until=lambda: world.kube.get(WALCluster, WAL) is None)
    assert world.time.time - deleted >= timedelta(minutes=10)
