"""What the granter of holds sees, from a shared look."""

from __future__ import annotations

from dataclasses import replace

from seawall.domain.kafka_log import FirstSince
from seawall.domain.ledger.fence import Verdict
from seawall.domain.ledger.held import HeldTopic, HoldView
from seawall.domain.ledger.holds import why_overtaken
from seawall.domain.ledger.ledger import plan
from seawall.domain.ledger.looked import Looked
from seawall.domain.ledger.shards import shard_of
from seawall.domain.wal_hold.observed import YoungRecords


def hold_view(looked: Looked, ages: YoungRecords | None = None, *, may_write: bool) -> HoldView:
    """All topics of the pool. A record of another log than Kafka's has no intent for this one."""
    ledger = plan(looked.look.inputs)
    floors = {name: ledger.floor.at(row) for row, name in enumerate(ledger.topics.names)}
    topics = {name: _held_topic(looked, name, floors.get(name), may_write=may_write) for name in sorted(looked.topics)}
    return HoldView(topics if ages is None else {name: _with_ages(topics[name], ages, name) for name in topics})


def _with_ages(topic: HeldTopic, ages: YoungRecords, name: str) -> HeldTopic:
    def edge(found: FirstSince | None) -> int | None:
        return None if found is None else topic.high_watermark if found.offset is None else found.offset

    return replace(topic, near_from=edge(ages.near.get(name)), young_from=edge(ages.young.get(name)))


def overtaken_holds(looked: Looked) -> tuple[str, ...]:
    """The holds whose granted records are gone by this look, and of which that is not written yet."""
    granted = [hold for hold in looked.read.holds or () if hold.granted is not None]
    if not granted:
        return ()
    view = HoldView({name: _held_topic(looked, name, None, may_write=True) for name in sorted(looked.topics)})
    return tuple(hold.name for hold in granted if why_overtaken(hold, view) is not None)


def _held_topic(looked: Looked, name: str, floor: int | None, *, may_write: bool) -> HeldTopic:
    log, record, identity = looked.read.logs[name], looked.read.records.get(name), looked.look.identities.get(name)
    is_same_log = record is not None and record.topic_id == log.topic_id
    return HeldTopic(
        log_start=log.log_start,
        high_watermark=log.high_watermark,
        intent=record.intent if record is not None and is_same_log else None,
        floor=floor,
        size_bytes=log.size_bytes,
        topic_id=log.topic_id,
        finding=None if identity is None else identity.finding,
        is_broken=identity is not None and identity.verdict is Verdict.BROKEN,
        trouble=_why_no_intent(looked, name, may_write=may_write),
    )


def _why_no_intent(looked: Looked, name: str, *, may_write: bool) -> str | None:
    """What keeps a topic's first intent from being written or read; None: it will be there soon."""
    identity = looked.look.identities.get(name)
    if name in looked.read.unreadable_records:
        return f"the intent of {name} cannot be read: {looked.shards.unreadable[shard_of(name)]}"
    if name in looked.lost:
        return f"the intent of {name} is lost: restore the ConfigMap, or set seawall.dev/readopt on the WALCluster"
    if identity is not None and identity.finding is not None:
        return f"nothing can be promised of {name} while its log is in doubt: {identity.finding.sentence}"
    if not may_write:
        return f"no intent is written for {name}: its WALCluster is paused by seawall.dev/paused, or being deleted"
    return None
