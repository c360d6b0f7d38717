"""A micro-batch: asks where both logs end, copies what the target lacks, and remembers what must not go on."""

from __future__ import annotations

import time
from collections.abc import Callable

from confluent_kafka.admin import AclOperation

from sparkjob.kafka_options import librdkafka_options
from wal_subscription.batches import SOURCE_RIGHTS, Batches, Run
from wal_subscription.copier import Copied, Job, Sides
from wal_subscription.plan import Plan
from wal_subscription.planner import Planner
from wal_subscription.request import Request
from wal_subscription.source import require_cluster

TARGET_RIGHTS = {**SOURCE_RIGHTS, AclOperation.WRITE: "Write"}


class MicroBatches(Batches[Job, Sides, Copied]):
    """One run of a mirror."""

    _planner: Planner

    def __init__(
        self, request: Request, run: Run[Job, Sides, Copied], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._request = request
        super().__init__(Planner(request.topics), run, clock)

    def require_sides(self) -> None:
        """Refuses what a start can find; each topic must have one partition."""
        names, request = self._planner.names, self._request
        for state, kafka, rights in (
            (self._source, request.source, SOURCE_RIGHTS),
            (self._target, request.target, TARGET_RIGHTS),
        ):
            require_cluster(state, kafka)
            state.require_rights(state.topics(names), rights, "a mirror")

    def _plan(self) -> Plan[Job]:
        names = self._planner.names
        sources = self._source.topics(names)
        return self._planner.plan(sources, self._target.topics(names), self._clock())

    def _read_sides(self) -> Sides:
        request = self._request
        return Sides(librdkafka_options(request.source), librdkafka_options(request.target), request.producer)
