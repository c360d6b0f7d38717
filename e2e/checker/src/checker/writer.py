"""A writer: for each partition a thread that writes a batch, waits for the answer, records it, and goes on.

No batch is sent twice: whether one that failed was written is unknown, and stays so.
"""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from checker.database import Database, Refused
from checker.ledger import LedgerFile
from checker.rows import Batch, batch_name

LOG = logging.getLogger("checker.writer")
LARGEST_BATCH = 4
SMALL_VALUE = 32
RETRY_PAUSE = 0.2


@dataclass(frozen=True, slots=True)
class Pace:
    """How much is written: a partition gets a batch every `period` seconds, and now and then one of large values."""

    partitions: int
    period: float
    large_every: int
    large_value: int

    def size(self, number: int) -> int:
        """The length of the values in a partition's batch with this number."""
        return SMALL_VALUE if number % self.large_every else self.large_value


def write_for_ever(database: Database, folder: Path, writer: str, pace: Pace) -> None:
    """Makes the table if need be and writes until the process is killed; ends only when a row cannot be recorded."""
    _wait_for_table(database, pace.partitions)
    ledger = LedgerFile(folder, writer)
    LOG.info("writing as %s", ledger.name)
    failed = threading.Event()
    with ThreadPoolExecutor(pace.partitions) as pool:
        threads = [pool.submit(_write, database, ledger, number, pace, failed) for number in range(pace.partitions)]
        done, _ = wait(threads, return_when=FIRST_EXCEPTION)
        failed.set()
        for thread in done:
            thread.result()


def _wait_for_table(database: Database, partitions: int) -> None:
    while True:
        try:
            database.create_table(partitions)
        except Refused as refused:
            LOG.info("no table yet: %s", refused)
            time.sleep(RETRY_PAUSE)
        else:
            return


def _write(database: Database, ledger: LedgerFile, partition: int, pace: Pace, failed: threading.Event) -> None:
    for number in count(1):
        name = batch_name(partition, ledger.name, number)
        size = 1 + number % LARGEST_BATCH
        batch = Batch(name, size, int(time.time() * 1000), pace.size(number))
        ledger.tried(batch)
        try:
            ledger.acknowledged(batch, database.insert(batch))
        except Refused as refused:
            ledger.failed(batch, refused.code)
            LOG.info("%s: %s", name, refused)
        if failed.wait(pace.period):
            return
