"""A writer: threads that write a batch, wait for the answer, record it, and go on.

Each partition has two of them. The quick one gives up soon and shows that the partition is written again. The patient
one waits for longer than a leader is stopped: it hears what that one says when it wakes up and others lead.

No batch is sent twice: whether one that failed was written is unknown, and stays so.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
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
    """How much is written: each thread writes a batch every `period` seconds, and now and then one of large values."""

    partitions: int
    period: float
    large_every: int
    large_value: int

    def size(self, number: int) -> int:
        """The length of the values in a thread's batch with this number."""
        return SMALL_VALUE if number % self.large_every else self.large_value


def write_for_ever(quick: Database, patient: Database, folder: Path, writer: str, pace: Pace) -> None:
    """Makes the table if need be and writes until the process is killed; ends only when a row cannot be recorded."""
    _wait_for_table(quick, pace.partitions)
    ledger = LedgerFile(folder, writer)
    LOG.info("writing as %s", ledger.name)
    failed = threading.Event()
    kinds = {f"{ledger.name}q": quick, f"{ledger.name}p": patient}
    with ThreadPoolExecutor(len(kinds) * pace.partitions) as pool:
        threads = [
            pool.submit(_write, database, ledger, partial(batch_name, partition, name), pace, failed)
            for name, database in kinds.items()
            for partition in range(pace.partitions)
        ]
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


def _write(
    database: Database, ledger: LedgerFile, name: Callable[[int], str], pace: Pace, failed: threading.Event
) -> None:
    for number in count(1):
        rows = 1 + number % LARGEST_BATCH
        batch = Batch(name(number), rows, int(time.time() * 1000), pace.size(number))
        ledger.tried(batch)
        try:
            ledger.acknowledged(batch, database.insert(batch))
        except Refused as refused:
            ledger.failed(batch, refused.code)
            LOG.info("%s: %s", batch.name, refused)
        if failed.wait(pace.period):
            return
