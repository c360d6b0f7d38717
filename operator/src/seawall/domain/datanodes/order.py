"""Which of the due datanodes is next.

A datanode that is down costs nothing to restart, and all others wait for it. Of those that serve, the one with the
least to read is back first, and what it shows of the replay's speed makes the estimate of the others better. What is
not known comes last. Names decide between equals, so that two operators choose the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from seawall.domain.datanodes.facts import Facts
from seawall.domain.datanodes.requests import Cause, is_kept_back
from seawall.domain.rollout.workload import Pod


def in_order(due: Mapping[str, Cause], facts: Facts, first_uid: str | None = None) -> tuple[Pod, ...]:
    """The due pods that are there, the next one first.

    A partition is lowered one by one from the highest ordinal, and Kubernetes then replaces that pod itself: of the
    pods that it keeps back, and that need the newest template, only the highest of its StatefulSet can be next.

    Args:
        due: by the name of the pod why it is due.
        facts: what is known.
        first_uid: the pod whose turn it is already; it comes first of those that serve.
    """
    kept = {
        each.key.name: [pod for pod in facts.pods_of(each) if is_kept_back(each, pod)] for each in facts.statefulsets
    }
    highest = {max(found, key=lambda pod: pod.ordinal).name for found in kept.values() if found}
    bound = {pod.name for found in kept.values() for pod in found} - highest
    pods = [pod for name in due if (pod := facts.pod(name)) is not None]
    free = [pod for pod in pods if pod.name not in bound or not due[pod.name].needs_template]
    return tuple(sorted(free, key=lambda pod: _rank(pod, facts, first_uid)))


def _rank(pod: Pod, facts: Facts, first_uid: str | None) -> tuple[bool, bool, bool, int, str]:
    datanode = facts.datanodes.get(pod.name)
    entries = None if datanode is None else datanode.entries
    return (facts.serves(pod), pod.uid != first_uid, entries is None, entries or 0, pod.name)


def is_partition_of_others(pod: Pod, facts: Facts, cause: Cause) -> bool:
    """Whether it would come back with the old pod template: its partition is another operator's to lower."""
    statefulset = facts.set_of(pod.name)
    if statefulset is None or not statefulset.drives_itself or not cause.needs_template:
        return False
    return is_kept_back(statefulset, pod)
