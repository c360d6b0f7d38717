"""What is decided of a WALCluster's restarts: the roll's (`datanodes/roll.py`), and what is done around it.

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
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.api.v1alpha1.rollout import RestartStatus, RollStage
from seawall.domain.conditions import ConditionBuilder, Verdict, loss_event
from seawall.domain.datanodes.actions import AddFinalizer, FlushRegions, RemoveFinalizer, RestartAction, RolloutAction
from seawall.domain.datanodes.decision import DatanodeRoll
from seawall.domain.datanodes.health import KIND, with_health, with_maintenance, without_datanodes
from seawall.domain.datanodes.maintenance import by_hand, with_silence
from seawall.domain.datanodes.observed import Observed
from seawall.domain.datanodes.roll import WARNINGS, leave
from seawall.domain.datanodes.roll import decide as decide_roll
from seawall.domain.dataplane.flush import FLUSH_BATCH
from seawall.domain.decision import Decision, Published, silent
from seawall.domain.rollout.decision import Roll, decided, journaled, saying
from seawall.domain.rollout.machine import published
from seawall.domain.step import EventType
from seawall.domain.times import MAINTENANCE_GIVE_UP_AFTER, ROLLOUT_IDLE_SECONDS, ROLLOUT_WAITING_SECONDS

RestartDecision = Decision[WALClusterStatus, RestartAction]


def decide(cluster: WALCluster, observed: Observed) -> RestartDecision:
    """What one tick decides."""
    before = roll_of(cluster.status)
    if cluster.metadata.deletion_timestamp is not None or not observed.is_declared:
        return _release(cluster, before, observed)
    # Who has just begun says what was said before, until reports were seen to advance.
    roll = as_before(before) if _is_too_early(observed) else decide_roll(before, observed.roll)
    if roll.status.status.maintenance is not None and not _stands(cluster):
        return _around(cluster, replace(roll, status=before), observed, AddFinalizer())
    actions: tuple[RestartAction, ...] = tuple(
        found for action in roll.actions if (found := _again(action, observed)) is not None
    )
    if roll.actions and not actions:  # it was asked a moment ago: what became of that is still what people hear
        roll = saying(roll, before.status.reason, before.status.message)
    if not actions and before.status.maintenance is None and _stands(cluster) and not _is_too_early(observed):
        actions = (RemoveFinalizer(),)
    return _around(cluster, roll, observed, *actions)


def roll_of(status: WALClusterStatus) -> DatanodeRoll:
    """The roll that a WALCluster's status has."""
    return Roll(status=status.restart or RestartStatus(), entry=status.disruption)


def as_before(before: DatanodeRoll) -> Decision[DatanodeRoll, RolloutAction]:
    """Nothing is decided of the roll."""
    return journaled(before.entry, decided(before.status, before.status.reason, before.status.message))


def _is_too_early(observed: Observed) -> bool:
    """Whether this process has just begun to look, a pod is Ready, and its datanode does not seem to serve."""
    facts = observed.facts
    return observed.is_settling and any(pod.ready and not facts.serves(pod) for pod in facts.pods)


def _around(
    cluster: WALCluster, roll: Decision[DatanodeRoll, RolloutAction], observed: Observed, *actions: RestartAction
) -> RestartDecision:
    """The roll as a part of the WALCluster's status, which has what is said of the datanodes, too.

    Only these parts of the status are this controller's; the rest stays as it was read.
    """
    before = roll_of(cluster.status)
    is_restarted = observed.is_declared and cluster.metadata.deletion_timestamp is None
    update = {"restart": roll.status.status, "disruption": roll.status.entry}
    changed = cluster.status if roll.status == before else cluster.status.model_copy(update=update)

    def publish(verdict: Verdict) -> Published[WALClusterStatus]:
        build = ConditionBuilder(cluster.status.conditions, cluster.metadata.generation, observed.facts.now)
        reported = published(before, roll.status, verdict, WARNINGS)
        tell = with_health if is_restarted else with_maintenance
        status = tell(cluster.status, reported.status, observed, build)
        lost = loss_event(cluster.status.conditions, status.conditions, KIND, "all datanodes serve again")
        return Published(status, reported.events if lost is None else (*reported.events, lost))

    verdict = replace(roll.verdict, after=_after(roll, observed))
    return Decision(changed, verdict, actions, publish)


def _after(roll: Decision[DatanodeRoll, RolloutAction], observed: Observed) -> float | None:
    """A look at a large pool takes seconds: while nothing is under way there are few."""
    status, after = roll.status.status, roll.verdict.after
    if observed.is_settling or observed.forbidden is not None or status.maintenance is not None:
        return after
    if status.stage in {None, RollStage.COMPLETED}:
        return ROLLOUT_IDLE_SECONDS
    return ROLLOUT_WAITING_SECONDS if status.stage is RollStage.WAITING else after


def _again(action: RolloutAction, observed: Observed) -> RolloutAction | None:
    """A flush takes a moment to be reported: asking again and again would only make files. And a few at a time."""
    if not isinstance(action, FlushRegions):
        return action
    regions = tuple(region for region in action.regions if region not in observed.asked_lately)
    return replace(action, regions=regions[:FLUSH_BATCH]) if regions else None


def _release(cluster: WALCluster, before: DatanodeRoll, observed: Observed) -> RestartDecision:
    """Maintenance is given back, whatever became of the restart."""
    if before.status.maintenance is None:
        if _stands(cluster):
            return _around(cluster, as_before(before), observed, RemoveFinalizer())
        return _forgotten(cluster, observed)
    if cluster.metadata.deletion_timestamp is not None:
        before = Roll(status=with_silence(before.status, observed.facts), entry=before.entry)
    roll = journaled(before.entry, leave(before.status, observed.roll))
    if cluster.metadata.deletion_timestamp is not None and _stands(cluster):
        why = _given_up(before.status, observed)
        if why is not None:
            return _around(cluster, replace(roll, status=before), observed, RemoveFinalizer(why, EventType.WARNING))
    return _around(cluster, roll, observed, *roll.actions)


def _forgotten(cluster: WALCluster, observed: Observed) -> RestartDecision:
    message = "no datanodes are to be restarted"
    if observed.is_declared is not False or cluster.metadata.deletion_timestamp is not None:
        return silent(cluster, message)
    published = Published(without_datanodes(cluster.status))
    return replace(silent(cluster, message), publish=lambda _: published)


def _given_up(status: RestartStatus, observed: Observed) -> str | None:
    """Why a deletion goes on although the database may be left in maintenance."""
    silence = None if status.maintenance is None else status.maintenance.unanswered
    if silence is None:
        return None
    other = observed.facts.other_database
    silent = "the database did not answer" if other is None else f"another database answers ({other})"
    if observed.namespace_terminating:
        why = f"the namespace is being deleted, and {silent}"
    elif observed.facts.now - silence.from_time >= MAINTENANCE_GIVE_UP_AFTER:
        why = f"{silent} for 10 minutes" if other is None else silent
    else:
        return None
    return f"{why}: it may be left in maintenance. By hand: {by_hand(status)}"


def _stands(cluster: WALCluster) -> bool:
    return MAINTENANCE_FINALIZER in cluster.metadata.finalizers
