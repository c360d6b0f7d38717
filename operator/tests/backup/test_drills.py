"""The drills of a WALBackupPolicy over time: on their schedule, one at a time, each topic in its turn."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import pytest

from seawall.api.meta import ConditionType, Key
from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.backup_policy import WALBackupPolicy
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.restore import WALRestore, WALRestoreSpec
from seawall.api.v1alpha1.restore_status import RestoreStage
from seawall.api.v1alpha1.topic_pool import TopicsSpec
from seawall.controllers.backup_policy import WALBackupPolicyController
from seawall.controllers.hold import WALHoldController
from seawall.domain.backup import drill_topics, drills
from seawall.domain.backup.drill_topics import choose_topics
from seawall.domain.conditions import find_condition
from seawall.reconciler import Outcome, Reconciler
from tests.support.deaths import die_at_every_call
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.backup_world import BACKUP, POLICY
from tests.worlds.purge_world import NAMESPACE, TOPICS, WAL
from tests.worlds.scratch_world import ScratchWorld
from tests.worlds.verification_world import why

SPEC: dict[str, Any] = {"clusterRef": {"name": "wal"}, "schedule": "20 12 * * *"}
DRILL: dict[str, Any] = {"schedule": "10,30,50 * * * *", "topics": 2}
TWENTY = timedelta(minutes=20)
STEP = timedelta(seconds=20)
BACK = Key(NAMESPACE, "back")
POOL = TopicsSpec(prefix="wal")
Process = Reconciler[Any, Any, Any, Any]
Patch = pytest.MonkeyPatch


@dataclass
class DrillWorld(ScratchWorld):
    """Backups and drills by a policy, with everything that they need."""

    def declare_drills(self, drill: dict[str, Any] | None = DRILL, **spec: Any) -> None:
        """Somebody makes or edits the policy."""
        given = {} if drill is None else {"drill": drill}
        self.kube.apply(POLICY, {**SPEC, **given, **spec}, kind=WALBackupPolicy)

    def live(self, span: timedelta) -> None:
        """Time passes."""
        self.live_to(self.time.time + span)

    def live_to(self, end: datetime, *planners: Process) -> None:
        """Time passes in steps; the policy, its drills and Spark go on, and as long as one is due its backups."""
        planners, restorer, backer = planners or (self.planner(),), self.restorer(), self.backer()
        granter: Process = Reconciler(
            WALHoldController(self.kube, self.observer(), self.time, self.meters), may_write=lambda: True
        )
        while self.time.time < end:
            for planner in planners:
                settle(planner, POLICY)
            for restore in self.restores():
                settle(restorer, restore.metadata.key)
            backups = [each for each in all_backups(self) if not each.status.is_over]
            for backup in backups:
                settle(backer, backup.metadata.key)
            for hold in self.kube.list(WALHold, NAMESPACE).items if backups else ():
                settle(granter, hold.metadata.key)
            self.run_spark()
            self.time.time += STEP if backups else 3 * STEP

    def policy(self) -> WALBackupPolicy:
        """The policy."""
        found = self.kube.get(WALBackupPolicy, POLICY)
        assert found is not None
        return found

    def drills(self) -> list[WALRestore]:
        """Its drills, the oldest first."""
        own = [each for each in self.restores() if each.metadata.name.startswith("p-d")]
        return sorted(own, key=lambda each: each.metadata.creation_timestamp)

    def passed(self) -> tuple[str, str]:
        """Status and reason of DrillPassed."""
        found = find_condition(self.policy().status.conditions, ConditionType.DRILL_PASSED)
        return ("", "") if found is None else (found.status, found.reason)


def settle(process: Process, key: Key) -> None:
    for _ in range(40):
        if process.tick(key).outcome in {Outcome.WAITING, Outcome.GONE}:
            return


def topics_of(drill: WALRestore) -> tuple[str, ...]:
    assert isinstance(drill.spec, WALRestoreSpec)
    return drill.spec.topics


def declared(**attributes: Any) -> DrillWorld:
    """A policy with a backup that has something of each topic, no other backup due, and no drill yet."""
    world = copy.deepcopy(backed_up_once())
    for name, value in attributes.items():
        setattr(world, name, value)
    return world


@cache
def backed_up_once() -> DrillWorld:
    """It takes a second."""
    world = DrillWorld()
    world.declare_drills(None, schedule="20 12 * * *")
    world.live(timedelta(minutes=24))
    world.declare_drills()
    world.live(STEP)
    assert world.policy().status.last is not None
    return world


def test_drills_run_on_their_schedule_in_turn_and_leave_nothing_behind() -> None:
    world = declared()
    before = {name: topic.log.log_start for name, topic in world.kafka.topics.items()}
    world.declare_drills(successfulRunsHistoryLimit=9)
    world.live(3 * TWENTY + timedelta(minutes=1))
    found = world.drills()
    assert [topics_of(each) for each in found[-3:]] == [
        ("wal_0", "wal_1"),
        ("wal_2", "wal_0"),
        ("wal_1", "wal_2"),
    ]
    assert {each.status.stage for each in found} == {RestoreStage.COMPLETED}
    assert world.passed() == ("True", "Drilled")
    status = world.policy().status
    assert status.drill is not None
    assert (status.last_drill_time, status.drill.last) == (found[-1].status.completion_time, found[-1].metadata.name)
    assert status.drill.records is not None
    assert status.drill.records > 0
    assert world.scratch_topics() == []
    assert {name: topic.log.log_start for name, topic in world.kafka.topics.items()} == before
    last, period, passed = world.meters.drills[POLICY]
    assert (last, period, passed) == (status.last_drill_time, TWENTY, True)
    assert why(world.policy()) == ("Scheduled", "backups begin at 20 12 * * * (UTC)")


def test_a_drill_is_of_the_newest_backup_and_as_the_policy_says() -> None:
    world = declared()
    world.declare_drills({**DRILL, "maxBytes": "1Gi", "replicationFactor": 3, "decode": False, "timeout": "30m"})
    world.live(TWENTY)
    drill, last = world.drills()[-1], world.policy().status.last
    assert last is not None
    backup = world.walbackup(Key(NAMESPACE, last.name))
    assert isinstance(drill.spec, WALRestoreSpec)
    assert drill.spec.scratch is not None
    assert drill.spec.scratch.model_dump() == {"max_bytes": 2**30, "replication_factor": 3, "decode": False}
    assert backup.status.manifest is not None
    source = drill.spec.source
    assert (source.cluster_id, source.chain) == ("fake-cluster", backup.status.chain)
    assert source.backup in {each.status.manifest.name for each in all_backups(world) if each.status.manifest}
    assert (drill.spec.timeout, drill.metadata.controller_uid) == (timedelta(minutes=30), world.policy().metadata.uid)


def all_backups(world: DrillWorld) -> list[WALBackup]:
    return list(world.kube.list(WALBackup, NAMESPACE).items)


def test_a_failure_is_a_condition_an_event_and_a_metric_and_the_same_is_tried_until_it_passes() -> None:
    world = declared()
    world.live(TWENTY)
    assert world.passed()[0] == "True"
    world.undecodable = True
    world.live(2 * TWENTY)
    first, second = world.drills()[-2:]
    assert topics_of(first) == topics_of(second)
    assert world.passed() == ("False", "NotDecoded")
    condition = find_condition(world.policy().status.conditions, ConditionType.DRILL_PASSED)
    assert condition is not None
    assert condition.message.startswith(f"WALRestore {second.metadata.name}: ")
    assert world.meters.drills.get(POLICY, ())[2:] == (False,)
    assert next(each.type for each in world.kube.events if each.reason == "NotDecoded") == "Warning"
    assert world.scratch_topics() == []
    world.undecodable = False
    world.live(TWENTY)
    assert topics_of(world.drills()[-1]) == topics_of(second)
    assert world.passed() == ("True", "Drilled")
    assert any("a drill passes again" in each.message for each in world.kube.events)


def test_topics_that_are_too_large_together_are_proved_in_smaller_groups() -> None:
    world = declared()
    largest = max(100 * (row.end - row.start) + row.start for row in all_backups(world)[-1].status.topics)
    world.declare_drills({**DRILL, "topics": 3, "maxBytes": 2 * largest})
    world.live(TWENTY)
    assert (world.passed(), topics_of(world.drills()[-1])) == (("False", "TooLarge"), TOPICS)
    world.live(TWENTY)
    assert (world.passed()[0], topics_of(world.drills()[-1])) == ("True", TOPICS[:1])
    world.live(TWENTY)
    assert (world.passed()[0], topics_of(world.drills()[-1])) == ("True", TOPICS[1:])
    status = world.policy().status.drill
    assert status is not None
    assert status.last_topic == TOPICS[-1]


def test_a_topic_that_is_too_large_alone_is_passed_over_and_named() -> None:
    world = declared(plan_counts={"padding": 2**40})
    world.declare_drills({**DRILL, "topics": 1})
    world.live(TWENTY)
    assert (world.passed(), topics_of(world.drills()[-1])) == (("False", "TooLarge"), TOPICS[:1])
    world.plan_counts = {}
    world.live(TWENTY)
    assert (world.passed()[0], topics_of(world.drills()[-1])) == ("True", TOPICS[1:2])
    condition = find_condition(world.policy().status.conditions, ConditionType.DRILL_PASSED)
    assert condition is not None
    assert condition.message.endswith(f"; too large alone for drill.maxBytes, and not proved: topic {TOPICS[0]}")


def test_whose_turn_it_is_does_not_go_back_when_an_older_drill_is_the_newest_that_is_left() -> None:
    world = declared()
    world.declare_drills({**DRILL, "topics": 1})
    world.live(TWENTY)
    policy, passed = world.policy(), world.drills()[-1]
    assert policy.status.drill is not None
    drill = policy.status.drill.model_copy(update={"last_topic": TOPICS[1]})
    policy = replace(policy, status=policy.status.model_copy(update={"drill": drill}))
    failed = replace(passed, status=passed.status.model_copy(update={"stage": RestoreStage.FAILED}))
    found = drills._status_of(policy, drills.OwnDrills((passed, failed)), world.time.now())
    assert found.last_topic == TOPICS[1]
    assert drills._status_of(policy, drills.OwnDrills((passed,)), world.time.now()).last_topic == TOPICS[0]


def test_times_before_drills_were_declared_count_for_nothing() -> None:
    world = declared()
    world.declare_drills(None)
    world.live(TWENTY)
    assert (world.policy().status.drill, world.meters.drills[POLICY]) == (None, (None, None, None))
    world.declare_drills()
    world.live(timedelta(minutes=4))
    assert world.drills() == []
    world.live(TWENTY)
    assert len(world.drills()) == 1
    world.declare_drills(None)
    world.live(STEP)
    assert (world.passed(), world.policy().status.last_drill_time) == (("", ""), None)


def test_one_at_a_time_and_what_passed_meanwhile_is_made_up_for_by_one() -> None:
    world = declared(slow=50)
    world.live(timedelta(minutes=70))
    assert len([each for each in world.drills() if not each.status.is_over]) == 1
    begun = len(world.drills())
    assert begun < 3
    assert "a drill waits: WALRestore" in why(world.policy())[1]
    world.slow = 0
    world.live(timedelta(minutes=9))
    assert len(world.drills()) == begun + 1


def test_no_drill_begins_while_the_pool_is_being_restored() -> None:
    world = declared()
    begun = len(world.drills())
    world.bring_back(BACK)
    world.live(2 * TWENTY)
    assert len(world.drills()) == begun
    assert why(world.policy())[1].endswith("; a drill waits: WALRestore back restores the pool, and comes first")
    world.kube.remove(BACK, WALRestore)
    world.live(timedelta(minutes=2))
    assert len(world.drills()) == begun + 1


def test_no_drill_begins_of_a_walcluster_that_is_paused() -> None:
    world = declared()
    begun = len(world.drills())
    world.kube.apply(WAL, world.spec(), annotations={"seawall.dev/paused": "true"})
    world.live(2 * TWENTY)
    assert len(world.drills()) == begun
    assert "a drill waits: WALCluster wal is paused" in why(world.policy())[1]


@pytest.mark.parametrize("stopped", ["suspend", "paused"])
def test_a_policy_that_is_stopped_begins_no_drill_and_expects_none(stopped: str) -> None:
    world = declared()
    begun = len(world.drills())
    if stopped == "suspend":
        world.declare_drills(suspend=True)
    else:
        world.kube.apply(
            POLICY, {**SPEC, "drill": DRILL}, kind=WALBackupPolicy, annotations={"seawall.dev/paused": "true"}
        )
    world.live(2 * TWENTY)
    assert len(world.drills()) == begun
    assert world.meters.drills[POLICY][:2] == (None, None) or world.meters.drills[POLICY][1] is None


def test_nothing_is_restored_before_there_is_a_backup_nor_from_another_store() -> None:
    world = DrillWorld()
    world.declare_drills(schedule="0 0 1 1 *")
    world.live(TWENTY)
    assert world.drills() == []
    assert why(world.policy())[1].endswith("; a drill waits: there is no backup yet")
    world = declared()
    begun = len(world.drills())
    world.declare({**BACKUP, "storage": {"s3": {"bucket": "other"}}})
    world.live(2 * TWENTY)
    assert len(world.drills()) == begun
    assert "not where the WALCluster says" in why(world.policy())[1]


def test_a_schedule_that_cannot_be_read_is_said_and_stops_no_backup() -> None:
    world = declared()
    world.declare_drills({**DRILL, "schedule": "61 * * * *"}, schedule="*/10 * * * *")
    backups = len(all_backups(world))
    world.live(TWENTY)
    assert world.passed() == ("False", "InvalidSchedule")
    assert why(world.policy())[0] == "Scheduled"
    assert len(all_backups(world)) > backups


def test_a_restore_of_the_next_ones_name_that_is_somebody_elses_is_left_alone() -> None:
    world = declared()
    status = world.policy().status.drill
    assert status is not None
    assert status.next_run_time is not None
    name = drills.drill_name_at(POLICY.name, status.next_run_time)
    world.drill(Key(NAMESPACE, name), topics=["wal_0"])
    world.live(timedelta(minutes=8))
    assert world.passed() == ("False", "DrillNameTaken")


def test_as_many_objects_are_kept_as_the_limits_say() -> None:
    world = declared()
    world.declare_drills(successfulRunsHistoryLimit=2, failedRunsHistoryLimit=1)
    world.live(3 * TWENTY)
    world.undecodable = True
    world.live(3 * TWENTY)
    assert [each.status.stage for each in world.drills()] == ["Completed", "Completed", "Failed"]
    assert all(not each.metadata.finalizers for each in world.drills())


def test_topics_that_were_never_written_to_prove_nothing() -> None:
    world = declared()
    last = world.policy().status.last
    assert last is not None
    backup = world.walbackup(Key(NAMESPACE, last.name))
    assert choose_topics(backup, 4, None, POOL) == TOPICS
    assert choose_topics(backup, 2, "wal_1", POOL) == ("wal_2", "wal_0")
    assert choose_topics(backup, 2, "zzz", POOL) == ("wal_0", "wal_1")
    rows = tuple(row.model_copy(update={"start": 0, "end": 0}) for row in backup.status.topics[:2])
    backup.status.__dict__["topics"] = (*rows, *backup.status.topics[2:])
    assert choose_topics(backup, 2, "wal_0", POOL) == ("wal_2",)
    assert choose_topics(backup, 2, None, TopicsSpec(prefix="other")) == ()


def end_state(world: DrillWorld) -> Any:
    world.check("all is over")
    status = world.policy().status
    return (
        [(each.metadata.name, topics_of(each), each.status.stage) for each in world.drills()],
        (status.drill, status.last_drill_time),
        [(found.type, found.status, found.reason) for found in status.conditions],
    )


def test_a_death_at_any_call_of_a_policy_with_drills_changes_nothing_about_the_end() -> None:
    world = declared()
    end = world.time.time + timedelta(minutes=8)
    changes = frozenset({"create", "delete", "replace_status"})
    assert die_at_every_call(world, lambda each, guard: each.live_to(end, each.planner(guard)), end_state, changes) > 4


def test_two_operators_make_one_drill_at_a_time() -> None:
    world = declared()
    begun = len(world.drills())
    world.declare_drills(successfulRunsHistoryLimit=9)
    world.live_to(world.time.time + 2 * TWENTY, world.planner(), world.planner())
    assert len(world.drills()) == begun + 2
    assert world.passed() == ("True", "Drilled")


# --- mutants


def several_at_once(patch: Patch) -> None:
    """One that is not over does not matter."""
    patch.setattr(drills.OwnDrills, "active", property(lambda _: None))


def pool_does_not_matter(patch: Patch) -> None:
    """A restore of the pool does not matter, nor a pause: nothing does."""
    patch.setattr(drills, "_why_none", lambda *_: None)


def always_the_first(patch: Patch) -> None:
    """Topics have no turn."""
    honest = choose_topics
    patch.setattr(drills, "choose_topics", lambda backup, most, _, pool: honest(backup, most, None, pool))


def any_store(patch: Patch) -> None:
    """Wherever the backup is kept."""
    patch.setattr(drills, "location_of", lambda _: "s3://wal/greptimedb")


def from_the_beginning_of_the_policy(patch: Patch) -> None:
    """All times since the policy was made count."""
    honest = drills._status_of

    def early(policy: Any, own: Any, now: Any) -> Any:
        return honest(policy, own, now).model_copy(update={"since": policy.metadata.creation_timestamp})

    patch.setattr(drills, "_status_of", early)


def never_measured(patch: Patch) -> None:
    """Nobody hears of it but by the condition."""
    patch.setattr(WALBackupPolicyController, "_measure_drills", lambda *_: None)


MUTANTS: tuple[Mutant, ...] = (
    (several_at_once, test_one_at_a_time_and_what_passed_meanwhile_is_made_up_for_by_one),
    (pool_does_not_matter, test_no_drill_begins_while_the_pool_is_being_restored),
    (always_the_first, test_drills_run_on_their_schedule_in_turn_and_leave_nothing_behind),
    (
        rewritten(drills, "_status_of", "each.status.stage is RestoreStage.COMPLETED or", "each.status.is_over or"),
        test_a_failure_is_a_condition_an_event_and_a_metric_and_the_same_is_tried_until_it_passes,
    ),
    (
        never_measured,
        test_a_failure_is_a_condition_an_event_and_a_metric_and_the_same_is_tried_until_it_passes,
    ),
    (
        rewritten(drill_topics, "fitting", "min(most, count // 2)", "most", drills),
        test_topics_that_are_too_large_together_are_proved_in_smaller_groups,
    ),
    (
        rewritten(drills, "_status_of", " or done[-1:] == [last]", " or True"),
        test_whose_turn_it_is_does_not_go_back_when_an_older_drill_is_the_newest_that_is_left,
    ),
    (
        rewritten(drills, "_status_of", " or is_too_large_alone(each)", ""),
        test_a_topic_that_is_too_large_alone_is_passed_over_and_named,
    ),
    (any_store, test_nothing_is_restored_before_there_is_a_backup_nor_from_another_store),
    (from_the_beginning_of_the_policy, test_times_before_drills_were_declared_count_for_nothing),
)


def test_every_guard_of_drills_is_needed() -> None:
    survivors = find_survivors(MUTANTS)
    assert not survivors, survivors
