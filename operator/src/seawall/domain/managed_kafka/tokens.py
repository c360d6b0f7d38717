"""Format tokens: who may format its volume now, and who has registered since.

    initial <voters>   a first controller: its disk gets the directory id that was made for it, once
    join               any other node of a Kafka that is not formed yet: it has no records
    … <question>       the same, of the one pod that asked, once: for each emptiness of its volume it has a question of
                       its own (entrypoint.sh). Where there may be records there is no other token, and it is given
                       to a node of which Kafka has never heard, else when nothing is lost by it, or a person answers
                       for it

A token is there as long as its reason is: it goes when Kafka has heard from the node, and when its pod is another one.
None is given before all nodes have volumes (plan.py). A pod formats without a question once. The pool's topics are
made when Kafka is formed and all tokens answer questions, or a disk that is lost at once would take along what it alone
has.
"""

from __future__ import annotations

from collections.abc import Mapping

from seawall.domain.kafka import by_number
from seawall.domain.managed_kafka.case import Case
from seawall.domain.managed_kafka.identity import Identity, NodeRecord, Unclear
from seawall.domain.managed_kafka.names import format_name, identity_name, token_key
from seawall.domain.managed_kafka.node import Node
from seawall.domain.managed_kafka.properties import voter_address
from seawall.domain.managed_kafka.volumes import VolumeState, is_known, is_on
from seawall.domain.partitions import BrokerState, Quorum, QuorumReplica
from seawall.domain.times import MANAGED_KAFKA_CAUGHT_UP_MS


def wanted_tokens(case: Case) -> dict[str, str]:
    """The tokens that should be there, by key."""
    found = {token_key(node.id): _token(case, node) for node in case.nodes}
    return {key: token for key, token in found.items() if token is not None}


def _token(case: Case, node: Node) -> str | None:
    match case.volume_state(node):
        case VolumeState.FIRST if case.identity.formed:
            return _answer(case, node) if is_known(node, case.observed.kafka) is False else None
        case VolumeState.FIRST:
            return _first_token(case, node)
        case VolumeState.LOST if case.may_format(node):
            record, volume = case.identity.nodes[node.id], case.volume(node)
            return _answer(case, node) if volume is not None and volume.uid == record.volume else None
        case _:
            return None


def _answer(case: Case, node: Node) -> str | None:
    question = _question(case, node)
    return f"join {question}" if question is not None else None


def _question(case: Case, node: Node) -> str | None:
    pod = case.pod(node)
    return None if pod is None else pod.question


def _first_token(case: Case, node: Node) -> str:
    initial = case.identity.initial
    voters = ",".join(f"{each}@{voter_address(case.key, each)}:{initial[each]}" for each in sorted(initial))
    kind = f"initial {voters}" if node.id in initial else "join"
    question = _question(case, node)
    return kind if question is None else f"{kind} {question}"


def recorded(case: Case) -> Identity:
    """The identity with what is seen now: volumes that are new, restored, or may take a lost one's place; who is in.

    Nothing is recorded of a node before its volume is: the first look after that finds whether it has registered.
    """
    changes = {node.id: change for node in case.nodes if (change := _record(case, node)) is not None}
    changed = {node: record for node, record in changes.items() if record != case.identity.nodes.get(node)}
    known = case.identity.with_nodes(changed) if changed else case.identity
    is_heard = all(node.id in known.nodes and known.nodes[node.id].registered for node in case.nodes)
    is_formed = is_heard and not case.missing_voters
    return known.model_copy(update={"formed": True}) if is_formed and not known.formed else known


def _record(case: Case, node: Node) -> NodeRecord | None:
    record, volume = case.identity.nodes.get(node.id), case.volume(node)
    match case.volume_state(node):
        case VolumeState.UNRECORDED if volume is not None:
            return NodeRecord(volume=volume.uid)
        case VolumeState.LOST if record is not None and (restored := _restored(case, node, record)) is not None:
            return restored
        case VolumeState.LOST if record is not None and volume is not None and volume.uid != record.volume:
            # It stays registered: an empty volume of it is formatted only after another look.
            spent = (*record.spent, record.directory) if record.directory is not None else record.spent
            taken = {"volume": volume.uid, "registered": True, "directory": None, "spent": spent}
            return record.model_copy(update=taken) if case.may_format(node) else None
        case VolumeState.FIRST if record is not None and case.is_newcomer(node) and is_known(node, case.observed.kafka):
            # It is no new node, so its empty volume is a lost one.
            return record.model_copy(update={"registered": True})
        case VolumeState.FIRST | VolumeState.HELD if record is not None:
            return _registered(case, node, record)
        case _:
            return None


def _registered(case: Case, node: Node, record: NodeRecord) -> NodeRecord | None:
    """What Kafka has heard from: a broker that is online, a controller that fetches with a directory of its own."""
    if isinstance(case.observed.kafka, str):
        return None
    broker = case.observed.kafka.brokers.get(node.id)
    is_online = broker is not None and broker.state is BrokerState.ONLINE
    if node.pool.is_broker and not is_online:
        return None
    known = _answered(case, node, record).model_copy(update={"registered": True})
    if not node.pool.is_controller:
        return known
    quorum = case.observed.kafka.quorum
    heard = heard_of(quorum, node.id, record) or _came_back(case, node, record, quorum)
    if heard is None:
        return None
    before, spent = record.directory, tuple(each for each in record.spent if each != heard.directory_id)
    spent = spent if before in {None, heard.directory_id} else (*spent, before or "")
    return known.model_copy(update={"directory": heard.directory_id, "spent": spent})


def _came_back(case: Case, node: Node, record: NodeRecord, quorum: Quorum | str) -> QuorumReplica | None:
    """A controller's disk of before that follows again, when its claim was taken for that of an empty one already.

    To attach a disk takes minutes, and the looks that lose its vote do not. Its pod has this claim and no other.
    """
    pod, volume = case.pod(node), case.volume(node)
    if record.directory is not None or pod is None or volume is None or not pod.is_started or not is_on(pod, volume):
        return None
    found = heard_of(quorum, node.id, record.model_copy(update={"spent": ()}))
    return found if found is not None and _follows(found) else None


def _answered(case: Case, node: Node, record: NodeRecord) -> NodeRecord:
    """What a person says now of a loss is about none that comes later, once the node runs again."""
    pod, word = case.pod(node), case.word_of(node)
    is_back = word is not None and pod is not None and pod.is_started
    return record.model_copy(update={"answered": word}) if is_back else record


def _restored(case: Case, node: Node, record: NodeRecord) -> NodeRecord | None:
    """Another claim has the disk that the node had: somebody restored it. None: nobody knows that it has.

    Its pod got a machine when the claim was there, its container found data of this node, which nobody might format,
    and Kafka hears from it: a controller by the directory that it had.
    """
    volume, pod, answer = case.volume(node), case.pod(node), case.observed.kafka
    if volume is None or volume.uid == record.volume or not record.registered or token_key(node.id) in tokens_now(case):
        return None
    if pod is None or not pod.is_started or not is_on(pod, volume) or isinstance(answer, str):
        return None
    heard = _registered(case, node, record)
    if heard is None or (record.directory is not None and heard.directory != record.directory):
        return None
    follows = heard_of(answer.quorum, node.id, record) if node.pool.is_controller else None
    if follows is not None and not _follows(follows):
        return None  # its disk of before may be who was heard from
    return heard.model_copy(update={"volume": volume.uid})


def heard_of(quorum: Quorum | str, node: int, record: NodeRecord) -> QuorumReplica | None:
    """The controller as the quorum's leader hears from it, unless that was its disk of before.

    Of two disks the one that was heard from last: one that lost its vote is told as an observer for five minutes.
    """
    if isinstance(quorum, str):
        return None
    found = [each for each in (*quorum.voters, *quorum.observers) if each.id == node]
    heard = [each for each in found if _is_heard(each, quorum, record.spent)]
    return min(heard, key=lambda each: each.behind_ms or 0, default=None)


def _follows(heard: QuorumReplica) -> bool:
    """Whether that is so now, of one that leads or was heard from."""
    return heard.behind_ms is None or heard.keeps_up(MANAGED_KAFKA_CAUGHT_UP_MS)


def _is_heard(replica: QuorumReplica, quorum: Quorum, spent: tuple[str, ...]) -> bool:
    return (replica.behind_ms is not None or replica.id == quorum.leader) and replica.directory_id not in spent


def why_no_topics(cluster: str, tokens: Mapping[str, str] | None, identity: Identity | Unclear | None) -> str | None:
    """Why nobody may make topics yet; None: a disk that is lost now is not formatted without asking.

    Until the identity says that it is formed, a node that registered unseen gets a first token for each empty disk.

    Args:
        cluster: the name of the WALCluster.
        tokens: what is in the ConfigMap of the tokens; None: it is not there.
        identity: as its ConfigMap says it.
    """
    if tokens is None:
        return f"who may format a volume is not known: ConfigMap {format_name(cluster)} is not there"
    unasked = sorted((key for key, token in tokens.items() if not _answers(token)), key=by_number)
    if unasked:
        return f"{', '.join(unasked)} may still format a volume: Kafka has not heard from all nodes"
    if not isinstance(identity, Identity):
        return f"which nodes Kafka has heard from is not known: ConfigMap {identity_name(cluster)} cannot be read"
    return None if identity.formed else "it is not written down yet that Kafka has heard from all nodes"


def _answers(token: str) -> bool:
    """Whether it is for one question."""
    words = token.split()
    return len(words) > (2 if words[:1] == ["initial"] else 1)


def tokens_now(case: Case) -> Mapping[str, str]:
    """The tokens that are there."""
    record = case.observed.found.tokens
    return {} if record is None else record.data
