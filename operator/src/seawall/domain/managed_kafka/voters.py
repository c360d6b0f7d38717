"""Which controller of a managed Kafka gets, or loses, its vote next, and what is against it now; pure.

A vote is that of one disk: of a node id and a directory id. A disk that is lost forgets how it voted, so its vote goes
before another disk of the same controller may have one: Kafka refuses the other order, too. What is not known is
against a change, and never two voters are away by us (K3): all others have caught up, but for those that are to leave
as well and are away, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from seawall.api.v1alpha1.managed_kafka_status import VoterStep
from seawall.domain.managed_kafka.case import Case
from seawall.domain.managed_kafka.node import Node
from seawall.domain.managed_kafka.volumes import VolumeState, is_heard
from seawall.domain.partitions import Quorum, QuorumReplica
from seawall.domain.times import MANAGED_KAFKA_CAUGHT_UP_MS, MANAGED_KAFKA_LOST_FOR


@dataclass(frozen=True, slots=True)
class VoterWish:
    """A vote that is to come or to go."""

    node: int
    directory_id: str
    step: VoterStep


@dataclass(frozen=True, slots=True)
class VotersObserved:
    """What one tick sees.

    Attributes:
        case: all that is known of nodes; a sentence: why no vote is changed.
        wished_for: for how long each look of this process has wished the same.
    """

    case: Case | str
    wished_for: Mapping[VoterWish, timedelta] = field(default_factory=dict)


def quorum_of(case: Case) -> Quorum | str:
    """The controllers as their leader knows them; a sentence: why they are not known."""
    answer = case.observed.kafka
    return answer if isinstance(answer, str) else answer.quorum


def wished(case: Case) -> VoterWish | None:
    """The next change: votes of lost disks go first, then who follows gets one, then who leaves has none any more.

    None: there is none, or nobody knows. One that nobody else could decide about, because nobody else has a vote, is
    no wish: its volume is lost, and that is told.
    """
    quorum = quorum_of(case)
    if isinstance(quorum, str):
        return None
    return next(iter((*_lost(case, quorum), *_followers(case, quorum), *_leaving(case, quorum))), None)


def _lost(case: Case, quorum: Quorum) -> Iterator[VoterWish]:
    controllers = _controllers(case)
    for voter in quorum.voters if len(quorum.voters) > 1 else ():
        node = controllers.get(voter.id)
        if node is not None and voter.directory_id is not None and _is_lost(case, node, voter, quorum):
            yield VoterWish(voter.id, voter.directory_id, VoterStep.REMOVE)


def _is_lost(case: Case, node: Node, voter: QuorumReplica, quorum: Quorum) -> bool:
    """Nobody hears from that disk, and the volume of the node is known to be another one, or an empty one."""
    if voter.id == quorum.leader or is_heard(voter):
        return False
    pod = case.pod(node)
    is_without = case.volume_state(node) is VolumeState.LOST and (pod is None or not pod.is_started)
    return is_without or _has_another_disk(quorum, voter)


def _has_another_disk(quorum: Quorum, voter: QuorumReplica) -> bool:
    """The same node follows with another directory id: one pod has one volume."""
    own = (each for each in quorum.observers if each.id == voter.id)
    return any(each.directory_id not in {None, voter.directory_id} and has_caught_up(each, quorum) for each in own)


def _followers(case: Case, quorum: Quorum) -> Iterator[VoterWish]:
    """Declared controllers that Kafka hears from, with the disk that the identity knows by now, and no vote."""
    controllers, voters = _controllers(case), {each.id for each in quorum.voters}
    for each in quorum.observers:
        node, record = controllers.get(each.id), case.identity.nodes.get(each.id)
        if node is None or record is None or node.is_leaving or each.id in voters or each.directory_id is None:
            continue
        if record.directory == each.directory_id and case.volume_state(node) is VolumeState.HELD and is_heard(each):
            yield VoterWish(each.id, each.directory_id, VoterStep.ADD)


def _leaving(case: Case, quorum: Quorum) -> Iterator[VoterWish]:
    """When all that stay vote: who is down first, then the highest id, and the leader last: one failover."""
    controllers = _controllers(case)
    if without_vote(case):
        return
    for each in sorted(
        quorum.voters, key=lambda voter: (has_caught_up(voter, quorum), voter.id == quorum.leader, -voter.id)
    ):
        node = controllers.get(each.id)
        if node is not None and node.is_leaving and each.directory_id is not None:
            yield VoterWish(each.id, each.directory_id, VoterStep.REMOVE)


def is_replacement(case: Case, wish: VoterWish) -> bool:
    """Whether it is a step by which a lost disk is replaced by another one of the same controller."""
    if wish.step is VoterStep.REMOVE:
        return not _is_to_leave(wish.node, case)
    record = case.identity.nodes.get(wish.node)
    return record is not None and bool(record.spent)


def why_not(wish: VoterWish, observed: VotersObserved) -> str | None:
    """What is against a change now, in one sentence; None: nothing."""
    case = observed.case
    quorum = case if isinstance(case, str) else quorum_of(case)
    if isinstance(quorum, str):
        return quorum
    is_removed = wish.step is VoterStep.REMOVE
    return next(_against_removal(wish, observed, quorum) if is_removed else _against_addition(wish, quorum), None)


def _against_removal(wish: VoterWish, observed: VotersObserved, quorum: Quorum) -> Iterator[str]:
    away = {wish.node, *_away_as_well(wish, observed.case, quorum)}
    yield from _behind(quorum, away)
    others = [each for each in quorum.voters if each.id not in away]
    if 2 * len(others) <= len(quorum.voters):
        yield f"{len(others)} of {len(quorum.voters)} voters are no majority without it"
    is_to_leave = _is_to_leave(wish.node, observed.case)
    if not is_to_leave and observed.wished_for.get(wish, timedelta()) < MANAGED_KAFKA_LOST_FOR:
        yield "that its disk is lost is looked at once more"


def _away_as_well(wish: VoterWish, case: Case | str, quorum: Quorum) -> set[int]:
    """Others that leave and are away, if this one leaves and is away: each vote less makes the quorum surer of itself.

    If they were waited for, each of two that never came up would keep the other's vote for ever.
    """
    leaving = {voter.id for voter in quorum.voters if _is_to_leave(voter.id, case)}
    away = {voter.id for voter in quorum.voters if voter.id in leaving and not has_caught_up(voter, quorum)}
    return away if wish.node in away else set()


def _is_to_leave(controller: int, case: Case | str) -> bool:
    return not isinstance(case, str) and any(node.id == controller and node.is_leaving for node in case.nodes)


def _against_addition(wish: VoterWish, quorum: Quorum) -> Iterator[str]:
    yield from _behind(quorum, frozenset())
    newcomer = next((each for each in quorum.observers if each.directory_id == wish.directory_id), None)
    if newcomer is None or newcomer.lag or not has_caught_up(newcomer, quorum):
        yield "it does not have all of the metadata log yet"


def _behind(quorum: Quorum, but: Collection[int]) -> Iterator[str]:
    behind = [str(each.id) for each in quorum.voters if each.id not in but and not has_caught_up(each, quorum)]
    if behind:
        verb = "votes and has" if len(behind) == 1 else "vote and have"
        yield f"{'controller' if len(behind) == 1 else 'controllers'} {', '.join(behind)} {verb} not caught up"


def has_caught_up(replica: QuorumReplica, quorum: Quorum) -> bool:
    """Whether it has all of the metadata log but what a second brings."""
    return replica.id == quorum.leader or replica.keeps_up(MANAGED_KAFKA_CAUGHT_UP_MS)


def _controllers(case: Case) -> dict[int, Node]:
    return {node.id: node for node in case.nodes if node.pool.is_controller}


def without_vote(case: Case) -> tuple[int, ...]:
    """Controllers that are declared and do not vote yet; nobody, while nobody knows."""
    quorum = quorum_of(case)
    if isinstance(quorum, str):
        return ()
    voters = {each.id for each in quorum.voters}
    return tuple(node.id for node in _controllers(case).values() if not node.is_leaving and node.id not in voters)
