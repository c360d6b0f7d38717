"""A micro-batch: asks the source what there is, writes what is due, and remembers what must not go on."""

from __future__ import annotations

import time
from collections.abc import Callable

from sparkjob.bucket import Bucket
from sparkjob.errors import Interrupted, Refused
from sparkjob.kafka_options import librdkafka_options
from wal_subscription.batches import SOURCE_RIGHTS, Run, SourceBatches
from wal_subscription.plan import Plan
from wal_subscription.records.beginnings import Beginnings, Snapshots
from wal_subscription.source import require_cluster
from wal_subscription.table.jobs import Copied, Job, Sides
from wal_subscription.table.planner import Planner
from wal_subscription.table.request import TableRequest

_PROBE, _CONTENT = "condition.json", b'{"version":1}'


class TableBatches(SourceBatches[Job, Sides, Copied]):
    """One run of a subscription to tables."""

    _planner: Planner

    def __init__(
        self,
        request: TableRequest,
        run: Run[Job, Sides, Copied],
        clock: Callable[[], float] = time.monotonic,
        *,
        snapshots: Snapshots[Job, Sides, Copied] | None = None,
    ) -> None:
        """`snapshots` reads what topics begin with, if the request has one."""
        self._request, self._beginnings = request, Beginnings(request.snapshot_uri, snapshots, run)
        planner = Planner(request.topics, request.sink.commit_milliseconds / 1_000)
        super().__init__(planner, self._beginnings.run, clock)

    def require_sides(self) -> None:
        """Refuses what a start can find; also a bucket that lets what is there be created once more."""
        request = self._request
        require_cluster(self._source, request.source)
        self._source.require_rights(self._source.topics(self._planner.names), SOURCE_RIGHTS, "a subscription to tables")
        require_condition(Bucket(self._sides.place), request.sink.writer)

    def _plan(self) -> Plan[Job]:
        self._beginnings.give(self._planner)
        return self._planner.plan(self._source.topics(self._planner.names), self._clock())

    def _read_sides(self) -> Sides:
        request = self._request
        return Sides(librdkafka_options(request.source), request.sink.place(), request)


def require_condition(bucket: Bucket, writer: str) -> None:
    """Refuses a bucket that does not create only what is not there: whatever a chain promises stands on that.

    Raises:
        Refused: it is one; or who asks may not list, read, or create.
        Interrupted: it does not answer.
    """
    path = f"{writer}/{_PROBE}"
    bucket.create(path, _CONTENT)
    if bucket.create(path, _CONTENT):
        raise Refused("the store does not know If-None-Match: it creates what is there, so two drivers would not meet")
    try:
        found = bucket.get(path)
    except FileNotFoundError:
        found = b""
    if found != _CONTENT or _PROBE not in bucket.names(writer, _PROBE[:-1], 1):
        raise Interrupted(f"the store does not have {path} as it was written")
