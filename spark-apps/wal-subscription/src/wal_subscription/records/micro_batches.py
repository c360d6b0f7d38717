"""A micro-batch: asks what there is on both sides, hands on what is new, and remembers what must not go on."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence

from confluent_kafka.admin import AclOperation

from sparkjob.errors import Interrupted, Refused
from sparkjob.kafka_options import librdkafka_options
from sparkjob.wire.kafka_state import KafkaState
from wal_subscription.records.copier import Copied, Job, Sides
from wal_subscription.records.planner import Planner
from wal_subscription.records.request import Output, RecordsRequest
from wal_subscription.report import Report, Stops
from wal_subscription.source import require_cluster
from wal_subscription.stops import Stop

LOG = logging.getLogger(__name__)
SOURCE_RIGHTS = {AclOperation.DESCRIBE: "Describe", AclOperation.READ: "Read"}
ROWS_RIGHTS = {AclOperation.DESCRIBE: "Describe", AclOperation.WRITE: "Write"}
PROGRESS_RIGHTS = {**SOURCE_RIGHTS, AclOperation.WRITE: "Write"}
_FOR = "a subscription to records"

Run = Callable[[Sequence[Job], Sides, Callable[[str], bool]], list[Copied]]
"""Runs jobs somewhere; the last argument says which topics have been in trouble."""


class RecordsBatches:
    """One run of a subscription to records."""

    def __init__(self, request: RecordsRequest, run: Run, clock: Callable[[], float] = time.monotonic) -> None:
        self._request, self._run, self._clock = request, run, clock
        self._planner = Planner(request.topics, request.sink.outputs)
        self._sides = self._read_sides()
        self._source, self._target = KafkaState(self._sides.source), KafkaState(self._sides.target)
        self._stops, self._report = Stops(clock), Report(clock)

    @property
    def stops(self) -> list[Stop]:
        """The topics that must not go on."""
        return self._stops.found

    @property
    def is_over(self) -> bool:
        """Whether it is time to tell what must not go on."""
        return self._stops.is_time_to_tell or (bool(self.stops) and not self._planner.names)

    def require_sides(self) -> None:
        """Refuses what a start can find.

        Raises:
            Refused: another Kafka answers, a topic has too few partitions, or a right is missing.
            Interrupted: a Kafka does not answer.
        """
        request, names = self._request, self._planner.names
        require_cluster(self._source, request.source)
        self._source.require_rights(self._source.topics(names), SOURCE_RIGHTS, _FOR)
        require_cluster(self._target, request.target)
        for output in request.sink.outputs:
            self._require_output(output)

    def once(self) -> None:
        """One micro-batch. A Kafka that does not answer is left for the next one.

        Raises:
            Refused: a right is missing.
        """
        self._renew()
        try:
            sources = self._source.topics(self._planner.names)
            targets = self._target.topics([output.name for output in self._request.sink.outputs])
            plan = self._planner.plan(sources, targets, self._clock())
        except Interrupted as interrupted:
            self._report.say(str(interrupted))
            return
        self._stops.add(plan.stops)
        for copied in self._run(plan.jobs, self._sides, self._planner.in_trouble) if plan.jobs else ():
            self._note(copied)
        self._report.write()

    def _note(self, copied: Copied) -> None:
        if copied.refused is not None:
            raise Refused(copied.refused)
        self._planner.note(copied, self._clock())
        self._report.count(copied.end - copied.start, copied.trouble)
        if copied.stop is not None:
            self._stops.add((copied.stop,))

    def _require_output(self, output: Output) -> None:
        """One that is gone is found by the plan."""
        rights: Mapping[AclOperation, str] = PROGRESS_RIGHTS if output == self._request.sink.progress else ROWS_RIGHTS
        self._target.require_rights(
            self._target.topics([output.name]), rights, _FOR, least_partitions=output.partitions
        )

    def _renew(self) -> None:
        """Passwords and certificates may have been rotated."""
        sides = self._read_sides()
        if sides != self._sides:
            LOG.info("The files of Kafka's connection have changed")
            self._sides = sides
            self._source, self._target = KafkaState(sides.source), KafkaState(sides.target)

    def _read_sides(self) -> Sides:
        request = self._request
        return Sides(librdkafka_options(request.source), librdkafka_options(request.target), request)
