"""From what was read of a managed Kafka to the facts by which the restart of its nodes is decided."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import datetime

from seawall.api.meta import ConditionType, InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.conditions import find_condition
from seawall.domain.kafka_nodes.facts import KafkaFacts, KafkaNode
from seawall.domain.kafka_nodes.reasons import KafkaCause
from seawall.domain.managed_kafka.case import Case
from seawall.domain.managed_kafka.found import FoundObject, FoundPod, KafkaAnswer
from seawall.domain.managed_kafka.identity import NodeRecord
from seawall.domain.managed_kafka.names import CERTIFICATE_ANNOTATION, TEMPLATE_HASH_ANNOTATION
from seawall.domain.managed_kafka.node import Node
from seawall.domain.managed_kafka.objects import ObjectKind, spec_hashes
from seawall.domain.managed_kafka.renewal import reads_alike
from seawall.domain.managed_kafka.tokens import heard_of
from seawall.domain.managed_kafka.voters import has_caught_up
from seawall.domain.partitions import BrokerState
from seawall.domain.rollout.requests import parse_override
from seawall.domain.rollout.workload import (
    APPROVE_ROLLOUT_ANNOTATION,
    OVERRIDE_ANNOTATION,
    RESTART_KAFKA_ANNOTATION,
    Pod,
)


def cause_of(case: Case, node: Node) -> KafkaCause | None:
    """Why the pod of a node is to be made anew; None: it is as it should be, or there is none."""
    pod = case.pod(node)
    if pod is None:
        return None
    if pod.template == case.declared[node.id]:
        return KafkaCause.CERTIFICATE_RENEWED if case.has_old_certificate(node) else None
    if pod.spec_hash in {None, *spec_hashes(node)}:  # what the spec said is not known, or says the same: not its doing
        return KafkaCause.OPERATOR_CHANGED
    return KafkaCause.TEMPLATE_CHANGED


def plan_hash(case: Case) -> str:
    """Of what all nodes would be made of: a person approves just that."""
    found = ",".join(f"{node}={declared}" for node, declared in sorted(case.declared.items()))
    return hashlib.sha256(found.encode()).hexdigest()[:10]


def awaits_approval(case: Case) -> str | None:
    """What a person has to approve; None: nothing waits for it."""
    plan = plan_hash(case)
    is_changed = any(cause_of(case, node) is KafkaCause.OPERATOR_CHANGED for node in case.nodes)
    return plan if is_changed and not _is_approved(case, plan) else None


def _is_approved(case: Case, plan: str) -> bool:
    return case.cluster.metadata.annotations.get(APPROVE_ROLLOUT_ANNOTATION, "").strip() == plan


def roll_facts(case: Case, *, is_cut: bool | None = False, paused_run: str | None = None) -> KafkaFacts:
    """The facts of one look; since when each node has been steady is not among them yet.

    Args:
        case: what was looked at.
        is_cut: whether records are being deleted; None: not known.
        paused_run: which run is paused in the middle of that, as a clause.
    """
    cluster, answer, time = case.cluster, case.observed.kafka, case.observed.time
    annotations, plan = cluster.metadata.annotations, plan_hash(case)
    said = annotations.get(OVERRIDE_ANNOTATION)
    override = None if said is None else parse_override(said, time)
    facts = KafkaFacts(
        now=time.shared,
        nodes=tuple(_member(case, node, pod) for node in case.nodes if (pod := case.pod(node)) is not None),
        missing=tuple(node.name for node in case.nodes if case.pod(node) is None),
        kafka_problem=": ".join(filter(None, (answer, case.why_silent))) if isinstance(answer, str) else None,
        is_moving=None,
        is_cut=is_cut,
        paused_run=paused_run,
        is_datanode_away=_is_datanode_away(cluster),
        dwell=case.nodes[0].kafka.rollout.dwell,
        start_budget=case.nodes[0].kafka.rollout.start_budget,
        plan=plan,
        is_approved=_is_approved(case, plan),
        request=annotations.get(RESTART_KAFKA_ANNOTATION, "").strip() or None,
        override=None if isinstance(override, str) else override,
        override_problem=override if isinstance(override, str) else None,
        is_paused=cluster.metadata.is_paused,
        certificates_problem=case.unusable,
        version_problem=case.too_old,
    )
    return facts if isinstance(answer, str) else _with_answer(facts, answer)


def _with_answer(facts: KafkaFacts, answer: KafkaAnswer) -> KafkaFacts:
    partitions, quorum = answer.partitions, answer.quorum
    if partitions is None or isinstance(partitions, str):
        return replace(facts, kafka_problem=partitions or "where its replicas are was not asked")
    facts = replace(facts, partitions=partitions, min_isr=answer.min_isr, is_moving=answer.is_moving)
    if isinstance(quorum, str):
        return facts
    return replace(facts, active_controller=quorum.leader, voters=frozenset(each.id for each in quorum.voters))


def _member(case: Case, node: Node, pod: FoundPod) -> KafkaNode:
    answer = case.observed.kafka
    statefulset = case.observed.found.objects.get((ObjectKind.STATEFUL_SET, node.name))
    declared = case.declared[node.id]
    made_by, certificate = _made_by(statefulset)
    return KafkaNode(
        id=node.id,
        pod=_pod(case, pod),
        is_broker=node.pool.is_broker,
        is_controller=node.pool.is_controller,
        is_fenced=None if isinstance(answer, str) else _is_fenced(answer, node),
        is_caught_up=None if isinstance(answer, str) else is_caught_up(case, answer, node),
        cause=cause_of(case, node),
        has_newest_template=made_by == declared and case.certificate in {None, certificate},
        has_own_template=made_by == pod.template and reads_alike(certificate, pod.certificate),
        declared=declared,
        stranger=case.why_stranger(node),
        runs=pod.is_started,
        loses_volume=case.loses_volume(node),
    )


def _made_by(statefulset: FoundObject | None) -> tuple[str | None, str | None]:
    """The hash of the template that the next pod is made of, and what it says of the certificate."""
    if statefulset is None:
        return None, None
    found = statefulset.annotations
    return found.get(TEMPLATE_HASH_ANNOTATION), found.get(CERTIFICATE_ANNOTATION)


def _pod(case: Case, pod: FoundPod) -> Pod:
    terminates = case.observed.time.shared if pod.is_terminating else None
    return Pod(
        key=Key(case.key.namespace, pod.name),
        uid=pod.uid,
        ordinal=0,
        revision=pod.template or "",
        ready=pod.is_ready,
        gone_by=pod.gone_by or terminates,
        waiting=pod.said or pod.trouble,
        last_termination=pod.last_termination,
    )


def _is_fenced(answer: KafkaAnswer, node: Node) -> bool | None:
    broker = answer.brokers.get(node.id)
    return None if broker is None else broker.state is not BrokerState.ONLINE


def is_caught_up(case: Case, answer: KafkaAnswer, node: Node) -> bool | None:
    """Whether a voter has all of the metadata log; who only follows it is none. None: it is none, or nobody knows.

    Of a controller that is taken out nobody waits for more, once its vote has gone: it never votes again.
    """
    if isinstance(answer.quorum, str) or not node.pool.is_controller:
        return None
    if node.is_leaving and node.id not in {voter.id for voter in answer.quorum.voters}:
        return True
    quorum = replace(answer.quorum, observers=())
    heard = heard_of(quorum, node.id, case.identity.nodes.get(node.id, NodeRecord()))
    if heard is None:
        return None
    return has_caught_up(heard, quorum)


def _is_datanode_away(cluster: WALCluster) -> bool | None:
    """As the controller of their restarts says: True in its condition is all of them serve."""
    spec = cluster.spec
    if isinstance(spec, InvalidSpec) or spec.data_plane is None or not spec.data_plane.names_datanodes:
        return False
    said = find_condition(cluster.status.conditions, ConditionType.DATANODES_HEALTHY)
    return None if said is None or said.status == "Unknown" else said.status != "True"


def with_steady(facts: KafkaFacts, since: dict[str, datetime]) -> KafkaFacts:
    """The facts with since when each node has been well, by the UID of its pod."""
    return replace(facts, nodes=tuple(replace(node, steady_since=since.get(node.uid)) for node in facts.nodes))
