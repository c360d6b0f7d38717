"""What is done to the voters of a managed Kafka. Each is of one disk, so a late one is refused (K8)."""

from __future__ import annotations

from dataclasses import dataclass

from seawall.domain.events import EventReason
from seawall.domain.partitions import NewVoter
from seawall.domain.step import Event, EventType


@dataclass(frozen=True, slots=True)
class AddVoter:
    """Let a controller vote that has all of the metadata log."""

    voter: NewVoter

    def event(self) -> Event:
        """What the event says."""
        said = f"Controller {self.voter.id} votes, with directory {self.voter.directory_id}"
        return Event(EventType.NORMAL, EventReason.KAFKA_VOTER_ADDED, said)


@dataclass(frozen=True, slots=True)
class RemoveVoter:
    """Take the vote of one disk of a controller."""

    node: int
    directory_id: str

    def event(self) -> Event:
        """What the event says."""
        said = f"Directory {self.directory_id} of controller {self.node} does not vote any more"
        return Event(EventType.NORMAL, EventReason.KAFKA_VOTER_REMOVED, said)


VoterAction = AddVoter | RemoveVoter
