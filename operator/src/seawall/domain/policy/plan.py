"""What a WALPurgePolicy has to do now: which runs go, whether one begins, by time or size, and who is stricter.

Such runs are due at whole pauses after the last run, whenever a topic's size is seen to exceed the threshold: so ticks
that see the same begin the same run, and nothing but the last run's time has to be remembered. The pause is openGrace,
which a run needs in any case; it is ten times as long while a run would be, or the last one was, in vain. So a topic
that cannot shrink is tried again now and then, for a flush may help, and not run after run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from seawall.api.meta import InvalidSpec, Key
from seawall.api.quantity import format_bytes
from seawall.api.v1alpha1.policy import WALPurgePolicy, WALPurgePolicySpec
from seawall.api.v1alpha1.purge import WALPurge, WALPurgeSpec
from seawall.api.v1alpha1.purge_template import PurgeTemplate
from seawall.domain.conditions import Outlook, Verdict
from seawall.domain.ledger.declared import policy_of
from seawall.domain.ledger.observation import Unavailable
from seawall.domain.ledger.page import LedgerPage, TopicLine
from seawall.domain.ledger.policy import Policy, strictest
from seawall.domain.ledger.reasons import Reason as Against
from seawall.domain.policy.reasons import Reason
from seawall.domain.policy.runs import (
    MAX_POLICY_NAME,
    CreateRun,
    DeleteRun,
    OwnRuns,
    PolicyAction,
    run_name,
)
from seawall.domain.schedule import (
    BadSchedule,
    Every,
    Schedule,
    ScheduleReason,
    beyond_history,
    newest,
    period,
    read_schedule,
)
from seawall.domain.times import POLICY_TRIGGER_SECONDS


@dataclass(frozen=True, slots=True)
class Observed:
    """What one tick sees: all runs and policies of the namespace, and whether the WALCluster is there to stay.

    `topics` are the names of the WALCluster's topics.

    `ledger` is the newest look at the WALCluster's topics (None: there was none yet, or nobody asks for it).
    """

    now: datetime
    runs: Sequence[WALPurge] = ()
    has_cluster: bool = False
    policies: Sequence[WALPurgePolicy] = ()
    topics: Sequence[str] = ()
    ledger: LedgerPage | Unavailable | None = None


def describe_stricter(policy: WALPurgePolicy, others: Iterable[WALPurgePolicy], topics: Sequence[str]) -> str | None:
    """What others ask of topics that they share with it, as a clause; None: nothing that is stricter.

    Args:
        policy: which one says it.
        others: all of the namespace; those of other WALClusters, and those that cannot be read, ask nothing of it.
        topics: the names of the WALCluster's topics.
    """
    own = policy_of(policy)
    if isinstance(own, InvalidSpec) or isinstance(policy.spec, InvalidSpec):
        return None
    asked = [
        found
        for other in others
        if not isinstance(other.spec, InvalidSpec)
        and other.spec.cluster_ref == policy.spec.cluster_ref
        and not isinstance(found := policy_of(other), InvalidSpec)
        and strictest([own, found]).overrules(own)
        and _share(own, found, topics)
    ]
    clauses = strictest([own, *asked]).overrules(own)
    return f"stricter about topics of it: {', '.join(clauses)}" if clauses else None


def _share(one: Policy, other: Policy, topics: Sequence[str]) -> bool:
    return any(one.matches(topic) and other.matches(topic) for topic in topics)


IN_VAIN = 10
"""How many times longer the pause is while nothing can be purged."""

_WORTH_A_RUN = frozenset({None, Against.NOTHING_TO_PURGE})
"""A topic that can be purged, or where a flush may change that; no run helps one that is left alone otherwise."""


@dataclass(frozen=True, slots=True)
class Triggered:
    """A run that a topic's size begins."""

    due: datetime
    why: str


def find_triggered(spec: WALPurgePolicySpec, observed: Observed, own: OwnRuns, since: datetime) -> Triggered | None:
    """The run that is due because a topic is too large; None: none is."""
    worth = [line for line in _exceeding(spec, observed) if line.reason in _WORTH_A_RUN]
    if not worth:
        return None
    purgeable = [line for line in worth if line.reason is None]
    is_in_vain = not purgeable or spec.dry_run or _purged_nothing(own)
    pause = spec.safety.open_grace * (IN_VAIN if is_in_vain else 1)
    due = Every(pause, since).latest(since, observed.now)
    return None if due is None else Triggered(due, _sentence(max(purgeable or worth, key=_size)))


def describe_trigger(spec: WALPurgePolicySpec, observed: Observed) -> str | None:
    """When it begins runs, and what keeps it from doing so; no numbers, which would change all the time."""
    if spec.trigger is None:
        return None
    reported = f"when a topic takes more than {format_bytes(spec.trigger.topic_bytes)} on disk"
    if isinstance(observed.ledger, Unavailable):
        return f"{reported} (sizes are not known now: {observed.ledger.why.value})"
    left_alone = [line for line in _exceeding(spec, observed) if line.reason not in _WORTH_A_RUN]
    if left_alone:
        return f"{reported} ({left_alone[0].name} does, and is left alone: {left_alone[0].reason})"
    return reported


def _exceeding(spec: WALPurgePolicySpec, observed: Observed) -> list[TopicLine]:
    """The policy's topics that take more than the threshold; one of unknown size does not."""
    if spec.trigger is None or not isinstance(observed.ledger, LedgerPage):
        return []
    return [
        line for line in observed.ledger.lines if _size(line) > spec.trigger.topic_bytes and spec.selects(line.name)
    ]


def _purged_nothing(own: OwnRuns) -> bool:
    """Whether the last run that ended, as far as it is kept, was of no use."""
    last = max(own.finished, key=lambda run: run.metadata.creation_timestamp, default=None)
    return last is not None and (last.status.topics is None or last.status.topics.purged == 0)


def _size(line: TopicLine) -> int:
    return line.size_bytes or 0


def _sentence(line: TopicLine) -> str:
    return f"{line.name} takes {_size(line)} bytes on disk"


@dataclass(frozen=True, slots=True)
class Plan:
    """The state of a policy, when the next run is due (None: nobody knows, or never), and what to do now."""

    verdict: Verdict
    next_time: datetime | None = None
    actions: tuple[PolicyAction, ...] = ()


def last_run_time(policy: WALPurgePolicy, own: OwnRuns, now: datetime) -> datetime | None:
    """The last time for which a run was due, by the status and by the names of the runs that there are."""
    times = [*own.due_times(policy.metadata.name), policy.status.last_run_time]
    return newest(times, now)


def expects_runs(policy: WALPurgePolicy) -> bool:
    """Whether runs are to begin by time, as far as anybody can read: a schedule that is wrong was meant to do that."""
    spec = policy.spec
    return isinstance(spec, InvalidSpec) or not (spec.suspend or (spec.schedule is None and spec.interval is None))


def expected_period(policy: WALPurgePolicy, now: datetime) -> timedelta | None:
    """The time from the next run to the one after; None where no runs are expected by time, or nobody can read when."""
    spec = policy.spec
    if isinstance(spec, InvalidSpec) or not expects_runs(policy):
        return None
    schedule = read_schedule(spec, policy.metadata.creation_timestamp)
    return None if isinstance(schedule, BadSchedule) else period(schedule, now)


def make_plan(policy: WALPurgePolicy, observed: Observed, own: OwnRuns, last: datetime | None) -> Plan:
    """Decides. Runs that the history limits do not keep go in any case; the spec must only be readable."""
    spec = policy.spec
    if isinstance(spec, InvalidSpec):
        return Plan(_stalled(Reason.INVALID_SPEC, spec.message))
    tidying = tuple(DeleteRun(run) for run in beyond_history(spec, own.completed, own.failed))
    since = last or policy.metadata.creation_timestamp
    schedule = _schedule(policy, spec, observed, since)
    if isinstance(schedule, Verdict):
        return Plan(schedule, actions=tidying)
    if spec.suspend:
        verdict = Verdict(Outlook.READY, Reason.SUSPENDED, "suspend is set: no new runs begin")
        return Plan(verdict, actions=tidying)
    next_time = None if schedule is None else schedule.following(max(observed.now, since))
    ready = Verdict(Outlook.READY, Reason.SCHEDULED, _describe(policy, spec, schedule, observed), _observe_after(spec))
    due = None if schedule is None else schedule.latest(since, observed.now)
    triggered = find_triggered(spec, observed, own, since)
    times = [time for time in (due, triggered.due if triggered else None) if time is not None]
    if not times or own.active:
        return Plan(ready, next_time, tidying)
    key = Key(policy.metadata.namespace, run_name(policy.metadata.name, max(times)))
    if any(run.metadata.key == key for run in observed.runs):
        message = f"WALPurge {key.name} exists and was not made by this policy: delete it, or wait for the next run"
        return Plan(_stalled(Reason.RUN_NAME_TAKEN, message), next_time, tidying)
    return Plan(ready, next_time, (*tidying, CreateRun(key, run_spec(spec), triggered.why if triggered else None)))


def run_spec(spec: WALPurgePolicySpec) -> WALPurgeSpec:
    """What a run of this policy is told."""
    return WALPurgeSpec(**{name: getattr(spec, name) for name in PurgeTemplate.model_fields})


def _schedule(
    policy: WALPurgePolicy, spec: WALPurgePolicySpec, observed: Observed, since: datetime
) -> Schedule | Verdict | None:
    """The schedule, or None where time begins no runs, or what keeps all runs from beginning."""
    if len(policy.metadata.name) > MAX_POLICY_NAME:
        message = f"the name is longer than {MAX_POLICY_NAME} characters: its runs could not be named after it"
        return _stalled(Reason.NAME_TOO_LONG, message)
    is_timed = spec.schedule is not None or spec.interval is not None
    schedule = read_schedule(spec, since) if is_timed else None
    if isinstance(schedule, BadSchedule):
        return _stalled(schedule.reason, schedule.message)
    if not observed.has_cluster:
        message = f"there is no WALCluster {spec.cluster_ref.name} in this namespace, or it is being deleted"
        return _stalled(Reason.CLUSTER_MISSING, message)
    return schedule


def _describe(policy: WALPurgePolicy, spec: WALPurgePolicySpec, schedule: Schedule | None, observed: Observed) -> str:
    when = (None if schedule is None else schedule.describe(), describe_trigger(spec, observed))
    message = f"runs begin {', and '.join(reported for reported in when if reported is not None)}"
    stricter = describe_stricter(policy, observed.policies, observed.topics)
    return message if stricter is None else f"{message}; {stricter}"


def _observe_after(spec: WALPurgePolicySpec) -> float | None:
    return None if spec.trigger is None else POLICY_TRIGGER_SECONDS


def _stalled(reason: Reason | ScheduleReason, message: str) -> Verdict:
    return Verdict(Outlook.STALLED, reason, message)
