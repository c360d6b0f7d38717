"""Why a copy of the log that is promoted must end beyond what is flushed: else the next replay skips new rows.

This database refuses such a log, at two places. GreptimeDB has neither check (ADR 44), so both are taken away here.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import Producer
from one_region import REGION, SCHEMA, leading

from refdb.errors import RegionFatalError
from refdb.region import opener
from refdb.region.files import RegionFiles
from refdb.region.opener import Assignment, Floors, create_region, open_region
from refdb.region.region import Region
from refdb.wal.log import WalLog
from refdb.wal.options import WalOptions
from refdb.wal.topics import require_topics
from seawall_e2e.loopback import KafkaProcesses

pytestmark = pytest.mark.integration
FLUSHED = 4
"""What the database had flushed on the source, where its first record is 1."""


@pytest.fixture
def files(log: WalLog, one_kafka: KafkaProcesses, tmp_path: Path) -> RegionFiles:
    """Of a region that has flushed, and now belongs to an empty topic."""
    source, copy = (f"short-{uuid.uuid4().hex[:8]}" for _ in range(2))
    require_topics(WalOptions(kafka={"bootstrap.servers": one_kafka.bootstrap_servers[0]}, topics=(source, copy)))
    files = RegionFiles(tmp_path)
    region = leading(create_region(REGION, source, SCHEMA, files, log))
    for number in range(1, FLUSHED + 1):
        assert region.write([(number, "old")]) == number
    assert region.flush()
    files.commit(replace(region.manifest, version=region.manifest.version + 1, topic=copy))
    return files


def opened(files: RegionFiles, log: WalLog) -> Region:
    manifest = files.latest()
    assert manifest is not None
    return leading(open_region(Assignment(REGION, manifest.topic, 0), Floors(), files, log))


def append_nulls(kafka: KafkaProcesses, files: RegionFiles, count: int) -> None:
    """What a mirror, and then a promotion, leave in a copy."""
    manifest = files.latest()
    assert manifest is not None
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers[0]})
    for _ in range(count):
        producer.produce(manifest.topic, None, None)
    assert producer.flush(30) == 0


@pytest.mark.parametrize("end", [2, FLUSHED, FLUSHED + 1])
def test_a_row_written_below_what_is_flushed_is_lost_by_the_next_replay(
    one_kafka: KafkaProcesses, log: WalLog, files: RegionFiles, monkeypatch: pytest.MonkeyPatch, end: int
) -> None:
    is_padded = end > FLUSHED
    append_nulls(one_kafka, files, end)
    if not is_padded:
        with pytest.raises(RegionFatalError, match=f"ends at {end}, before replay begins at {FLUSHED + 1}"):
            opened(files, log)
        monkeypatch.setattr(opener, "_check", lambda *_: None)
    region = opened(files, log)
    if not is_padded:
        region.applied_entry_id = -1  # what the check of what is appended compares with
    assert region.write([(9, "new")]) == end
    assert (9, "new") in region.scan().rows
    assert ((9, "new") in opened(files, log).scan().rows) is is_padded
