"""What the writers know: which batches were tried, and which of them were acknowledged, where in which log.

A batch is in the ledger before it is sent. So there is no row without a batch, and one without an acknowledgement has
an unknown outcome: its rows may be there or not, now or after the next replay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from checker.journal import Journal, JournalFolder
from checker.rows import Batch

FOLDER = "writers"


@dataclass(frozen=True, slots=True)
class Ack:
    """Where the database said that a batch is: the offset of its entry in the topic of its region."""

    region_id: int
    topic: str
    entry_id: int


class LedgerFile:
    """What one start of a writer records."""

    def __init__(self, folder: Path, writer: str) -> None:
        self._journal = Journal(folder / FOLDER, writer)
        self.name = self._journal.name

    def tried(self, batch: Batch) -> None:
        """It is about to be sent."""
        self._journal.append({"try": asdict(batch)})

    def acknowledged(self, batch: Batch, ack: Ack) -> None:
        """The database said that it is safe."""
        self._journal.append({"ack": batch.name, **asdict(ack)})

    def failed(self, batch: Batch, code: int) -> None:
        """The database refused or did not answer."""
        self._journal.append({"failed": batch.name, "code": code})


class Ledger:
    """What all writers recorded so far, in all their starts."""

    def __init__(self, folder: Path) -> None:
        self._folder = JournalFolder(folder / FOLDER)
        self.batches: dict[str, Batch] = {}
        self.acks: dict[str, Ack] = {}
        self.failures: Counter[int] = Counter()

    def refresh(self) -> None:
        """Takes in what was recorded since."""
        for line in self._folder.new_lines():
            self._take(line)

    @property
    def acked_rows(self) -> int:
        """How many rows were acknowledged."""
        return sum(self.batches[name].count for name in self.acks)

    @property
    def unknown_rows(self) -> int:
        """How many were tried and not acknowledged."""
        return sum(batch.count for name, batch in self.batches.items() if name not in self.acks)

    def oldest_above(self, flushed: Mapping[int, int]) -> dict[int, Ack]:
        """By region, the oldest acknowledged entry beyond its flushed entry id: a restart must find it in the log."""
        found: dict[int, Ack] = {}
        for ack in sorted(self.acks.values(), key=lambda ack: ack.entry_id):
            if ack.entry_id > flushed.get(ack.region_id, ack.entry_id):
                found.setdefault(ack.region_id, ack)
        return found

    def _take(self, line: Any) -> None:
        match line:
            case {"try": batch}:
                self.batches[batch["name"]] = Batch(**batch)
            case {"ack": name, "region_id": region_id, "topic": topic, "entry_id": entry_id}:
                self.acks[name] = Ack(region_id, topic, entry_id)
            case {"failed": _, "code": code}:
                self.failures[code] += 1
            case _:
                raise ValueError(f"not a line of a ledger: {line}")
