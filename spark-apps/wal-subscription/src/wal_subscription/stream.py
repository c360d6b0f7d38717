"""The driver: Structured Streaming beats time; each micro-batch plans its own stretches, and executors copy them.

Spark's own record of what was done is scratch. The position is what the target has, read anew in every micro-batch.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from pyspark.sql import DataFrame, SparkSession

from wal_subscription import copier
from wal_subscription.batches import SourceBatches
from wal_subscription.micro_batches import MicroBatches
from wal_subscription.plan import Named
from wal_subscription.records import process as records_process
from wal_subscription.records.micro_batches import RecordsBatches
from wal_subscription.records.request import RecordsRequest
from wal_subscription.records.snapshot_job import SparkSnapshots
from wal_subscription.request import Request
from wal_subscription.stops import Stop
from wal_subscription.table import process as table_process
from wal_subscription.table.micro_batches import TableBatches
from wal_subscription.table.request import TableRequest
from wal_subscription.table.snapshot_job import SparkTables

LOG = logging.getLogger(__name__)
_WAIT_SECONDS = 0.2


class OfTopic(Protocol):
    """A job of some sink."""

    @property
    def topic(self) -> Named:
        """Whose records it is about."""
        ...


class Beaten(Protocol):
    """What is done at each beat."""

    @property
    def is_over(self) -> bool:
        """Whether it is time to end."""
        ...

    def once(self) -> None:
        """One micro-batch."""


JobT = TypeVar("JobT", bound=OfTopic)
SidesT = TypeVar("SidesT")
CopiedT = TypeVar("CopiedT")


def stream(spark: SparkSession, request: Request | RecordsRequest | TableRequest) -> Sequence[Stop]:
    """Streams until a topic must not go on, and returns those that must not.

    Raises:
        Refused: the request cannot be worked on.
        Interrupted: a Kafka, or the store, did not answer at the start.
    """
    micro: SourceBatches[Any, Any, Any]
    match request:
        case RecordsRequest():
            snapshots = SparkSnapshots(spark)
            micro = RecordsBatches(request, on_executors(spark, records_process.copy), snapshots=snapshots)
            does = "hands on the rows of"
        case TableRequest():
            copy_tables, tables = on_executors(spark, table_process.copy), SparkTables(spark)
            micro, does = TableBatches(request, copy_tables, snapshots=tables), "writes the rows of"
        case Request():
            micro, does = MicroBatches(request, on_executors(spark, copier.copy)), "mirrors"
    micro.require_sides()
    LOG.info("Run %d of %s %s %d topics", request.run, request.whom, does, len(request.topics))
    scratch = tempfile.mkdtemp(prefix="seawall-checkpoint-")
    try:
        _beat(spark, micro, request.milliseconds, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return micro.stops


def on_executors(
    spark: SparkSession, run: Callable[[JobT, SidesT], CopiedT]
) -> Callable[[Sequence[JobT], SidesT, Callable[[str], bool]], list[CopiedT]]:
    """Runs jobs as tasks of Spark. One that has been in trouble is a task of its own: others do not wait behind it."""
    context = spark.sparkContext

    def run_all(jobs: Sequence[JobT], sides: SidesT, in_trouble: Callable[[str], bool]) -> list[CopiedT]:
        groups = grouped(jobs, context.defaultParallelism, in_trouble)
        parts = context.parallelize(groups, len(groups))
        copied: list[CopiedT] = parts.flatMap(lambda group: [run(job, sides) for job in group]).collect()
        return copied

    return run_all


def grouped(jobs: Sequence[JobT], cores: int, in_trouble: Callable[[str], bool]) -> list[list[JobT]]:
    """Jobs by task."""
    alone = [[job] for job in jobs if in_trouble(job.topic.name)]
    others = [job for job in jobs if not in_trouble(job.topic.name)]
    return [*(part for at in range(cores) if (part := others[at::cores])), *alone]


def _beat(spark: SparkSession, micro: Beaten, milliseconds: int, scratch: str) -> None:
    broke, is_over = list[BaseException](), threading.Event()

    def once(_: DataFrame, __: int) -> None:
        if broke or is_over.is_set():
            return
        try:
            micro.once()
        except BaseException as error:  # noqa: BLE001 - told by the thread that waits, as what it is
            broke.append(error)
        if micro.is_over:  # said here, because the thread that waits would interrupt a micro-batch
            is_over.set()

    clock: Any = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).option("numPartitions", 1)
    writer = clock.load().writeStream.foreachBatch(once).option("checkpointLocation", scratch)
    query = writer.trigger(processingTime=f"{milliseconds} milliseconds").start()
    try:
        while not broke and not is_over.is_set() and not query.awaitTermination(_WAIT_SECONDS):
            pass
        if query.exception() is not None:
            raise query.exception()
    finally:
        query.stop()
    if broke:
        raise broke[0]
