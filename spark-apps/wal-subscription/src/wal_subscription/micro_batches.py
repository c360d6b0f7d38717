"""A micro-batch: asks where both logs end, copies what the target lacks, and remembers what must not go on."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from confluent_kafka.admin import AclOperation

from sparkjob.errors import Interrupted, Refused
from sparkjob.kafka import Kafka
from sparkjob.kafka_options import librdkafka_options
from sparkjob.wire.kafka_state import KafkaState
from wal_subscription.copier import Copied, Job, Sides
from wal_subscription.planner import Planner
from wal_subscription.request import Request
from wal_subscription.stops import Stop

LOG = logging.getLogger(__name__)
GATHER_SECONDS = 10.0
"""So long the other topics go on when one must not: what stops together is told together."""
_REPORT_SECONDS = 30.0
SOURCE_RIGHTS = {AclOperation.DESCRIBE: "Describe", AclOperation.READ: "Read"}
TARGET_RIGHTS = {**SOURCE_RIGHTS, AclOperation.WRITE: "Write"}

Run = Callable[[Sequence[Job], Sides, Callable[[str], bool]], list[Copied]]
"""Runs jobs somewhere; the last argument says which topics have been in trouble."""


class MicroBatches:
    """One run of a subscription.

    Attributes:
        stops: the topics that must not go on.
    """

    def __init__(self, request: Request, run: Run, clock: Callable[[], float] = time.monotonic) -> None:
        self.stops: list[Stop] = []
        self._request, self._run, self._clock = request, run, clock
        self._planner = Planner(request.topics)
        self._sides = self._read_sides()
        self._source, self._target = KafkaState(self._sides.source), KafkaState(self._sides.target)
        self._ends_at: float | None = None
        self._report = _Report(clock)

    @property
    def is_over(self) -> bool:
        """Whether it is time to tell what must not go on."""
        return bool(self.stops) and (not self._planner.names or self._clock() >= (self._ends_at or 0.0))

    def require_sides(self) -> None:
        """Refuses what a start can find.

        Raises:
            Refused: another Kafka answers, a topic has several partitions, or a right is missing.
            Interrupted: a Kafka does not answer.
        """
        names, request = self._planner.names, self._request
        for state, kafka, rights in (
            (self._source, request.source, SOURCE_RIGHTS),
            (self._target, request.target, TARGET_RIGHTS),
        ):
            _require_cluster(state, kafka)
            state.require_rights(state.topics(names), rights, "a mirror")

    def once(self) -> None:
        """One micro-batch. A Kafka that does not answer is left for the next one.

        Raises:
            Refused: a right is missing.
        """
        self._renew()
        try:
            names = self._planner.names
            sources = self._source.topics(names)
            plan = self._planner.plan(sources, self._target.topics(names), self._clock())
        except Interrupted as interrupted:
            self._report.say(str(interrupted))
            return
        self._stop(plan.stops)
        for copied in self._run(plan.jobs, self._sides, self._planner.in_trouble) if plan.jobs else ():
            self._note(copied)
        self._report.write()

    def _note(self, copied: Copied) -> None:
        if copied.refused is not None:
            raise Refused(copied.refused)
        self._planner.note(copied, self._clock())
        self._report.count(copied)
        if copied.stop is not None:
            self._stop((copied.stop,))

    def _stop(self, stops: Sequence[Stop]) -> None:
        for stop in stops:
            LOG.error("Topic %s stops at offset %s: %s: %s", stop.topic, stop.offset, stop.reason, stop.message)
        if stops and self._ends_at is None:
            self._ends_at = self._clock() + GATHER_SECONDS
        self.stops += stops

    def _renew(self) -> None:
        """Passwords and certificates may have been rotated."""
        sides = self._read_sides()
        if sides != self._sides:
            LOG.info("The files of Kafka's connection have changed")
            self._sides = sides
            self._source, self._target = KafkaState(sides.source), KafkaState(sides.target)

    def _read_sides(self) -> Sides:
        request = self._request
        return Sides(librdkafka_options(request.source), librdkafka_options(request.target), request.producer)


class _Report:
    """What the log says now and then."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._written = clock, clock()
        self._appended = self._jobs = 0
        self._troubles: dict[str, int] = {}

    def count(self, copied: Copied) -> None:
        self._jobs += 1
        self._appended += copied.end - copied.start
        if copied.trouble is not None:
            self.say(copied.trouble)

    def say(self, trouble: str) -> None:
        if trouble not in self._troubles:
            LOG.warning("%s", trouble)
        self._troubles[trouble] = self._troubles.get(trouble, 0) + 1

    def write(self) -> None:
        if self._clock() - self._written < _REPORT_SECONDS:
            return
        times = sum(self._troubles.values())
        LOG.info("%d records in %d stretches; %d of them ended early", self._appended, self._jobs, times)
        self._appended = self._jobs = 0
        self._troubles.clear()
        self._written = self._clock()


def _require_cluster(state: KafkaState, kafka: Kafka) -> None:
    found = state.cluster_id()
    if found != kafka.cluster_id:
        servers = ",".join(kafka.bootstrap_servers)
        raise Refused(f"the Kafka cluster at {servers} is {found}, not {kafka.cluster_id}")
