"""What the controller of a managed Kafka decides: a pure function of the object and of what was observed.

name usable, readable → identity clear → nothing of a former life → what is to be done (plan.py), else how nodes are
"""

from __future__ import annotations

import re
from dataclasses import replace

from seawall.api.meta import PAUSED_ANNOTATION, Condition, ConditionType
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.api.v1alpha1.managed_kafka_status import ManagedKafkaStatus, ManagedNodeStatus, NodeState
from seawall.domain.brokers.view import ELIGIBLE_LEADER_REPLICAS
from seawall.domain.conditions import (
    ConditionBuilder,
    Outlook,
    Verdict,
    find_condition,
    loss_event,
    of_kinds,
    status_of,
    with_own,
)
from seawall.domain.decision import FAILURES, Decision, Failure, Published, silent
from seawall.domain.managed_kafka.actions import MakeIdentity, ManagedAction
from seawall.domain.managed_kafka.case import Case, declared_formats, pinned_id, why_not_secured
from seawall.domain.managed_kafka.found import Observed
from seawall.domain.managed_kafka.identity import NoIdentity, Unclear, find_identity, found_nodes
from seawall.domain.managed_kafka.names import FORMAT_VOLUME_ANNOTATION
from seawall.domain.managed_kafka.node import Node
from seawall.domain.managed_kafka.plan import of_a_former_life, plan
from seawall.domain.managed_kafka.reasons import NEEDS_A_PERSON, WELL, Reason
from seawall.domain.managed_kafka.releases import release_of
from seawall.domain.managed_kafka.roll_facts import awaits_approval
from seawall.domain.managed_kafka.rolling import Rolling, is_of_the_roll, of_removal, of_roll, of_voters
from seawall.domain.managed_kafka.scale import is_new, next_step, removed_ids, why_undeclared
from seawall.domain.managed_kafka.states import node_statuses
from seawall.domain.managed_kafka.volumes import VolumeState
from seawall.domain.times import MANAGED_KAFKA_IDLE_SECONDS, MANAGED_KAFKA_LOST_SECONDS, MANAGED_KAFKA_POLL_SECONDS

KIND = ConditionType.KAFKA_NODES_HEALTHY
_USABLE = re.compile(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?")

ManagedDecision = Decision[WALClusterStatus, ManagedAction]


def decide(cluster: WALCluster, observed: Observed) -> ManagedDecision:
    """What one tick decides."""
    managed = cluster.managed_kafka
    if managed is None or cluster.metadata.deletion_timestamp is not None:
        return silent(cluster, "there is no managed Kafka, or the WALCluster goes")
    if (obstacle := _obstacle(cluster, observed)) is not None:
        return _publishing(cluster, observed, obstacle)
    nodes = found_nodes(cluster.metadata.key, managed, observed.found)
    match find_identity(nodes, observed, pinned_id(cluster)):
        case Unclear(message):
            return _publishing(cluster, observed, _verdict(Reason.IDENTITY_UNCLEAR, message))
        case NoIdentity():
            return _making(cluster, observed, nodes)
        case identity:
            return _manage(Case(cluster, nodes, observed, identity))


def _obstacle(cluster: WALCluster, observed: Observed) -> Verdict | None:
    """Why nothing can be known of nodes."""
    if not _USABLE.fullmatch(cluster.metadata.name):
        message = f"{cluster.metadata.name} cannot be part of a host name: use at most 40 letters, digits and dashes"
        return _verdict(Reason.NAME_NOT_USABLE, message)
    if not observed.is_enabled:
        message = "this operator may not run a Kafka: install it with managedKafka.enabled: true"
        return _verdict(Reason.NOT_ENABLED, message)
    return None if observed.obstacle is None else Failure(observed.obstacle, final=True).verdict


def _making(cluster: WALCluster, observed: Observed, nodes: tuple[Node, ...]) -> ManagedDecision:
    """Nothing is there yet, and nothing begins with certificates that do not fit."""
    if (unusable := why_not_secured(cluster, observed)) is not None:
        return _publishing(cluster, observed, _not_secured(unusable))
    verdict = _verdict(Reason.BRINGING_UP, "the ids of a new Kafka cluster are made")
    controllers = tuple(node.id for node in nodes if node.pool.is_controller and not node.is_leaving)
    return _publishing(cluster, observed, verdict, MakeIdentity(controllers))


def _manage(case: Case) -> ManagedDecision:
    statuses = node_statuses(case)
    before = case.cluster.status.managed_kafka
    status = ManagedKafkaStatus(
        cluster_id=case.identity.cluster_id,
        nodes=statuses,
        awaiting_approval=awaits_approval(case),
        roll=None if before is None else before.roll,
        removed=removed_ids(case),
        removal=None if before is None else before.removal,
        voter_change=None if before is None else before.voter_change,
    )
    if (former := of_a_former_life(case)) is not None:
        message = f"{former} is of an earlier WALCluster of this name: it has to go first"
        return _publishing(case.cluster, case.observed, _verdict(Reason.FORMER_LIFE, message), managed=status)
    verdict = _with_why_silent(case, _as_far_as_known(case, _judge(case, statuses)))
    decision = _publishing(case.cluster, case.observed, verdict, *plan(case), managed=status)
    return replace(decision, pace=MANAGED_KAFKA_LOST_SECONDS) if decision.actions and _is_lost(case) else decision


def _as_far_as_known(case: Case, verdict: Verdict) -> Verdict:
    """What pods and memory show to be well is not known to be, while Kafka does not say so; what is wrong is."""
    answer = case.observed.kafka
    return _verdict(Reason.NOT_ASKED, answer) if isinstance(answer, str) and verdict.reason in WELL else verdict


def _with_why_silent(case: Case, verdict: Verdict) -> Verdict:
    """While Seawall cannot ask, whoever waits for Kafka waits for that."""
    why = case.why_silent
    return verdict if why is None or why in verdict.message else replace(verdict, message=f"{verdict.message}; {why}")


def _is_lost(case: Case) -> bool:
    return any(case.volume_state(node) is VolumeState.LOST for node in case.nodes)


def _judge(case: Case, statuses: tuple[ManagedNodeStatus, ...]) -> Verdict:
    """The first thing to mend."""
    said = {each.id: each.message for each in statuses}
    return _of_volumes(case, said) or _of_undeclared(case) or _of_version(case) or _of_what_runs(case, statuses, said)


def _of_volumes(case: Case, said: dict[int, str]) -> Verdict | None:
    lost = [node for node in case.nodes if case.volume_state(node) is VolumeState.LOST and not case.may_format(node)]
    if lost:
        wrong = declared_formats(case.cluster, case.observed)[1]
        return _verdict(
            Reason.VOLUME_LOST, "; ".join(filter(None, (_of_nodes(lost, said), wrong, _of_spent(case, lost))))
        )
    foreign = [each for each in case.observed.found.pods.values() if each.said and not each.has_empty_volume]
    if foreign:
        return _verdict(Reason.VOLUME_FOREIGN, "; ".join(f"node {each.node}: {each.said}" for each in foreign))
    return None


def _of_spent(case: Case, lost: list[Node]) -> str:
    spent = [str(node.id) for node in lost if case.is_spent(node)]
    nodes = f"node{'s' if len(spent) > 1 else ''} {', '.join(spent)}"
    what = f"{FORMAT_VOLUME_ANNOTATION} was about a loss before: Kafka has heard from {nodes} since, so say it anew"
    return what if spent else ""


def _of_undeclared(case: Case) -> Verdict | None:
    why = why_undeclared(case)
    return None if why is None else _verdict(Reason.NODES_NOT_DECLARED, why)


def _of_version(case: Case) -> Verdict | None:
    return None if case.too_old is None else _verdict(Reason.VERSION_TOO_OLD, f"{case.too_old}; nothing is started")


def _of_what_runs(case: Case, statuses: tuple[ManagedNodeStatus, ...], said: dict[int, str]) -> Verdict:
    rolling = of_roll(case, statuses)
    if rolling is not None and rolling.reason is Reason.ROLL_STALLED:
        return _verdict(rolling.reason, rolling.message)
    stays = [node for node in case.nodes if not node.is_leaving]
    away = [node for node in stays if _state(statuses, node.id) is not NodeState.ONLINE]
    if away and (unusable := _of_certificates(case)) is not None:
        return unusable
    if unexpected := [node for node in away if not is_of_the_roll(case, node)]:
        return _verdict(_why_away(case, unexpected), _of_nodes(away, said))
    if (changing := of_voters(case)) is not None:
        return _verdict(changing.reason, changing.message)
    answer = case.observed.kafka
    if not isinstance(answer, str) and answer.features and not answer.features.get(ELIGIBLE_LEADER_REPLICAS, 0):
        return _verdict(Reason.EMPTIED_DISK_MAY_LEAD, "eligible.leader.replicas.version is 0")
    removing = of_removal(case)
    reason = Reason.ALL_ONLINE if rolling is None else rolling.reason
    ends = "" if rolling is not None else _of_upgrade(case)
    parts = (_of_all(statuses, rolling), next_step(case), "" if removing is None else removing.message, ends)
    return _verdict(reason if removing is None else removing.reason, "; ".join(filter(None, parts)))


def _of_upgrade(case: Case) -> str:
    """What ends an upgrade, once all nodes run the newer version; a person says when, because nobody goes back then."""
    if (oldest := case.goes_back_to) is None:
        return ""
    ends = f"kafka-features.sh upgrade --release-version {release_of(case.version)}"
    return f"version {oldest} can be gone back to until {ends} is run"


def _of_certificates(case: Case) -> Verdict | None:
    """Why who is away would not come back."""
    if case.unusable is not None:
        return _not_secured(case.unusable)
    stranger = case.why_stranger()
    return None if stranger is None else _verdict(Reason.CERTIFICATES_UNUSABLE, stranger)


def _why_away(case: Case, away: list[Node]) -> Reason:
    """Who joins a Kafka that has been whole once takes nothing away."""
    if case.identity.formed:
        return Reason.SCALING_UP if all(is_new(case, node) for node in away) else Reason.NOT_ONLINE
    return Reason.BRINGING_UP if any(is_new(case, node) for node in away) else Reason.NOT_ONLINE


def _of_all(statuses: tuple[ManagedNodeStatus, ...], rolling: Rolling | None) -> str:
    online = sum(each.state is NodeState.ONLINE for each in statuses)
    count = f"{len(statuses)} nodes" if online == len(statuses) else f"{online} of {len(statuses)} nodes"
    return f"{count} are Online{'' if rolling is None else f'; {rolling.message}'}"


def _not_secured(what: str) -> Verdict:
    return _verdict(Reason.CERTIFICATES_UNUSABLE, f"{what}; nothing is started")


def _state(statuses: tuple[ManagedNodeStatus, ...], node: int) -> NodeState:
    return next(each.state for each in statuses if each.id == node)


def _of_nodes(nodes: list[Node], said: dict[int, str]) -> str:
    return "; ".join(f"node {node.id}: {said[node.id] or 'Kafka has not heard from it yet'}" for node in nodes)


def _verdict(reason: Reason, message: str) -> Verdict:
    if reason in WELL:
        return Verdict(Outlook.READY, reason, message, MANAGED_KAFKA_IDLE_SECONDS)
    outlook = Outlook.STALLED if reason in NEEDS_A_PERSON else Outlook.PROGRESSING
    return Verdict(outlook, reason, message, MANAGED_KAFKA_POLL_SECONDS)


def _publishing(
    cluster: WALCluster,
    observed: Observed,
    verdict: Verdict,
    *actions: ManagedAction,
    managed: ManagedKafkaStatus | None = None,
) -> ManagedDecision:
    """The status is this controller's part alone: its nodes and its condition."""
    build = ConditionBuilder(cluster.status.conditions, cluster.metadata.generation, observed.time.now)
    is_paused = cluster.metadata.is_paused
    nodes = managed or cluster.status.managed_kafka or ManagedKafkaStatus()

    def publish(found: Verdict) -> Published[WALClusterStatus]:
        own = build(KIND, status_of(found, {Reason.NOT_ASKED}), found.reason, found.message)
        if is_paused and actions and found.reason not in FAILURES:
            own = build(KIND, "Unknown", Reason.PAUSED, f"{PAUSED_ANNOTATION} is set; {found.message}")
        conditions = with_own(cluster.status.conditions, (own,), (KIND,))
        status = cluster.status.model_copy(update={"managed_kafka": nodes, "conditions": conditions})
        event = loss_event(cluster.status.conditions, status.conditions, KIND, "Kafka is up")
        is_worth_an_event = event is not None and own.reason not in {Reason.BRINGING_UP, Reason.SCALING_UP}
        return Published(status, (event,) if event is not None and is_worth_an_event else ())

    done = () if is_paused else actions
    return Decision(cluster.status, verdict, done, publish, publishes_first=True, published_in=KIND)


def own_conditions(status: WALClusterStatus) -> tuple[Condition, ...]:
    """What is said of the nodes, as it was written."""
    return of_kinds(status.conditions, KIND)


def standing(cluster: WALCluster) -> Verdict | None:
    """What keeps a managed Kafka from answering, as its controller says; None: nothing, or it is not managed.

    That Kafka does not answer is no reason why: whoever asks for this has asked by itself.
    """
    found = find_condition(cluster.status.conditions, KIND)
    if cluster.status.managed_kafka is None or found is None or found.status == "True":
        return None
    if found.reason == Reason.NOT_ASKED:
        return None
    outlook = Outlook.STALLED if found.reason in NEEDS_A_PERSON else Outlook.PROGRESSING
    return Verdict(outlook, found.reason, found.message, MANAGED_KAFKA_POLL_SECONDS)
