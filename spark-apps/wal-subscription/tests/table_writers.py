"""Drivers of the sink of tables as processes of their own, which are killed and frozen at any moment."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest
from local_snapshots import LocalTables
from mirror_writers import NO_CONDITION, count
from tabled import run_here

from sparkjob.bucket import Bucket
from sparkjob.errors import Interrupted, Refused
from wal_subscription import doubts
from wal_subscription.table import chain, process
from wal_subscription.table.micro_batches import TableBatches
from wal_subscription.table.request import parse_table_request

_PAUSE = 0.02
_MOST_HESITATION, _LONG_HESITATION, _OFTEN = 0.03, 1.0, 0.15
"""Now and then so long that another driver makes more than one commit."""


def write_tables(path: str, counts: str, how: str) -> None:
    """Writes for ever. Who is overtaken by another driver is counted by a byte in a file; so are topics that stop."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(doubts, "_PAUSE_SECONDS", 0.01)  # the two shall meet, not make way
        kind = Heedless if how == NO_CONDITION else Hesitating
        patch.setattr(process, "Bucket", kind)
        overtaken = chain.Overtaken.__init__

        def counted(error: chain.Overtaken, *given: Any) -> None:
            count(counts, b"r")
            overtaken(error, *given)

        patch.setattr(chain.Overtaken, "__init__", counted)
        micro: TableBatches | None = None
        while micro is None or not micro.is_over:
            try:
                micro = micro or TableBatches(
                    parse_table_request(Path(path).read_bytes()), run_here, snapshots=LocalTables(most=1)
                )
                micro.once()
            except (Interrupted, Refused):
                micro = None
            time.sleep(_PAUSE)
        count(counts, b"s" * len(micro.stops))


class Hesitating(Bucket):
    """Time goes by before what is there is known, and before anything is created: others come in between."""

    def names(self, *given: Any) -> list[str]:
        found = super().names(*given)
        _pause()
        return found

    def create(self, path: str, content: bytes) -> bool:
        _pause()
        return super().create(path, content)


class Heedless(Hesitating):
    """Creates what is there."""

    def create(self, path: str, content: bytes) -> bool:
        _pause()
        self.put(path, content)
        return True


def _pause() -> None:
    most = _LONG_HESITATION if random.random() < _OFTEN else _MOST_HESITATION  # noqa: S311 - any will do
    time.sleep(random.uniform(0.0, most))  # noqa: S311 - as above
