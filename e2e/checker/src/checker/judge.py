"""Compares what the table holds with what was written. Pure: no clock, no network, no files.

| finding | a row that … |
|---|---|
| lost | was acknowledged, or was read before, and is not in the answer |
| changed | has another time or value than the one that was written |
| duplicate | is in the answer more than once |
| invented | nobody wrote |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum

from checker.ledger import Ack
from checker.rows import Batch, Row, batch_of


class FindingKind(StrEnum):
    """What is wrong with a row."""

    LOST = "lost"
    CHANGED = "changed"
    DUPLICATE = "duplicate"
    INVENTED = "invented"


@dataclass(frozen=True, slots=True)
class Finding:
    """One row that is not as it must be, and where its entry is if it was acknowledged."""

    kind: FindingKind
    key: str
    region_id: int | None = None
    topic: str | None = None
    entry_id: int | None = None


@dataclass(frozen=True, slots=True)
class Examination:
    """What came of comparing one answer. `seen` are rows whose outcome is unknown and which are there."""

    good: int
    seen: frozenset[str]
    findings: tuple[Finding, ...]


def required_batches(acked_before: AbstractSet[str], acks: Mapping[str, Ack], applied: Mapping[int, int]) -> set[str]:
    """The batches that an answer must hold.

    Those acknowledged before the question was put; and those acknowledged meanwhile that the answer itself claims to
    hold, because their entry is not after the one that it names for their region.
    """
    claimed = {name for name, ack in acks.items() if ack.entry_id <= applied.get(ack.region_id, -1)}
    return claimed | acked_before


def examine(
    rows: Iterable[Row],
    batches: Mapping[str, Batch],
    acks: Mapping[str, Ack],
    required: AbstractSet[str],
    seen_before: AbstractSet[str],
) -> Examination:
    """Compares an answer's rows with the batches; `required` must be there, and so must what was seen before."""
    written = _Written(batches)
    found: dict[str, bool] = {}
    findings: list[Finding] = []
    for row in rows:
        right = written.row(row.key)
        if row.key in found:
            findings.append(_finding(FindingKind.DUPLICATE, row.key, acks))
        elif right is None:
            findings.append(Finding(FindingKind.INVENTED, row.key))
        elif row != right:
            findings.append(_finding(FindingKind.CHANGED, row.key, acks))
        found[row.key] = found.get(row.key, row == right)
    wanted = {row for name in required for row in written.keys(name)} | seen_before
    findings += [_finding(FindingKind.LOST, key, acks) for key in sorted(wanted - found.keys())]
    seen = frozenset(key for key, good in found.items() if good and batch_of(key) not in acks)
    return Examination(sum(found.values()), seen, tuple(findings))


class _Written:
    """Rows by key, made when they are needed."""

    def __init__(self, batches: Mapping[str, Batch]) -> None:
        self._batches = batches
        self._rows: dict[str, dict[str, Row]] = {}

    def row(self, key: str) -> Row | None:
        return self._of(batch_of(key)).get(key)

    def keys(self, name: str) -> AbstractSet[str]:
        return self._of(name).keys()

    def _of(self, name: str) -> dict[str, Row]:
        if name not in self._rows:
            batch = self._batches.get(name)
            self._rows[name] = {row.key: row for row in batch.rows()} if batch is not None else {}
        return self._rows[name]


def _finding(kind: FindingKind, key: str, acks: Mapping[str, Ack]) -> Finding:
    ack = acks.get(batch_of(key))
    return Finding(kind, key) if ack is None else Finding(kind, key, ack.region_id, ack.topic, ack.entry_id)
