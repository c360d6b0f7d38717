"""What the second reading of repeats adds to what was seen, and what it takes away."""

from __future__ import annotations

from datetime import UTC, datetime

from pyspark.sql import Row
from test_summary import REGION, request

from replay_verification.repeats import add_reused
from replay_verification.report import Seen, TopicCounts, make_report
from sparkjob.integrity.findings import Finding, Kind


def repeated(offset: int, region: int = REGION) -> Finding:
    return Finding(Kind.REPEATED_SEQUENCE, "wal_0", "again", offset, region)


def line(offset: int, count: int) -> Row:
    return Row(topic="wal_0", region=REGION, offset=offset, first=7, count=count)


def test_an_entry_with_other_bytes_is_an_error_and_no_legal_repeat() -> None:
    seen = Seen(findings=[repeated(30), repeated(40), repeated(30, REGION + 1)])
    add_reused([line(30, 1)], seen)
    assert [(found.kind, found.offset, found.region) for found in seen.findings] == [
        (Kind.REPEATED_SEQUENCE, 40, REGION),
        (Kind.REPEATED_SEQUENCE, 30, REGION + 1),
        (Kind.SEQUENCE_REUSED, 30, REGION),
    ]


def test_those_that_are_not_told_are_counted() -> None:
    seen = Seen(topics={"wal_0": TopicCounts(1, 1)})
    add_reused([line(offset, 700) for offset in range(20)], seen)
    report = make_report(request(), seen, datetime.now(UTC))
    assert (report.counts["errors"], len(report.findings)) == (700, 20)
