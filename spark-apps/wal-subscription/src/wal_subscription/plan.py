"""What planners of all sinks have alike: the topics that go on, and how their last jobs went."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from sparkjob.wire.kafka_state import TopicState
from wal_subscription.doubts import Doubts, Pauses
from wal_subscription.stops import Stop


def why_other(side: str, name: str, state: TopicState | None, topic_id: str) -> str | None:
    """Why a topic of the source or the target is not the one that was meant, in a sentence; None: it is."""
    if state is None:
        return f"topic {name} of the {side} is gone"
    if state.topic_id != topic_id:
        return f"topic {name} of the {side} was made again: it is {state.topic_id}, not {topic_id}"
    return None


class Named(Protocol):
    """A topic."""

    @property
    def name(self) -> str:
        """Its name."""
        ...


class Ran(Protocol):
    """How a job went, as `Copied` of each sink says."""

    @property
    def topic(self) -> str:
        """Whose records it was about."""
        ...

    @property
    def start(self) -> int:
        """From where on something came to the target."""
        ...

    @property
    def end(self) -> int:
        """Up to where."""
        ...

    @property
    def trouble(self) -> str | None:
        """Why it ended early."""
        ...

    @property
    def stop(self) -> Stop | None:
        """Why the topic must not go on."""
        ...

    @property
    def refused(self) -> str | None:
        """Why nothing may go on."""
        ...


TopicT = TypeVar("TopicT", bound=Named)
JobT = TypeVar("JobT")
RanT = TypeVar("RanT", bound=Ran)


@dataclass(frozen=True, slots=True)
class Plan(Generic[JobT]):
    """What is done next, and what was found to be over since the last plan."""

    jobs: tuple[JobT, ...]
    stops: tuple[Stop, ...]


class TopicPlanner(ABC, Generic[TopicT, RanT]):
    """The topics that go on, and since when something seems to be so of them."""

    def __init__(self, topics: Iterable[TopicT]) -> None:
        self._topics = {topic.name: topic for topic in topics}
        self._doubts, self._pauses = Doubts(), Pauses()

    @property
    def names(self) -> list[str]:
        """The topics that go on."""
        return list(self._topics)

    def note(self, copied: RanT, now: float) -> None:
        """Remembers how a job went."""
        name = copied.topic
        if copied.stop is not None:
            self.stop(name)
            return
        self._remember(copied)
        if copied.trouble is None or copied.end > copied.start:
            self._pauses.end(name)
        else:
            self._pauses.begin(name, now)

    @abstractmethod
    def _remember(self, copied: RanT) -> None:
        """What the next plan needs to know of a job after which its topic goes on."""

    def _settled(self, stop: Stop, now: float) -> list[Stop]:
        """The stop, once it is certain: nothing more is planned of its topic. Until then none."""
        if not self._doubts.is_certain(stop, now):
            return []
        self.stop(stop.topic)
        return [stop]

    def in_trouble(self, name: str) -> bool:
        """Whether a topic's last job came to nothing."""
        return name in self._pauses

    def stop(self, name: str) -> None:
        """Plans no more of a topic."""
        self._topics.pop(name, None)
