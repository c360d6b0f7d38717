"""What the granter of holds sees, from a shared look."""

from __future__ import annotations

from seawall.domain.ledger.holds import HeldTopic, HoldView
from seawall.domain.ledger.ledger import Ledger, plan
from seawall.domain.ledger.looked import Looked


def hold_view(looked: Looked) -> HoldView:
    """All topics of the pool. A record of another log than Kafka's has no intent for this one."""
    ledger = plan(looked.look.inputs)
    rows = {name: row for row, name in enumerate(ledger.topics.names)}
    return HoldView({name: _held_topic(looked, ledger, name, rows.get(name)) for name in sorted(looked.topics)})


def _held_topic(looked: Looked, ledger: Ledger, name: str, row: int | None) -> HeldTopic:
    log, record = looked.read.logs[name], looked.read.records.get(name)
    is_same_log = record is not None and record.topic_id == log.topic_id
    return HeldTopic(
        log_start=log.log_start,
        high_watermark=log.high_watermark,
        intent=record.intent if record is not None and is_same_log else None,
        floor=None if row is None else ledger.floor.at(row),
        size_bytes=log.size_bytes,
    )
