"""A micro-batch of any sink: asks both sides, does what is planned, and remembers what must not go on."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from confluent_kafka.admin import AclOperation

from sparkjob.errors import Interrupted, Refused
from sparkjob.wire.kafka_state import KafkaState
from wal_subscription.plan import JobT, Plan, RanT, TopicPlanner
from wal_subscription.report import Report, Stops
from wal_subscription.stops import Stop

LOG = logging.getLogger(__name__)
SOURCE_RIGHTS = {AclOperation.DESCRIBE: "Describe", AclOperation.READ: "Read"}


class SourceSide(Protocol):
    """How the source is reached, in the words of librdkafka; and what else jobs are told."""

    @property
    def source(self) -> Mapping[str, str]:
        """What is read."""
        ...


class BothSides(SourceSide, Protocol):
    """The same where the target is a Kafka, too."""

    @property
    def target(self) -> Mapping[str, str]:
        """What is written."""
        ...


SidesT = TypeVar("SidesT", bound=SourceSide)
BothSidesT = TypeVar("BothSidesT", bound=BothSides)

Run = Callable[[Sequence[JobT], SidesT, Callable[[str], bool]], list[RanT]]
"""Runs jobs somewhere; the last argument says which topics have been in trouble."""


class SourceBatches(ABC, Generic[JobT, SidesT, RanT]):
    """One run of a subscription, whatever its target is."""

    def __init__(
        self,
        planner: TopicPlanner[Any, RanT],
        run: Run[JobT, SidesT, RanT],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._planner, self._run, self._clock = planner, run, clock
        self._sides = self._read_sides()
        self._connect()
        self._stops, self._report = Stops(clock), Report(clock)

    @property
    def stops(self) -> list[Stop]:
        """The topics that must not go on."""
        return self._stops.found

    @property
    def is_over(self) -> bool:
        """Whether it is time to tell what must not go on."""
        return self._stops.is_time_to_tell or (bool(self.stops) and not self._planner.names)

    @abstractmethod
    def require_sides(self) -> None:
        """Refuses what a start can find.

        Raises:
            Refused: another Kafka answers, a topic has not the partitions that it must have, or a right is missing.
            Interrupted: one of both sides does not answer.
        """

    def once(self) -> None:
        """One micro-batch. A Kafka that does not answer is left for the next one.

        Raises:
            Refused: a right is missing.
        """
        self._renew()
        try:
            plan = self._plan()
        except Interrupted as interrupted:
            self._report.say(str(interrupted))
            return
        self._stops.add(plan.stops)
        for copied in self._run(plan.jobs, self._sides, self._planner.in_trouble) if plan.jobs else ():
            self._note(copied)
        self._report.write()

    @abstractmethod
    def _plan(self) -> Plan[JobT]:
        """Asks both sides, and plans; raises Interrupted: one does not answer."""

    @abstractmethod
    def _read_sides(self) -> SidesT:
        """By the files of the connections as they are now."""

    def _note(self, copied: RanT) -> None:
        if copied.refused is not None:
            raise Refused(copied.refused)
        self._planner.note(copied, self._clock())
        self._report.count(copied.end - copied.start, copied.trouble)
        if copied.stop is not None:
            self._stops.add((copied.stop,))

    def _renew(self) -> None:
        """Passwords and certificates may have been rotated."""
        sides = self._read_sides()
        if sides != self._sides:
            LOG.info("The files of a connection have changed")
            self._sides = sides
            self._connect()

    def _connect(self) -> None:
        self._source = KafkaState(self._sides.source)


class Batches(SourceBatches[JobT, BothSidesT, RanT]):
    """One run of a subscription whose target is a Kafka."""

    def _connect(self) -> None:
        super()._connect()
        self._target = KafkaState(self._sides.target)
