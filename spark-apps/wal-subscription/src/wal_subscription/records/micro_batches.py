"""A micro-batch: asks what there is on both sides, hands on what is new, and remembers what must not go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from confluent_kafka.admin import AclOperation

from sparkjob.kafka_options import librdkafka_options
from sparkjob.snapshot import NAME
from wal_subscription.batches import SOURCE_RIGHTS, Batches, Run
from wal_subscription.plan import Plan
from wal_subscription.records.jobs import Copied, Job, Sides
from wal_subscription.records.planner import Planner
from wal_subscription.records.request import Output, RecordsRequest
from wal_subscription.records.snapshot import Snapshot, read_snapshot
from wal_subscription.source import require_cluster

ROWS_RIGHTS = {AclOperation.DESCRIBE: "Describe", AclOperation.WRITE: "Write"}
PROGRESS_RIGHTS = {**SOURCE_RIGHTS, AclOperation.WRITE: "Write"}
_FOR = "a subscription to records"
MOST_FILES = 64
"""Of a snapshot in a micro-batch: each of other columns is a branch of Spark's plan, and others wait for it."""


class Snapshots(Protocol):
    """Who reads snapshots."""

    def read(self, uri: str) -> bytes:
        """A small file; raises Refused: it cannot be read."""
        ...

    def hand_on(self, jobs: Sequence[Job], sides: Sides) -> list[Copied]:
        """The files of jobs, each of which has some; raises Refused: one cannot be read."""
        ...


class RecordsBatches(Batches[Job, Sides, Copied]):
    """One run of a subscription to records."""

    _planner: Planner

    def __init__(
        self,
        request: RecordsRequest,
        run: Run[Job, Sides, Copied],
        clock: Callable[[], float] = time.monotonic,
        *,
        snapshots: Snapshots | None = None,
    ) -> None:
        """`snapshots` reads what topics begin with, if the request has one."""
        self._request, self._snapshots, self._copy = request, snapshots, run
        super().__init__(Planner(request.topics, request.sink.outputs), self._hand_on, clock)

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
        if self._planner.needs_snapshot:
            self._planner.snapshot = self._read_snapshot()
        sources = self._source.topics(self._planner.names)
        targets = self._target.topics([output.name for output in self._request.sink.outputs])
        return self._planner.plan(sources, targets, self._clock())

    def _read_snapshot(self) -> Snapshot:
        """Raises Refused: it cannot be read."""
        folder = self._request.snapshot_uri
        assert folder is not None  # noqa: S101 - else no topic would need it
        assert self._snapshots is not None  # noqa: S101 - as above
        uri = f"{folder}/{NAME}"
        return read_snapshot(self._snapshots.read(uri), folder, uri)

    def _hand_on(self, jobs: Sequence[Job], sides: Sides, in_trouble: Callable[[str], bool]) -> list[Copied]:
        """Logs first: files take longer, and of all topics only so many at once."""
        logs = [job for job in jobs if not job.files]
        copied = self._copy(logs, sides, in_trouble) if logs else []
        files = first_files([job for job in jobs if job.files])
        if not files:
            return copied
        assert self._snapshots is not None  # noqa: S101 - who reads files has read what files there are
        return [*copied, *self._snapshots.hand_on(files, sides)]

    def _read_sides(self) -> Sides:
        request = self._request
        return Sides(librdkafka_options(request.source), librdkafka_options(request.target), request)


def first_files(jobs: Sequence[Job]) -> list[Job]:
    """As many jobs, and of each as many files, as one micro-batch hands on."""
    chosen = jobs[:MOST_FILES]
    return [replace(job, files=job.files[: MOST_FILES // len(chosen)]) for job in chosen]
