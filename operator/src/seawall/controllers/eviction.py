"""One eviction, for whichever controller restarts pods."""

from __future__ import annotations

from seawall.domain.errors import Conflict
from seawall.domain.rollout.actions import EvictionForbidden
from seawall.domain.rollout.workload import BudgetForbids, Evicted, NotThere, Pod
from seawall.ports import Workloads


def evict(workloads: Workloads, pod: Pod) -> None:
    """Evicts the pod of this UID.

    Raises:
        EvictionForbidden: a PodDisruptionBudget forbids it now.
        Conflict: the pod is gone, or another one has its name.
    """
    match workloads.evict(pod):
        case BudgetForbids(message):
            raise EvictionForbidden(message)
        case NotThere():
            raise Conflict(f"pod {pod.key} with UID {pod.uid} is gone")
        case Evicted():
            pass
