"""Voters of a Kafka in memory are added and removed as Kafka does it (AddVoterHandler, RemoveVoterHandler)."""

from __future__ import annotations

from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.partitions import NewVoter, Quorum
from tests.fakes.kafka_moves import FakeMoves

DUPLICATE = "The voter id is already part of the set of voters."
NOT_FOUND = "The voter key is not part of the set of voters."
TIMED_OUT = "The request timed out."


def add(moves: FakeMoves, quorum: Quorum, voter: NewVoter) -> None:
    """Whoever has all of the log votes."""
    if voter.id in {each.id for each in quorum.voters}:
        raise Refused(f"Kafka refused to let controller {voter.id} vote: {DUPLICATE}")
    follows = {each.id: each for each in quorum.observers if each.directory_id == voter.directory_id}
    found = follows.get(voter.id)
    if found is None or found.lag or found.behind_ms is None or voter.directory_id in moves.silent:
        raise OutsideUnavailable(f"Kafka did not answer for to let controller {voter.id} vote: {TIMED_OUT}")
    moves.controllers = (*moves.controllers, voter.id)
    moves.directories[voter.id] = moves.observers.pop(voter.id)


def remove(moves: FakeMoves, quorum: Quorum, voter: int, directory_id: str) -> None:
    """The entry of that disk goes."""
    found = {(each.id, each.directory_id) for each in quorum.voters}
    if (voter, directory_id) not in found or len(found) == 1:
        raise Refused(f"Kafka refused to take the vote of controller {voter}: {NOT_FOUND}")
    moves.controllers = tuple(each for each in moves.controllers if each != voter)
    del moves.directories[voter]
