"""What is said of the roll of a managed Kafka, where people hear of its nodes."""

from __future__ import annotations

from dataclasses import dataclass

from seawall.api.v1alpha1.disruption import Disruption, DisruptionKind, of_kind
from seawall.api.v1alpha1.managed_kafka_status import ManagedNodeStatus, VoterStep
from seawall.api.v1alpha1.rollout import RollStage, RollStatus
from seawall.domain.managed_kafka.case import Case
from seawall.domain.managed_kafka.node import Node
from seawall.domain.managed_kafka.reasons import Reason
from seawall.domain.managed_kafka.roll_facts import awaits_approval
from seawall.domain.managed_kafka.voters import wished, without_vote
from seawall.domain.rollout.workload import APPROVE_ROLLOUT_ANNOTATION


@dataclass(frozen=True, slots=True)
class Rolling:
    """A reason, and the sentence beside how many nodes are Online."""

    reason: Reason
    message: str


def of_roll(case: Case, statuses: tuple[ManagedNodeStatus, ...]) -> Rolling | None:
    """What its controller wrote of it; None: there is nothing to say."""
    roll, outdated = _roll(case), sum(each.outdated for each in statuses)
    if roll is not None and roll.stage is RollStage.STALLED:
        return Rolling(Reason.ROLL_STALLED, roll.message)
    if roll is not None and roll.stage not in {None, RollStage.COMPLETED}:
        return Rolling(Reason.ROLLING, f"{outdated} of them run something else than is declared: {roll.message}")
    plan = awaits_approval(case)
    if plan is not None:
        what = f"{outdated} of them would be another by a newer Seawall, and nothing is restarted for it"
        return Rolling(Reason.ALL_ONLINE, f"{what} before {APPROVE_ROLLOUT_ANNOTATION}: {plan} is set")
    if outdated:
        return Rolling(Reason.ROLLING, f"{outdated} of them run something else than is declared")
    return None


def of_removal(case: Case) -> Rolling | None:
    """What its controller wrote of the node that is taken out; None: none is."""
    removal = case.cluster.status.removal
    if removal is None:
        leaves = [node.name for node in case.nodes if node.is_leaving]
        return Rolling(Reason.REMOVING, f"{leaves[-1]} is to be taken out") if leaves else None
    reason = Reason.REMOVAL_REFUSED if removal.refused else Reason.REMOVING
    return Rolling(reason, f"node {removal.node} is taken out: {removal.message}")


def of_voters(case: Case) -> Rolling | None:
    """Which controllers do not vote yet, or which vote of a lost disk is still there; None: all is as declared."""
    wish, missing = wished(case), without_vote(case)
    if wish is None and not missing:
        return None
    is_lost = wish is not None and wish.step is VoterStep.REMOVE
    which = missing[0] if wish is None else wish.node
    is_leaving = any(node.id == which and node.is_leaving for node in case.nodes)
    what = "still has the vote of a disk that is lost" if is_lost else "does not vote yet"
    change = case.cluster.status.voter_change
    waits = "" if change is None or change.node != which or not change.message else f": {change.message}"
    if is_leaving:  # all that stay vote
        return Rolling(Reason.REMOVING, f"controller {which}, which is to be taken out, still votes{waits}")
    return Rolling(Reason.CHANGING_VOTERS, f"controller {which} {what}{waits}")


def is_of_the_roll(case: Case, node: Node) -> bool:
    """Whether it is the one that is restarted, so that it is expected to be away."""
    entry = _entry(case)
    return entry is not None and entry.name == node.pod_name


def _roll(case: Case) -> RollStatus | None:
    managed = case.cluster.status.managed_kafka
    return None if managed is None else managed.roll


def _entry(case: Case) -> Disruption | None:
    return of_kind(case.cluster.status.disruption, DisruptionKind.KAFKA_NODE_RESTART)
