"""The pod template and the partitions of the datanodes' StatefulSets: what a roll needs of them, and puts back."""

from __future__ import annotations

from dataclasses import replace

from seawall.api.v1alpha1.rollout import RestartStatus
from seawall.domain.datanodes.actions import SetConfigHash, SetPartition
from seawall.domain.datanodes.decision import RollDecision
from seawall.domain.datanodes.facts import Facts
from seawall.domain.datanodes.maintenance import give_back
from seawall.domain.datanodes.requests import outdated_beyond_partition
from seawall.domain.rollout.decision import changed, decided, meanwhile
from seawall.domain.rollout.requests import MAX_VALUE
from seawall.domain.rollout.workload import StatefulSet, UpdateStrategy
from seawall.domain.rollout_reasons import Reason


def blocked(status: RestartStatus, facts: Facts) -> RollDecision | None:
    """What keeps anything new from being begun; a gate that is open although it is declared shut is shut at once."""
    if not all(each.observed for each in facts.statefulsets):
        message = "Kubernetes has not looked at the StatefulSet's newest spec yet"
        return meanwhile(give_back(status, facts), decided(status, Reason.BEGINS, message))
    for each in facts.statefulsets:
        outdated = outdated_beyond_partition(each, facts.pods_of(each))
        if not outdated:
            continue
        message = f"Kubernetes restarts {', '.join(outdated[:3])} by itself: no partition keeps them"
        found: RollDecision = decided(status, Reason.RESTARTED_BY_OTHERS, message)
        if each.is_gated and not facts.is_paused:
            return replace(found, actions=(SetPartition(each, each.parked),))
        return meanwhile(give_back(status, facts), found)
    return None


def new(status: RestartStatus, facts: Facts) -> RollDecision | None:
    """New pods get the newest configuration; None: the template says so."""
    for each in facts.statefulsets:
        if has_new_config(status, each, facts) and each.controller is None and not facts.is_paused:
            return _with_new_hash(status, each, facts.config_hash or "")
    return None


def has_new_config(status: RestartStatus, statefulset: StatefulSet, facts: Facts) -> bool:
    """Whether new pods would have another configuration than the template says; the first one seen is no change."""
    known = statefulset.template.config_hash or status.config_hash
    return facts.limits.on_config_change and facts.config_hash not in {None, known}


def _with_new_hash(status: RestartStatus, statefulset: StatefulSet, config_hash: str) -> RollDecision:
    """A partition that this write sets is driven from then on, or nobody would ever lower or raise it."""
    message = f"the [wal] configuration is {config_hash} now"
    if statefulset.strategy is UpdateStrategy.ROLLING_UPDATE and not status.drives_partition:
        return changed(status, Reason.BEGINS, message, drives_partition=True)
    return decided(status, Reason.BEGINS, message, (SetConfigHash(statefulset, config_hash),))


def nothing_to_do(status: RestartStatus, facts: Facts) -> tuple[Reason, str]:
    """What is said while no datanode is due."""
    owned = [each for each in facts.statefulsets if each.controller is not None]
    if owned and has_new_config(status, owned[0], facts):
        message = f"the [wal] configuration changed, and {owned[0].controller} owns the StatefulSet"
        return Reason.TEMPLATE_NOT_OURS, f"{message}: set seawall.dev/restart to roll it out"
    if facts.request and facts.request[:MAX_VALUE] == status.done_request:
        return (
            Reason.NOTHING_TO_DO,
            f"no datanode is to be restarted: seawall.dev/restart: {status.done_request} is done",
        )
    return Reason.NOTHING_TO_DO, "no datanode is to be restarted"


def park(status: RestartStatus, facts: Facts) -> RollDecision | None:
    """Partitions keep all pods again, one StatefulSet after another; None: they do."""
    message = "the partition keeps all pods again"
    opened = next((each for each in facts.statefulsets if _is_opened(status, each)), None)
    if opened is not None:
        return decided(status, Reason.PARKING, message, (SetPartition(opened, opened.parked),))
    return changed(status, Reason.PARKING, message, drives_partition=False) if status.drives_partition else None


def _is_opened(status: RestartStatus, statefulset: StatefulSet) -> bool:
    """What Seawall lowered; and what the object of the database declares to be shut, by whomever it was opened."""
    is_ours = statefulset.is_gated or (status.drives_partition and not statefulset.drives_itself)
    is_rolling = statefulset.strategy is UpdateStrategy.ROLLING_UPDATE
    return is_ours and is_rolling and statefulset.partition < statefulset.parked
