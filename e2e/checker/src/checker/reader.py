"""A reader: reads the whole table again and again, and compares it with what the writers have recorded."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Set as AbstractSet
from dataclasses import asdict
from pathlib import Path
from typing import Any

from checker.database import Database, Refused
from checker.journal import Journal, JournalFolder
from checker.judge import Examination, Finding, FindingKind, examine, required_batches
from checker.ledger import Ledger

LOG = logging.getLogger("checker.reader")
FOLDER = "readers"
LONGEST_PAUSE = 5.0


class Readings:
    """What all readers recorded so far."""

    def __init__(self, folder: Path) -> None:
        self._folder = JournalFolder(folder / FOLDER)
        self.done = 0
        self.refusals: Counter[int] = Counter()
        self.seen: set[str] = set()
        self.findings: dict[tuple[FindingKind, str], Finding] = {}

    def refresh(self) -> None:
        """Takes in what was recorded since."""
        for line in self._folder.new_lines():
            self._take(line)

    def _take(self, line: Any) -> None:
        match line:
            case {"refused": code}:
                self.refusals[code] += 1
            case {"rows": _, "seen": seen, "findings": findings}:
                self.done += 1
                self.seen.update(seen)
                for each in findings:
                    finding = Finding(**{**each, "kind": FindingKind(each["kind"])})
                    self.findings[finding.kind, finding.key] = finding
            case _:
                raise ValueError(f"not a line of a reader's journal: {line}")


def read_once(database: Database, ledger: Ledger, seen: AbstractSet[str]) -> Examination:
    """Reads the table and compares it; raises `Refused` when it cannot be read now."""
    ledger.refresh()
    acked_before = set(ledger.acks)
    cut = database.read()
    ledger.refresh()
    required = required_batches(acked_before, ledger.acks, cut.applied)
    return examine(cut.rows, ledger.batches, ledger.acks, required, seen)


def read_for_ever(database: Database, folder: Path, reader: str, pause: float) -> None:
    """Reads until the process is killed; a finding is recorded once, and the reading goes on."""
    journal = Journal(folder / FOLDER, reader)
    ledger, readings = Ledger(folder), Readings(folder)
    while True:
        started = time.monotonic()
        readings.refresh()
        try:
            found = read_once(database, ledger, readings.seen)
        except Refused as refused:
            LOG.info("%s", refused)
            journal.append({"refused": refused.code})
        else:
            new = [each for each in found.findings if (each.kind, each.key) not in readings.findings]
            for finding in new:
                LOG.error("%s", finding)
            seen = sorted(found.seen - readings.seen)
            journal.append({"rows": found.good, "seen": seen, "findings": [asdict(each) for each in new]})
        took = time.monotonic() - started
        time.sleep(max(pause, min(2 * took, LONGEST_PAUSE)))  # two thirds of the time belong to the writers
