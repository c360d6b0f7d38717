"""The driver: Structured Streaming beats time; each micro-batch plans its own stretches, and executors copy them.

Spark's own record of what was done is scratch. The position is what the target has, read anew in every micro-batch.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from wal_subscription.copier import Copied, Job, Sides, copy
from wal_subscription.micro_batches import MicroBatches, Run
from wal_subscription.request import Request
from wal_subscription.stops import Stop

LOG = logging.getLogger(__name__)
_WAIT_SECONDS = 0.2


def mirror(spark: SparkSession, request: Request) -> Sequence[Stop]:
    """Mirrors until a topic must not go on, and returns those that must not.

    Raises:
        Refused: the request cannot be worked on.
        Interrupted: a Kafka did not answer at the start.
    """
    micro = MicroBatches(request, on_executors(spark))
    micro.require_sides()
    LOG.info("Run %d of %s mirrors %d topics", request.run, request.whom, len(request.topics))
    scratch = tempfile.mkdtemp(prefix="seawall-checkpoint-")
    try:
        _beat(spark, micro, request.milliseconds, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return micro.stops


def on_executors(spark: SparkSession) -> Run:
    """Runs jobs as tasks of Spark. One that has been in trouble is a task of its own: others do not wait behind it."""
    context, run = spark.sparkContext, copy

    def run_all(jobs: Sequence[Job], sides: Sides, in_trouble: Callable[[str], bool]) -> list[Copied]:
        groups = grouped(jobs, context.defaultParallelism, in_trouble)
        parts = context.parallelize(groups, len(groups))
        copied: list[Copied] = parts.flatMap(lambda group: [run(job, sides) for job in group]).collect()
        return copied

    return run_all


def grouped(jobs: Sequence[Job], cores: int, in_trouble: Callable[[str], bool]) -> list[list[Job]]:
    """Jobs by task."""
    alone = [[job] for job in jobs if in_trouble(job.topic.name)]
    others = [job for job in jobs if not in_trouble(job.topic.name)]
    return [*(part for at in range(cores) if (part := others[at::cores])), *alone]


def _beat(spark: SparkSession, micro: MicroBatches, milliseconds: int, scratch: str) -> None:
    broke: list[BaseException] = []

    def once(_: DataFrame, __: int) -> None:
        if broke or micro.is_over:
            return
        try:
            micro.once()
        except BaseException as error:  # noqa: BLE001 - told by the thread that waits, as what it is
            broke.append(error)

    clock: Any = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).option("numPartitions", 1)
    writer = clock.load().writeStream.foreachBatch(once).option("checkpointLocation", scratch)
    query = writer.trigger(processingTime=f"{milliseconds} milliseconds").start()
    try:
        while not broke and not micro.is_over and not query.awaitTermination(_WAIT_SECONDS):
            pass
        if query.exception() is not None:
            raise query.exception()
    finally:
        query.stop()
    if broke:
        raise broke[0]
