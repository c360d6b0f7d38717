"""A table of two regions and threads that write to it, for tests of faults."""

from __future__ import annotations

import threading
import time
from typing import Self

from seawall_e2e.loopback.refdb import RefDbProcesses

TABLE = """CREATE TABLE t (ts TIMESTAMP TIME INDEX, k STRING, PRIMARY KEY(k))
PARTITION BY RANGE COLUMNS (k) (PARTITION a VALUES LESS THAN ("w1"), PARTITION b VALUES LESS THAN (MAXVALUE))"""
FIRST = 4398046511105


class Writers:
    """Threads that write a row at a time and remember the acknowledged ones."""

    def __init__(self, db: RefDbProcesses) -> None:
        self._db, self._stop = db, threading.Event()
        self.acknowledged: set[str] = set()
        self.refused = 0
        self._threads = [threading.Thread(target=self._write, args=(n,)) for n in range(3)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def wait_for_more(self, rows: int) -> None:
        """Waits until so many more rows were acknowledged."""
        enough, deadline = len(self.acknowledged) + rows, time.monotonic() + 60
        while len(self.acknowledged) < enough:
            assert time.monotonic() < deadline, f"only {len(self.acknowledged)} rows"
            time.sleep(0.02)

    def _write(self, writer: int) -> None:
        for number in range(1_000_000):
            if self._stop.is_set():
                return
            key = f"w{writer}-{number}"
            answer = self._db.sql(f"INSERT INTO t(ts, k) VALUES ({number}, '{key}')")
            if "code" in answer:
                self.refused += 1
                time.sleep(0.05)
            else:
                self.acknowledged.add(key)


def lost(db: RefDbProcesses, writers: Writers) -> set[str]:
    """Acknowledged rows that are not there."""
    return writers.acknowledged - {row[0] for row in db.rows("SELECT k FROM t")}
