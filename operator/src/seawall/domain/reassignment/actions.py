"""What a run does to the outside. Each is idempotent, and harmless when it comes late."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from seawall.api.meta import REASSIGNMENT_FINALIZER
from seawall.api.quantity import format_bytes
from seawall.domain.errors import Refused
from seawall.domain.events import EventReason
from seawall.domain.partitions import PartitionId, Rates, ThrottledReplicas
from seawall.domain.reassignment.journal import Journal, Lists
from seawall.domain.step import Event, EventType

SHOWN = 3


@dataclass(frozen=True, slots=True)
class WriteJournal:
    """Freeze a plan; what stood there before is of a run that is over."""

    journal: Journal
    version: str | None

    def event(self) -> Event:
        """What the event says."""
        found = self.journal
        message = (
            f"Planned to move {len(found.moves)} partitions of {len(found.topics)} topics"
            f" ({', '.join(found.why)}; {format_bytes(found.copied)} bytes to copy), digest {found.digest}"
        )
        return Event(EventType.NORMAL, EventReason.REASSIGNMENT_PLANNED, message)


@dataclass(frozen=True, slots=True)
class RememberLists:
    """Write down beside the plan what others have throttled of its topics, before any of it is changed."""

    journal: Journal
    lists: Lists
    version: str | None

    def event(self) -> Event:
        """What the event says."""
        message = f"Wrote down what somebody else throttled of {len(self.lists)} topics: it is put back at the end"
        return Event(EventType.NORMAL, EventReason.THROTTLE_REMEMBERED, message)


@dataclass(frozen=True, slots=True)
class AddFinalizer:
    """Put the reassignment finalizer on the object: its deletion waits until no throttle is left."""

    def event(self) -> Event:
        """What the event says."""
        return Event(
            EventType.NORMAL, EventReason.FINALIZER_ADDED, f"Added {REASSIGNMENT_FINALIZER}: replicas are to be moved"
        )


@dataclass(frozen=True, slots=True)
class RemoveFinalizer:
    """Take the reassignment finalizer off."""

    why: str = "the reassignment is over"
    type: EventType = EventType.NORMAL

    def event(self) -> Event:
        """What the event says."""
        return Event(self.type, EventReason.FINALIZER_REMOVED, f"Removed {REASSIGNMENT_FINALIZER}: {self.why}")


@dataclass(frozen=True, slots=True)
class SetThrottle:
    """Set the rate, and what of these topics it applies to; one that has arrived gets what it had before the run.

    Attributes:
        bytes_per_second: None: somebody else set another rate in mid-run, and it stays.
    """

    bytes_per_second: int | None
    replicas: Mapping[str, ThrottledReplicas]

    def event(self) -> Event:
        """What the event says."""
        if self.bytes_per_second is None:
            message = f"Listed what is throttled on {len(self.replicas)} topics; the rate is somebody else's"
            return Event(EventType.NORMAL, EventReason.THROTTLE_SET, message)
        rate = format_bytes(self.bytes_per_second)
        return Event(EventType.NORMAL, EventReason.THROTTLE_SET, f"Throttled reassignments to {rate} bytes a second")


@dataclass(frozen=True, slots=True)
class ClearThrottle:
    """Put back the rates of before the run, and what of these topics was throttled then: mostly nothing.

    Attributes:
        rates: None: the rates stay: they are somebody else's, or the run goes on.
    """

    rates: Rates | None
    replicas: Mapping[str, ThrottledReplicas]

    def event(self) -> Event:
        """What the event says."""
        message = "Removed the throttle of reassignments"
        if self.rates is None:
            message = f"Took {len(self.replicas)} topics out of the throttle of reassignments; the rates stay"
        return Event(EventType.NORMAL, EventReason.THROTTLE_REMOVED, message)


@dataclass(frozen=True, slots=True)
class Submit:
    """Give partitions their new replicas: one batch."""

    targets: Mapping[PartitionId, tuple[int, ...]]

    def event(self) -> Event:
        """What the event says."""
        return Event(EventType.NORMAL, EventReason.PARTITIONS_MOVING, f"Began to move {shown(self.targets)}")


@dataclass(frozen=True, slots=True)
class Cancel:
    """Give partitions that are on their way their original replicas back."""

    partitions: tuple[PartitionId, ...]

    def event(self) -> Event:
        """What the event says."""
        return Event(EventType.NORMAL, EventReason.MOVES_CANCELLED, f"Cancelled the move of {shown(self.partitions)}")


@dataclass(frozen=True, slots=True)
class ElectLeaders:
    """Let the first replica of each lead."""

    partitions: tuple[PartitionId, ...]

    def event(self) -> Event:
        """What the event says."""
        return Event(
            EventType.NORMAL, EventReason.LEADERS_ELECTED, f"Elected the preferred leaders of {shown(self.partitions)}"
        )


ReassignmentAction = (
    WriteJournal
    | RememberLists
    | AddFinalizer
    | RemoveFinalizer
    | SetThrottle
    | ClearThrottle
    | Submit
    | Cancel
    | ElectLeaders
)


class MovesRefused(Refused):
    """Kafka refused to move partitions of a batch; by partition its own words."""

    def __init__(self, partitions: Mapping[PartitionId, str]) -> None:
        super().__init__(next(iter(partitions.values())))
        self.partitions = partitions


def shown(partitions: Mapping[PartitionId, object] | tuple[PartitionId, ...]) -> str:
    """`2 partitions (a-0, b-0)`, or the first and the last of many."""
    names = [f"{topic}-{number}" for topic, number in sorted(partitions)]
    listed = ", ".join(names) if len(names) <= SHOWN else f"{names[0]} … {names[-1]}"
    return f"{len(names)} partition{'' if len(names) == 1 else 's'} ({listed})"
