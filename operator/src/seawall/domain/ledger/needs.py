"""What the database has of each topic already, and would read of it: what a restored log must fit.

A log must end above every id that the database knows (flushed and idle ids, checkpoints, markers, newest entries), or
new rows get offsets that the next replay skips; and it must not begin above what a restart would read. What is known is
a lower bound always; whether that is all is said apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from seawall.domain.columns import MAX_OFFSET, Ids, greatest
from seawall.domain.dataplane.metadata import MetadataSnapshot
from seawall.domain.dataplane.region_reports import RegionReports, region_reports
from seawall.domain.dataplane.reports import DatanodeReport, newest_ids
from seawall.domain.ledger.intents import FenceRecord
from seawall.domain.ledger.ledger import plan
from seawall.domain.ledger.observation import Observation, ReadShards, Unavailable
from seawall.domain.ledger.rules import Case

NO_IDS: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class TopicNeeds:
    """What is known of one topic.

    Attributes:
        end: above all that is known of, exclusive.
        reads_from: the first offset that any of its regions would read; None: it has no region, or nobody knows.
        unknown: why that may not be all, as a clause; None: it is.
        record: Seawall's own of the log that is lost.
        is_observed: the database answered.
        record_problem: why Seawall's own record of it cannot be read, as a clause; None: it can, or there is none.
    """

    end: int
    reads_from: int | None = None
    unknown: str | None = None
    record: FenceRecord | None = None
    is_observed: bool = True
    record_problem: str | None = None


@dataclass(frozen=True, slots=True)
class Records:
    """Seawall's own records of the topics: those of the Kafka that is pinned, and of the one that was backed up."""

    here: ReadShards
    there: ReadShards
    recorded: frozenset[int] = frozenset()
    """The shards that there were once."""

    def end(self, name: str) -> int:
        """Where the log ended, or must end; 0: no record says."""
        return max(record_end(shards.of_topics([name]).get(name)) for shards in (self.here, self.there))

    def problem(self, name: str) -> str | None:
        """Why a record of it cannot be read, as a clause."""
        unreadable = {**self.here.why_unreadable([name]), **self.there.why_unreadable([name])}
        is_gone = bool(self.here.lost_topics([name], self.recorded))
        return unreadable.get(name) or (f"the ConfigMap with the record of {name} is gone" if is_gone else None)


def find_needs(
    observation: Observation | Unavailable, names: Iterable[str], records: Records, alone: Mapping[str, int] = NO_IDS
) -> Mapping[str, TopicNeeds]:
    """By topic what the database and Seawall's own records say; also of topics that Kafka has lost.

    `alone`: what the database says by itself, where all of it together cannot be observed (`ids_of`).
    """
    if isinstance(observation, Unavailable):
        return {name: _by_records(records, name, observation.message, alone.get(name)) for name in names}
    case, found = plan(observation.assessment.inputs).case, dict[str, TopicNeeds]()
    rows = {name: row for row, name in enumerate(case.topics.names)}
    ids, unknown = _greatest_ids(case), _unknown_regions(case) | _unreported(observation, case)
    starts = case.reads_from.least_of_all_by(case.regions.topic, len(case.topics.names))
    newest = observation.read.newest_ids
    for name in names:
        row, known = rows.get(name), [records.end(name), _above(newest.get(name))]
        record, problem = records.here.of_topics([name]).get(name), records.problem(name)
        if row is None:
            found[name] = TopicNeeds(max(known), unknown=problem, record=record, record_problem=problem)
            continue
        known += [_above(ids.at(row)), _above(case.topics.marker.at(row))]
        why = f"region {unknown[row]} of {name} does not say now what it has" if row in unknown else problem
        found[name] = TopicNeeds(max(known), starts.at(row), why, record, record_problem=problem)
    return found


def ids_of(reports: Sequence[DatanodeReport], snapshot: MetadataSnapshot) -> dict[str, int]:
    """By topic the greatest id that the database speaks of: flushed, idle at, a checkpoint, a marker, or written.

    A lower bound: nobody asks here how old the reports are, nor whether all regions report.
    """
    columns, newest = region_reports(reports), newest_ids(reports)
    inner = (columns.flushed, columns.idle, columns.metadata_flushed, columns.metadata_idle)
    reported = greatest(*(column.ids() for column in inner))
    by_region: dict[int, int] = {}
    for row in np.flatnonzero(reported.known).tolist():
        region, entry_id = int(columns.region[row]), int(reported.numbers[row])
        by_region[region] = max(entry_id, by_region.get(region, entry_id))
    found = [(topic, marker.pruned_entry_id) for topic, marker in snapshot.topics.items()] + list(newest.items())
    for (topic, region), key in snapshot.region_keys.items():
        found += [(topic, each) for each in (by_region.get(region), key.checkpoint_entry_id, key.metadata_entry_id)]
    ids: dict[str, int] = {}
    for topic, each in found:
        if each is not None and each <= MAX_OFFSET:
            ids[topic] = max(each, ids.get(topic, each))
    return ids


def _by_records(records: Records, name: str, message: str, known_id: int | None) -> TopicNeeds:
    record = records.here.of_topics([name]).get(name)
    end, problem = max(records.end(name), _above(known_id)), records.problem(name)
    return TopicNeeds(end, unknown=message, record=record, is_observed=False, record_problem=problem)


def _above(entry_id: int | None) -> int:
    """The first offset above an id; 0: there is none."""
    return 0 if entry_id is None else entry_id + 1


def record_end(record: FenceRecord | None) -> int:
    """Where the log ended, or must end, by Seawall's own record; 0: there is none."""
    if record is None:
        return 0
    return max(record.high_watermark, _above(record.max_flushed))


def _greatest_ids(case: Case) -> Ids:
    """By topic the greatest id that any inner region has flushed, keeps as a checkpoint, or was idle at."""
    regions = case.regions
    data = greatest(regions.data_flushed, regions.data_checkpoint, regions.data_idle)
    metadata = greatest(regions.metadata_flushed, regions.metadata_checkpoint, regions.metadata_idle)
    return greatest(data, metadata).greatest_by(regions.topic, len(case.topics.names))


def _unknown_regions(case: Case) -> dict[int, int]:
    """By row of a topic a region of it that does not say now what it has: an old report may be of before a flush."""
    regions = case.regions
    unknown = ~regions.data_flushed.known | (regions.metric & ~regions.metadata_flushed.known) | case.freshness.stale
    return {int(regions.topic[at]): int(regions.region[at]) for at in np.flatnonzero(unknown)}


def _unreported(observation: Observation, case: Case) -> dict[int, int]:
    """By row of a topic a region that has rows in memory, and whose datanode does not say up to which id.

    They are flushed when the database stops. A datanode leaves out topics that it has not used lately.
    """
    read, regions, found = observation.read, case.regions, dict[int, int]()
    in_memory = RegionReports.of(read.reports).with_rows_in_memory
    filled = dict(zip(in_memory.region.tolist(), in_memory.datanode.tolist(), strict=True))
    for at, region in enumerate(regions.region.tolist()):
        datanode, row = filled.get(region), int(regions.topic[at])
        if datanode is not None and case.topics.names[row] not in read.newest_of.get(datanode, {}):
            found[row] = region
    return found
