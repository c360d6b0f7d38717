"""The ledger once more, for one topic, with plain objects and loops: written from the design's text, not from the code.

It is slow and obvious. The columnar ledger is compared with it on everything that hypothesis thinks of.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Inner:
    """A data region or a metadata region; None is unknown or none."""

    flushed: int | None
    checkpoint: int | None
    idle: int | None


@dataclass(frozen=True)
class Region:
    """A region as the oracle sees it."""

    reported: bool
    inner: tuple[Inner, ...]
    stale: bool
    settled: bool
    reported_twice: bool
    opening: bool
    idle_is_durable: bool = True
    """Its rows cannot have left the memtable without becoming durable."""
    dropped: bool = False
    """Its table was dropped, and may be undropped."""
    dead: bool = False
    """A person declared it dead, and nothing contradicts it."""
    contradicted: bool = False
    """A person declared it dead, and that does not count."""


@dataclass(frozen=True)
class Topic:
    """A topic as the oracle sees it, with everything that bounds it."""

    regions: tuple[Region, ...]
    marker: int | None
    log_start: int | None
    high_watermark: int | None
    fence_broken: bool
    unmapped: bool
    vanished: bool
    under_min_isr: bool
    restarting: bool
    compacted: bool
    intent: int | None
    intents_readable: bool
    intents_lost: bool
    records_of_others: bool
    holds: tuple[int, ...]
    has_policy: bool
    keep_entries: int
    verification_required: bool
    verified_from: int | None
    verified_before: bool
    watched_too_shortly: bool
    recorded: int | None
    unused: bool
    recorded_for_a_grace: bool
    followers: tuple[int | None, ...] = ()
    """What each follower that counts needs nothing at and below."""


@dataclass(frozen=True)
class Cluster:
    """What holds for all topics."""

    mode: str
    report_only: str | None
    holds_readable: bool
    stopped: bool
    contested: bool = False
    """Another WALCluster claims the same topics."""
    fence_broken: bool = False
    """Of any topic."""
    undrops: bool = False
    """A dropped table may come back, by the flushed ids of its manifests."""


@dataclass(frozen=True)
class Answer:
    """The oracle's answer for one topic."""

    reason: str | None
    floor: int | None
    purge_to: int | None


def greatest_known(*values: int | None) -> int | None:
    return max((value for value in values if value is not None), default=None)


def least_known(*values: int | None) -> int | None:
    return min((value for value in values if value is not None), default=None)


def least_if_all_known(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return min(known) if known and len(known) == len(values) else None


def flushed_to(region: Region) -> int | None:
    if not region.reported:
        return None
    return least_if_all_known(
        [None if i.flushed is None else greatest_known(i.flushed, i.checkpoint) for i in region.inner]
    )


def prunable(region: Region, mode: str, *, undrops: bool = False) -> int | None:
    if not region.reported:
        return None
    if undrops:
        return least_if_all_known([inner.flushed for inner in region.inner])
    found: list[int | None] = []
    for inner in region.inner:
        if inner.flushed is None:
            found.append(None)
        elif mode in {"A", "B"} and region.settled and region.idle_is_durable:
            found.append(greatest_known(inner.flushed, inner.checkpoint, inner.idle))
        else:
            found.append(greatest_known(inner.flushed, inner.checkpoint))
    return least_if_all_known(found)


def reads_from(region: Region, topic: Topic, mode: str) -> int | None:
    flushed = flushed_to(region)
    if flushed is None:
        return None
    if mode == "C":
        return flushed + 1
    return None if topic.marker is None else max(flushed, topic.marker) + 1


def answer(cluster: Cluster, topic: Topic, *, deleting: bool) -> Answer:
    """What the design says of this topic: a dead region is as if it was not there."""
    topic = replace(topic, regions=tuple(region for region in topic.regions if not region.dead))
    floor = _floor(cluster, topic, deleting=deleting)
    purge_to = None if floor is None else _purge_to(topic, floor)
    reason = _reason(cluster, topic, purge_to, deleting=deleting)
    return Answer(reason, floor, None if reason else purge_to)


def _floor(cluster: Cluster, topic: Topic, *, deleting: bool) -> int | None:
    if cluster.mode == "A":
        now = topic.marker
    elif topic.unused and not topic.regions:
        now = topic.high_watermark - 1 if topic.high_watermark else None
        if cluster.mode == "B":
            now = None if now is None or topic.marker is None else max(now, topic.marker)
    elif cluster.mode == "B":
        lowest = least_if_all_known([prunable(region, "B", undrops=cluster.undrops) for region in topic.regions])
        lowest = None if lowest is None else least_known(lowest, *topic.followers)
        now = None if lowest is None or topic.marker is None else max(lowest, topic.marker)
    else:
        now = least_if_all_known([flushed_to(region) for region in topic.regions])
    again = topic.marker if cluster.mode == "B" else now
    if not deleting:
        is_c = cluster.mode == "C" and topic.regions
        return least_known(now, *topic.followers) if is_c and now is not None else now
    return least_if_all_known([topic.recorded, again])


def _purge_to(topic: Topic, floor: int) -> int | None:
    followers = [position for position in topic.followers if position is not None]
    if topic.verification_required:
        if topic.verified_from is None:
            return None
        return min(floor - topic.keep_entries, topic.verified_from, *topic.holds, *followers)
    return min([floor - topic.keep_entries, *topic.holds, *followers])


def _reason(  # noqa: C901, PLR0911, PLR0912 - the design's list, in its order
    cluster: Cluster, topic: Topic, purge_to: int | None, *, deleting: bool
) -> str | None:
    mode, regions = cluster.mode, topic.regions
    starts = [reads_from(region, topic, mode) for region in regions]
    if topic.log_start is not None and any(start is not None and topic.log_start > start for start in starts):
        return "LogStartBeyondReplay"
    if topic.fence_broken:
        return "IdentityFenceBroken"
    if topic.log_start is None or topic.high_watermark is None:
        return "OffsetsUnknown"
    if mode in {"A", "B"} and topic.marker is None:
        return "MarkerMissing"
    if any(region.reported and any(inner.flushed is None for inner in region.inner) for region in regions):
        return "RegionStartUnknown"
    if topic.unmapped:
        return "RegionUnmapped"
    if topic.vanished or any(not region.reported and not region.dropped for region in regions):
        return "RegionMissing"
    if any(not region.reported for region in regions):
        return "RegionDropped"
    if any(region.stale for region in regions):
        return "RegionStale"
    if any(region.opening for region in regions):
        return "RegionOpening"
    if None in topic.followers:
        return "FollowerMissing"
    if any(region.contradicted for region in regions):
        return "DeclarationContradicted"
    if not regions and not topic.unused:
        return "NoRegions"
    if topic.under_min_isr:
        return "UnderMinISR"
    if topic.restarting:
        return "DatanodeRestarts"
    if topic.compacted:
        return "TopicCompacted"
    if not cluster.holds_readable:
        return "HoldsUnreadable"
    if topic.intents_lost:
        return "IntentsLost"
    if not topic.intents_readable:
        return "IntentsUnreadable"
    if topic.intent is not None and topic.log_start > topic.intent:
        return "ForeignDelete"
    if cluster.fence_broken:
        return "IdentityFenceBrokenElsewhere"
    if topic.records_of_others:
        return "RecordsOfOthers"
    if cluster.contested:
        return "PrefixContested"
    if cluster.report_only is not None:
        return cluster.report_only
    if cluster.stopped:
        return "StoppedByAnnotation"
    if not topic.has_policy:
        return "NoPolicy"
    if topic.verification_required and not topic.verified_before:
        return "VerificationMissing"
    if topic.verification_required and topic.verified_from is None:
        return "VerificationTooOld"
    if topic.watched_too_shortly:
        return "WatchedTooShortly"
    if deleting and not (all(region.reported_twice for region in regions) if regions else topic.recorded_for_a_grace):
        return "NotSeenTwice"
    if purge_to is None or purge_to <= topic.log_start:
        return "NothingToPurge"
    return None
