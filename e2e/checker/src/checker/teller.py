"""Tells what the journals say while they grow: a line of JSON for each question, as long as somebody asks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from checker.ledger import Ledger
from checker.reader import Readings


class Teller:
    """What writers and readers recorded; each question reads only what is new since the last one."""

    def __init__(self, folder: Path) -> None:
        self._ledger, self._readings = Ledger(folder), Readings(folder)

    def progress(self) -> dict[str, Any]:
        """How far writers and readers are."""
        self._ledger.refresh()
        self._readings.refresh()
        acked_regions = Counter(ack.region_id for ack in self._ledger.acks.values())
        return {
            "acked": self._ledger.acked_rows,
            "unknown": self._ledger.unknown_rows,
            "entries": {str(region): number for region, number in sorted(acked_regions.items())},
            "readings": self._readings.done,
            "refused": self._readings.refusals.total(),
            "findings": len(self._readings.findings),
        }

    def needed(self, flushed: Mapping[str, int]) -> list[dict[str, Any]]:
        """Where the oldest acknowledged entry is that each region has only in its log.

        Args:
            flushed: region → flushed entry id, as the database reported it.
        """
        self._ledger.refresh()
        known = {int(region): entry for region, entry in flushed.items()}
        return [asdict(ack) for ack in self._ledger.oldest_above(known).values()]


def answers(folder: Path, questions: Iterable[str]) -> Iterator[str]:
    """`["progress"]` or `["needed", {region: flushed entry id}]` → `{"answer": …}`, a line each."""
    teller = Teller(folder)
    verbs: dict[str, Callable[..., object]] = {"progress": teller.progress, "needed": teller.needed}
    for question in questions:
        verb, *words = json.loads(question)
        yield json.dumps({"answer": verbs[verb](*words)})
