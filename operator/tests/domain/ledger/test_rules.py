"""The columnar ledger answers as the oracle does, and as a person reads the design."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from seawall.domain.columns import Ids, Mask
from seawall.domain.ledger.ledger import (
    Announcement,
    Holder,
    Inputs,
    Ledger,
    announcements,
    entries_above,
    entries_below,
    entries_to_purge,
    permit,
    plan,
)
from seawall.domain.ledger.mode import Mode, PruneMode
from seawall.domain.ledger.page import topic_lines
from seawall.domain.ledger.reasons import Reason
from seawall.domain.ledger.replay import DatanodeReplay, replay_by_datanode, replay_by_region
from seawall.domain.ledger.tables import Bounds, Freshness, Regions, TopicLog, make_topics
from tests.domain.ledger import oracle

OFFSETS = st.integers(0, 12)
MAYBE = st.none() | OFFSETS
RARELY = st.integers(0, 9).map(lambda number: number == 0)
USUALLY = RARELY.map(lambda rare: not rare)
MOSTLY_KNOWN = st.integers(0, 9).flatmap(lambda number: st.none() if number == 0 else OFFSETS)

INNER = st.builds(oracle.Inner, flushed=MOSTLY_KNOWN, checkpoint=MAYBE, idle=MAYBE)
REGION = st.builds(
    oracle.Region,
    reported=USUALLY,
    inner=st.lists(INNER, min_size=1, max_size=2).map(tuple),
    stale=RARELY,
    settled=st.booleans(),
    reported_twice=USUALLY,
    opening=RARELY,
    idle_is_durable=st.booleans(),
    dropped=RARELY,
    dead=RARELY,
    contradicted=RARELY,
)
TOPIC = st.builds(
    oracle.Topic,
    regions=st.lists(REGION, max_size=3).map(tuple),
    marker=MOSTLY_KNOWN,
    log_start=st.integers(0, 9).flatmap(lambda number: st.none() if number == 0 else st.integers(0, 4)),
    high_watermark=st.just(13),
    fence_broken=RARELY,
    unmapped=RARELY,
    vanished=RARELY,
    under_min_isr=RARELY,
    restarting=RARELY,
    compacted=RARELY,
    intent=st.none() | OFFSETS,
    intents_readable=USUALLY,
    intents_lost=RARELY,
    records_of_others=RARELY,
    holds=st.lists(OFFSETS, max_size=2).map(tuple),
    has_policy=USUALLY,
    keep_entries=st.integers(0, 3),
    verification_required=st.booleans(),
    verified_from=MAYBE,
    verified_before=USUALLY,
    watched_too_shortly=RARELY,
    recorded=MOSTLY_KNOWN,
    unused=st.booleans(),
    recorded_for_a_grace=USUALLY,
    followers=st.lists(MOSTLY_KNOWN, max_size=2).map(tuple),
)
ONLY_REPORTS = (
    "VersionDiffers",
    "VersionUnknown",
    "DatabaseTooOld",
    "SecondPruner",
    "SettingsUnknown",
    "SettingsDiffer",
)
CLUSTER = st.builds(
    oracle.Cluster,
    mode=st.sampled_from("ABC"),
    report_only=st.sampled_from([None, None, None, *ONLY_REPORTS]),
    holds_readable=USUALLY,
    stopped=RARELY,
    contested=RARELY,
    undrops=st.booleans(),
)


@settings(max_examples=400, deadline=None)
@given(CLUSTER, st.lists(TOPIC, min_size=1, max_size=4))
def test_the_columns_answer_as_the_oracle(cluster: oracle.Cluster, topics: list[oracle.Topic]) -> None:
    inputs, recorded = as_inputs(cluster, topics)
    cluster = replace(cluster, fence_broken=any(topic.fence_broken for topic in topics))
    for ledger, deleting in ((plan(inputs), False), (permit(inputs, recorded), True)):
        expected = [oracle.answer(cluster, topic, deleting=deleting) for topic in topics]
        assert answers(ledger) == expected


def answers(ledger: Ledger) -> list[oracle.Answer]:
    return [
        oracle.Answer(ledger.reason(row), ledger.floor.at(row), ledger.purge_to.at(row))
        for row in range(len(ledger.topics))
    ]


def as_inputs(cluster: oracle.Cluster, topics: Sequence[oracle.Topic]) -> tuple[Inputs, Ids]:
    """The oracle's objects as columns, and the seen values."""
    names = tuple(f"wal_{number}" for number in range(len(topics)))
    pairs = [(number, region) for number, topic in enumerate(topics) for region in topic.regions]
    regions = [region for _, region in pairs]
    table = Regions(
        topic=np.array([number for number, _ in pairs], np.int64),
        region=np.arange(len(pairs)).astype(np.uint64),
        leader=Ids.of(1 for _ in pairs),
        route_revision=Ids.of(1 for _ in pairs),
        key_revision=Ids.of(1 for _ in pairs),
        epoch=Ids.of(1 if region.reported else None for region in regions),
        reported_at=Ids.of(1 if region.reported else None for region in regions),
        data_flushed=_inner(regions, 0, lambda inner: inner.flushed),
        data_checkpoint=_inner(regions, 0, lambda inner: inner.checkpoint, always=True),
        data_idle=_inner(regions, 0, lambda inner: inner.idle),
        metric=_mask(region.reported and len(region.inner) == 2 for region in regions),
        metadata_flushed=_inner(regions, 1, lambda inner: inner.flushed),
        metadata_checkpoint=_inner(regions, 1, lambda inner: inner.checkpoint, always=True),
        metadata_idle=_inner(regions, 1, lambda inner: inner.idle),
        opening=_mask(region.opening for region in regions),
        idle_is_durable=_mask(region.idle_is_durable for region in regions),
        dropped=_mask(region.dropped for region in regions),
    )
    freshness = Freshness(
        _mask(region.stale for region in regions),
        _mask(region.settled for region in regions),
        _mask(region.reported_twice for region in regions),
        _mask(region.dead for region in regions),
        _mask(region.contradicted for region in regions),
    )
    logs = {
        name: TopicLog("id", 1, t.log_start, t.high_watermark, None, t.under_min_isr, t.compacted)
        for name, t in zip(names, topics, strict=True)
    }
    by_name = dict(zip(names, topics, strict=True))
    rows = make_topics(
        names,
        1,
        logs=logs,
        markers={name: topic.marker for name, topic in by_name.items()},
        unmapped={name: "region 7 disagrees" for name, topic in by_name.items() if topic.unmapped},
        vanished=frozenset(name for name, topic in by_name.items() if topic.vanished),
    )
    bounds = Bounds(
        has_policy=_mask(topic.has_policy for topic in topics),
        keep_entries=np.array([topic.keep_entries for topic in topics], np.int64),
        hold=Ids.of(min(topic.holds, default=None) for topic in topics),
        hold_names=tuple("hold" if topic.holds else None for topic in topics),
        holds_readable=cluster.holds_readable,
        verification_required=_mask(topic.verification_required for topic in topics),
        verified_from=Ids.of(topic.verified_from for topic in topics),
        verified_before=_mask(topic.verified_before for topic in topics),
        intent=Ids.of(topic.intent for topic in topics),
        intents_readable=_mask(topic.intents_readable for topic in topics),
        intents_lost=_mask(topic.intents_lost for topic in topics),
        contested=cluster.contested,
        records_of_others=_mask(topic.records_of_others for topic in topics),
        fence_broken=_mask(topic.fence_broken for topic in topics),
        stopped=cluster.stopped,
        restarting=_mask(topic.restarting for topic in topics),
        watched_too_shortly=_mask(topic.watched_too_shortly for topic in topics),
        unused=_mask(topic.unused for topic in topics),
        unused_sentence="declared unused",
        recorded_for_a_grace=_mask(topic.recorded_for_a_grace for topic in topics),
        dead_sentences=tuple("declared dead" if any(r.dead for r in topic.regions) else None for topic in topics),
        follower=Ids.of(oracle.least_known(*topic.followers) for topic in topics),
        follower_silent=_mask(None in topic.followers for topic in topics),
        follower_names=tuple("a follower" if topic.followers else None for topic in topics),
    )
    reason = next((r for r in Reason if r == cluster.report_only), None)
    prune_mode = PruneMode(Mode(cluster.mode), reason, undrops=cluster.undrops)
    return Inputs(prune_mode, table, freshness, rows, bounds), Ids.of(topic.recorded for topic in topics)


def _inner(
    regions: Sequence[oracle.Region], number: int, read: Callable[[oracle.Inner], int | None], *, always: bool = False
) -> Ids:
    """A column of one inner region; checkpoints are in the metadata, reports or not."""
    return Ids.of(
        read(region.inner[number]) if number < len(region.inner) and (region.reported or always) else None
        for region in regions
    )


def _mask(values: Iterable[bool]) -> Mask:
    return np.array(list(values), np.bool_)


HEALTHY = oracle.Region(
    reported=True,
    inner=(oracle.Inner(10, None, None),),
    stale=False,
    settled=True,
    reported_twice=True,
    opening=False,
)
TOPIC_AT_10 = oracle.Topic(
    regions=(HEALTHY, replace(HEALTHY, inner=(oracle.Inner(20, None, None),))),
    marker=0,
    log_start=0,
    high_watermark=30,
    fence_broken=False,
    unmapped=False,
    vanished=False,
    under_min_isr=False,
    restarting=False,
    compacted=False,
    intent=0,
    intents_readable=True,
    intents_lost=False,
    records_of_others=False,
    holds=(),
    has_policy=True,
    keep_entries=0,
    verification_required=False,
    verified_from=None,
    verified_before=False,
    watched_too_shortly=False,
    recorded=10,
    unused=False,
    recorded_for_a_grace=False,
)
MODE_B = oracle.Cluster("B", None, holds_readable=True, stopped=False)


def planned(topic: oracle.Topic, cluster: oracle.Cluster = MODE_B) -> Ledger:
    return plan(as_inputs(cluster, [topic])[0])


def test_the_record_at_the_floor_stays() -> None:
    """The RFC's smallest last entry id - 1, as DeleteRecords' exclusive offset."""
    ledger = planned(TOPIC_AT_10)
    assert (ledger.floor.at(0), ledger.purge_to.at(0)) == (10, 10)
    assert entries_to_purge(ledger).at(0) == 10
    assert (entries_below(ledger).at(0), entries_above(ledger).at(0)) == (10, 20)


def test_the_region_that_needs_the_oldest_record_is_named() -> None:
    ledger = planned(replace(TOPIC_AT_10, marker=15))
    assert ledger.holder_of(0) is Holder.REGION or ledger.holding_region.at(0) == 0
    assert ledger.case.prunable.listed() == [10, 20]


def test_a_hold_bounds_the_purge() -> None:
    ledger = planned(replace(TOPIC_AT_10, holds=(7,)))
    assert ledger.purge_to.at(0) == 7
    assert ledger.holder_of(0) is Holder.HOLD


def test_a_margin_bounds_the_purge() -> None:
    ledger = planned(replace(TOPIC_AT_10, keep_entries=4, holds=(6,)))
    assert ledger.purge_to.at(0) == 6
    assert ledger.holder_of(0) is Holder.MARGIN


def test_a_verification_bounds_the_purge_by_its_start() -> None:
    ledger = planned(replace(TOPIC_AT_10, verification_required=True, verified_from=5, verified_before=True))
    assert ledger.purge_to.at(0) == 5
    assert ledger.holder_of(0) is Holder.VERIFICATION


def test_a_marker_that_the_database_has_not_moved_is_named() -> None:
    ledger = planned(replace(TOPIC_AT_10, marker=4), replace(MODE_B, mode="A"))
    assert ledger.purge_to.at(0) == 4
    assert ledger.holder_of(0) is Holder.MARKER


def test_a_stale_region_leaves_its_topic_alone() -> None:
    stale = replace(TOPIC_AT_10, regions=(HEALTHY, replace(HEALTHY, stale=True)))
    assert planned(stale).reason(0) is Reason.REGION_STALE


def test_after_a_start_nothing_is_announced_for_one_grace() -> None:
    ledger = planned(replace(TOPIC_AT_10, watched_too_shortly=True))
    assert ledger.reason(0) is Reason.WATCHED_TOO_SHORTLY
    assert announcements(ledger) == ()
    assert announcements(planned(TOPIC_AT_10)) == (Announcement("wal_0", 0, 10, 1),)


def test_a_disaster_is_said_first_and_never_shown_as_nothing_to_purge() -> None:
    topic = replace(TOPIC_AT_10, log_start=12, fence_broken=True, holds=(0,))
    assert planned(topic, replace(MODE_B, mode="C", stopped=True)).reason(0) is Reason.LOG_START_BEYOND_REPLAY


def test_a_broken_fence_leaves_every_topic_of_the_pool_alone_and_is_named() -> None:
    """The others are left alone for their own reasons first; nothing of them is announced."""
    broken, stale = (
        replace(TOPIC_AT_10, fence_broken=True),
        replace(TOPIC_AT_10, regions=(replace(HEALTHY, stale=True),)),
    )
    ledger = plan(as_inputs(MODE_B, [TOPIC_AT_10, stale, broken])[0])
    lines = topic_lines(ledger)
    assert [line.reason for line in lines] == [
        Reason.FENCE_BROKEN_ELSEWHERE,
        Reason.REGION_STALE,
        Reason.FENCE_BROKEN,
    ]
    assert lines[0].message.endswith("(wal_2)")
    assert announcements(ledger) == ()
    assert ledger.purge_to.at(0) is None


def test_an_unknown_marker_is_no_disaster() -> None:
    assert planned(replace(TOPIC_AT_10, log_start=12, marker=None)).reason(0) is Reason.MARKER_MISSING


def test_a_topic_that_is_left_alone_is_not_announced() -> None:
    for change in ({"unmapped": True}, {"has_policy": False}, {"holds": (0,)}, {"intent": None, "log_start": 11}):
        assert announcements(planned(replace(TOPIC_AT_10, **change))) == ()


def test_a_permit_needs_a_seen_value() -> None:
    inputs, _ = as_inputs(MODE_B, [replace(TOPIC_AT_10, marker=10)])
    assert permit(inputs, Ids.unknown(1)).reason(0) is Reason.NOTHING_TO_PURGE
    assert permit(inputs, Ids.of([8])).purge_to.at(0) == 8


def test_replay_costs_are_told_by_region_and_by_datanode() -> None:
    costs = replay_by_datanode(planned(replace(TOPIC_AT_10, regions=(*TOPIC_AT_10.regions,))))
    assert costs == (DatanodeReplay(1, entries=19, size_bytes=None),)
    assert [replay.entries for replay in replay_by_region(planned(TOPIC_AT_10), 0)] == [19, 9]


def test_replay_costs_are_those_of_the_datanode_however_great_its_number() -> None:
    """The contract of databases allows all of 63 bits, as of a number that is drawn."""
    ledger = plan(as_inputs(MODE_B, [TOPIC_AT_10, TOPIC_AT_10])[0])
    number = 2**63 - 1
    regions = replace(ledger.case.regions, leader=Ids.of([1, number, 1, number]))
    costs = replay_by_datanode(replace(ledger, case=replace(ledger.case, regions=regions)))
    assert [(cost.datanode, cost.entries) for cost in costs] == [(1, 38), (number, 18)]


def test_a_line_answers_why_a_topic_is_not_shrinking() -> None:
    stale = replace(TOPIC_AT_10, regions=(HEALTHY, replace(HEALTHY, stale=True)))
    held = replace(TOPIC_AT_10, holds=(0,))
    lines = topic_lines(plan(as_inputs(MODE_B, [TOPIC_AT_10, stale, held])[0]))
    assert [line.reason for line in lines] == [None, Reason.REGION_STALE, Reason.NOTHING_TO_PURGE]
    assert lines[0].message == "everything before 10 can be purged"
    assert lines[0].held_by == "region 0 on datanode 1"
    assert lines[1].message.endswith("(region 3 on datanode 1)")
    assert (lines[2].held_by, lines[2].hold_lag_entries) == ("WALHold hold", 30)
    assert [line.entries_to_purge for line in lines] == [10, 0, 0]
