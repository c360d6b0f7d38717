"""A source that another broker leads: all that is read of it was appended by that one, and may be of another log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from sparkjob.wire.reader import Range, Reader
from sparkjob.wire.records import Record
from wal_subscription.records import checks
from wal_subscription.records import copier as of_records
from wal_subscription.table import copier as of_tables


@contextmanager
def led_anew(instead: Mapping[str, str] | None = None) -> Iterator[None]:
    """Records have a newer epoch than Kafka gave them; `instead` says which topic's log a topic has now."""
    logs = instead or {}

    class Anew(Reader):
        def read(self, wanted: Range) -> Iterator[tuple[Record, int]]:
            """As it is told."""
            log = wanted._replace(topic=logs.get(wanted.topic, wanted.topic))
            return ((record, epoch + 1) for record, epoch in super().read(log))

    with pytest.MonkeyPatch.context() as patch:
        for module in (checks, of_records, of_tables):
            patch.setattr(module, "Reader", Anew)
        yield
