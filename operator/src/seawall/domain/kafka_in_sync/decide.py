"""What the controller of readiness gates decides: a pure function of the object and of what was observed.

    a look shows              the condition of the pod becomes
    ------------------------  -----------------------------------------------------------------------
    it is not in sync         False, at once
    another container         False, at once, whether Kafka answers or not
    its volume goes with it   the same
    it is in sync             True, when a look before has shown the same container so; or it stays True
    nothing (not known)       what it was

Nothing is said of pods without the gate, which an older Seawall made: they are Ready when their port is open. A pause
changes nothing here: a drain has to be safe meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from seawall.api.meta import Condition, ConditionType
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.domain.clocks import TrustedTime
from seawall.domain.conditions import (
    ConditionBuilder,
    ConditionStatus,
    Outlook,
    Verdict,
    as_status,
    find_condition,
    loss_event,
    of_kinds,
    with_own,
)
from seawall.domain.decision import FAILURES, Decision, Published, silent
from seawall.domain.events import EventReason
from seawall.domain.kafka_in_sync.judge import Run, is_said_of, judge, run_of, said_of
from seawall.domain.kafka_in_sync.reasons import SENTENCES, InSyncReason, NodeReason
from seawall.domain.managed_kafka.case import Case
from seawall.domain.managed_kafka.found import FoundPod, InSync
from seawall.domain.step import Event, EventType
from seawall.domain.times import MANAGED_KAFKA_IN_SYNC_MS, MANAGED_KAFKA_IN_SYNC_SECONDS, MANAGED_KAFKA_POLL_SECONDS

KIND = ConditionType.KAFKA_NODES_IN_SYNC


@dataclass(frozen=True, slots=True)
class SayInSync:
    """Write the condition of one pod's readiness gate, if the pod is still as it was read."""

    pod: FoundPod
    said: InSync

    def event(self) -> Event:
        """What the event says."""
        reason = EventReason.KAFKA_NODE_IN_SYNC if self.said.holds else EventReason.KAFKA_NODE_OUT_OF_SYNC
        return Event(EventType.NORMAL, reason, f"{self.pod.name} {SENTENCES[NodeReason(self.said.reason)]}")


InSyncDecision = Decision[WALClusterStatus, SayInSync]


@dataclass(frozen=True, slots=True)
class InSyncObserved:
    """What one tick sees.

    Attributes:
        case: all that a node is judged by; a sentence: why none may be.
        is_managed: whether there is a managed Kafka that stays, and that this operator may run.
        pods: by node.
        steady: what looks long enough ago have shown in sync, and each since.
    """

    time: TrustedTime
    case: Case | str
    is_managed: bool = True
    pods: Mapping[int, FoundPod] = field(default_factory=dict)
    steady: frozenset[Run] = frozenset()


def in_sync_now(observed: InSyncObserved) -> frozenset[Run]:
    """What this look shows in sync."""
    return frozenset(
        run_of(observed.pods[node]) for node, reason in _reasons(observed).items() if reason is NodeReason.IN_SYNC
    )


def decide(cluster: WALCluster, observed: InSyncObserved) -> InSyncDecision:
    """What one tick decides."""
    if not observed.is_managed:
        return silent(cluster, "there is no managed Kafka, or the WALCluster goes")
    build = ConditionBuilder(cluster.status.conditions, cluster.metadata.generation, observed.time.now)

    def publish(found: Verdict) -> Published[WALClusterStatus]:
        holds: ConditionStatus = as_status(found.outlook is Outlook.READY)
        own = build(KIND, "Unknown" if found.reason == InSyncReason.NOT_ASKED else holds, found.reason, found.message)
        conditions = with_own(cluster.status.conditions, (own,), (KIND,))
        status = cluster.status.model_copy(update={"conditions": conditions})
        return Published(status, _events(cluster, own, conditions))

    return Decision(cluster.status, _verdict(observed), tuple(_actions(observed)), publish)


def _events(cluster: WALCluster, own: Condition, conditions: tuple[Condition, ...]) -> tuple[Event, ...]:
    """Only of what fails: that nodes come and go is told of each."""
    before = find_condition(cluster.status.conditions, KIND)
    if own.reason not in FAILURES and (before is None or before.reason not in FAILURES):
        return ()
    event = loss_event(cluster.status.conditions, conditions, KIND, "readiness gates are written")
    return () if event is None else (event,)


def _reasons(observed: InSyncObserved) -> dict[int, NodeReason | None]:
    """By node with a pod how it is, as this look shows it."""
    if isinstance(observed.case, str):
        return {node: None if pod.container else NodeReason.NOT_RUNNING for node, pod in observed.pods.items()}
    case = observed.case
    return {node.id: judge(case, node, pod) for node in case.nodes if (pod := observed.pods.get(node.id)) is not None}


def _actions(observed: InSyncObserved) -> Iterator[SayInSync]:
    for node, reason in sorted(_reasons(observed).items()):
        pod = observed.pods[node]
        wanted = None if not pod.is_gated or pod.is_terminating else _wanted(observed, pod, reason)
        if wanted is not None and wanted != pod.in_sync:
            yield SayInSync(pod, wanted)


def _wanted(observed: InSyncObserved, pod: FoundPod, reason: NodeReason | None) -> InSync | None:
    """What the condition of a pod is to be; None: what it is."""
    holds = pod.in_sync is not None and pod.in_sync.holds
    if reason is NodeReason.IN_SYNC and (holds and is_said_of(pod)):
        return None
    if reason is NodeReason.IN_SYNC and run_of(pod) in observed.steady:
        return said_of(pod, reason)
    if reason is None or reason is NodeReason.IN_SYNC:  # not known, or not yet
        return said_of(pod, NodeReason.RESTARTED) if holds and not is_said_of(pod) else None
    is_said = pod.in_sync is not None and not holds and pod.in_sync.reason == reason
    return None if is_said else said_of(pod, reason)


def _verdict(observed: InSyncObserved) -> Verdict:
    if isinstance(observed.case, str):
        return Verdict(Outlook.PROGRESSING, InSyncReason.NOT_ASKED, observed.case, MANAGED_KAFKA_POLL_SECONDS)
    case, reasons = observed.case, _reasons(observed)
    found = {node.name: reasons.get(node.id, NodeReason.NOT_RUNNING) for node in case.nodes}
    known = {name: reason for name, reason in found.items() if reason is not None}
    wrong = [f"{name} {SENTENCES[reason]}" for name, reason in known.items() if reason is not NodeReason.IN_SYNC]
    if wrong:
        return Verdict(Outlook.PROGRESSING, InSyncReason.NOT_ALL, "; ".join(wrong), MANAGED_KAFKA_POLL_SECONDS)
    if unknown := sorted(found.keys() - known.keys()):
        answer = case.observed.kafka
        said = answer if isinstance(answer, str) else f"of {', '.join(unknown)} Kafka does not say enough"
        return Verdict(Outlook.PROGRESSING, InSyncReason.NOT_ASKED, said, MANAGED_KAFKA_POLL_SECONDS)
    return _all_in_sync(observed, case)


def _all_in_sync(observed: InSyncObserved, case: Case) -> Verdict:
    """Each has been seen so once; its pod says it after the second look."""
    is_written = all(
        not pod.is_gated or (pod.in_sync is not None and pod.in_sync.holds) for pod in observed.pods.values()
    )
    after = MANAGED_KAFKA_IN_SYNC_SECONDS if is_written else MANAGED_KAFKA_IN_SYNC_MS / 1_000
    return Verdict(Outlook.READY, InSyncReason.ALL, f"{len(case.nodes)} nodes are in sync", after)


def own_conditions(status: WALClusterStatus) -> tuple[Condition, ...]:
    """What is said of nodes in sync, as it was written."""
    return of_kinds(status.conditions, KIND)
