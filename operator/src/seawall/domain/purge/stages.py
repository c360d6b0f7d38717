"""What a run that has begun does next, stage by stage, from one look: the status as it should be, or actions.

    Preparation → Communication → Verification → Purge → Completed

Nothing is remembered but the status; what was done is seen in the metadata store, in the intents and in Kafka.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from seawall.api.v1alpha1.purge import FlushStatus, RefusedTopic, Stage, WALPurgeSpec, WALPurgeStatus
from seawall.domain.conditions import Outlook, Verdict
from seawall.domain.dataplane.flush import FLUSH_BATCH
from seawall.domain.dataplane.metadata import MarkerMove
from seawall.domain.decision import Decision
from seawall.domain.frozen_targets import Written
from seawall.domain.kafka_log import DELETE_BATCH
from seawall.domain.ledger.actions import claim_of
from seawall.domain.ledger.intents import FenceRecord, raise_intent
from seawall.domain.ledger.ledger import announcements
from seawall.domain.ledger.mode import Mode
from seawall.domain.ledger.page import first_broken
from seawall.domain.purge.actions import (
    Announce,
    DeleteRecords,
    FlushRegions,
    PurgeAction,
    WriteIntents,
    WriteTargets,
)
from seawall.domain.purge.reasons import Reason
from seawall.domain.purge.state import Observed, RunState, candidates, still_waited_for
from seawall.domain.purge.status import MAX_ROWS, at_end, end_of_refused, planned_rows, so_far
from seawall.domain.purge.waits import Times
from seawall.domain.times import PURGE_VERIFICATION_WAIT

PurgeDecision = Decision[WALPurgeStatus, PurgeAction]
"""The status as it should be, conditions apart; if it is so already, what to do."""


@dataclass(frozen=True, slots=True)
class Case:
    """A run that has its turn, and a look at its ledger."""

    spec: WALPurgeSpec
    observed: Observed
    state: RunState
    times: Times

    @property
    def now(self) -> datetime:
        """The time of this tick."""
        return self.observed.now

    @property
    def status(self) -> WALPurgeStatus:
        """The status as it was read."""
        return self.state.status

    def goes_on(self, reason: Reason, message: str) -> Verdict:
        """It waits for something, and looks again at the next poll."""
        return Verdict(Outlook.PROGRESSING, reason, message, self.times.poll.total_seconds())

    def waits_for_topics(self, until: datetime) -> bool:
        """Whether what is against any topic may still pass before the run goes on.

        An operator that started a moment ago waits for itself; for a topic that is in trouble it does not wait long.
        """
        soon = min(until, self.times.soon(self.status, self.now))
        watched = self.times.watched_by(until, self.state.watched_since())
        against = ((topic, self.state.against_plan(topic)) for topic in self.state.rows)
        return any(
            self.now < (watched if self.state.is_watched_too_shortly(topic) else soon)
            for topic, reason in against
            if self.state.may_pass(topic, reason)
        )


def begin(case: Case) -> PurgeDecision:
    """The run begins."""
    update = {"stage": Stage.PREPARATION, "start_time": case.now, "bytes_before": case.state.size_bytes()}
    status = so_far(case.state).model_copy(update=update)
    return Decision(status, case.goes_on(Reason.PREPARING, "it reads what the database needs"))


def prepare(case: Case) -> PurgeDecision:
    """Waits until all reports were seen to advance, then plans."""
    if case.waits_for_topics(case.times.prepared_by(case.status, case.now)):
        message = "it waits until the report of every region was seen to advance"
        return Decision(case.status, case.goes_on(Reason.PREPARING, message), _urgent(case))
    asked = candidates(case.state, case.spec)
    if case.spec.dry_run:
        return _planned(case, len(asked))
    if not asked:
        return verify(case)
    flush = FlushStatus(start_time=case.now, regions=asked)
    status = case.status.model_copy(update={"stage": Stage.COMMUNICATION, "flush": flush})
    return Decision(status, case.goes_on(Reason.FLUSHING, _flushing(len(asked))))


def communicate(case: Case) -> PurgeDecision:
    """Asks for flushes, a few at a time, those first that were not asked lately; a failing one starves nobody."""
    waited_for = still_waited_for(case.state)
    if not waited_for or case.now >= case.times.flushed_by(case.status, case.now):
        return verify(case)
    ask = [region for region in waited_for if region not in case.observed.asked_lately]
    batch = tuple(ask[: min(case.spec.flush.max_concurrent, FLUSH_BATCH)])
    actions = (FlushRegions(batch, case.state.observation.cluster),) if batch else _urgent(case)
    return Decision(case.status, case.goes_on(Reason.FLUSHING, _flushing(len(waited_for))), actions)


def verify(case: Case) -> PurgeDecision:
    """Waits for a verification that runs, if a policy requires one; without it those topics are left alone."""
    awaited, since = case.state.awaited_verification(), case.status.verification_time or case.now
    if awaited is None or case.now >= since + PURGE_VERIFICATION_WAIT:
        return see(case)
    status = case.status.model_copy(update={"stage": Stage.VERIFICATION, "verification_time": since})
    return Decision(status, case.goes_on(Reason.VERIFYING, f"it waits for WALVerification {awaited}"), _urgent(case))


def see(case: Case) -> PurgeDecision:
    """Writes down what is seen, once; the next tick says so in the status (`freeze`)."""
    if case.waits_for_topics(case.times.reported_by(case.status, case.now)):
        message = "it waits until the report of every region was seen to advance"
        status = case.status.model_copy(update={"stage": Stage.PURGE})
        return Decision(status, case.goes_on(Reason.PREPARING, message), _urgent(case))
    targets = case.state.targets()
    if not targets:
        return _completed(case)
    write = WriteTargets(targets, case.state.observation.cluster)
    return Decision(case.status, _seeing(case, len(targets)), (write,))


def freeze(case: Case, written: Written) -> PurgeDecision:
    """Says in the status what was written down; in mode B it is announced afterwards, and counts from then on.

    A process that dies before leaves ConfigMaps that nobody names.
    """
    frozen = {"seen_time": case.now, "frozen": written.frozen, "planned": planned_rows(written.targets)}
    status = so_far(case.state).model_copy(update={"stage": Stage.PURGE, **frozen})
    return Decision(status, _seeing(case, len(written.targets)))


def purge(case: Case) -> PurgeDecision:
    """Announces, waits for the evidence, writes the intents, deletes; and ends when nothing of it is left."""
    if case.status.frozen is None:
        return see(case)
    status = _with_refusals(so_far(case.state), case.observed)
    may = {topic: to for topic in _open_targets(case) if (to := case.state.purge_to(topic)) is not None}
    waiting = _waiting(case)
    actions = _deletes(case, may) or _intents(case, may) or _announcements(case, waiting)
    if actions:
        message = f"it deletes from {len(may)} topics, and waits for the evidence of {len(waiting)}"
        return Decision(status, case.goes_on(Reason.DELETING, message), actions)
    if waiting:
        return Decision(status, _seeing(case, len(waiting)), _urgent(case))
    if found := _urgent(case):
        return Decision(status, case.goes_on(Reason.DELETING, "it records what it found of the logs"), found)
    return _completed(replace(case, state=replace(case.state, status=status)))


def _open_targets(case: Case) -> list[str]:
    return [topic for topic in case.state.frozen if topic not in case.state.refused]


def _waiting(case: Case) -> list[str]:
    """The topics whose evidence may still come."""
    seen_time = case.status.seen_time or case.now
    if case.now >= case.times.proved_by(seen_time, case.state.known_since()):
        return []
    state = case.state
    return [topic for topic in _open_targets(case) if state.may_pass(topic, state.against_delete(topic))]


def _deletes(case: Case, may: dict[str, int]) -> tuple[PurgeAction, ...]:
    """One batch of those whose intent was read, before the holds were, to be as high."""
    before: dict[str, int] = {}
    for topic, to in may.items():
        intent = case.state.intent(topic)
        if intent is not None and intent >= to and len(before) < DELETE_BATCH:
            before[topic] = min(intent, to)
    logs = case.state.observation.read.logs
    topic_ids = {topic: found for topic in before if (found := logs[topic].topic_id) is not None}
    epochs = {topic: epoch for topic in topic_ids if (epoch := logs[topic].leader_epoch) is not None}
    return (
        (
            DeleteRecords(
                {topic: before[topic] for topic in topic_ids},
                topic_ids,
                epochs,
                case.state.observation.pool,
                case.state.observation.cluster,
            ),
        )
        if topic_ids
        else ()
    )


def _intents(case: Case, may: dict[str, int]) -> tuple[PurgeAction, ...]:
    """The intents of all topics that may be deleted from, with the newest of what is known of their logs."""
    records: dict[str, FenceRecord] = {}
    for topic, to in may.items():
        identity = case.state.observation.assessment.identities.get(topic)
        if identity is not None and identity.record is not None:
            records[topic] = raise_intent(identity.record, to)
    return _write(case, records) if records else ()


def _urgent(case: Case) -> tuple[PurgeAction, ...]:
    """What is to be written of the logs in any case: first contacts, verdicts, new leader epochs."""
    records = case.state.observation.urgent_records()
    return _write(case, records) if records and not case.spec.dry_run else ()


def _write(case: Case, records: dict[str, FenceRecord]) -> tuple[PurgeAction, ...]:
    shards = case.state.observation.shards.changed(records)
    return (
        (WriteIntents(case.state.observation.pool, shards, len(records), case.state.observation.cluster),)
        if shards
        else ()
    )


def _announcements(case: Case, waiting: list[str]) -> tuple[PurgeAction, ...]:
    """Markers up to what was seen, of topics for which a run that begins now would announce at least as much."""
    if case.state.planned.case.prune_mode.mode is not Mode.B:
        return ()
    targets, snapshot, wanted = case.state.frozen, case.state.observation.read.snapshot, frozenset(waiting)
    moves = tuple(
        MarkerMove(found.topic, targets[found.topic].recorded, snapshot.topics[found.topic], found.revision)
        for found in announcements(case.state.planned)
        if found.topic in wanted and found.expected < targets[found.topic].recorded <= found.marker
    )
    if not moves:
        return ()
    if (claim := claim_of(case.state.observation)) is not None:
        return (claim,)
    batch = moves[:DELETE_BATCH]
    return (Announce(batch, case.state.flushed([move.topic for move in batch]), case.state.observation.cluster),)


def _with_refusals(status: WALPurgeStatus, observed: Observed) -> WALPurgeStatus:
    named = {each.topic for each in status.refused}
    rows = [
        RefusedTopic(topic=topic, reason=end_of_refused(refused).value, message=refused.message[:512])
        for topic, refused in observed.refused.items()
        if topic not in named
    ]
    return status.model_copy(update={"refused": (*status.refused, *rows)[:MAX_ROWS]}) if rows else status


def _planned(case: Case, flushes: int) -> PurgeDecision:
    """The end of a dry run."""
    targets = case.state.targets()
    entries = sum(target.entries for target in targets.values())
    ended = at_end(case.state, Stage.COMPLETED, case.now).model_copy(update={"planned": planned_rows(targets)})
    message = f"it would ask {flushes} regions to flush, and delete {entries} entries of {len(targets)} topics"
    return Decision(ended, Verdict(Outlook.READY, Reason.PLANNED, message))


def _completed(case: Case) -> PurgeDecision:
    ended = at_end(case.state, Stage.COMPLETED, case.now)
    counts = ended.topics
    left = (counts.skipped + counts.failed) if counts else 0
    purged = counts.purged if counts else 0
    message = f"{ended.entries_deleted or 0} entries of {purged} topics were deleted, {left} topics were left alone"
    broken = first_broken(case.state.planned)
    if broken is not None:
        message += f"; nothing of the pool is deleted while the identity fence of {broken} is broken"
    return Decision(ended, Verdict(Outlook.READY, Reason.COMPLETED, message))


def _seeing(case: Case, topics: int) -> Verdict:
    message = f"{topics} topics: every region has to report twice since it was seen what may go"
    return case.goes_on(Reason.SEEING, message)


def _flushing(regions: int) -> str:
    return f"{regions} regions were asked to flush and are waited for"
