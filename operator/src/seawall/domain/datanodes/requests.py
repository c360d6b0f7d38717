"""Why a datanode is due for a restart.

    cause            what asks                                               it is done when
    ---------------  ------------------------------------------------------  -------------------------------------------
    Requested        seawall.dev/restart on the WALCluster: the pods of the  the pod of the name has another UID; the
                     moment in which the value was first seen (in status)    value is then remembered as done
    PodRequested     seawall.dev/restart on the pod                          the pod is another: its annotation is gone
    ConfigChanged    the pod template is for another `[wal]` configuration   the pod has the template's hash
                     than the pod is, and restart.onConfigChange
    RolloutRestart   `kubectl rollout restart` by somebody: its time on the  the pod has the template's time
                     pod template is not the pod's
    TemplateChanged  an edit of the GreptimeDBCluster: the pod is of an      the pod is of the newest revision
                     older revision, and a partition keeps it back; or it is
                     kept back by one that is lowered to a pod below it

RolloutRestart is driven only where Kubernetes leaves pods alone: with OnDelete, and below the partition of a
RollingUpdate. Elsewhere Kubernetes restarts them without asking: that is reported (`outdated_beyond_partition`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum

from seawall.domain.rollout.workload import Pod, StatefulSet, UpdateStrategy


class Cause(StrEnum):
    """Why a pod is to be restarted."""

    REQUESTED = "Requested"
    POD_REQUESTED = "PodRequested"
    CONFIG_CHANGED = "ConfigChanged"
    ROLLOUT_RESTART = "RolloutRestart"
    TEMPLATE_CHANGED = "TemplateChanged"

    @property
    def needs_template(self) -> bool:
        """Whether only a pod that is made from the newest template ends it."""
        return self in {Cause.CONFIG_CHANGED, Cause.ROLLOUT_RESTART, Cause.TEMPLATE_CHANGED}


def due_pods(
    statefulsets: Iterable[StatefulSet], pods: Collection[Pod], requested: Mapping[str, str], *, on_config_change: bool
) -> dict[str, Cause]:
    """By the name of the pod why it is to be restarted; the cause that only the newest template ends comes first.

    Where somebody edits the template too, a pod may be kept back that is itself not due: it goes as well, in its turn,
    or the partition could never be lowered past it to one that is.

    Args:
        statefulsets: theirs.
        pods: those that are there.
        requested: by name the UIDs of the pods that were there when the WALCluster asked for a restart.
        on_config_change: whether a changed configuration is a reason.
    """
    due: dict[str, Cause] = {}
    for each in statefulsets:
        own = [pod for pod in pods if each.has(pod)]
        found = ((pod.name, _cause(each, pod, requested, on_config_change=on_config_change)) for pod in own)
        due |= {name: cause for name, cause in found if cause is not None}
        if not each.drives_itself:
            due |= dict.fromkeys(_above(each, own, due), Cause.TEMPLATE_CHANGED)
    return due


def _cause(statefulset: StatefulSet, pod: Pod, requested: Mapping[str, str], *, on_config_change: bool) -> Cause | None:
    template = statefulset.template
    if on_config_change and template.config_hash not in {None, pod.config_hash}:
        return Cause.CONFIG_CHANGED
    if template.restarted_at not in {None, pod.restarted_at}:
        return Cause.ROLLOUT_RESTART
    if statefulset.is_gated and is_kept_back(statefulset, pod):
        return Cause.TEMPLATE_CHANGED
    if requested.get(pod.name) == pod.uid:
        return Cause.REQUESTED
    return Cause.POD_REQUESTED if pod.restart else None


def _above(statefulset: StatefulSet, pods: Iterable[Pod], due: Mapping[str, Cause]) -> list[str]:
    """The pods that Kubernetes would replace unasked when the partition is lowered to a due one, and have no cause."""
    kept = [pod for pod in pods if is_kept_back(statefulset, pod)]
    need = [pod.ordinal for pod in kept if pod.name in due and due[pod.name].needs_template]
    others = [pod for pod in kept if pod.name not in due or not due[pod.name].needs_template]
    return [pod.name for pod in others if need and pod.ordinal > min(need)]


def outdated_beyond_partition(statefulset: StatefulSet, pods: Iterable[Pod]) -> tuple[str, ...]:
    """The pods that Kubernetes restarts by itself now, because the template changed and no partition keeps them."""
    if statefulset.strategy is UpdateStrategy.ON_DELETE:
        return ()
    return tuple(
        pod.name for pod in pods if pod.ordinal >= statefulset.partition and pod.revision != statefulset.update_revision
    )


def is_kept_back(statefulset: StatefulSet, pod: Pod) -> bool:
    """Whether a pod that is deleted comes back as the old template says: the partition has to be lowered for it."""
    is_partitioned = statefulset.strategy is UpdateStrategy.ROLLING_UPDATE and pod.ordinal < statefulset.partition
    return is_partitioned and pod.revision != statefulset.update_revision
