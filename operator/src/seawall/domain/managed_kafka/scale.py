"""What another number of nodes changes for those that are there, and what is told of nodes that join.

    replicas rises, or a pool comes → volume, record, token (plan.py) → the budget counts it → it begins, and joins
    → it is empty: replicas get there when a person says so

Ids are firstId and those that follow. The identity remembers all that ever had a volume, so none is given twice; a node
that it remembers and the spec does not declare (a WALCluster that was made again with fewer) is told, and left alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from seawall.api.meta import REBALANCE_ANNOTATION, InvalidSpec
from seawall.api.v1alpha1.kafka_brokers import BrokerState
from seawall.api.v1alpha1.reassignment import Rebalance
from seawall.domain.managed_kafka.actions import ChangeBudget
from seawall.domain.managed_kafka.case import Case
from seawall.domain.managed_kafka.found import FoundObject
from seawall.domain.managed_kafka.node import Node
from seawall.domain.managed_kafka.objects import Manifest, ObjectKind, budgets, spec_digest
from seawall.domain.managed_kafka.volumes import VolumeState


def begun_nodes(case: Case) -> tuple[Node, ...]:
    """Those that had, or have, a volume of which the identity knows."""
    waits = {VolumeState.NEW, VolumeState.UNRECORDED}
    return tuple(node for node in case.nodes if case.volume_state(node) not in waits)


def budgets_to_change(case: Case) -> Iterator[ChangeBudget]:
    """They rise before a node is there, and fall when one that leaves has no pod any more.

    While a pod has all that is left of a volume they let nobody go: no budget tells one pod from another.
    """
    counted = [node for node in begun_nodes(case) if not is_out(case, node)]
    for manifest in budgets(case.key, counted, losing(case)):
        found = case.observed.found.objects.get((ObjectKind.BUDGET, manifest.name))
        if found is not None and not keeps_as(found, manifest):
            yield ChangeBudget(found, manifest)


def losing(case: Case) -> frozenset[int]:
    """The nodes whose volumes go with their pods."""
    return frozenset(node.id for node in case.nodes if case.loses_volume(node))


def keeps_as(found: FoundObject, budget: Manifest) -> bool:
    """Whether a budget keeps what it should: how many, of whom, and whom it lets go."""
    return found.spec_digest == spec_digest(budget.body["spec"])


def is_stopped(case: Case, node: Node) -> bool:
    """Whether Seawall stopped it for good."""
    statefulset = case.observed.found.objects.get((ObjectKind.STATEFUL_SET, node.name))
    return statefulset is not None and statefulset.is_taken_out


def is_out(case: Case, node: Node) -> bool:
    """Whether it is stopped for good, and its pod is gone."""
    return is_stopped(case, node) and case.pod(node) is None


def is_new(case: Case, node: Node) -> bool:
    """Whether Kafka has never heard from it."""
    record = case.identity.nodes.get(node.id)
    return record is None or not record.registered


def undeclared(case: Case) -> tuple[int, ...]:
    """Nodes that registered once, and are not declared: what is on their volumes may be needed."""
    declared = {node.id for node in case.nodes}
    records = case.identity.nodes.items()
    registered = {node for node, record in records if record.registered and not record.removed}
    return tuple(sorted(registered - declared))


def why_undeclared(case: Case) -> str | None:
    """Whom the spec has to name again, in one sentence; None: nobody."""
    if first := case.missing_voters:
        begin = ", or for a new, empty Kafka delete the WALCluster, its volumes and both ConfigMaps, and apply it again"
        # Nobody is told to delete what Kafka has heard from.
        is_empty = not any(record.registered for record in case.identity.nodes.values())
        what = f"{_named('controller', first)} {'were' if len(first) > 1 else 'was'} to vote, and not declared"
        return f"{what}: declare as many as there were{begin if is_empty else ''}"
    if missing := undeclared(case):
        message = f"node {missing[0]} of this Kafka is not declared, and what is on its volume may be needed"
        return f"{message}: give its pool as many replicas as it had"
    if voting := _undeclared_voters(case):
        take = "take the vote with kafka-metadata-quorum.sh remove-controller"
        verb = "vote, and are" if len(voting) > 1 else "votes, and is"
        return f"{_named('controller', voting)} {verb} not declared: declare as many as there were, or {take}"
    if brokers := _undeclared_brokers(case):
        forget = "let Kafka forget who has none with kafka-cluster.sh unregister"
        verb = "are" if len(brokers) > 1 else "is"
        known = f"{_named('broker', brokers)} {verb} known to Kafka, not declared, and may have replicas"
        return f"{known}: declare as many as there were, or {forget}"
    return None


def _undeclared_voters(case: Case) -> tuple[int, ...]:
    """Nobody makes pods of them, so the quorum has their votes against it."""
    answer = case.observed.kafka
    if isinstance(answer, str) or isinstance(answer.quorum, str):
        return ()
    return tuple(sorted({each.id for each in answer.quorum.voters} - {node.id for node in case.nodes}))


def _undeclared_brokers(case: Case) -> tuple[int, ...]:
    """Where the API server was restored, the identity may be older than they are. Who was taken out does not count."""
    answer = case.observed.kafka
    if isinstance(answer, str):
        return ()
    return tuple(sorted(answer.brokers.keys() - {node.id for node in case.nodes} - {*removed_ids(case)}))


def _named(noun: str, ids: tuple[int, ...]) -> str:
    return f"{noun}{'s' if len(ids) > 1 else ''} {', '.join(map(str, ids))}"


def next_step(case: Case) -> str:
    """What a person can do about brokers without replicas although there are enough for all; empty: nothing."""
    spec, kafka = case.cluster.spec, case.cluster.status.kafka
    if isinstance(spec, InvalidSpec) or kafka is None or spec.reassignment.rebalance is Rebalance.ON_EXPANSION:
        return ""
    excluded = spec.reassignment.exclude_brokers
    usable = [each for each in kafka.brokers.items if each.state is BrokerState.ONLINE and each.id not in excluded]
    empty = [str(each.id) for each in usable if each.replicas == 0]
    if not empty or sum(each.replicas for each in usable) < len(usable):
        return ""
    which = f"broker {empty[0]} has" if len(empty) == 1 else f"brokers {', '.join(empty)} have"
    return f"{which} no replica: set {REBALANCE_ANNOTATION} to a new value to have the load evened out"


def removed_ids(case: Case) -> tuple[int, ...]:
    """Ids that are not used again, as the identity or the status remembers them: either may have been lost."""
    before = case.cluster.status.managed_kafka
    known = frozenset[int]() if before is None else frozenset(before.removed)
    return tuple(sorted(known | {node for node, record in case.identity.nodes.items() if record.removed}))
