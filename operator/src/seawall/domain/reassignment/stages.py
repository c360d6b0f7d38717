"""What a run does next, stage by stage: the status as it should be, or actions."""

from __future__ import annotations

from seawall.api.meta import ABORT_ANNOTATION, PAUSED_ANNOTATION, REASSIGNMENT_FINALIZER
from seawall.api.v1alpha1.reassignment import MAX_REFUSED, AbortCause, ReassignmentStage
from seawall.domain.ledger.restarts import pod_that_restarts
from seawall.domain.min_isr import most_min_isr
from seawall.domain.reassignment.actions import (
    AddFinalizer,
    Cancel,
    ClearThrottle,
    ElectLeaders,
    RememberLists,
    Submit,
    shown,
)
from seawall.domain.reassignment.batch import may_cancel, next_batch
from seawall.domain.reassignment.case import Case, Decision
from seawall.domain.reassignment.observed import has_turn
from seawall.domain.reassignment.throttling import (
    arrived_throttle,
    cluster_rate,
    is_foreign,
    leftover_throttle,
    lists_of_others,
    remembered,
    said_of_brokers,
    throttle_for,
    why_slow,
)
from seawall.domain.reassignment.tracker import Direction, MoveTracker, Progress, asks, at_end, not_preferred, so_far
from seawall.domain.sharing import Sharing
from seawall.domain.times import REASSIGNMENT_LEADERS_WAIT, REASSIGNMENT_POLL_SECONDS

UNFINISHED = (Progress.IN_FLIGHT, Progress.TO_CANCEL, Progress.OPEN, Progress.UNKNOWN)


def pending(case: Case) -> Decision:
    """Nothing has moved: the plan is dropped if it is stale, else it begins as soon as it may."""
    ended = _why_dropped(case)
    if ended is not None:
        return dropped(case, ended)
    if not case.is_approved:
        return case.enters(ReassignmentStage.AWAITING_APPROVAL, asks(case.journal))
    blocker = _why_not_yet(case, case.tracker(Direction.FORWARD))
    if blocker is not None:
        return case.stays(blocker)
    most = _most_min_isr(case)
    return case.enters(
        ReassignmentStage.ONGOING, "replicas begin to move", start_time=case.now, most_min_in_sync_replicas=most
    )


def await_approval(case: Case) -> Decision:
    """A person is asked; a plan that is stale meanwhile is dropped, and the next one has another digest."""
    ended = _why_dropped(case)
    if ended is not None:
        return dropped(case, ended)
    if case.is_approved:
        return case.enters(ReassignmentStage.PENDING, "it is approved")
    return case.stays(asks(case.journal))


def go_on(case: Case) -> Decision:
    """Throttle, submit, wait; until nothing is left that can be submitted."""
    cause = _why_aborted(case)
    if cause is not None:
        return abort(case, cause)
    if not has_turn(case.status):
        return _take_turn(case)
    tracker = case.tracker(Direction.FORWARD)
    if tracker.count(*UNFINISHED) == 0 or (_is_given_up(tracker) and tracker.count(Progress.IN_FLIGHT) == 0):
        return case.with_numbers(
            case.enters(
                ReassignmentStage.VERIFYING, "all is moved that could be: in-sync replicas and leaders are verified"
            ),
            tracker,
        )
    return case.with_numbers(_move(case, tracker), tracker)


def verify(case: Case) -> Decision:
    """Throttles are removed first: what is waited for then is slowed down by nothing."""
    cause = _why_aborted(case)
    if cause is not None:
        return abort(case, cause)
    tracker = case.tracker(Direction.FORWARD)
    if tracker.count(Progress.OPEN, Progress.IN_FLIGHT) and not _is_given_up(tracker):
        return case.enters(ReassignmentStage.ONGOING, "a partition is not where it was moved to")
    if tracker.count(Progress.UNKNOWN):
        return case.stays(f"Kafka does not tell of {tracker.count(Progress.UNKNOWN)} partitions")
    return case.with_numbers(_verify(case, tracker), tracker)


def turn_back(case: Case) -> Decision:
    """What is on its way is cancelled; with an abort by a person, what was moved goes back."""
    cause = case.status.abort_cause
    if cause is AbortCause.BY_PERSON and not case.cluster.metadata.aborts_reassignment:
        return abort(case, AbortCause.SUPERSEDED)
    if cause is AbortCause.BY_PERSON and case.cluster.metadata.is_paused and _is_deleted(case):
        return abort(case, AbortCause.DELETED)  # a pause submits nothing, so nothing goes back
    tracker = case.tracker(Direction.BACK if cause is AbortCause.BY_PERSON else Direction.STAY)
    return case.with_numbers(_turn_back(case, tracker), tracker)


def abort(case: Case, cause: AbortCause) -> Decision:
    """It is given up."""
    most = _most_min_isr(case)
    return case.enters(
        ReassignmentStage.ABORTING, WHY_ABORTED[cause], abort_cause=cause, most_min_in_sync_replicas=most
    )


def dropped(case: Case, cause: AbortCause) -> Decision:
    """It ends before anything moved."""
    message = f"{WHY_ABORTED[cause]}; nothing had been moved"
    return case.enters(ReassignmentStage.ABORTED, message, abort_cause=cause, completion_time=case.now)


WHY_ABORTED = {
    AbortCause.BY_PERSON: f"{ABORT_ANNOTATION} is set: partitions get their original replicas back",
    AbortCause.SUPERSEDED: "something else is declared now, or partitions changed: it is planned anew from what is",
    AbortCause.DELETED: "the WALCluster is being deleted: what was moved stays",
    AbortCause.JOURNAL_LOST: "the ConfigMap with its targets is gone or damaged: what was moved stays",
}


def _take_turn(case: Case) -> Decision:
    """Another run may have begun at the same moment: `ahead` has the rules."""
    line = case.observed.line
    if line.ahead is not None:
        message = f"WALCluster {line.ahead} goes first"
        return case.enters(ReassignmentStage.PENDING, message, start_time=None, most_min_in_sync_replicas=None)
    if line.contender is not None:
        return case.stays(f"WALCluster {line.contender} begins at the same moment", REASSIGNMENT_POLL_SECONDS)
    lists = lists_of_others(case.kafka, case.journal.topics)
    if lists != case.observed.journal.lists:
        message = "it writes down what others have throttled of its topics"
        return case.stays(message, 0.0, RememberLists(case.journal, lists, case.observed.journal.version))
    return Decision(case.status.model_copy(update={"rates_before": remembered(case.kafka)}), (), 0.0)


def _leftover(case: Case) -> ClearThrottle | None:
    """What is left of the throttle, if the run has set one."""
    if not case.throttles:
        return None
    return leftover_throttle(case.kafka, case.journal.topics, case.status, case.observed.journal.lists)


def _move(case: Case, tracker: MoveTracker) -> Decision:
    blocker, batch = _why_not_yet(case, tracker), next_batch(tracker, case.spec.max_concurrent_partitions)
    targets = batch.targets if blocker is None else {}
    rate = case.spec.throttle_bytes_per_second
    throttle = throttle_for(tracker, targets, case.status, rate, case.observed.journal.lists)
    reported = so_far(tracker) + (f"; it waits: {blocker}" if blocker else "")
    if batch.waiting and not blocker:
        reported += f"; {batch.waiting} wait: {batch.why}"
    if is_foreign(case.kafka, case.status):
        reported += f"; somebody else set the throttle to {cluster_rate(case.kafka)} bytes a second, and it stays"
    reported += said_of_brokers(case.kafka, case.journal)
    if tracker.count(Progress.IN_FLIGHT):
        reported += why_slow(case.status, case.now)
    if throttle is not None and not case.cluster.metadata.is_paused:
        is_held = REASSIGNMENT_FINALIZER in case.cluster.metadata.finalizers
        return case.throttles_at(rate, reported, throttle) if is_held else case.stays(reported, 0.0, AddFinalizer())
    if targets:
        return case.stays(reported, REASSIGNMENT_POLL_SECONDS, Submit(targets))
    return _waits(case, tracker, reported)


def _waits(case: Case, tracker: MoveTracker, reported: str) -> Decision:
    """It submits nothing: what has arrived is throttled no longer, however long that lasts."""
    arrived = None
    if not case.cluster.metadata.is_paused:
        arrived = arrived_throttle(tracker, case.status, case.observed.journal.lists)
    return case.stays(reported, REASSIGNMENT_POLL_SECONDS, *(() if arrived is None else (arrived,)))


def _verify(case: Case, tracker: MoveTracker) -> Decision:
    throttle = _leftover(case)
    if throttle is not None:
        return case.stays("it removes the throttle", REASSIGNMENT_POLL_SECONDS, throttle)
    behind = [
        move.id
        for move in tracker.moves_in(Progress.DONE)
        if not frozenset(move.wanted) <= case.kafka.partitions[move.id].isr
    ]
    if behind:
        return case.stays(f"all replicas are placed; it waits until those of {shown(tuple(behind))} are in sync")
    others = not_preferred(tracker)
    since = case.status.stage_time or case.now
    if others and case.now < since + REASSIGNMENT_LEADERS_WAIT and not case.cluster.metadata.is_paused:
        if (rebalance := _rebalance(case)) is not None:
            return case.stays(f"{rebalance}: leaders are elected when it is over")
        return case.stays(
            f"it elects the preferred leaders of {shown(others)}", REASSIGNMENT_POLL_SECONDS, ElectLeaders(others)
        )
    message = at_end(tracker) + (f"; {shown(others)} are not led by their preferred leaders yet" if others else "")
    message += said_of_brokers(case.kafka, case.journal)
    return case.enters(ReassignmentStage.COMPLETED, message, completion_time=case.now, most_min_in_sync_replicas=None)


def _turn_back(case: Case, tracker: MoveTracker) -> Decision:
    """A pause keeps no object that is deleted: its finalizer and its throttle would stay for ever."""
    if case.cluster.metadata.is_paused and not _is_deleted(case):
        return case.stays(f"{PAUSED_ANNOTATION} is set")
    cancel, why = may_cancel(tracker)
    if cancel:
        return case.stays(f"it cancels the move of {shown(cancel)}", REASSIGNMENT_POLL_SECONDS, Cancel(cancel))
    if why:
        return _waits(case, tracker, f"{so_far(tracker)}; it waits: {why}")
    if tracker.count(*UNFINISHED) and not (_is_given_up(tracker) and tracker.count(Progress.IN_FLIGHT) == 0):
        return _move(case, tracker)
    throttle = _leftover(case)
    if throttle is not None:
        return case.stays("it removes the throttle", REASSIGNMENT_POLL_SECONDS, throttle)
    cause = case.status.abort_cause or AbortCause.SUPERSEDED
    found = case.kafka.partitions
    moved = sum(1 for move in case.journal.moves if move.id in found and found[move.id].replicas == move.wanted)
    message = f"{WHY_ABORTED[cause]}; {moved} of {len(case.journal.moves)} partitions have their new replicas"
    return case.enters(ReassignmentStage.ABORTED, message, completion_time=case.now, most_min_in_sync_replicas=None)


def _most_min_isr(case: Case) -> int | None:
    """The lowest that a topic's min.insync.replicas may have to be until the run is over; None: as many replicas stay.

    Replicas that come may go back. Which topics it is for the journal says (`limits`).
    """
    both = [(len(move.original), len(move.wanted)) for move in case.journal.moves]
    fewest = [min(before, after) for before, after in both if before != after]
    return most_min_isr(min(fewest)) if fewest else None


def _is_deleted(case: Case) -> bool:
    return case.cluster.metadata.deletion_timestamp is not None


def _why_aborted(case: Case) -> AbortCause | None:
    if _is_deleted(case):
        return AbortCause.DELETED
    if case.cluster.metadata.aborts_reassignment:
        return AbortCause.BY_PERSON
    return None if case.observed.is_still_wanted else AbortCause.SUPERSEDED


def _why_dropped(case: Case) -> AbortCause | None:
    """Before anything was submitted, a partition that is elsewhere makes the whole plan stale."""
    cause = _why_aborted(case)
    if cause is not None:
        return cause
    as_planned = all(
        (found := case.kafka.partitions.get(move.id)) is None or found.replicas == move.original
        for move in case.journal.moves
    )
    return None if as_planned else AbortCause.SUPERSEDED


def _why_not_yet(case: Case, tracker: MoveTracker) -> str | None:
    """What keeps anything from being submitted now; what is on its way goes on."""
    if case.cluster.metadata.is_paused:
        return f"{PAUSED_ANNOTATION} is set"
    if case.observed.line.ahead is not None:
        return f"WALCluster {case.observed.line.ahead} moves replicas on the same Kafka"
    if (pod := pod_that_restarts(case.cluster.status)) is not None:
        return f"{pod} restarts, and reads its part of the WAL"
    if (other := _who_else(case, tracker)) is not None:
        return other
    if case.kafka.under_min_isr:
        return f"{shown(case.kafka.under_min_isr)} under min.insync.replicas, or without a leader"
    return None


def _who_else(case: Case, tracker: MoveTracker) -> str | None:
    """Who else moves replicas, or may. A KafkaTopic may have come after the plan was made."""
    sharing = case.kafka.sharing
    if (rebalance := _rebalance(case)) is not None:
        return rebalance
    if isinstance(sharing, Sharing) and (why := sharing.why_not_ours(sorted(case.journal.topics))) is not None:
        return why
    return f"somebody else moves {shown(tracker.foreign)}" if tracker.foreign else None


def _rebalance(case: Case) -> str | None:
    """That Strimzi moves replicas and leaders, or why nobody knows whether it does."""
    sharing = case.kafka.sharing
    return sharing.who_rebalances() if isinstance(sharing, Sharing) else sharing


def _is_given_up(tracker: MoveTracker) -> bool:
    """Kafka refuses so much that something is wrong with all of it."""
    return tracker.count(Progress.REFUSED) >= MAX_REFUSED
