"""The next step of a WALCluster's restarts: the roll's (`rollout/next_step.py`), and what is done around it.

    when                                  what
    ------------------------------------  --------------------------------------------------------------------------
    the spec names no datanodes, or the   maintenance is given back where it was taken, then the finalizer goes; a
    WALCluster is being deleted           database that does not answer is reported, asked again and again, and holds a
                                          deletion up for ten minutes, and not longer
    the roll takes maintenance            the finalizer first: it stands as long as the status has the maintenance
    a region was asked to flush           it is asked again only when its report had the time to tell of it
    this process has just begun to look   nothing is begun before reports were seen to advance: none of them counts
                                          before, and all datanodes would look as if they were down

A tick records or acts, never both.
"""

from __future__ import annotations

from dataclasses import replace

from seawall.api.meta import MAINTENANCE_FINALIZER
from seawall.api.v1alpha1.restart import RestartStatus, RollStage
from seawall.api.v1alpha1.wal_cluster import WALCluster, WALClusterStatus
from seawall.domain.conditions import ConditionBuilder, loss_event
from seawall.domain.restart.actions import AddFinalizer, RemoveFinalizer, RestartAction
from seawall.domain.restart.health import KIND, with_health, with_maintenance, without_datanodes
from seawall.domain.restart.observed import Observed
from seawall.domain.rollout.actions import FlushRegions, RolloutAction
from seawall.domain.rollout.decision import POLL_SECONDS
from seawall.domain.rollout.maintenance import GIVE_UP_AFTER, by_hand
from seawall.domain.rollout.next_step import MAX_MESSAGE, RolloutStep, let_go
from seawall.domain.rollout.next_step import next_step as next_step_of_roll
from seawall.domain.step import Act, Event, EventType, Record, Step, Wait

IDLE_SECONDS = 15.0
"""How often datanodes are looked at while nothing is to be restarted: pods wake nobody."""

WAITING_SECONDS = 5.0
"""How often it is looked at whether a shut gate is open."""

RestartStep = Step[WALClusterStatus, RestartAction]


def next_step(cluster: WALCluster, observed: Observed) -> RestartStep:
    """Decides what one tick does."""
    before = cluster.status.restart or RestartStatus()
    if cluster.metadata.deletion_timestamp is not None or not observed.is_declared:
        return _let_go(cluster, before, observed)
    if _is_too_early(observed):
        step: RolloutStep = Wait("the reports of the datanodes have to be seen to advance first", POLL_SECONDS)
    else:
        step = next_step_of_roll(before, observed.roll)
    match step:
        case Record():
            return _record(cluster, before, step, observed)
        case Act():
            return _act(cluster, before, step, observed)
        case Wait():
            return _wait(cluster, before, step, observed)


def _is_too_early(observed: Observed) -> bool:
    """Whether this process has just begun to look, a pod is Ready, and its datanode does not seem to serve."""
    facts = observed.facts
    return observed.is_settling and any(pod.ready and not facts.serves(pod) for pod in facts.pods)


def _record(cluster: WALCluster, before: RestartStatus, step: Record[RestartStatus], observed: Observed) -> RestartStep:
    status = step.status
    if status.maintenance is not None and not _stands(cluster):
        if not observed.has_failed:
            return Act((AddFinalizer(),))
        after = step.after if observed.failure is None else observed.failure.after
        return _told_or_wait(
            cluster, _saying(before, status.reason, status.message), observed, replace(step, after=after)
        )
    # First, because it is told when there is nothing to do: a sentence before each try would flap while it fails.
    if status == _saying(before, status.reason, status.message) and (action := _finalizer(cluster, before, observed)):
        return Act((action,))
    return _told(cluster, status, observed, step)


def _saying(status: RestartStatus, reason: str, message: str) -> RestartStatus:
    return status.model_copy(update={"reason": reason, "message": message[:MAX_MESSAGE]})


def _finalizer(cluster: WALCluster, before: RestartStatus, observed: Observed) -> AddFinalizer | RemoveFinalizer | None:
    """The finalizer stands while the status has the maintenance."""
    if observed.has_failed or _stands(cluster) == (before.maintenance is not None):
        return None
    if before.maintenance is not None:
        return AddFinalizer()
    # Who has just begun does not know yet whether it is needed next.
    return None if _is_too_early(observed) else RemoveFinalizer()


def _act(cluster: WALCluster, before: RestartStatus, step: Act[RolloutAction], observed: Observed) -> RestartStep:
    if before.maintenance is not None and not _stands(cluster):
        return Act((AddFinalizer(),))
    actions = tuple(found for action in step.actions if (found := _again(action, observed)) is not None)
    if not actions:
        return _wait(cluster, before, Wait("regions flush before a restart", POLL_SECONDS), observed)
    return Act(actions)


def _again(action: RolloutAction, observed: Observed) -> RolloutAction | None:
    """A flush takes a moment to be reported: asking again and again would only make files."""
    if not isinstance(action, FlushRegions):
        return action
    regions = tuple(region for region in action.regions if region not in observed.asked_lately)
    return replace(action, regions=regions) if regions else None


def _wait(cluster: WALCluster, before: RestartStatus, step: Wait, observed: Observed) -> RestartStep:
    if (action := _finalizer(cluster, before, observed)) is not None:
        return Act((action,))
    after = _after(before, step, observed)
    return _told_or_wait(cluster, before, observed, Record(before, after=after), step.reason)


def _after(status: RestartStatus, step: Wait, observed: Observed) -> float | None:
    """A look at a large pool takes seconds: while nothing is under way there are few."""
    if observed.is_settling or observed.has_failed or status.maintenance is not None:
        return step.after
    if status.stage in {None, RollStage.COMPLETED}:
        return IDLE_SECONDS
    return WAITING_SECONDS if status.stage is RollStage.WAITING else step.after


def _told(
    cluster: WALCluster, status: RestartStatus, observed: Observed, step: Record[RestartStatus]
) -> Record[WALClusterStatus]:
    """Only these parts of the status are this controller's; the rest stays as it was read."""
    build = ConditionBuilder(cluster.status.conditions, cluster.metadata.generation, observed.facts.now)
    is_restarted = observed.is_declared and cluster.metadata.deletion_timestamp is None
    found = (with_health if is_restarted else with_maintenance)(cluster.status, status, observed, build)
    lost = loss_event(cluster.status.conditions, found.conditions, KIND, "all datanodes serve again")
    events: tuple[Event, ...] = (*step.events, *([] if lost is None else [lost]))
    return Record(found, events, step.after)


def _told_or_wait(
    cluster: WALCluster, status: RestartStatus, observed: Observed, step: Record[RestartStatus], why: str = ""
) -> Record[WALClusterStatus] | Wait:
    """Waits if the status says so already."""
    told = _told(cluster, status, observed, step)
    return Wait(why or status.message, step.after) if told.status == cluster.status else told


def _let_go(cluster: WALCluster, before: RestartStatus, observed: Observed) -> RestartStep:
    """Maintenance is given back, whatever became of the restart."""
    is_deleted = cluster.metadata.deletion_timestamp is not None
    if before.maintenance is None:
        return _take_finalizer_off(cluster, before, observed) if _stands(cluster) else _forgotten(cluster, observed)
    if is_deleted and _stands(cluster) and not observed.has_failed and (why := _given_up(cluster, observed)):
        return Act((RemoveFinalizer(why, EventType.WARNING),))
    step = let_go(before, observed.roll)
    if isinstance(step, Record):
        return _told(cluster, step.status, observed, step)
    if isinstance(step, Act):
        return Act(step.actions)
    return _told_or_wait(cluster, before, observed, Record(before, after=step.after), step.reason)


def _take_finalizer_off(cluster: WALCluster, before: RestartStatus, observed: Observed) -> RestartStep:
    failure = observed.failure
    if failure is None:
        return Act((RemoveFinalizer(),))
    status = _saying(before, failure.reason, failure.message)
    events = () if status.reason == before.reason else (failure.event,)
    return _told_or_wait(cluster, status, observed, Record(status, events, failure.after))


def _forgotten(cluster: WALCluster, observed: Observed) -> RestartStep:
    if observed.is_declared is False and cluster.metadata.deletion_timestamp is None:
        status = without_datanodes(cluster.status)
        if status != cluster.status:
            return Record(status, after=None)
    return Wait("no datanodes are to be restarted")


def _given_up(cluster: WALCluster, observed: Observed) -> str | None:
    """Why a deletion goes on although the database may be left in maintenance."""
    deleted = cluster.metadata.deletion_timestamp
    if deleted is None or observed.facts.in_maintenance is not None:
        return None
    other = observed.facts.other_database
    silent = "the database did not answer" if other is None else f"another database answers ({other})"
    if observed.namespace_terminating:
        why = f"the namespace is being deleted, and {silent}"
    elif observed.facts.now - deleted >= GIVE_UP_AFTER:
        why = f"{silent} for 10 minutes" if other is None else silent
    else:
        return None
    return f"{why}: it may be left in maintenance. By hand: {by_hand(cluster.status.restart or RestartStatus())}"


def _stands(cluster: WALCluster) -> bool:
    return MAINTENANCE_FINALIZER in cluster.metadata.finalizers
