"""The identity fence over all topics of a look: who each log is, what was found of it, and what is remembered of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from seawall.domain.ledger import fence, flushed_ids, offsets
from seawall.domain.ledger.fence import Finding, ObservedLog
from seawall.domain.ledger.identity import Identity, identify
from seawall.domain.ledger.intents import FenceRecord, database_digest
from seawall.domain.ledger.read import Memory, Read
from seawall.domain.ledger.regions import RegionsOfTopics
from seawall.domain.ledger.report_history import ReportHistory, is_newest, is_settled
from seawall.domain.ledger.tables import TopicLog, Topics


def find_identities(
    memory: Memory, read: Read, table: RegionsOfTopics, topics: Topics, reports_history: ReportHistory
) -> dict[str, Identity]:
    """The fence, topic by topic; one of which Kafka said nothing is left out."""
    regions, names = table.regions, table.names
    back = flushed_ids.went_back(memory.flushed, regions, is_newest(reports_history, regions))
    first = first_records(memory, read)
    back |= flushed_ids.is_below_record(regions, names, first, is_settled(reports_history, regions))
    clauses = flushed_ids.clauses(regions, back, names)
    known = flushed_ids.greatest_known_ids(regions, topics.marker)
    lowest = offsets.flushed_to(regions).least_of_all_by(regions.topic, len(names))
    highest = flushed_ids.greatest_flushed_ids(regions, len(names))
    revision, database = max(read.snapshot.revision, read.newest_revision), database_digest(read.snapshot.store_id)
    found: dict[str, Identity] = {}
    for row, name in enumerate(names):
        log = read.logs.get(name)
        if log is None or log.topic_id is None or log.log_start is None or log.high_watermark is None:
            continue
        if name in read.unreadable_records or name in read.lost_records:
            continue
        observed = ObservedLog(
            log.topic_id,
            log.leader_epoch,
            log.log_start,
            log.high_watermark,
            _greatest(known.at(row), read.newest_ids.get(name)),
            lowest.at(row),
            highest.at(row),
            read.epoch_ends.get(name),
            clauses.get(name),
            revision,
            database,
            _cut_clause(memory, read, name),
        )
        found[name] = identify(read.records.get(name), observed, memory.findings.get(name), read.readoption, read.now)
    return found


def _greatest(*numbers: int | None) -> int | None:
    return max((number for number in numbers if number is not None), default=None)


def _cut_clause(memory: Memory, read: Read, name: str) -> str | None:
    before, end = memory.logs.get(name), read.cut.get(name)
    if before is None or end is None:
        return None
    return f"the log ended at {before.high_watermark} a moment ago and what was then ends at {end} now"


def first_records(memory: Memory, read: Read, adopted: Collection[str] = ()) -> dict[str, FenceRecord]:
    """The records as this process found them, without those of topics that a person has adopted since."""
    first = read.earlier if memory.records is None else memory.records
    return {name: record for name, record in first.items() if name not in adopted}


def remembered_logs(
    memory: Memory, read: Read, findings: Mapping[str, Finding], adopted: set[str]
) -> dict[str, TopicLog]:
    """The newest of each log; one with a finding stays as it was, so that the next observation finds it again."""
    newest = {
        name: log
        for name, log in read.logs.items()
        if log.high_watermark is not None and (name not in findings or name in adopted)
    }
    return {**memory.logs, **newest}


def find_findings(
    memory: Memory, read: Read, names: tuple[str, ...], identities: Mapping[str, Identity]
) -> dict[str, Finding]:
    """The findings of this look; of a topic that could not be looked at what was found before, or is recorded, stands.

    One that neither Kafka nor the database know any more stops nobody; when it is back, it is compared with its record.
    """
    unobserved = [name for name in names if name not in identities]
    recorded = {name: fence.standing(read.records.get(name)) for name in unobserved}
    kept = {name: found for name in unobserved if (found := memory.findings.get(name) or recorded[name]) is not None}
    return kept | {name: found.finding for name, found in identities.items() if found.finding is not None}


def marked_records(read: Read, identities: Mapping[str, Identity]) -> dict[str, FenceRecord]:
    """Records of topics that could not be looked at, with the mark of a readoption that they do not break under."""
    adoption = read.readoption
    if adoption is None:
        return {}
    unobserved = {name: record for name, record in read.records.items() if name not in identities and not record.broken}
    marked = {name: adoption.mark(record, read.now) for name, record in unobserved.items()}
    return {name: record for name, record in marked.items() if record != unobserved[name]}
