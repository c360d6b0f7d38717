"""The log as a witness: are these the regions that wrote it?

Reports may come from another installation whose metadata look the same (the same table ids, the same host names). What
it cannot have is the same log. Where no record at all is of a region that the database knows, it is another's; and a
region's flushed entry id is the offset of a record of its own, or, while it has never flushed, where the log ended when
it was born; so a region whose flushed id is another's record has none before it.
GreptimeDB (v1.0.2 … v1.2-line): `src/mito2/src/flush.rs` and `worker/handle_truncate.rs` take the last entry id that
the region wrote or replayed, which begins as the manifest's; nothing else moves it.

What was not read (an old record that is gone, a broker that is silent, a user that may not read) contradicts nobody.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from seawall.domain.ledger.tables import Regions, Topics

RECORDS = 64
"""Records before a flushed id that are read in search of older ones of the same region."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of one log.

    Attributes:
        topic_id: of the log that is meant.
        start: the first offset to read.
        end: the first offset not to read.
        flushed: by region id its flushed entry id, of those regions that the records in between may contradict.
    """

    topic_id: str
    start: int
    end: int
    flushed: Mapping[int, int]

    def is_answered(self, keys: Mapping[int, bytes | None]) -> bool:
        """Whether the records were read up to the last one: they come in order, for as long as there was time."""
        return self.end - 1 in keys


def questions(
    regions: Regions, topics: Topics, topic_ids: Mapping[str, str | None], wanted: Collection[str]
) -> dict[str, Question]:
    """By topic, what to read: the records up to the greatest flushed id that is still in the log."""
    by_topic = _flushed_in_log(regions, topics)
    found: dict[str, Question] = {}
    for row, flushed in by_topic.items():
        name, topic_id = topics.names[row], topic_ids.get(topics.names[row])
        log_start = topics.log_start.at(row)
        if name in wanted and topic_id is not None and log_start is not None:
            end = max(flushed.values()) + 1
            start = max(log_start, end - RECORDS)
            inside = {region: entry_id for region, entry_id in flushed.items() if entry_id >= start}
            found[name] = Question(topic_id, start, end, inside)
    return found


def _find_strangers(question: Question, owners: Mapping[int, int | None]) -> tuple[int, ...]:
    """The regions that the records contradict, by their ids; `owners` has the region of each record that was read."""
    first: dict[int, int] = {}
    for offset, owner in sorted(owners.items()):
        if owner is not None:
            first.setdefault(owner, offset)
    return tuple(
        region
        for region, entry_id in sorted(question.flushed.items())
        if entry_id in owners and owners[entry_id] != region and first.get(region, entry_id) < entry_id
    )


@dataclass(frozen=True, slots=True)
class Answer:
    """What one log said.

    Attributes:
        question: what was asked.
        strangers: the regions that it contradicts.
        owners: the regions whose records were read.
    """

    question: Question
    strangers: tuple[int, ...]
    owners: frozenset[int]

    @classmethod
    def of(cls, question: Question, keys: Mapping[int, bytes | None]) -> Answer:
        """By the key of each record that was read."""
        owners = {offset: region_of(key) for offset, key in keys.items()}
        known = frozenset(owner for owner in owners.values() if owner is not None)
        return cls(question, _find_strangers(question, owners), known)

    @property
    def vouches(self) -> bool:
        """Whether records of the regions that were asked for are there."""
        return not self.owners.isdisjoint(self.question.flushed)


def are_of_others(answers: Iterable[Answer], regions: Regions) -> bool:
    """Whether records were read, and not one in any log is of a region that the database knows.

    It is so as well where the records that were read are all of tables that were dropped since.
    """
    owners = frozenset[int]().union(*(answer.owners for answer in answers))
    # The metric engine's metadata region differs from its data region in these bits (facts/greptimedb.md §1.1).
    known = owners | {owner & ~(0xFF << 24) for owner in owners}
    return bool(owners) and known.isdisjoint(regions.region.tolist())


def region_of(key: bytes | None) -> int | None:
    """The region that a record belongs to, by its key (facts/greptimedb.md §1.1); None: it is nobody's."""
    try:
        found = json.loads(key or b"null")["ns"]["region_id"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return found if isinstance(found, int) else None


def _flushed_in_log(regions: Regions, topics: Topics) -> dict[int, dict[int, int]]:
    """By the topic's row and the region's id the flushed ids of records that the log still has."""
    log_start, end = topics.log_start.take(regions.topic), topics.high_watermark.take(regions.topic)
    is_there = ~log_start.above(regions.data_flushed) & end.above(regions.data_flushed) & log_start.known
    found: dict[int, dict[int, int]] = {}
    for row in _rows(is_there.tolist()):
        entry_id = regions.data_flushed.at(row)
        if entry_id:
            found.setdefault(int(regions.topic[row]), {})[int(regions.region[row])] = entry_id
    return found


def _rows(mask: Iterable[bool]) -> Iterable[int]:
    return (row for row, is_set in enumerate(mask) if is_set)
