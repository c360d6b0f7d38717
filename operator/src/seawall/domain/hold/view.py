"""What one tick of a WALHold observes, and what the granter of holds sees of it, from a shared look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from seawall.domain.clocks import TrustedTime
from seawall.domain.kafka_log import FirstSince
from seawall.domain.ledger.fence import Verdict
from seawall.domain.ledger.held import HeldTopic, HoldView
from seawall.domain.ledger.hold_losses import why_overtaken
from seawall.domain.ledger.ledger import plan
from seawall.domain.ledger.observation import Observation, Unavailable
from seawall.domain.ledger.shards import shard_of


@dataclass(frozen=True, slots=True)
class YoungRecords:
    """By topic the first record that is younger than maxLagAge, and than its share `NEAR`; left out: unknown."""

    near: Mapping[str, FirstSince]
    young: Mapping[str, FirstSince]


@dataclass(frozen=True, slots=True)
class Observed:
    """What one tick sees. `observation` is None where there is nothing to observe: no WALCluster, or it is over.

    The look was made after the hold had been read: it read the intents when the hold existed (design section 3).
    """

    time: TrustedTime
    observation: Observation | Unavailable | None = None
    has_cluster: bool = False
    may_write: bool = False
    """Whether the WALCluster is not paused: a paused one writes no ConfigMap."""
    ages: YoungRecords | None = None
    """Of a hold with maxLagAge."""


def hold_view(observation: Observation, ages: YoungRecords | None = None, *, may_write: bool) -> HoldView:
    """All topics of the pool. A record of another log than Kafka's has no intent for this one."""
    ledger = plan(observation.assessment.inputs)
    floors = {name: ledger.floor.at(row) for row, name in enumerate(ledger.topics.names)}
    topics = {
        name: _held_topic(observation, name, floors.get(name), may_write=may_write)
        for name in sorted(observation.topics)
    }
    mode = observation.assessment.inputs.prune_mode
    aged = topics if ages is None else {name: _with_ages(topics[name], ages, name) for name in topics}
    return HoldView(aged, mode.database_deletes, mode.cure, observation.pool.prefix, observation.pool.cluster_id)


def _with_ages(topic: HeldTopic, ages: YoungRecords, name: str) -> HeldTopic:
    def edge(found: FirstSince | None) -> int | None:
        return None if found is None else topic.high_watermark if found.offset is None else found.offset

    return replace(topic, near_from=edge(ages.near.get(name)), young_from=edge(ages.young.get(name)))


def overtaken_holds(observation: Observation) -> tuple[str, ...]:
    """The holds whose granted records are gone by this look, and of which that is not written yet."""
    granted = [hold for hold in observation.read.holds or () if hold.granted is not None]
    if not granted:
        return ()
    view = HoldView({name: _held_topic(observation, name, None, may_write=True) for name in sorted(observation.topics)})
    return tuple(hold.name for hold in granted if why_overtaken(hold, view) is not None)


def _held_topic(observation: Observation, name: str, floor: int | None, *, may_write: bool) -> HeldTopic:
    log, record, identity = (
        observation.read.logs[name],
        observation.read.records.get(name),
        observation.assessment.identities.get(name),
    )
    is_same_log = record is not None and record.topic_id == log.topic_id
    return HeldTopic(
        log_start=log.log_start,
        high_watermark=log.high_watermark,
        intent=record.intent if record is not None and is_same_log else None,
        floor=floor,
        record_bytes=log.record_bytes,
        topic_id=log.topic_id,
        finding=None if identity is None else identity.finding,
        is_broken=identity is not None and identity.verdict is Verdict.BROKEN,
        trouble=_why_no_intent(observation, name, may_write=may_write),
    )


def _why_no_intent(observation: Observation, name: str, *, may_write: bool) -> str | None:
    """What keeps a topic's first intent from being written or read; None: it will be there soon."""
    identity = observation.assessment.identities.get(name)
    if name in observation.read.unreadable_records:
        return f"the intent of {name} cannot be read: {observation.shards.unreadable[shard_of(name)]}"
    if name in observation.lost:
        return f"the intent of {name} is lost: restore the ConfigMap, or set seawall.dev/readopt on the WALCluster"
    if identity is not None and identity.finding is not None:
        return f"nothing can be promised of {name} while its log is in doubt: {identity.finding.sentence}"
    if not may_write:
        return f"no intent is written for {name}: its WALCluster is paused by seawall.dev/paused, or being deleted"
    return None
