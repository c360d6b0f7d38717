"""What the database has of each topic already, and would read of it: what a restored log must fit.

A log must end above every id that the database knows (flushed entry ids, checkpoints, markers, newest entries), or new
rows get offsets that the next replay skips; and it must not begin above what a restart would read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from seawall.domain.ledger.columns import Ids, greatest
from seawall.domain.ledger.intents import FenceRecord
from seawall.domain.ledger.ledger import plan
from seawall.domain.ledger.observation import Observation
from seawall.domain.ledger.rules import Case


@dataclass(frozen=True, slots=True)
class TopicNeeds:
    """What the database says of one topic.

    Attributes:
        end: above all that it has, exclusive.
        reads_from: the first offset that any of its regions would read; None: it has no region, or nobody knows.
        unknown: a region that does not say what it has; None: all do.
    """

    end: int
    reads_from: int | None = None
    unknown: int | None = None


def find_needs(
    observation: Observation, names: Iterable[str], records: Mapping[str, FenceRecord]
) -> Mapping[str, TopicNeeds]:
    """By topic what the database, and Seawall's own record of it, say; also of topics that Kafka has lost."""
    case = plan(observation.assessment.inputs).case
    rows = {name: row for row, name in enumerate(case.topics.names)}
    ids, unknown = _greatest_ids(case), _unknown_regions(case)
    starts = case.reads_from.least_of_all_by(case.regions.topic, len(case.topics.names))
    newest, found = observation.read.newest_ids, dict[str, TopicNeeds]()
    for name in names:
        row = rows.get(name)
        known = [record_end(records.get(name)), _above(newest.get(name))]
        if row is None:
            found[name] = TopicNeeds(max(known))
        else:
            known += [_above(ids.at(row)), _above(case.topics.marker.at(row))]
            found[name] = TopicNeeds(max(known), starts.at(row), unknown.get(row))
    return found


def _above(entry_id: int | None) -> int:
    """The first offset above an id; 0: there is none."""
    return 0 if entry_id is None else entry_id + 1


def record_end(record: FenceRecord | None) -> int:
    """Where the log ended, or must end, by Seawall's own record; 0: there is none."""
    if record is None:
        return 0
    return max(record.high_watermark, _above(record.max_flushed))


def _greatest_ids(case: Case) -> Ids:
    """By topic the greatest id that any inner region has flushed, or keeps as a checkpoint."""
    regions = case.regions
    ids = greatest(regions.data_flushed, regions.data_checkpoint, regions.metadata_flushed, regions.metadata_checkpoint)
    return ids.greatest_by(regions.topic, len(case.topics.names))


def _unknown_regions(case: Case) -> dict[int, int]:
    """By row of a topic a region of it that does not say now what it has: an old report may be of before a flush."""
    regions = case.regions
    unknown = ~regions.data_flushed.known | (regions.metric & ~regions.metadata_flushed.known) | case.freshness.stale
    return {int(regions.topic[at]): int(regions.region[at]) for at in np.flatnonzero(unknown)}
