"""The verdict: counts, and the first rows that are not as they must be."""

from __future__ import annotations

import logging
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from checker.database import Database, Refused
from checker.judge import Examination, Finding, FindingKind
from checker.ledger import Ledger
from checker.reader import Readings, read_once

LOG = logging.getLogger("checker.verdict")
SHOWN = 20


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was proved. Findings are those of every reading, also of one that a later reading did not confirm."""

    acked: int
    unknown: int
    read: int
    regions: int
    topics: int
    findings: tuple[Finding, ...]
    readings: int
    refused_readings: dict[int, int]
    failed_writes: dict[int, int]
    unreadable: str | None = None
    """Why the table could not be read at the end; then nothing is known of any row."""

    @property
    def holds(self) -> bool:
        """Whether rows were acknowledged, and each of them is there as it was written."""
        return self.unreadable is None and not self.findings and self.acked > 0

    def count(self, kind: FindingKind) -> int:
        """How many rows have a finding of this kind."""
        return sum(finding.kind is kind for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        """Plain JSON, with the first findings only."""
        return {
            "holds": self.holds,
            "acked": self.acked,
            "unknown": self.unknown,
            "read": self.read,
            **{kind.value: self.count(kind) for kind in FindingKind},
            "unreadable": self.unreadable,
            "regions": self.regions,
            "topics": self.topics,
            "readings": self.readings,
            "refusedReadings": {str(code): number for code, number in sorted(self.refused_readings.items())},
            "failedWrites": {str(code): number for code, number in sorted(self.failed_writes.items())},
            "first": [asdict(finding) for finding in self.findings[:SHOWN]],
        }


def judge(database: Database, folder: Path, within: float) -> Verdict:
    """Reads the table once more, waiting for so many seconds until it can be read, and sums up all readings."""
    ledger, readings = Ledger(folder), Readings(folder)
    readings.refresh()
    last, unreadable = _last_reading(database, ledger, readings, within)
    found = readings.findings | {(each.kind, each.key): each for each in last.findings}
    return Verdict(
        acked=ledger.acked_rows,
        unknown=ledger.unknown_rows,
        read=last.good,
        regions=len({ack.region_id for ack in ledger.acks.values()}),
        topics=len({ack.topic for ack in ledger.acks.values()}),
        findings=tuple(sorted(found.values(), key=_order)),
        readings=readings.done + (unreadable is None),
        refused_readings=dict(readings.refusals),
        failed_writes=dict(ledger.failures),
        unreadable=unreadable,
    )


def _last_reading(
    database: Database, ledger: Ledger, readings: Readings, within: float
) -> tuple[Examination, str | None]:
    deadline = time.monotonic() + within
    while True:
        try:
            return read_once(database, ledger, readings.seen), None
        except Refused as refused:
            if time.monotonic() > deadline:
                return Examination(0, frozenset(), ()), str(refused)
            LOG.info("cannot be read yet: %s", refused)
        time.sleep(0.5)


def _order(finding: Finding) -> tuple[object, ...]:
    return finding.kind, finding.region_id or 0, finding.entry_id or 0, finding.key
