"""Builds a WALPurge's status: its conditions from a verdict, and its counts from what became of the topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from seawall.api.v1alpha1.purge import (
    MAX_HELD_BY,
    PlannedTopic,
    RunTopics,
    SkippedTopic,
    Stage,
    WALPurge,
    WALPurgeStatus,
)
from seawall.domain.conditions import ConditionBuilder, Verdict
from seawall.domain.frozen_targets import Target
from seawall.domain.kafka import by_number
from seawall.domain.kafka_log import DeleteRefused
from seawall.domain.ledger import rules
from seawall.domain.ledger.reasons import NO_TROUBLE
from seawall.domain.ledger.reasons import Reason as Against
from seawall.domain.purge.reasons import Reason, TopicEnd
from seawall.domain.purge.state import RunState

MAX_ROWS = 50
"""Topics that a status names for people."""

WAITING = frozenset({Reason.QUEUED, Reason.PAUSED, Reason.CANNOT_OBSERVE, Reason.VERIFYING, Reason.SEEING})
"""What the condition Waiting is about: something else has to happen first."""

DAMAGE = frozenset({Against.LOG_START_BEYOND_REPLAY, Against.FENCE_BROKEN, Against.FOREIGN_DELETE})
"""What a person has to hear of a topic, whatever the run deleted there before."""

_ENDS: tuple[Against | TopicEnd, ...] = (*(reason for reason, _ in rules.LEFT_ALONE), *TopicEnd)
_WORST_FIRST: tuple[str, ...] = tuple(sorted(map(str, _ENDS), key=NO_TROUBLE.__contains__))
"""Where nothing is wrong comes last: a policy takes a run for a success if no row says otherwise."""


def with_conditions(run: WALPurge, status: WALPurgeStatus, verdict: Verdict, now: datetime) -> WALPurgeStatus:
    """The status with the conditions of a verdict."""
    build = ConditionBuilder(run.status.conditions, run.metadata.generation, now)
    conditions = build.of_run(
        verdict,
        complete=status.stage is Stage.COMPLETED,
        failed=status.stage is Stage.FAILED,
        waiting=verdict.reason in WAITING,
    )
    return status.model_copy(update={"conditions": conditions, "observed_generation": run.metadata.generation})


def so_far(state: RunState) -> WALPurgeStatus:
    """The status with what was deleted until now; a topic that Kafka does not tell of counts as it did before."""
    status = state.status
    gone = [_gone(state, topic) for topic in state.frozen]
    counted = RunTopics(total=len(state.rows), purged=sum(1 for entries in gone if entries > 0))
    before = status.topics.purged if status.topics else 0
    deleted = max(sum(gone), status.entries_deleted or 0)
    return status.model_copy(
        update={
            "topics": counted.model_copy(update={"purged": max(counted.purged, before)}),
            "entries_deleted": deleted,
        }
    )


def at_end(state: RunState, stage: Stage, now: datetime) -> WALPurgeStatus:
    """The status of a run that is over: what became of each topic; one that is damaged counts as left alone."""
    status, ends = so_far(state), {topic: _end_of(state, topic) for topic in state.rows}
    skipped = {topic: end for topic, end in ends.items() if end not in {None, Against.NOTHING_TO_PURGE}}
    failed = sum(1 for end in skipped.values() if isinstance(end, TopicEnd))
    damaged = sum(1 for topic, end in skipped.items() if topic in state.frozen and _gone(state, topic) > 0)
    purged = (status.topics.purged if status.topics else 0) - damaged
    counts = RunTopics(
        total=len(ends),
        purged=purged,
        unchanged=max(0, len(ends) - purged - len(skipped)),
        skipped=len(skipped) - failed,
        failed=failed,
    )
    return status.model_copy(
        update={
            "stage": stage,
            "completion_time": now,
            "topics": counts,
            "skipped": _worst(state, skipped.items()),
            "bytes_after": state.size_bytes(),
        }
    )


def planned_rows(targets: Mapping[str, Target]) -> tuple[PlannedTopic, ...]:
    """Those that go by a person's word, then those of which most goes; as many as a status names."""

    def order(pair: tuple[str, Target]) -> tuple[bool, int, str]:
        topic, target = pair
        return target.declared is None and target.dead is None, -target.entries, topic

    return tuple(
        PlannedTopic(
            topic=topic,
            log_start=target.log_start,
            purge_to=target.purge_to,
            declared=target.declared,
            dead=target.dead,
        )
        for topic, target in sorted(targets.items(), key=order)[:MAX_ROWS]
    )


def _gone(state: RunState, topic: str) -> int:
    """Entries up to the intent: what went beyond it, or while there was none, somebody else deleted."""
    now = state.log_start(topic)
    intent = None if now is None else state.intent(topic)
    return 0 if now is None or intent is None else max(0, min(now, intent) - state.frozen[topic].log_start)


def _end_of(state: RunState, topic: str) -> Against | TopicEnd | None:
    """Why a topic was left alone; None: it was purged, or would be (dry run)."""
    if topic not in state.frozen:
        return state.against_plan(topic)
    against = state.against_delete(topic)
    if against in DAMAGE and not state.may_pass(topic, against):
        return against
    if _gone(state, topic) > 0:
        return None
    if topic in state.refused:
        return end_of_refused(state.refused[topic])
    return against or TopicEnd.DELETE_UNANSWERED


def end_of_refused(refused: DeleteRefused) -> TopicEnd:
    """What a refusal is called."""
    return TopicEnd.NOT_SUPPORTED if refused.unsupported else TopicEnd.DELETE_REFUSED


def _worst(state: RunState, skipped: Iterable[tuple[str, Against | TopicEnd | None]]) -> tuple[SkippedTopic, ...]:
    ordered = sorted(skipped, key=lambda pair: (_WORST_FIRST.index(str(pair[1])), by_number(pair[0])))
    return tuple(
        SkippedTopic(topic=topic, reason=str(end), held_by=state.held_by(topic)[:MAX_HELD_BY])
        for topic, end in ordered[:MAX_ROWS]
    )
