"""A WALBackupPolicy over time: whatever happens, no record between two backups is purged, and nothing is glued."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seawall.api.meta import ConditionType, Key
from seawall.api.v1alpha1.backup import WALBackup, WALBackupSpec
from seawall.api.v1alpha1.backup_policy import WALBackupPolicy
from seawall.api.v1alpha1.hold import HoldState, WALHold, WALHoldSpec
from seawall.api.v1alpha1.purge import WALPurge
from seawall.api.v1alpha1.spark_job import JobStage
from seawall.api.v1alpha1.spark_job import Outcome as JobOutcome
from seawall.controllers.hold import WALHoldController
from seawall.domain.conditions import find_condition
from seawall.reconciler import Outcome, Reconciler
from tests.support.deaths import die_at_every_call
from tests.worlds.backup_world import BACKUP, POLICY, BackupWorld
from tests.worlds.purge_world import NAMESPACE, RUN, TOPICS, WAL, Calls
from tests.worlds.verification_world import why

SPEC: dict[str, Any] = {"clusterRef": {"name": "wal"}, "schedule": "*/10 * * * *"}
TEN = timedelta(minutes=10)
STEP = timedelta(seconds=20)
Process = Reconciler[Any, Any, Any, Any]


@dataclass
class PolicyWorld(BackupWorld):
    """Backups by a policy, with a purge that takes what it may at any time.

    Attributes:
        purges: whether purges run all the time.
    """

    purges: bool = False

    def declare_backups(self, **spec: Any) -> None:
        """Somebody makes or edits the policy."""
        self.kube.apply(POLICY, {**SPEC, **spec}, kind=WALBackupPolicy)

    def live(self, span: timedelta) -> None:
        """Time passes."""
        self.live_until(self.time.time + span)

    def live_until(self, end: datetime, planner: Process | None = None, backer: Process | None = None) -> None:
        """Time passes in steps; the policy, its backups, holds and Spark go on."""
        planner, backer, purger = planner or self.planner(), backer or self.backer(), self.process()
        granter: Process = Reconciler(
            WALHoldController(self.kube, self.observer(), self.time, self.meters), may_write=lambda: True
        )
        while self.time.time < end:
            settle(planner, POLICY)
            for backup in self.backups():
                if not backup.status.is_over:
                    settle(backer, backup.metadata.key)
            for hold in self.kube.list(WALHold, NAMESPACE).items:
                if hold.status.state is None or self.time.time.minute % 2:  # else it stays as it is
                    settle(granter, hold.metadata.key)
            self.run_spark()
            if self.purges:
                self.purge(purger)
            self.time.time += STEP

    def purge(self, process: Process) -> None:
        """All regions flush, and one run after the other deletes what nobody holds."""
        for region in list(self.data_plane.regions):
            self.flush(region)
        found = self.kube.get(WALPurge, RUN)
        if found is None or found.status.is_finished:
            self.kube._objects.pop(("WALPurge", RUN), None)
            self.start_run()
        settle(process, RUN)

    def policy(self) -> WALBackupPolicy:
        """The policy."""
        found = self.kube.get(WALBackupPolicy, POLICY)
        assert found is not None
        return found

    def backups(self) -> list[WALBackup]:
        """Its backups, the oldest first."""
        found = self.kube.list(WALBackup, NAMESPACE).items
        return sorted(found, key=lambda each: each.metadata.creation_timestamp)

    def modes(self) -> list[str]:
        """Of each backup whether it is full, and how it ended."""
        return [
            f"{'full' if isinstance(each.spec, WALBackupSpec) and each.spec.parent_ref is None else 'next'} "
            f"{why(each)[0] if each.status.is_over else each.status.stage}"
            for each in self.backups()
        ]

    def condition(self) -> tuple[str, str]:
        """Status and reason of BackedUp."""
        found = find_condition(self.policy().status.conditions, ConditionType.BACKED_UP)
        return ("", "") if found is None else (found.status, found.reason)


def settle(process: Process, key: Key) -> None:
    for _ in range(40):
        if process.tick(key).outcome in {Outcome.WAITING, Outcome.GONE}:
            return


def declared(**attributes: Any) -> PolicyWorld:
    world = PolicyWorld(**attributes)
    world.declare_backups()
    return world


def test_the_first_backup_is_full_and_the_others_continue_it() -> None:
    world = declared()
    for _ in range(3):
        world.write("wal_1", 3)
        world.live(TEN)
    world.live(timedelta(minutes=2))
    assert world.modes() == ["full BackedUp", "next BackedUp", "next BackedUp"]
    status = world.policy().status
    assert status.last is not None
    assert (status.last.name, status.active) == (world.backups()[-1].metadata.name, None)
    assert {each.status.chain for each in world.backups()} == {status.last.chain}
    assert world.condition() == ("True", "BackedUp")
    assert why(world.policy()) == ("Scheduled", "backups begin at */10 * * * * (UTC)")
    world.declare_backups(hold={"ttl": "12m"})
    settle(world.planner(), POLICY)
    assert "a chain may end by that alone" in why(world.policy())[1]


def test_an_immediate_policy_begins_at_once_and_goes_on_as_scheduled() -> None:
    """Once: neither a restart, nor that its object is gone beyond the history limits, makes it due again."""
    world = PolicyWorld()
    world.time.time += timedelta(minutes=3)
    world.declare_backups(immediate=True, successfulRunsHistoryLimit=1)
    world.live(timedelta(minutes=4))
    assert world.modes() == ["full BackedUp"]
    assert world.policy().status.last_run_time == world.policy().metadata.creation_timestamp.replace(second=0)
    for _ in range(3):
        world.write("wal_1", 3)
        world.live(TEN)
        assert world.modes() == ["next BackedUp"]
    world.declare_backups(immediate=False)
    world.live(TEN)
    assert why(world.policy())[0] == "Scheduled"


def test_an_immediate_policy_that_is_suspended_begins_when_it_may() -> None:
    world = PolicyWorld()
    world.declare_backups(immediate=True, suspend=True)
    world.live(timedelta(minutes=4))
    assert world.modes() == []
    world.declare_backups(immediate=True)
    world.live(timedelta(minutes=4))
    assert world.modes() == ["full BackedUp"]


def test_the_log_is_held_from_the_end_of_the_last_backup_on_and_only_there() -> None:
    world = declared()
    world.live(TEN + timedelta(minutes=3))
    (backup,) = world.backups()
    assert world.holds() == [f"{backup.metadata.name}-1-next"]
    hold = world.kube.get(WALHold, Key(NAMESPACE, world.holds()[0]))
    assert hold is not None
    assert hold.status.granted == dict.fromkeys(TOPICS, 40)
    world.write("wal_1", 3)
    world.live(TEN)
    assert world.holds() == [f"{world.backups()[-1].metadata.name}-1-next"]


def test_no_purge_takes_a_record_between_two_backups() -> None:
    world = declared(purges=True)
    world.declare_backups(successfulRunsHistoryLimit=10)
    for _ in range(4):
        world.live(TEN / 2)
        world.write("wal_1", 30)
        world.write("wal_2", 7)
        world.live(TEN / 2)
    world.live(timedelta(minutes=4))
    assert world.modes() == ["full BackedUp", "next BackedUp", "next BackedUp", "next BackedUp"]
    assert world.log_starts()["wal_1"] > 40  # the purges were real


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(st.sampled_from(TOPICS), st.integers(1, 40), st.integers(0, 2), st.booleans()), max_size=5),
)
def test_whatever_is_written_and_purged_and_dies_a_chain_has_no_gap(
    story: list[tuple[str, int, int, bool]],
) -> None:
    """The world checks after each change that what a status names continues its parent without a gap."""
    world = declared(purges=True)
    world.live(TEN + timedelta(minutes=2))
    for topic, rows, deaths, late in story:
        world.live(TEN / 2)
        world.write(topic, rows)
        world.dies, world.dies_late = (0, deaths) if late else (deaths, 0)
        world.live(TEN / 2)
    world.live(TEN)
    assert not [mode for mode in world.modes() if "ChainEnded" in mode]
    assert world.condition()[1] in {"BackedUp", "Interrupted"}


def test_the_own_hold_of_a_backup_stays_until_the_next_one_is_granted() -> None:
    world = declared()
    world.time.time += TEN
    settle(world.planner(), POLICY)
    (backup,) = world.backups()
    key = backup.metadata.key
    world.settle_backup(key, ticks=100)  # nobody places the policy's hold
    assert world.walbackup(key).status.stage is JobStage.RELEASING
    assert world.holds() == [f"{key.name}-1"]
    name = f"{key.name}-1-next"
    assert why(world.walbackup(key)) == ("Releasing", f"WALHold {name} of its policy is not there yet")
    settle(world.planner(), POLICY)
    assert world.holds() == [f"{key.name}-1", name]
    world.settle_backup(key)
    assert world.walbackup(key).status.stage is JobStage.COMPLETED


def chain_ended(world: PolicyWorld) -> None:
    """Records that no backup has are deleted by somebody else."""
    world.foreign.add("wal_1")
    log = world.kafka.topics["wal_1"].log
    world.write("wal_1", 9)
    log.log_start = log.end - 1


def topic_made_again(world: PolicyWorld) -> None:
    world.foreign.add("wal_1")
    world.kafka.topics.pop("wal_1")
    made = world.kafka.add_topic("wal_1", replicas=(1, 2, 3), configs={"min.insync.replicas": "2"})
    made.log.now = world.time.now
    world.write("wal_1", 60)


@pytest.mark.parametrize("disturb", [chain_ended, topic_made_again])
def test_where_the_chain_ends_the_reason_is_a_condition_and_the_next_backup_is_full(
    disturb: Callable[[PolicyWorld], None],
) -> None:
    world = declared()
    world.live(TEN + timedelta(minutes=3))
    disturb(world)
    world.live(timedelta(minutes=4))
    assert world.condition() == ("False", "ChainEnded")
    world.live(TEN)
    assert world.modes()[1].startswith("full ")
    first, second = world.backups()[:2]
    assert first.status.chain != second.status.chain


def test_a_tail_that_was_lost_is_told_by_the_backup_that_would_continue_it_and_the_next_is_full() -> None:
    """A leader that lacked the newest records was elected; more were written than were lost, so ends tell nothing."""
    world = declared()
    world.live(TEN + timedelta(minutes=3))
    world.foreign.add("wal_1")
    world.kafka.topics["wal_1"].log.truncate(30)
    world.write("wal_1", 20)
    world.live(TEN)
    assert world.modes() == ["full BackedUp", "next ChainEnded"]
    assert world.condition() == ("False", "ChainEnded")
    (hold,) = world.kube.list(WALHold, NAMESPACE).items
    assert (hold.status.state, why(hold)[0]) == (HoldState.AT_RISK, "AtRisk")
    world.live(TEN)
    assert world.modes()[2:] == ["full NotAllBackedUp"]  # of the log that was cut: somebody has to readopt it
    first, _, third = world.backups()
    assert first.status.chain != third.status.chain
    assert [(row.name, row.start) for row in third.status.topics] == [("wal_0", 1), ("wal_2", 1)]


def test_limits_of_the_hold_that_are_edited_count_at_once() -> None:
    """Where backups do not come to their end there is no next one that would bring them."""
    world = declared()
    world.live(TEN + timedelta(minutes=3))
    world.declare_backups(suspend=True, hold={"ttl": "24h", "maxLagAge": "6h", "maxLagBytes": 1000})
    settle(world.planner(), POLICY)
    (hold,) = world.kube.list(WALHold, NAMESPACE).items
    assert isinstance(hold.spec, WALHoldSpec)
    assert (hold.spec.ttl, hold.spec.max_lag_age) == (timedelta(hours=24), timedelta(hours=6))
    assert hold.spec.max_lag_bytes == 1000
    assert hold.spec.topics == dict.fromkeys(TOPICS, 40)


def test_a_hold_that_is_lost_makes_the_next_backup_a_full_one() -> None:
    world = declared()
    world.declare_backups(hold={"ttl": "5m"})
    world.live(TEN + timedelta(minutes=3))
    (name,) = world.holds()
    assert world.condition() == ("True", "BackedUp")
    world.live(timedelta(minutes=6))
    hold = world.kube.get(WALHold, Key(NAMESPACE, name))
    assert hold is not None
    assert hold.status.state is HoldState.LOST
    assert world.condition() == ("False", "ChainEnded")
    world.live(timedelta(minutes=4))
    assert world.modes() == ["full BackedUp", "full BackedUp"]
    first, second = world.backups()
    assert first.status.chain != second.status.chain
    assert world.condition() == ("True", "BackedUp")


def test_a_hold_of_somebody_else_with_the_name_of_the_next_one_is_told_and_holds_nothing_for_us() -> None:
    world = declared()
    world.time.time += TEN
    settle(world.planner(), POLICY)
    key = world.backups()[0].metadata.key
    name = f"{key.name}-1-next"
    world.kube.apply(Key(NAMESPACE, name), {"clusterRef": {"name": "wal"}, "topics": {"wal_0": 40}}, kind=WALHold)
    world.live(timedelta(minutes=4))
    assert why(world.walbackup(key)) == ("Releasing", f"WALHold {name} was not made by its policy: delete it")
    assert why(world.policy())[0] == "HoldNameTaken"
    world.kube.remove(Key(NAMESPACE, name), WALHold)
    world.live(timedelta(minutes=8))
    assert world.modes()[0] == "full BackedUp"
    assert why(world.policy())[0] == "Scheduled"


@pytest.mark.parametrize("is_of_all", [False, True], ids=["the operator's", "everybody's"])
def test_a_clock_that_was_ahead_for_a_while_leaves_nothing_behind(*, is_of_all: bool) -> None:
    world, ahead = declared(), timedelta(minutes=45)
    world.declare_backups(successfulRunsHistoryLimit=20)
    world.live(TEN + timedelta(minutes=3))
    world.time.time += ahead
    if not is_of_all:
        world.kube._now = lambda: world.time.now() - ahead
    world.live(2 * TEN)
    world.time.time -= ahead
    world.kube._now = world.time.now
    world.live(5 * TEN)
    newest = max(each.status.completion_time for each in world.backups() if each.status.completion_time is not None)
    assert world.condition() == ("True", "BackedUp")
    assert newest >= world.time.time - 2 * TEN
    assert sum("ParentUnusable" in mode for mode in world.modes()) <= is_of_all  # told once, and then a full one


def test_a_chain_that_somebody_deleted_in_the_store_is_followed_by_a_full_one() -> None:
    world = declared()
    world.live(TEN + timedelta(minutes=3))
    world.forged |= set(world.stored)
    world.stored.clear()
    world.live(2 * TEN)
    assert world.modes()[1:] == ["next ChainEnded", "full BackedUp"]


@pytest.mark.parametrize("outcome", [JobOutcome.REFUSED, JobOutcome.INTERRUPTED])
def test_a_store_that_lets_nobody_in_for_a_moment_does_not_end_the_chain(outcome: JobOutcome) -> None:
    world, refusals = declared(), [outcome]
    world.live(TEN + timedelta(minutes=3))
    honest = PolicyWorld.run_job

    def run_job(self: PolicyWorld, request: Any) -> Any:
        if "backup" in request and refusals:
            return refusals.pop(), "the store refuses seawall-wal/1/x: INVALID_ACCESS_KEY_ID", {}
        return honest(self, request)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PolicyWorld, "run_job", run_job)
        world.live(2 * TEN)
    assert not refusals
    is_over = ["next RequestRefused"] if outcome is JobOutcome.REFUSED else []
    assert world.modes()[1:] == [*is_over, *["next BackedUp"] * (2 - len(is_over))]


def test_the_newest_backup_that_a_person_deletes_is_not_forked() -> None:
    world = declared()
    world.live(2 * TEN + timedelta(minutes=3))
    assert world.modes() == ["full BackedUp", "next BackedUp"]
    world.kube.remove(world.backups()[-1].metadata.key, WALBackup)
    world.live(2 * TEN)
    assert world.modes()[1:] == ["next ChainEnded", "full BackedUp"]


@pytest.mark.parametrize("disturb", ["topic is deleted", "topics are narrowed"])
def test_a_topic_of_the_parent_that_is_missing_ends_the_chain(disturb: str) -> None:
    world = declared()
    world.live(TEN + timedelta(minutes=3))
    if disturb == "topic is deleted":
        world.foreign.add("wal_1")
        world.kafka.topics.pop("wal_1")
    else:
        world.declare_backups(topics=["wal_0", "wal_2"])
    world.live(2 * TEN)
    assert world.modes()[1].split()[1] in {"ChainEnded", "NotAllBackedUp"}
    assert not [mode for mode in world.modes() if mode == "next BackedUp"]


def test_what_is_left_out_keeps_no_other_topic_from_being_held_from_where_it_was_backed_up() -> None:
    world = declared()
    world.live(TEN + timedelta(minutes=3))
    topic_made_again(world)
    world.write("wal_0", 30)
    world.live(TEN)
    assert "NotAllBackedUp" in world.modes()[-1]
    newest = world.backups()[-1]
    assert world.holds() == [f"{newest.metadata.name}-1-next"]


def test_a_walcluster_that_cannot_be_read_costs_no_chain() -> None:
    world = declared()
    world.live(TEN + timedelta(minutes=3))
    good = world.spec()
    world.kube.apply(WAL, {**good, "topics": {"count": "many"}})
    world.live(TEN)
    assert why(world.policy())[0] == "ClusterInvalid"
    world.kube.apply(WAL, good)
    world.live(TEN)
    assert world.modes()[1].startswith("next ")


def test_holds_are_looked_after_when_the_spec_of_the_policy_cannot_be_read() -> None:
    world = declared()
    world.time.time += TEN
    settle(world.planner(), POLICY)
    key = world.backups()[0].metadata.key
    world.settle_backup(key, ticks=100)
    world.declare_backups(hold={"ttl": "never"})
    world.live(timedelta(minutes=3))
    assert why(world.policy())[0] == "InvalidSpec"
    assert world.walbackup(key).status.stage is JobStage.COMPLETED


def test_a_full_one_that_is_due_begins_another_chain() -> None:
    world = declared()
    world.declare_backups(fullSchedule="30 * * * *")
    world.live(timedelta(minutes=35))
    assert [mode.split()[0] for mode in world.modes()] == ["full", "next", "full"]
    assert len({each.status.chain for each in world.backups()}) == 2


def test_another_store_begins_another_chain() -> None:
    world = declared()
    world.live(TEN + timedelta(minutes=3))
    world.declare({**BACKUP, "storage": {"s3": {"bucket": "elsewhere"}}})
    world.live(TEN)
    assert world.modes() == ["full BackedUp", "full BackedUp"]


def test_a_store_that_is_down_for_an_hour_costs_nothing_and_the_next_goes_on_from_the_same_parent() -> None:
    world = declared(purges=True)
    world.live(TEN + timedelta(minutes=3))
    parent = world.backups()[0].metadata.name
    world.dies = 10**6
    world.write("wal_1", 30)
    world.live(timedelta(hours=1))
    assert world.condition() == ("False", "Interrupted")
    assert world.meters.backup_policies[POLICY][0] == world.policy().status.last.time  # type: ignore[union-attr]
    world.dies = 0
    world.live(2 * TEN)
    last = world.policy().status.last
    assert last is not None
    found = world.walbackup(Key(NAMESPACE, last.name))
    assert isinstance(found.spec, WALBackupSpec)
    chain = [each for each in world.backups() if each.status.stage is JobStage.COMPLETED]
    first = next(each for each in chain if each.metadata.name > parent)
    assert isinstance(first.spec, WALBackupSpec)
    assert first.spec.parent_ref is not None
    assert first.spec.parent_ref.name == parent
    assert world.condition()[0] == "True"


def test_the_history_limits_never_take_the_backup_to_continue() -> None:
    world = declared()
    world.declare_backups(successfulRunsHistoryLimit=1, failedRunsHistoryLimit=1)
    world.live(TEN + timedelta(minutes=3))
    world.dies = 10**6
    world.live(4 * TEN)
    assert world.modes()[0] == "full BackedUp"
    assert sum("Interrupted" in mode for mode in world.modes()) == 1


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"schedule": "0 0 30 2 *"}, "InvalidSchedule"),
        ({"fullSchedule": "whenever"}, "InvalidSchedule"),
        ({"timeZone": "Nowhere/Land"}, "UnknownTimeZone"),
        ({"clusterRef": {"name": "nobody"}}, "ClusterMissing"),
        ({"suspend": True}, "Suspended"),
        ({"hold": {"ttl": "never"}}, "InvalidSpec"),
    ],
)
def test_bad_input_is_one_word_and_no_backup(spec: dict[str, Any], reason: str) -> None:
    world = PolicyWorld()
    world.declare_backups(**spec)
    world.live(timedelta(minutes=11))
    assert why(world.policy())[0] == reason
    assert world.backups() == []


def test_a_walcluster_that_says_nothing_of_backups_is_named() -> None:
    world = PolicyWorld(declared=None)
    world.kube.apply(WAL, world.spec())
    world.declare_backups()
    world.live(timedelta(minutes=1))
    assert why(world.policy()) == (
        "BackupNotDeclared",
        "WALCluster wal does not say where backups go: set its spec.backup",
    )


def test_what_is_suspended_is_held_all_the_same() -> None:
    world = declared()
    world.live(TEN + timedelta(minutes=3))
    world.declare_backups(suspend=True)
    world.purges = True
    world.write("wal_1", 30)
    world.live(timedelta(minutes=30))
    assert len(world.backups()) == 1
    assert world.log_starts()["wal_1"] == 40


def test_two_planners_at_once_make_one_chain() -> None:
    """Before each change of one of them the other has its turn: both find a backup due, and one of them makes it."""
    world = declared()
    world.declare_backups(successfulRunsHistoryLimit=10)
    calls, other = Calls(world.check), world.planner()
    planner, turns = world.planner(calls), set[str]()

    def let_the_other(name: str) -> None:
        if name in {"create", "delete", "replace_status"}:
            turns.add(name)
            settle(other, POLICY)

    calls.before = let_the_other
    for _ in range(3):
        world.write("wal_1", 3)
        world.live_until(world.time.time + TEN, planner)
    world.live_until(world.time.time + timedelta(minutes=2), planner)
    assert turns >= {"create", "replace_status"}
    assert world.modes() == ["full BackedUp", "next BackedUp", "next BackedUp"]
    parents = [each.spec.parent_ref for each in world.backups() if isinstance(each.spec, WALBackupSpec)]
    names = [each.metadata.name for each in world.backups()]
    assert [parent and parent.name for parent in parents] == [None, *names[:2]]
    assert len(world.stored) == len({name for _, name in world.stored}) == 3
    assert world.holds() == [f"{names[-1]}-1-next"]


def nothing(_: PolicyWorld) -> None:
    """All is well."""


@pytest.mark.parametrize("disturb", [nothing, chain_ended])
def test_a_death_at_any_call_of_a_policy_changes_nothing_about_the_end(
    disturb: Callable[[PolicyWorld], None],
) -> None:
    world = declared()
    world.live(TEN + timedelta(minutes=3))
    disturb(world)
    world.live(timedelta(minutes=6))
    world.time.time += timedelta(minutes=1)
    world.declare_backups(hold={"ttl": "24h", "maxLagAge": "6h"})
    end = world.time.time + timedelta(minutes=4)
    worlds = die_at_every_call(
        world,
        lambda each, guard: each.live_until(end, each.planner(guard)),
        end_state,
        frozenset({"create", "delete", "replace_status", "replace_spec"}),
    )
    assert worlds > 8


def end_state(world: PolicyWorld) -> Any:
    status = world.policy().status
    last = None if status.last is None else status.last.name
    return (
        world.modes(),
        [(each.metadata.name, each.spec) for each in world.kube.list(WALHold, NAMESPACE).items],
        (status.active, last, status.last_run_time, status.next_run_time),
        [(found.type, found.status, found.reason) for found in status.conditions],
    )
