"""What a WALPurgePolicy decides: tables."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from seawall.api.meta import ConditionType, InvalidSpec
from seawall.api.v1alpha1.policy import WALPurgePolicy, WALPurgePolicyStatus
from seawall.api.v1alpha1.purge import RunTopics, SkippedTopic, Stage, WALPurge
from seawall.domain import decision
from seawall.domain.conditions import find_condition
from seawall.domain.decision import Failure
from seawall.domain.policy.decide import decide
from seawall.domain.policy.plan import Observed
from seawall.domain.policy.runs import MAX_POLICY_NAME, CreateRun, DeleteRun, PolicyAction, due_time, run_name
from seawall.domain.step import Act, Event, Record, Wait
from tests.domain.purges import CREATED, NOON, make_policy, make_run

MINUTE = timedelta(minutes=1)
NOON_RUN = "nightly-20261121120000"


def recorded(*runs: WALPurge, now: datetime = NOON, has_cluster: bool = True) -> Observed:
    return Observed(now, runs, has_cluster=has_cluster)


def settle(
    policy: WALPurgePolicy, observed: Observed, failure: Failure | None = None
) -> tuple[WALPurgePolicy, tuple[PolicyAction, ...], Wait | None]:
    """The policy as its record leaves it, and what comes then: actions, or a wait."""
    step = decision.settle(policy, decide(policy, observed), failure)
    if isinstance(step, Record):
        policy = replace(policy, status=step.status)
        step = decision.settle(policy, decide(policy, observed), failure)
    assert not isinstance(step, Record), step
    return policy, step.actions if isinstance(step, Act) else (), step if isinstance(step, Wait) else None


def created(policy: WALPurgePolicy, observed: Observed) -> list[str]:
    return [action.key.name for action in settle(policy, observed)[1] if isinstance(action, CreateRun)]


def deleted(policy: WALPurgePolicy, observed: Observed) -> list[str]:
    return [action.run.metadata.name for action in settle(policy, observed)[1] if isinstance(action, DeleteRun)]


def reported(
    policy: WALPurgePolicy,
    observed: Observed,
    kind: ConditionType = ConditionType.READY,
    failure: Failure | None = None,
) -> tuple[str, str, str]:
    found = find_condition(settle(policy, observed, failure)[0].status.conditions, kind)
    assert found is not None
    return found.status, found.reason, found.message


def events(policy: WALPurgePolicy, observed: Observed) -> list[tuple[str, str]]:
    step = decision.settle(policy, decide(policy, observed))
    found: tuple[Event, ...] = step.events if isinstance(step, Record) else ()
    return [(event.type.value, f"{event.reason}: {event.message}") for event in found]


def test_a_run_that_is_due_begins_with_what_the_policy_says() -> None:
    policy = make_policy(topics=["wal_*"], dryRun=True, safety={"keepEntries": 5}, flush={"timeout": "9m"})
    _, (action,), _ = settle(policy, recorded())
    assert isinstance(action, CreateRun)
    assert (action.key.namespace, action.key.name) == ("db", NOON_RUN)
    assert (action.spec.topics, action.spec.dry_run, action.spec.safety.keep_entries) == (("wal_*",), True, 5)
    assert action.spec.flush.timeout == 9 * MINUTE


def test_nothing_begins_before_the_first_time_after_the_creation() -> None:
    policy, actions, wait = settle(make_policy(), recorded(now=NOON - MINUTE))
    assert not actions
    assert wait is not None
    assert wait.after == 60
    assert policy.status.next_run_time == NOON
    assert policy.status.last_run_time is None
    assert reported(policy, recorded(now=NOON - MINUTE)) == ("True", "Scheduled", "runs begin */10 * * * * (UTC)")


def test_an_interval_begins_that_long_after_the_creation() -> None:
    policy = make_policy(interval="7m")
    assert created(policy, recorded(now=CREATED + 7 * MINUTE - timedelta(seconds=1))) == []
    assert created(policy, recorded(now=CREATED + 7 * MINUTE)) == ["nightly-20261121120200"]


def test_a_run_that_was_made_is_remembered_and_not_made_again() -> None:
    run = make_run(NOON_RUN, policy=make_policy())
    policy, actions, _ = settle(make_policy(), recorded(run))
    assert not actions
    assert policy.status.active == NOON_RUN
    assert policy.status.last_run_time == NOON
    assert policy.status.next_run_time == NOON + 10 * MINUTE


def test_a_run_that_was_made_and_is_gone_is_not_made_again() -> None:
    policy = make_policy(WALPurgePolicyStatus(last_run_time=NOON))
    assert created(policy, recorded(now=NOON + 9 * MINUTE)) == []


@pytest.mark.parametrize("stage", [None, Stage.PREPARATION, Stage.COMMUNICATION, Stage.PURGE])
def test_no_run_begins_while_one_is_not_finished(stage: Stage | None) -> None:
    run = make_run("nightly-20261121115000", stage, policy=make_policy())
    assert created(make_policy(), recorded(run)) == []


@pytest.mark.parametrize("stage", [Stage.COMPLETED, Stage.FAILED])
def test_the_next_run_begins_when_the_one_before_has_ended(stage: Stage) -> None:
    run = make_run("nightly-20261121115000", stage, policy=make_policy())
    assert created(make_policy(), recorded(run)) == [NOON_RUN]


def test_runs_of_others_do_not_keep_a_policy_from_making_its_own() -> None:
    """The run that is made waits for its turn, and says for whom."""
    others = make_run("manual", Stage.PURGE), make_run("x", Stage.PURGE, policy=make_policy(name="other"))
    assert created(make_policy(), recorded(*others)) == [NOON_RUN]


def test_missed_times_are_made_up_for_by_one_run() -> None:
    policy = make_policy(WALPurgePolicyStatus(last_run_time=NOON - timedelta(days=3)))
    assert created(policy, recorded(now=NOON + MINUTE)) == [NOON_RUN]
    after = make_run(NOON_RUN, Stage.COMPLETED, policy=policy)
    assert created(policy, recorded(after, now=NOON + 2 * MINUTE)) == []


def test_a_suspended_policy_makes_no_runs_and_says_so() -> None:
    policy = make_policy(suspend=True)
    assert created(policy, recorded(now=NOON + timedelta(days=1))) == []
    assert reported(policy, recorded())[:2] == ("True", "Suspended")
    assert settle(policy, recorded())[0].status.next_run_time is None
    resumed = replace(settle(policy, recorded())[0], spec=make_policy().spec)
    assert created(resumed, recorded(now=NOON + 35 * MINUTE)) == ["nightly-20261121123000"]


def test_a_suspended_policy_shows_the_run_that_goes_on() -> None:
    run = make_run(NOON_RUN, Stage.PURGE, policy=make_policy())
    assert settle(make_policy(suspend=True), recorded(run))[0].status.active == NOON_RUN


def some_runs(policy: WALPurgePolicy, stage: Stage, count: int) -> list[WALPurge]:
    times = [NOON - (index + 1) * timedelta(hours=1) for index in range(count)]
    return [make_run(run_name("nightly", time), stage, created=time, policy=policy) for time in times]


def test_history_keeps_the_newest_of_each() -> None:
    policy = make_policy(successfulRunsHistoryLimit=2, failedRunsHistoryLimit=1, suspend=True)
    done, failed = some_runs(policy, Stage.COMPLETED, 4), some_runs(policy, Stage.FAILED, 3)
    names = deleted(policy, recorded(*failed, *done))
    assert names == [run.metadata.name for run in (done[3], done[2], failed[2], failed[1])]


def test_history_never_touches_active_runs_nor_those_of_others() -> None:
    policy = make_policy(successfulRunsHistoryLimit=0, failedRunsHistoryLimit=0, suspend=True)
    active = [make_run(f"nightly-2026112110{index}000", stage, policy=policy) for index, stage in enumerate(Stage)][:3]
    others = [make_run("manual", Stage.COMPLETED), make_run("x", Stage.FAILED, policy=make_policy(name="other"))]
    assert deleted(policy, recorded(*active, *others)) == []


def test_what_is_known_from_a_run_outlives_it() -> None:
    policy = make_policy(successfulRunsHistoryLimit=0)
    run = make_run(NOON_RUN, Stage.COMPLETED, policy=policy)
    policy, actions, _ = settle(policy, recorded(run))
    assert actions == (DeleteRun(run),)
    policy, actions, _ = settle(policy, recorded())
    assert not actions
    assert policy.status.last_run_time == NOON
    assert policy.status.last_successful_time == NOON + MINUTE


@pytest.mark.parametrize(
    ("topics", "reasons", "is_success"),
    [
        (RunTopics(total=2, skipped=2), ["VersionUnknown", "VersionUnknown"], False),
        (RunTopics(total=2, skipped=2), ["RegionStale", "NoRegions"], False),
        (RunTopics(total=2, failed=2), ["NotSupportedByKafka", "NotSupportedByKafka"], False),
        (RunTopics(total=2, skipped=1, failed=1), ["RegionStale", "DeleteRefused"], False),
        (RunTopics(total=2, skipped=2), ["MarkerMissing", "NoRegions"], True),
        (RunTopics(total=2, skipped=2), ["StoppedByAnnotation", "StoppedByAnnotation"], True),
        (RunTopics(total=2, purged=1, skipped=1), ["RegionStale"], True),
        (RunTopics(total=2, unchanged=1, skipped=1), ["RegionStale"], True),
        (RunTopics(total=2, unchanged=2), [], True),
        (RunTopics(total=0), [], True),
        (None, [], True),
    ],
)
def test_a_run_that_could_do_nothing_is_no_success(
    topics: RunTopics | None, reasons: list[str], *, is_success: bool
) -> None:
    policy = make_policy()
    run = make_run(NOON_RUN, Stage.COMPLETED, policy=policy)
    rows = tuple(SkippedTopic(topic=f"wal_{at}", reason=reason) for at, reason in enumerate(reasons))
    status = run.status.model_copy(update={"topics": topics, "skipped": rows})
    policy, _, _ = settle(policy, recorded(replace(run, status=status)))
    assert policy.status.last_successful_time == (NOON + MINUTE if is_success else None)


def unreadable(policy: WALPurgePolicy) -> WALPurgePolicy:
    return replace(policy, spec=InvalidSpec("spec.topics: no"))


@pytest.mark.parametrize(
    ("policy", "has_cluster", "reason", "sentence"),
    [
        (unreadable(make_policy()), True, "InvalidSpec", "spec.topics: no"),
        (make_policy(schedule="0 0 30 2 *"), True, "InvalidSchedule", "0 0 30 2 *"),
        (make_policy(schedule="* * */20 * 1L"), True, "ScheduleNeverFires", "never fires"),
        (make_policy(timeZone="Mars/Olympus"), True, "UnknownTimeZone", "no time zone Mars/Olympus"),
        (make_policy(), False, "ClusterMissing", "no WALCluster wal in this namespace"),
        (make_policy(name="n" * (MAX_POLICY_NAME + 1)), True, "NameTooLong", "longer than 238 characters"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_a_person_has_to_mend_is_said_and_nothing_begins(
    policy: WALPurgePolicy, *, has_cluster: bool, reason: str, sentence: str
) -> None:
    observed = recorded(has_cluster=has_cluster, now=NOON + timedelta(days=1))
    assert created(policy, observed) == []
    status, why, message = reported(policy, observed, ConditionType.STALLED)
    assert (status, why) == ("True", reason)
    assert sentence in message
    assert settle(policy, observed)[0].status.next_run_time is None
    assert ("Warning", f"{reason}: {message}") in events(policy, observed)


def test_the_longest_name_has_runs() -> None:
    policy = make_policy(name="n" * MAX_POLICY_NAME)
    (name,) = created(policy, recorded())
    assert len(name) == 253
    assert due_time(policy.metadata.name, name) == NOON


def test_a_name_that_is_taken_is_said_and_the_next_run_has_another() -> None:
    theirs = make_run(NOON_RUN)
    assert created(make_policy(), recorded(theirs)) == []
    assert reported(make_policy(), recorded(theirs), ConditionType.STALLED)[:2] == ("True", "RunNameTaken")
    assert created(make_policy(), recorded(theirs, now=NOON + 10 * MINUTE)) == ["nightly-20261121121000"]


def test_a_run_with_a_name_of_its_own_is_history_all_the_same() -> None:
    policy = make_policy(successfulRunsHistoryLimit=0, suspend=True)
    run = make_run("by-hand", Stage.COMPLETED, policy=policy)
    assert deleted(policy, recorded(run)) == ["by-hand"]
    assert settle(policy, recorded(run))[0].status.last_run_time is None


def test_a_clock_that_was_a_year_ahead_does_not_stop_the_runs_for_a_year() -> None:
    policy = make_policy(WALPurgePolicyStatus(last_run_time=NOON + timedelta(days=365)))
    run = make_run("nightly-20271121120000", Stage.COMPLETED, policy=policy)
    assert created(policy, recorded(run)) == [NOON_RUN]


def test_a_clock_that_steps_back_a_little_makes_no_run_twice() -> None:
    policy = make_policy(WALPurgePolicyStatus(last_run_time=NOON))
    assert created(policy, recorded(now=NOON - timedelta(seconds=30))) == []
    assert settle(policy, recorded(now=NOON - timedelta(seconds=30)))[0].status.next_run_time == NOON + 10 * MINUTE


def test_a_clock_behind_the_creation_waits() -> None:
    for policy in (make_policy(), make_policy(interval="10m")):
        _, actions, wait = settle(policy, recorded(now=CREATED - timedelta(days=1)))
        assert not actions
        assert wait is not None
        assert wait.after == 300


def test_a_policy_that_is_deleted_does_nothing() -> None:
    policy = make_policy(metadata={"deletion_timestamp": NOON})
    assert isinstance(decision.settle(policy, decide(policy, recorded())), Wait)


def test_runs_that_ended_are_told_once() -> None:
    policy = make_policy()
    running = make_run(NOON_RUN, policy=policy)
    policy, _, _ = settle(policy, recorded(running))
    failed = replace(make_run(NOON_RUN, Stage.FAILED, policy=policy, why="Kafka said no"))
    assert ("Warning", f"RunFailed: WALPurge {NOON_RUN} failed: Kafka said no") in events(policy, recorded(failed))
    policy, _, _ = settle(policy, recorded(failed))
    assert events(policy, recorded(failed)) == []


def test_a_run_that_ended_unseen_is_told() -> None:
    policy = make_policy()
    done = make_run(NOON_RUN, Stage.COMPLETED, policy=policy)
    assert ("Normal", f"RunCompleted: WALPurge {NOON_RUN} completed") in events(policy, recorded(done))


def test_a_run_that_was_deleted_before_it_ended_is_told() -> None:
    policy, _, _ = settle(make_policy(), recorded(make_run(NOON_RUN, policy=make_policy())))
    assert ("Normal", f"RunGone: WALPurge {NOON_RUN} was deleted before it ended") in events(policy, recorded())


@pytest.mark.parametrize(
    ("final", "reason", "condition"),
    [(True, "ChangeRefused", ConditionType.STALLED), (False, "ChangeUnanswered", ConditionType.RECONCILING)],
)
def test_what_the_api_server_answered_stands_until_the_same_works(
    *, final: bool, reason: str, condition: ConditionType
) -> None:
    failure = Failure("exceeded quota", final=final)
    policy, actions, _ = settle(make_policy(), recorded(), failure)
    assert not actions
    assert reported(policy, recorded(), condition, failure) == ("True", reason, "exceeded quota")
    again, actions, _ = settle(policy, recorded())
    assert again == policy
    assert [type(action) for action in actions] == [CreateRun]
    done = make_run(NOON_RUN, policy=policy)
    assert reported(policy, recorded(done))[:2] == ("True", "Scheduled")


def test_a_step_after_a_failure_never_acts() -> None:
    policy: Any = make_policy()
    for _ in range(3):
        step = decision.settle(policy, decide(policy, recorded()), Failure("no", final=True))
        assert not isinstance(step, Act)
        policy = replace(policy, status=step.status) if isinstance(step, Record) else policy


@pytest.mark.parametrize(
    "name",
    [
        "nightly",
        "nightly-",
        "nightly-2026112112000",
        "nightly-20261321120000",
        "other-20261121120000",
        "nightly-²0261121120000",
    ],
)
def test_names_that_are_not_of_a_run(name: str) -> None:
    assert due_time("nightly", name) is None


def test_a_policy_says_which_others_are_stricter_about_its_topics() -> None:
    mine = make_policy(topics=["wal_*"], safety={"keepEntries": 5})
    others = [
        make_policy(name="careful", topics=["wal_1"], safety={"keepEntries": 500, "openGrace": "10m"}),
        make_policy(name="elsewhere", topics=["other_*"], safety={"keepEntries": 900}),
        make_policy(name="looser", topics=["wal_1"]),
        make_policy(name="strange", clusterRef={"name": "other"}, safety={"keepEntries": 900}),
    ]
    observed = replace(recorded(has_cluster=True), policies=[mine, *others], topics=["wal_0", "wal_1"])
    sentence = "keepEntries 500 of WALPurgePolicy careful, openGrace 10m of WALPurgePolicy careful"
    assert reported(mine, observed)[2] == f"runs begin */10 * * * * (UTC); stricter about topics of it: {sentence}"
    assert reported(others[0], observed)[2] == "runs begin */10 * * * * (UTC)"
