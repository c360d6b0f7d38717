"""What the ledger decides from: one row for each region and one for each topic.

`Regions` comes from the reports and the metadata (`regions.py`), `Freshness` from watching them (`report_history.py`),
`Topics` from the metadata and Kafka, `Bounds` from policies, holds and verifications.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from seawall.domain.columns import Ids, Mask, Numbers, RegionIds, mask_of


@dataclass(frozen=True, slots=True, eq=False)
class Regions:
    """One row for each region of each topic; a region that is said to be of two topics has two rows."""

    topic: Numbers
    """The row of its topic."""
    region: RegionIds
    leader: Ids
    """The datanode that the route names."""
    route_revision: Ids
    """The revision of the metadata store at which the route was written."""
    key_revision: Ids
    """The revision at which its topic→region key was written last; unknown: there is none."""
    epoch: Ids
    """The epoch of the leader's process, as its report says; unknown: no report from the route's leader."""
    reported_at: Ids
    """When the report was made, in milliseconds by the database's clock: it only has to rise."""
    data_flushed: Ids
    """The manifest's flushed entry id of the region, or of the metric engine's data region."""
    data_checkpoint: Ids
    data_idle: Ids
    metric: Mask
    """The metric engine: there is a second, inner region for its metadata, on the same topic."""
    metadata_flushed: Ids
    metadata_checkpoint: Ids
    metadata_idle: Ids
    opening: Mask
    """The route or the leader says that it is being opened, moved or staged."""
    idle_is_durable: Mask
    """What its leader saw idle is durable; else its memtable may be empty because its rows were only staged."""
    dropped: Mask
    """Its table was dropped and may be undropped: only tombstones know it, and nobody reports it."""

    def __len__(self) -> int:
        return len(self.region)

    def only(self, kept: Mask) -> Regions:
        """These rows."""
        return Regions(**_rows(self, kept))


@dataclass(frozen=True, slots=True, eq=False)
class Freshness:
    """What watching the reports showed, one row for each row of `Regions`."""

    stale: Mask
    """Not seen to advance within staleAfter."""
    settled: Mask
    """Two advances were seen under one leader, one epoch and one route: its idle samples are no older."""
    reported_twice: Mask
    """Two advances were seen since the value that the run may delete to was seen."""
    dead: Mask
    """A person declared it dead, and it was watched for long enough without a sign of life (`dead_watch.py`)."""
    contradicted: Mask
    """A person declared it dead, and that does not count (any more): it reports, or was not watched for long enough."""

    def only(self, kept: Mask) -> Freshness:
        """These rows."""
        return Freshness(**_rows(self, kept))


def _rows(table: Regions | Freshness, kept: Mask) -> dict[str, Any]:
    """These rows of each column, by its name."""
    rows = np.flatnonzero(kept)
    columns = {column.name: getattr(table, column.name) for column in fields(table)}
    return {name: column.take(rows) if isinstance(column, Ids) else column[rows] for name, column in columns.items()}


@dataclass(frozen=True, slots=True)
class TopicLog:
    """A topic as Kafka has it: offsets of partition 0 and the identity of the log. None: Kafka did not say."""

    topic_id: str | None
    leader_epoch: int | None
    log_start: int | None
    high_watermark: int | None
    """Exclusive: the offset that the next record gets."""
    size_bytes: int | None = None
    """What one replica takes on disk."""
    under_min_isr: bool = False
    compacted: bool = False
    record_bytes: float | None = None
    """What a record of it takes by the mean, or less where that is not known for sure (`record_sizes.py`)."""


@dataclass(frozen=True, slots=True, eq=False)
class Topics:
    """One row for each topic, in the order of `names`."""

    names: tuple[str, ...]
    revision: int
    """The revision at which the metadata were read."""
    marker: Ids
    log_start: Ids
    high_watermark: Ids
    size_bytes: Ids
    under_min_isr: Mask
    compacted: Mask
    unmapped: tuple[str | None, ...]
    """How the metadata contradict each other, or which region is reported and mapped nowhere, as a clause."""
    vanished: Mask
    """A region was there less than one grace ago and is not any more."""

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """What keeps records beside the database's own need, one row for each topic."""

    has_policy: Mask
    keep_entries: Numbers
    hold: Ids
    """The lowest offset that a hold claims."""
    hold_names: tuple[str | None, ...]
    """The hold that claims it."""
    holds_readable: bool
    verification_required: Mask
    verified_from: Ids
    """The greatest start that a fresh enough, good enough verification used; never its end."""
    verified_before: Mask
    """There is a verification that is good enough, fresh or not."""
    intent: Ids
    """The intents as they were read *after* Kafka's offsets. Unknown: no intent was ever written (first contact)."""
    intents_readable: Mask
    intents_lost: Mask
    """Their ConfigMap is gone, although it was written once."""
    contested: bool
    """Another WALCluster claims the same topics."""
    records_of_others: Mask
    """The log contradicts what a region reports (`witness.py`)."""
    fence_broken: Mask
    stopped: bool
    """seawall.dev/stop-deletes."""
    restarting: Mask
    """A datanode that reads the topic when it comes back restarts, or cannot come up (`restarts.py`)."""
    watched_too_shortly: Mask
    unused: Mask
    """A person declared that nobody needs the topic. It means nothing of one that a region writes to."""
    unused_sentence: str | None
    """Why, and until when."""
    recorded_for_a_grace: Mask
    """The value that the run may delete to was seen at least openGrace ago."""
    dead_sentences: tuple[str | None, ...]
    """Which regions do not count because a person declared them dead, why, and until when."""
    follower: Ids
    """The lowest id at and below which the followers of its regions need nothing (`followers.py`)."""
    follower_silent: Mask
    """A follower has not said what it needs."""
    follower_names: tuple[str | None, ...]
    """The follower that is silent, else the one that needs the most."""


def make_topics(
    names: tuple[str, ...],
    revision: int,
    *,
    logs: Mapping[str, TopicLog],
    markers: Mapping[str, int | None],
    unmapped: Mapping[str, str],
    vanished: frozenset[str],
) -> Topics:
    """The table of topics; one without a log or a marker has unknowns."""
    found = [logs.get(name, _SILENT) for name in names]
    return Topics(
        names=names,
        revision=revision,
        marker=Ids.of(markers.get(name) for name in names),
        log_start=Ids.of(log.log_start for log in found),
        high_watermark=Ids.of(log.high_watermark for log in found),
        size_bytes=Ids.of(log.size_bytes for log in found),
        under_min_isr=mask_of((log.under_min_isr for log in found), len(names)),
        compacted=mask_of((log.compacted for log in found), len(names)),
        unmapped=tuple(unmapped.get(name) for name in names),
        vanished=mask_of((name in vanished for name in names), len(names)),
    )


def no_bounds(count: int) -> Bounds:
    """Bounds of topics that a policy without margin matches, that nobody holds, and whose intents nobody has."""
    none = np.zeros(count, np.bool_)
    return Bounds(
        has_policy=np.ones(count, np.bool_),
        keep_entries=np.zeros(count, np.int64),
        hold=Ids.unknown(count),
        hold_names=(None,) * count,
        holds_readable=True,
        verification_required=none,
        verified_from=Ids.unknown(count),
        verified_before=none,
        intent=Ids.unknown(count),
        intents_readable=~none,
        intents_lost=none,
        contested=False,
        records_of_others=none,
        fence_broken=none,
        stopped=False,
        restarting=none,
        watched_too_shortly=none,
        unused=none,
        unused_sentence=None,
        recorded_for_a_grace=none,
        dead_sentences=(None,) * count,
        follower=Ids.unknown(count),
        follower_silent=none,
        follower_names=(None,) * count,
    )


_SILENT = TopicLog(None, None, None, None)
