"""Which regions are asked to flush, and which of them are still waited for."""

from __future__ import annotations

from seawall.api.v1alpha1.purge import AskedRegion, WALPurgeSpec
from seawall.domain.ledger import offsets
from seawall.domain.ledger.ledger import Holder, as_bytes
from seawall.domain.ledger.reasons import Reason
from seawall.domain.purge.state import RunState

MAX_REGIONS = 1_000


def candidates(state: RunState, spec: WALPurgeSpec) -> tuple[AskedRegion, ...]:
    """Regions that hold back more than the thresholds and have something to flush; who holds back most comes first.

    A topic that is left alone is left alone here, too, and where a hold or a verification keeps the records a flush
    frees nothing.
    """
    case, topics = state.planned.case, state.planned.topics
    end = topics.high_watermark.take(case.regions.topic)
    behind = end - case.prunable.numbers - 1
    behind = behind.only(end.known & case.prunable.known)
    size = as_bytes(state.planned, case.regions.topic, behind)
    rows = {row for topic, row in state.rows.items() if _is_worth_it(state, topic, row)}
    flushable, flushed = _with_rows_in_memory(state), offsets.flushed_to(case.regions)
    found: list[tuple[int, AskedRegion]] = []
    for at, topic in enumerate(case.regions.topic.tolist()):
        region, entries = int(case.regions.region[at]), behind.at(at)
        if topic not in rows or region not in flushable or entries is None:
            continue
        if entries >= spec.flush.when_behind_entries or (size.at(at) or 0) >= spec.flush.when_behind_bytes:
            found.append((entries, AskedRegion(region_id=str(region), flushed_to=flushed.at(at))))
    found.sort(key=lambda pair: (-pair[0], int(pair[1].region_id)))
    return tuple(asked for _, asked in found[:MAX_REGIONS])


def still_waited_for(state: RunState) -> tuple[int, ...]:
    """The regions that were asked, have rows in memory, and whose flushed id has not moved; one that is gone is out."""
    regions = state.planned.case.regions
    flushed = offsets.flushed_to(regions)
    now = {int(region): flushed.at(at) for at, region in enumerate(regions.region)}
    in_memory = _with_rows_in_memory(state)
    asked = state.status.flush.regions if state.status.flush else ()
    before = {int(one.region_id): one.flushed_to for one in asked}
    return tuple(region for region, to in before.items() if region in in_memory and now.get(region) == to)


def _is_worth_it(state: RunState, topic: str, row: int) -> bool:
    if state.against_plan(topic) not in {None, Reason.NOTHING_TO_PURGE}:
        return False
    return state.planned.holder_of(row) not in {Holder.HOLD, Holder.VERIFICATION}


def _with_rows_in_memory(state: RunState) -> frozenset[int]:
    """A flush of an empty memtable moves nothing."""
    return frozenset(report.region_id for report in state.observation.read.reports if report.memtable_bytes)
