"""When the size of a topic begins a run: tables."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from seawall.api.meta import ConditionType
from seawall.api.quantity import format_bytes, parse_bytes
from seawall.api.v1alpha1.policy import WALPurgePolicy, WALPurgePolicyStatus
from seawall.api.v1alpha1.purge import Stage, WALPurge
from seawall.domain import decision
from seawall.domain.conditions import find_condition
from seawall.domain.ledger.observation import Unavailable, UnavailableReason
from seawall.domain.ledger.page import LedgerPage, TopicLine
from seawall.domain.ledger.reasons import Reason as Against
from seawall.domain.policy.decide import decide
from seawall.domain.policy.plan import Observed
from seawall.domain.policy.runs import CreateRun
from seawall.domain.step import Act, Record, Wait
from tests.domain.purges import CREATED, NOON, make_line, make_policy, make_run

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
MANY = 2**30 + 1
TRIGGER = {"topicBytes": "1Gi"}
STUCK = make_line("wal_1", MANY, Against.NOTHING_TO_PURGE)
LARGE = make_line("wal_1", MANY)


def step(policy: WALPurgePolicy, *lines: TopicLine, runs: tuple[WALPurge, ...] = (), now: datetime = NOON) -> Any:
    """What comes after the status is true: actions, or a wait."""
    observed = Observed(now, runs, has_cluster=True, ledger=LedgerPage(lines, NOON))
    found = decision.settle(policy, decide(policy, observed))
    if isinstance(found, Record):
        policy = WALPurgePolicy(policy.metadata, policy.spec, found.status)
        found = decision.settle(policy, decide(policy, observed))
    return found


def created(policy: WALPurgePolicy, *lines: TopicLine, **recorded: Any) -> list[str]:
    """The names of the runs that begin."""
    found = step(policy, *lines, **recorded)
    return [each.key.name for each in found.actions if isinstance(each, CreateRun)] if isinstance(found, Act) else []


def reported(policy: WALPurgePolicy, observed: Observed) -> str:
    """The sentence of the condition Ready."""
    found = decision.settle(policy, decide(policy, observed))
    assert isinstance(found, Record)
    condition = find_condition(found.status.conditions, ConditionType.READY)
    assert condition is not None
    return condition.message


def triggered(**spec: Any) -> WALPurgePolicy:
    return make_policy(trigger=TRIGGER, **spec)


def after_run(at: datetime, purged: int | None, stage: Stage = Stage.COMPLETED, **spec: Any) -> dict[str, Any]:
    """A policy whose last run was due then, and that run."""
    policy = triggered(**spec)
    run = make_run(f"nightly-{at:%Y%m%d%H%M%S}", stage, created=at, policy=policy, purged=purged)
    return {"policy": policy, "runs": (run,)}


def test_a_topic_beyond_the_threshold_begins_a_run_that_says_why() -> None:
    found = step(triggered(), make_line("wal_0", 5), LARGE)
    assert isinstance(found, Act)
    (action,) = found.actions
    assert isinstance(action, CreateRun)
    assert action.key.name == "nightly-20261121115900"
    assert action.event().message.endswith(f": wal_1 takes {MANY} bytes on disk")


@pytest.mark.parametrize(
    "line",
    [
        make_line("wal_1", 2**30),
        make_line("wal_1", None),
        make_line("other_1", MANY),
        make_line("wal_1", MANY, Against.REGION_STALE),
        make_line("wal_1", MANY, Against.STOPPED_BY_ANNOTATION),
        make_line("wal_1", MANY, Against.FENCE_BROKEN),
    ],
    ids=["at the threshold", "unknown", "not selected", "stale", "stopped", "another log"],
)
def test_nothing_begins_because_of_a_topic_that_is_small_or_foreign_or_left_alone(line: TopicLine) -> None:
    found = step(triggered(topics=["wal_*"]), line, now=NOON + timedelta(days=1))
    assert isinstance(found, Wait)
    assert found.after == 10, "the sizes are looked at again soon"


def test_ticks_of_one_pause_begin_the_same_run() -> None:
    """Two leaders, or one that died before it heard the answer, make one run."""
    policy, since = triggered(), CREATED + 2 * MINUTE
    names = {name for at in (0, 1, 119) for name in created(policy, LARGE, now=since + at * SECOND)}
    assert names == {"nightly-20261121115700"}


def test_a_topic_that_can_be_purged_begins_at_most_one_run_in_each_open_grace() -> None:
    last = after_run(NOON, purged=1)
    assert created(last["policy"], LARGE, runs=last["runs"], now=NOON + 2 * MINUTE - SECOND) == []
    assert created(last["policy"], LARGE, runs=last["runs"], now=NOON + 2 * MINUTE) == ["nightly-20261121120200"]


@pytest.mark.parametrize(
    ("last", "line"),
    [
        (after_run(NOON, purged=1), STUCK),
        (after_run(NOON, purged=0), LARGE),
        (after_run(NOON, purged=None, stage=Stage.FAILED), LARGE),
        (after_run(NOON, purged=1, dryRun=True), LARGE),
    ],
    ids=["nothing lies below what is kept", "the last run purged nothing", "the last run failed", "dry run"],
)
def test_a_topic_that_cannot_shrink_is_tried_now_and_then(last: dict[str, Any], line: TopicLine) -> None:
    assert created(last["policy"], line, runs=last["runs"], now=NOON + 20 * MINUTE - SECOND) == []
    assert created(last["policy"], line, runs=last["runs"], now=NOON + 20 * MINUTE) == ["nightly-20261121122000"]


def test_runs_that_are_gone_are_remembered_by_the_status() -> None:
    policy = make_policy(WALPurgePolicyStatus(last_run_time=NOON), trigger=TRIGGER)
    assert created(policy, LARGE, now=NOON + 2 * MINUTE - SECOND) == []


def test_no_run_begins_while_one_is_not_finished_or_the_policy_is_suspended() -> None:
    policy = triggered()
    running = make_run("nightly-20261121115700", Stage.PURGE, policy=policy)
    assert created(policy, LARGE, runs=(running,), now=NOON + timedelta(hours=9)) == []
    assert created(triggered(suspend=True), LARGE, now=NOON + timedelta(hours=9)) == []


def test_time_and_size_begin_runs_side_by_side() -> None:
    policy = triggered(interval="1h")
    assert created(policy, make_line("wal_1", 5), now=CREATED + timedelta(hours=1)) == ["nightly-20261121125500"]
    assert created(policy, LARGE, now=CREATED + 3 * MINUTE) == ["nightly-20261121115700"]
    assert created(policy, LARGE, now=CREATED + timedelta(hours=1) + MINUTE) == ["nightly-20261121125500"]


@pytest.mark.parametrize(
    ("spec", "ledger", "sentence"),
    [
        ({}, LedgerPage((), NOON), "runs begin when a topic takes more than 1Gi on disk"),
        ({}, None, "runs begin when a topic takes more than 1Gi on disk"),
        (
            {"interval": "1h"},
            Unavailable(UnavailableReason.KAFKA, "no broker"),
            (
                "runs begin every 1h, and when a topic takes more than 1Gi on disk"
                " (sizes are not known now: KafkaUnreachable)"
            ),
        ),
        (
            {},
            LedgerPage((make_line("wal_1", MANY, Against.FENCE_BROKEN),), NOON),
            "runs begin when a topic takes more than 1Gi on disk (wal_1 does, and is left alone: IdentityFenceBroken)",
        ),
    ],
)
def test_the_condition_says_when_runs_begin_and_what_keeps_them_from_it(
    spec: dict[str, Any], ledger: Any, sentence: str
) -> None:
    assert reported(triggered(**spec), Observed(NOON, has_cluster=True, ledger=ledger)) == sentence


@pytest.mark.parametrize("text", ["1", "1023", "1Ki", "1536Mi", "3Gi", "2Ti", "1000"])
def test_bytes_are_written_as_they_are_read(text: str) -> None:
    assert format_bytes(parse_bytes(text)) == text  # type: ignore[arg-type]
