"""Looks after the topics while they are read: one that is deleted or cut ends the reading at once.

A task waits for half a minute for records of a topic that is gone. Who reads asks Kafka what happened, anyway.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from pyspark.sql import SparkSession

from sparkjob.errors import Interrupted, Refused

EVERY = 5.0
"""Seconds between two questions."""


class Watch:
    """While it is entered, all jobs are cancelled once `is_broken` says so."""

    def __init__(self, spark: SparkSession, is_broken: Callable[[], bool]) -> None:
        self._spark, self._is_broken = spark, is_broken
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def __enter__(self) -> Self:
        # Of the thread that reads: a task that waits for Kafka gives its core back.
        self._spark.sparkContext.setLocalProperty("spark.job.interruptOnCancel", "true")
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(EVERY):
            try:
                if self._is_broken():
                    self._spark.sparkContext.cancelAllJobs()  # and once more, if one began just then
            except (Interrupted, Refused):
                continue  # Kafka does not answer, or does not let us ask: whoever reads will notice, or it passes
