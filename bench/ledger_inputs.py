"""What the ledger bench plans: healthy regions, as columns and as the objects of the ports."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from seawall.domain.dataplane.metadata import LeaderState, MetadataSnapshot, RegionKey, Route, TopicMarker
from seawall.domain.dataplane.reports import InnerReport, RegionReport, RegionRole
from seawall.domain.ledger.columns import Ids
from seawall.domain.ledger.intents import FenceRecord
from seawall.domain.ledger.ledger import Inputs
from seawall.domain.ledger.mode import Mode, PruneMode
from seawall.domain.ledger.read import Read
from seawall.domain.ledger.tables import Freshness, Regions, TopicLog, make_topics, no_bounds

PER_TOPIC = 100
DATANODES = 50
NOW = datetime(2026, 11, 21, tzinfo=UTC)
REGIME = PruneMode(Mode.B)


def make_inputs(count: int) -> Inputs:
    """Healthy regions with ids at random, every topic purgeable."""
    random = np.random.default_rng(count)
    topics = count // PER_TOPIC
    flushed = random.integers(1_000, 5_000, count)
    none = np.zeros(count, np.bool_)
    regions = Regions(
        topic=np.repeat(np.arange(topics), PER_TOPIC),
        region=np.arange(count).astype(np.uint64) + np.uint64(2**42),
        leader=Ids.of_known(random.integers(0, DATANODES, count)),
        route_revision=Ids.of_known(np.ones(count, np.int64)),
        key_revision=Ids.of_known(np.ones(count, np.int64)),
        epoch=Ids.of_known(np.ones(count, np.int64)),
        reported_at=Ids.of_known(np.ones(count, np.int64)),
        data_flushed=Ids.of_known(flushed),
        data_checkpoint=Ids(flushed - 10, random.random(count) < 0.5),
        data_idle=Ids(flushed + 10, random.random(count) < 0.5),
        metric=random.random(count) < 0.3,
        metadata_flushed=Ids.of_known(flushed),
        metadata_checkpoint=Ids.unknown(count),
        metadata_idle=Ids.of_known(flushed + 10),
        opening=none,
    )
    names = tuple(f"wal_{number}" for number in range(topics))
    log = TopicLog("id", 1, 500, 10_000, 10**7)
    rows = make_topics(
        names,
        1,
        logs=dict.fromkeys(names, log),
        markers=dict.fromkeys(names, 900),
        unmapped=frozenset(),
        vanished=frozenset(),
    )
    return Inputs(REGIME, regions, Freshness(none, ~none, ~none, none, none), rows, no_bounds(topics))


def make_read(count: int) -> Read:
    """What the ports give: an object for each region's report, key and route."""
    names = [f"wal_{number}" for number in range(count // PER_TOPIC)]
    topic_of = {2**42 + number: names[number // PER_TOPIC] for number in range(count)}
    return Read(
        began=0,
        reports=[
            RegionReport(
                region, region % DATANODES, 1, RegionRole.LEADER, NOW, "mito", 0, InnerReport(region % 997, None)
            )
            for region in topic_of
        ],
        snapshot=MetadataSnapshot(
            revision=1,
            topics={name: TopicMarker(0, 1) for name in names},
            region_keys={(name, region): RegionKey(None, None, 1) for region, name in topic_of.items()},
            wal_topics={region: frozenset((name,)) for region, name in topic_of.items()},
            tombstoned_topics={},
            without_topic=frozenset(),
            routes={region: Route(region % DATANODES, LeaderState.NORMAL, 1) for region in topic_of},
            datanodes={},
            store_id="etcd/1/",
        ),
        logs={name: TopicLog("AAAAAAAAAAAAAAAAAAAAAA", 1, 0, 1000, 10**7) for name in names},
        epoch_ends=dict.fromkeys(names, 1000),
        records={name: FenceRecord("AAAAAAAAAAAAAAAAAAAAAA", 1, 0, 1000, 0) for name in names},
        holds=(),
        recorded={},
        ended=int(timedelta(seconds=1) / timedelta(milliseconds=1)),
        now=NOW,
    )
