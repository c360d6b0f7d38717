"""Writes files of a snapshot on Spark: all cores make files of the bucket, and then each topic commits them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from wal_subscription.records.snapshot_job import SparkFiles, schema_for
from wal_subscription.table import process
from wal_subscription.table.jobs import Copied, Job, Made, Sides
from wal_subscription.table.snapshot_rows import MADE, converted, made_of


class SparkTables(SparkFiles):
    """Whoever dies in between has committed nothing, and leaves files that no commit names."""

    def hand_on(self, jobs: Sequence[Job], sides: Sides) -> list[Copied]:
        """As named."""
        made: dict[str, list[Made]] = defaultdict(list)
        for files, frame in self.frames(jobs, sides.request):
            for each in made_of(frame.mapInArrow(converted(files, sides), schema_for(MADE)).toArrow().to_batches()):
                made[each.topic].append(each)
        tasks = [(job, made[job.topic.name]) for job in jobs]
        parts = self._spark.sparkContext.parallelize(tasks, len(tasks))
        copied: list[Copied] = parts.map(lambda task: process.name_files(task[0], sides, task[1])).collect()
        return copied
