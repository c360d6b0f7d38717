"""A micro-batch: asks what there is on both sides, hands on what is new, and remembers what must not go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from confluent_kafka.admin import AclOperation

from sparkjob.kafka_options import librdkafka_options
from wal_subscription.batches import SOURCE_RIGHTS, Batches, Run
from wal_subscription.plan import Plan
from wal_subscription.records.beginnings import Beginnings, Snapshots
from wal_subscription.records.jobs import Copied, Job, Sides
from wal_subscription.records.planner import Planner
from wal_subscription.records.request import Output, RecordsRequest
from wal_subscription.source import require_cluster

ROWS_RIGHTS = {AclOperation.DESCRIBE: "Describe", AclOperation.WRITE: "Write"}
PROGRESS_RIGHTS = {**SOURCE_RIGHTS, AclOperation.WRITE: "Write"}
_FOR = "a subscription to records"


class RecordsBatches(Batches[Job, Sides, Copied]):
    """One run of a subscription to records."""

    _planner: Planner

    def __init__(
        self,
        request: RecordsRequest,
        run: Run[Job, Sides, Copied],
        clock: Callable[[], float] = time.monotonic,
        *,
        snapshots: Snapshots[Job, Sides, Copied] | None = None,
    ) -> None:
        """`snapshots` reads what topics begin with, if the request has one."""
        self._request, self._beginnings = request, Beginnings(request.snapshot_uri, snapshots, run)
        super().__init__(Planner(request.topics, request.sink.outputs), self._beginnings.run, clock)

    def require_sides(self) -> None:
        """Refuses what a start can find; topics of the target must have as many partitions as they need."""
        request, names = self._request, self._planner.names
        require_cluster(self._source, request.source)
        self._source.require_rights(self._source.topics(names), SOURCE_RIGHTS, _FOR)
        require_cluster(self._target, request.target)
        for output in request.sink.outputs:
            self._require_output(output)

    def _require_output(self, output: Output) -> None:
        """One that is gone is found by the plan."""
        rights: Mapping[AclOperation, str] = PROGRESS_RIGHTS if output == self._request.sink.progress else ROWS_RIGHTS
        self._target.require_rights(
            self._target.topics([output.name]), rights, _FOR, least_partitions=output.partitions
        )

    def _plan(self) -> Plan[Job]:
        self._beginnings.give(self._planner)
        sources = self._source.topics(self._planner.names)
        targets = self._target.topics([output.name for output in self._request.sink.outputs])
        return self._planner.plan(sources, targets, self._clock())

    def _read_sides(self) -> Sides:
        request = self._request
        return Sides(librdkafka_options(request.source), librdkafka_options(request.target), request)
