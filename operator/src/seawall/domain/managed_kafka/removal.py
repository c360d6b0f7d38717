"""What is decided of a node that is taken out of a managed Kafka.

    stage      in the status         what is done in the world             what ends it
    ---------  --------------------  ------------------------------------  -----------------------------------------
    (none)     —                     —                                     fewer replicas are declared
    Draining   the node              the reassignment moves all replicas   two looks, apart, find nothing on it, and
                                     away (reassignment/planning.py); of   the journal is free, or has its own
                                     a controller the vote is taken        restart, or one that waits for it:
                                     (voter_change.py)                     Stopping; or declared again: (none)
    Stopping   the journal has it    its StatefulSet makes no pod; once    its objects are gone: (none)
                                     it is gone and fenced, Kafka forgets
                                     it; its id is removed; its objects go

Never stopped before it is empty twice, never forgotten before it is gone, fenced and still empty, and no id is used
twice (K5). What is not known counts as not empty. Which line is next is derived from the world, so whoever comes next
goes on, also without the status. A tick records or acts, never both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seawall.api.meta import PAUSED_ANNOTATION
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.api.v1alpha1.disruption import Disruption, DisruptionKind, of_kind
from seawall.api.v1alpha1.kafka_node_pools import IDS_OF_A_POOL
from seawall.api.v1alpha1.managed_kafka_status import ManagedKafkaStatus, NodeRemoval, RemovalStage
from seawall.domain.conditions import Outlook, Verdict
from seawall.domain.decision import FAILURES, Decision, Published, silent
from seawall.domain.events import EventReason
from seawall.domain.managed_kafka.case import Case
from seawall.domain.managed_kafka.emptiness import RemovalObserved, why_not_empty, why_not_twice, why_refused
from seawall.domain.managed_kafka.found import FoundObject
from seawall.domain.managed_kafka.node import Node
from seawall.domain.managed_kafka.objects import ObjectKind
from seawall.domain.managed_kafka.removal_actions import (
    DeleteObject,
    RemovalAction,
    RemoveId,
    StopNode,
    UnregisterBroker,
)
from seawall.domain.managed_kafka.removal_journal import (
    entry_of,
    handed_back,
    is_own,
    stands_beside,
    stop_is_late_after,
    without_own,
)
from seawall.domain.managed_kafka.scale import is_stopped
from seawall.domain.partitions import BrokerState
from seawall.domain.step import Event, EventType
from seawall.domain.times import MANAGED_KAFKA_IDLE_SECONDS, MANAGED_KAFKA_POLL_SECONDS

LONGEST_MESSAGE = 512
"""Characters of `message` that the API server takes."""

RemovalDecision = Decision[WALClusterStatus, RemovalAction]


@dataclass(frozen=True, slots=True)
class Waits:
    """Nothing is done, and why; `refused`: until a person changes something."""

    message: str
    refused: bool = False


_PAUSED = Waits(f"{PAUSED_ANNOTATION} is set")


def decide(cluster: WALCluster, observed: RemovalObserved) -> RemovalDecision:
    """What one tick decides."""
    case = observed.case
    if isinstance(case, str):
        return silent(cluster, case, MANAGED_KAFKA_IDLE_SECONDS)
    removal = cluster.status.removal
    if removal is not None and _is_removed(case, removal.node):
        return _clear_away(case, removal)
    node = leaving_node(case)
    left = _left_behind(case)
    if node is None and left is None:
        return _ended(case, removal)
    if node is None or left is not None:  # the status was lost before its objects were gone
        again = NodeRemoval(node=left or 0, stage=RemovalStage.STOPPING, start_time=case.observed.time.shared)
        return _record(cluster, again, cluster.status.disruption, "its objects are deleted")
    if removal is None or removal.node != node.id:
        stage = RemovalStage.STOPPING if is_stopped(case, node) else RemovalStage.DRAINING
        begins = NodeRemoval(node=node.id, stage=stage, start_time=case.observed.time.shared)
        return _record(cluster, begins, cluster.status.disruption, "it is to be taken out")
    return _go_on(case, observed, node, removal)


def leaving_node(case: Case) -> Node | None:
    """One that is stopped already, else that of the status, else the highest id."""
    leaving = sorted((node for node in case.nodes if node.is_leaving), key=lambda node: node.id)
    stopped = [node for node in leaving if is_stopped(case, node)]
    removal = case.cluster.status.removal
    same = [node for node in leaving if removal is not None and node.id == removal.node]
    return next(iter((*stopped, *same, *reversed(leaving))), None)


def _go_on(case: Case, observed: RemovalObserved, node: Node, removal: NodeRemoval) -> RemovalDecision:
    if case.cluster.metadata.is_paused:
        return _waiting(case, removal, _PAUSED)
    if is_stopped(case, node):
        return _forget(case, observed, node, removal)
    # Who goes for good leaves fewer that may not begin; its own name is needed no more.
    if (unstartable := case.too_old or case.unusable_to_who_stays) is not None:
        return _waiting(case, removal, Waits(f"{unstartable}; none is stopped while none may begin"))
    refused = why_refused(case, node, observed)
    why = refused or why_not_twice(node, observed)
    if why is None:
        return _stop(case, node, removal)
    if removal.stage is RemovalStage.STOPPING:  # somebody put something on it right before it was stopped
        draining = removal.model_copy(update={"stage": RemovalStage.DRAINING})
        return _record(case.cluster, draining, handed_back(case), why)
    return _waiting(case, removal, Waits(why, refused=refused is not None))


def _stop(case: Case, node: Node, removal: NodeRemoval) -> RemovalDecision:
    """The journal first: nothing else may be disrupted."""
    entry = case.cluster.status.disruption
    is_beside = stands_beside(entry, case, node)
    if entry is not None and not is_beside and not is_own(entry, node):
        what = f"status.disruption has {entry.kind} of {entry.name}"
        return _waiting(case, removal, Waits(f"nothing is on it; {what}, and two disruptions cannot stand"))
    is_written = is_beside or of_kind(entry, DisruptionKind.KAFKA_NODE_REMOVAL) is not None
    if not is_written or removal.stage is RemovalStage.DRAINING:
        stopping = removal.model_copy(update={"stage": RemovalStage.STOPPING, "refused": False})
        journal = entry if is_beside else entry_of(case, node)
        return _record(case.cluster, stopping, journal, "nothing is on it: it is stopped")
    statefulset = case.observed.found.objects.get((ObjectKind.STATEFUL_SET, node.name))
    if statefulset is None:
        return _waiting(case, removal, Waits(f"StatefulSet {node.name} is made anew first"))
    return _act(case, removal, "it is stopped", StopNode(node.id, statefulset))


def _forget(case: Case, observed: RemovalObserved, node: Node, removal: NodeRemoval) -> RemovalDecision:
    """It is stopped for good: gone, fenced and still empty, then forgotten, and its id removed."""
    if removal.stage is not RemovalStage.STOPPING:
        stopping = removal.model_copy(update={"stage": RemovalStage.STOPPING})
        return _record(case.cluster, stopping, case.cluster.status.disruption, "it is stopped")
    waits = next(_before_forgetting(case, observed, node), None)
    if waits is not None:
        return _waiting(case, removal, waits)
    answer = observed.answer
    if isinstance(answer, str) or node.id in answer.brokers:
        return _act(case, removal, "Kafka forgets it", UnregisterBroker(node.id))
    record = case.observed.found.identity
    gone = case.identity.nodes[node.id].model_copy(update={"removed": True})
    removes = RemoveId(node.id, case.identity.with_nodes({node.id: gone}), None if record is None else record.version)
    return _act(case, removal, "its id is removed", removes)


def _before_forgetting(case: Case, observed: RemovalObserved, node: Node) -> Iterator[Waits]:
    if case.pod(node) is not None:
        yield _of_its_pod(case, node)
    answer = observed.answer
    if isinstance(answer, str):
        yield Waits(answer)
        return
    broker = answer.brokers.get(node.id)
    if broker is not None and broker.state is not BrokerState.FENCED:
        yield Waits("Kafka has not fenced it yet")
    if (why := why_not_empty(node, observed)) is not None:
        yield Waits(f"it is stopped, and not forgotten: {why}", refused=True)


def _of_its_pod(case: Case, node: Node) -> Waits:
    """One on a machine that is gone ends when a person says so: meanwhile nothing else may be disrupted."""
    late_after = stop_is_late_after(case, node)
    is_late = late_after is not None and case.observed.time.shared > late_after
    if not is_late:
        return Waits("its pod ends")
    how = f"kubectl delete pod {node.pod_name} --force, if its machine is gone for good"
    return Waits(f"its pod does not end, and nothing else is restarted meanwhile: {how}", refused=True)


def _clear_away(case: Case, removal: NodeRemoval) -> RemovalDecision:
    """Its objects go; its volume with them only if the pool says so."""
    objects = [each for each in case.observed.found.objects.values() if each.node == removal.node]
    volumes = [each for each in objects if each.kind is ObjectKind.VOLUME]
    gone = [each for each in objects if _goes(case, each) and not each.is_terminating]
    if gone and case.cluster.metadata.is_paused:
        return _waiting(case, removal, _PAUSED)
    if gone:
        order = sorted(gone, key=lambda each: (each.kind is ObjectKind.VOLUME, each.kind.value, each.name))
        return _act(case, removal, "its objects are deleted", *(DeleteObject(each) for each in order))
    message = f"Node {removal.node} was taken out, and its id is not used again{_kept(case, volumes)}"
    done = Event(EventType.NORMAL, EventReason.KAFKA_NODE_REMOVED, message)
    return _record(case.cluster, None, without_own(case.cluster), message, done)


def _kept(case: Case, volumes: list[FoundObject]) -> str:
    """Whose claims stay: the node's own, and others that have its labels."""
    kept = sorted(each.name for each in volumes if not _goes(case, each))
    if len(kept) > 1:
        return f"; volumes {', '.join(kept)} stay"
    return f"; its volume {kept[0]} stays" if kept else ""


def _left_behind(case: Case) -> int | None:
    """A node that is out, and of which there is more than a volume."""
    found = case.observed.found.objects.values()
    left = {each.node for each in found if each.kind is not ObjectKind.VOLUME and _goes(case, each)}
    return next((node for node in sorted(case.identity.nodes) if node in left and _is_removed(case, node)), None)


def _goes(case: Case, found: FoundObject) -> bool:
    """A volume, if its pool says so and it is the node's own: whoever copies a claim copies its labels."""
    if found.kind is not ObjectKind.VOLUME:
        return found.owner_uid == case.cluster.metadata.uid
    number = found.node or 0
    record, first = case.identity.nodes.get(number), number - number % IDS_OF_A_POOL
    is_own = record is not None and found.uid == record.volume
    return is_own and any(node.pool.storage.delete_claim for node in case.nodes if node.pool.first_id == first)


def _ended(case: Case, removal: NodeRemoval | None) -> RemovalDecision:
    """Nothing leaves; one that was to is declared again."""
    entry = of_kind(case.cluster.status.disruption, DisruptionKind.KAFKA_NODE_REMOVAL)
    if removal is None and entry is None:
        return silent(case.cluster, "no node is to be taken out", MANAGED_KAFKA_IDLE_SECONDS)
    return _record(case.cluster, None, handed_back(case), "it stays")


def _is_removed(case: Case, node: int) -> bool:
    record = case.identity.nodes.get(node)
    return record is not None and record.removed


def _act(case: Case, removal: NodeRemoval, message: str, *actions: RemovalAction) -> RemovalDecision:
    return _decision(case.cluster.status, removal, Waits(message), *actions)


def _waiting(case: Case, removal: NodeRemoval, waits: Waits) -> RemovalDecision:
    return _decision(case.cluster.status, removal, waits)


def _record(
    cluster: WALCluster, removal: NodeRemoval | None, entry: Disruption | None, message: str, *events: Event
) -> RemovalDecision:
    said = None if removal is None else removal.model_copy(update={"message": message[:LONGEST_MESSAGE]})
    status = _with(cluster.status, said, entry)
    verdict = Verdict(Outlook.PROGRESSING, "", message, MANAGED_KAFKA_POLL_SECONDS)
    return Decision(status, verdict, publish=lambda _: Published(status, events))


def _decision(status: WALClusterStatus, removal: NodeRemoval, waits: Waits, *actions: RemovalAction) -> RemovalDecision:
    def publish(found: Verdict) -> Published[WALClusterStatus]:
        has_failed = found.reason in FAILURES
        update = {"message": found.message[:LONGEST_MESSAGE], "refused": waits.refused and not has_failed}
        said = removal.model_copy(update=update)
        warning = Event(EventType.WARNING, found.reason, found.message)
        is_new = has_failed and removal.message != said.message
        return Published(_with(status, said, status.disruption), (warning,) if is_new else ())

    verdict = Verdict(Outlook.PROGRESSING, "", waits.message, MANAGED_KAFKA_POLL_SECONDS)
    return Decision(status, verdict, actions, publish)


def _with(status: WALClusterStatus, removal: NodeRemoval | None, entry: Disruption | None) -> WALClusterStatus:
    managed = (status.managed_kafka or ManagedKafkaStatus()).model_copy(update={"removal": removal})
    return status.model_copy(update={"managed_kafka": managed, "disruption": entry})
