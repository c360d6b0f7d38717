"""The next step of a WALCluster's reassignment: a pure function of the object and of what was observed.

    deleted, no run: nothing → look → journal readable → the stage:

    stage             in the status        made in the world                      what ends it
    ----------------  -------------------  -------------------------------------  ------------------------------------
    (none, or over)   infeasible           the journal, if something is to move   the journal stands and plans the same
                      electionTime         leaders elected, if that is asked for   they lead, or 5 minutes are over
    Pending           digest, numbers      —                                      nothing hinders: Ongoing
    AwaitingApproval  digest               —                                      the annotation names it: Pending
    Ongoing           ratesBefore: it has  finalizer, throttle, then a batch,     all are moved or refused: Verifying;
                      the turn; numbers    again                                  not its turn: Pending (`ahead`)
    Verifying         —                    throttle removed, leaders elected      all are in sync: Completed
    Aborting          abortCause           moves cancelled (by a person: moved    nothing is on its way, no throttle:
                                           back, in batches), throttle removed    Aborted
    Completed,        times, message       finalizer removed; a throttle that     another plan
    Aborted                                came late removed (`late`)

Pending and AwaitingApproval end in Aborted at once when the plan is no more wanted or partitions are elsewhere.
Ongoing and Verifying end in Aborting when a person says so, another thing is declared, the WALCluster is deleted, or
the journal is lost. Verifying falls back to Ongoing when a partition is not where it was moved to.

A tick records or acts, never both. What is on its way is seen in Kafka, so a process may die between any two calls.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import assert_never

from seawall.api.meta import REASSIGNMENT_FINALIZER
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.reassignment import (
    MAX_REFUSED,
    AbortCause,
    ReassignmentSpec,
    ReassignmentStage,
    ReassignmentStatus,
    RefusedPartition,
)
from seawall.domain.clocks import prolonged
from seawall.domain.partitions import PartitionId
from seawall.domain.reassignment import stages
from seawall.domain.reassignment.actions import ElectLeaders, RemoveFinalizer, WriteJournal, shown
from seawall.domain.reassignment.case import MAX_MESSAGE, Case, Decision
from seawall.domain.reassignment.journal import Journal
from seawall.domain.reassignment.observed import KafkaState, Observed
from seawall.domain.reassignment.throttling import estimate_seconds, late_throttle, leftover_throttle
from seawall.domain.reassignment.tracker import not_preferred_in
from seawall.domain.sharing import Sharing
from seawall.domain.step import EventType
from seawall.domain.times import (
    REASSIGNMENT_GIVE_UP_AFTER,
    REASSIGNMENT_LEADERS_WAIT,
    REASSIGNMENT_RETRY_REFUSED,
    REASSIGNMENT_WAIT_SECONDS,
    SILENCE_LONGEST_BREAK,
)

BEFORE_MOVES = frozenset({ReassignmentStage.PENDING, ReassignmentStage.AWAITING_APPROVAL})


def decide_run(cluster: WALCluster, spec: ReassignmentSpec, observed: Observed) -> Decision:
    """What the status should be, or what to do."""
    status = cluster.status.reassignment
    if status is None or not status.is_active:
        return _without_run(cluster, spec, observed, status)
    if isinstance(observed.kafka, str):
        return _unavailable(cluster, observed, status, observed.kafka)
    status = status.model_copy(update={"unanswered": None})
    journal = observed.journal.readable
    if journal is None or journal.digest != status.digest:
        return _without_journal(observed, observed.kafka, status)
    case = Case(cluster, spec, observed, observed.kafka, journal, status)
    return _with_refused(case, _stage(case))


def _stage(case: Case) -> Decision:
    stage = case.status.stage
    match stage:
        case ReassignmentStage.PENDING:
            return stages.pending(case)
        case ReassignmentStage.AWAITING_APPROVAL:
            return stages.await_approval(case)
        case ReassignmentStage.ONGOING:
            return stages.go_on(case)
        case ReassignmentStage.VERIFYING:
            return stages.verify(case)
        case ReassignmentStage.ABORTING:
            return stages.turn_back(case)
        case ReassignmentStage.COMPLETED | ReassignmentStage.ABORTED | None:
            raise ValueError("a reassignment that is over has no next stage")
        case unknown:
            assert_never(unknown)


def _without_run(
    cluster: WALCluster, spec: ReassignmentSpec, observed: Observed, status: ReassignmentStatus | None
) -> Decision:
    """Whether one is to begin."""
    metadata, left = cluster.metadata, _what_is_left(cluster, observed, status)
    if left is not None:
        return left
    idle = _updated(status, election_time=None)
    if metadata.deletion_timestamp is not None or metadata.is_paused or metadata.aborts_reassignment:
        return Decision(idle, why="no reassignment begins: deleted, paused, or an annotation forbids it")
    if isinstance(observed.kafka, str) or observed.plan is None:
        return _elect(cluster, status, observed) or Decision(_at_rest(cluster, status, observed))
    if not isinstance(observed.plan, Journal):
        message = observed.plan.message
        return Decision(_updated(idle, infeasible=message[:MAX_MESSAGE]), why=message)
    if status is not None and _was_refused(cluster, status, observed):
        return Decision(idle, why="what Kafka refused is tried again later")
    return _begin(cluster, spec, observed, observed.plan)


def _what_is_left(cluster: WALCluster, observed: Observed, status: ReassignmentStatus | None) -> Decision | None:
    """What the last run, or an operator that slept, has left goes first: a plan would take it for what stood before."""
    if REASSIGNMENT_FINALIZER in cluster.metadata.finalizers:
        return Decision(status, (RemoveFinalizer(),), REASSIGNMENT_WAIT_SECONDS)
    if status is None or isinstance(observed.kafka, str) or cluster.metadata.is_paused:
        return None
    throttle = late_throttle(observed.kafka, observed, status)
    if throttle is None:
        return None
    why = "a throttle came after the end of its run, and is removed"
    return Decision(status, (throttle,), REASSIGNMENT_WAIT_SECONDS, why)


def _begin(cluster: WALCluster, spec: ReassignmentSpec, observed: Observed, plan: Journal) -> Decision:
    """The journal first, then the status that names its digest."""
    found, before = observed.journal, cluster.status.reassignment
    if found.is_foreign:
        message = f"ConfigMap {cluster.metadata.name}-reassignment exists and is no plan of this WALCluster"
        return Decision(_updated(before, infeasible=message, election_time=None), why=message)
    frozen = found.readable
    is_used = frozen is not None and before is not None and frozen.digest == before.digest
    if frozen is None or is_used or not frozen.plans_the_same(plan):
        return Decision(before, (WriteJournal(plan, found.version),), REASSIGNMENT_WAIT_SECONDS, "a plan is frozen")
    status = ReassignmentStatus(
        stage=ReassignmentStage.PENDING,
        digest=frozen.digest,
        why=frozen.why,
        message=f"{len(frozen.moves)} partitions are to be moved",
        bytes=frozen.copied,
        bytes_left=frozen.copied,
        estimated_seconds=estimate_seconds(frozen, spec.throttle_bytes_per_second),
        observed_generation=cluster.metadata.generation,
        rebalanced_for=cluster.metadata.rebalance_asked or (before.rebalanced_for if before is not None else None),
        stage_time=observed.now,
        progress_time=observed.now,
    )
    return Decision(status, (), 0.0, status.message)


def _elect(cluster: WALCluster, status: ReassignmentStatus | None, observed: Observed) -> Decision | None:
    """Who asks for balance and has it in replicas gets preferred leaders as well; None: they lead, or nobody asks."""
    kafka, asked = observed.kafka, cluster.metadata.rebalance_asked
    if isinstance(kafka, str) or asked is None or (status is not None and status.rebalanced_for == asked):
        return None
    others = not_preferred_in(kafka)
    if not others or _is_moved_by_others(kafka):
        return None
    since = (status.election_time if status is not None else None) or observed.now
    if observed.now < since + REASSIGNMENT_LEADERS_WAIT:
        electing = _updated(status, election_time=since, election_message="")
        return Decision(electing, (ElectLeaders(others),), REASSIGNMENT_WAIT_SECONDS, "preferred leaders are elected")
    why = f"{shown(others)} are not led by their preferred leaders yet, and were to be elected for five minutes"
    if status is not None and status.failed_change is not None:
        why += f": {status.failed_change.message}"
    answered = _updated(status, rebalanced_for=asked, election_time=None, election_message=why[:MAX_MESSAGE])
    return Decision(answered, why=why)


def _at_rest(cluster: WALCluster, status: ReassignmentStatus | None, observed: Observed) -> ReassignmentStatus | None:
    """Nothing is to be moved: nothing is infeasible any more, and who asked for balance has it.

    While Kafka is silent nobody knows: what waits for an election is answered in its time all the same.
    """
    kafka, asked = observed.kafka, cluster.metadata.rebalance_asked
    if isinstance(kafka, str):
        return status
    update: dict[str, str | None] = {"infeasible": None, "election_time": None}
    if asked is not None and not _is_moved_by_others(kafka):
        if status is None or status.rebalanced_for != asked:
            update["election_message"] = ""
        update["rebalanced_for"] = asked
    return _updated(status, **update)


def _updated(status: ReassignmentStatus | None, **update: object) -> ReassignmentStatus | None:
    """The status with these; one that says nothing is none."""
    left = (status or ReassignmentStatus()).model_copy(update=update)
    return None if left == ReassignmentStatus() else left


def _is_moved_by_others(kafka: KafkaState) -> bool:
    """Whether somebody moves replicas, or is about to: where these and leaders will be is not known."""
    rebalances = isinstance(kafka.sharing, Sharing) and kafka.sharing.rebalance is not None
    return rebalances or any(found in kafka.partitions for found in kafka.ongoing)


def _was_refused(cluster: WALCluster, status: ReassignmentStatus, observed: Observed) -> bool:
    ended = status.completion_time
    is_same_spec = status.observed_generation == cluster.metadata.generation
    return (
        bool(status.refused)
        and is_same_spec
        and ended is not None
        and observed.now < ended + REASSIGNMENT_RETRY_REFUSED
    )


def _unavailable(cluster: WALCluster, observed: Observed, status: ReassignmentStatus, message: str) -> Decision:
    """Nobody can look. A deletion is not held up for ever: it goes on once that has lasted for ten minutes."""
    update: dict[str, object] = {"message": message[:MAX_MESSAGE]}
    is_deleted = cluster.metadata.deletion_timestamp is not None
    if is_deleted and REASSIGNMENT_FINALIZER in cluster.metadata.finalizers:
        if observed.rights_are_gone:
            why = f"its namespace is being deleted, a throttle may be left: {message}"
            return Decision(status, (RemoveFinalizer(why, EventType.WARNING),))
        found = prolonged(status.unanswered, observed.now, SILENCE_LONGEST_BREAK)
        if observed.now - found.from_time >= REASSIGNMENT_GIVE_UP_AFTER:
            why = f"Kafka could not be asked for 10 minutes, a throttle may be left: {message}"
            return Decision(status, (RemoveFinalizer(why, EventType.WARNING),))
        update["unanswered"] = found
    return Decision(status.model_copy(update=update), (), REASSIGNMENT_WAIT_SECONDS, message)


def _without_journal(observed: Observed, kafka: KafkaState, status: ReassignmentStatus) -> Decision:
    """Nobody knows what it meant to do: what is on its way arrives, under the throttle, which then goes."""
    reported = stages.WHY_ABORTED[AbortCause.JOURNAL_LOST]
    update = {"stage": ReassignmentStage.ABORTING, "stage_time": observed.now, "abort_cause": AbortCause.JOURNAL_LOST}
    if status.stage in BEFORE_MOVES:
        update = {**update, "stage": ReassignmentStage.ABORTED, "completion_time": observed.now}
    elif status.abort_cause is AbortCause.JOURNAL_LOST:
        if any(found in kafka.partitions for found in kafka.ongoing):
            stays = status.model_copy(update={"message": "its targets are lost: it waits for what is on its way"})
            return Decision(stays, (), REASSIGNMENT_WAIT_SECONDS, stays.message)
        throttle = leftover_throttle(kafka, kafka.throttles.topics.keys(), status, {})
        if throttle is not None:
            return Decision(
                status.model_copy(update={"message": reported}), (throttle,), REASSIGNMENT_WAIT_SECONDS, reported
            )
        update = {"stage": ReassignmentStage.ABORTED, "stage_time": observed.now, "completion_time": observed.now}
        update |= {"throttle_bytes_per_second": None, "most_min_in_sync_replicas": None}
    return Decision(status.model_copy(update={**update, "message": reported}), (), 0.0, reported)


def _with_refused(case: Case, decision: Decision) -> Decision:
    """A partition that Kafka refused to move in this tick is not asked for again."""
    refused, status = case.observed.refused, decision.status
    if not refused or status is None:
        return decision
    known = {(row.topic, row.partition) for row in case.status.refused}
    rows = _refused_rows(refused, known)
    message = next(iter(refused.values()))
    update = {"message": message[:MAX_MESSAGE], "refused": (*case.status.refused, *rows)[:MAX_REFUSED]}
    return Decision(status.model_copy(update=update), (), REASSIGNMENT_WAIT_SECONDS, message)


def _refused_rows(
    refused: Mapping[PartitionId, str], known: Collection[tuple[str, int]]
) -> tuple[RefusedPartition, ...]:
    """What Kafka refused just now, as rows of the status."""
    return tuple(
        RefusedPartition(topic=found.topic, partition=found.partition, message=message[:512])
        for found, message in sorted(refused.items())
        if found not in known
    )
