"""The identity fence over all topics of a look: who each log is, what it says of each, and what is remembered of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from seawall.domain.ledger import fence, flushed_ids
from seawall.domain.ledger.fence import Break, Finding, ObservedLog, Readoption, Verdict
from seawall.domain.ledger.intents import FenceRecord, database_digest, in_seconds
from seawall.domain.ledger.read import Memory, Read
from seawall.domain.ledger.regions import RegionsOfTopics
from seawall.domain.ledger.report_history import ReportHistory, is_newest, is_settled
from seawall.domain.ledger.tables import TopicLog, Topics

_FELL = "metadata of before were restored, or a metasrv that was frozen wrote late"


@dataclass(frozen=True, slots=True)
class Identity:
    """What the fence says of a topic, and the record as it should be."""

    verdict: Verdict
    finding: Finding | None
    record: FenceRecord | None
    """None: nothing may be written (at a first contact that is suspected)."""
    is_urgent: bool
    """Whether the record is to be written at once; else it goes with the next intent."""
    is_readopted: bool = False
    """A person said that the log is right: the record is a new one."""


def identify(
    record: FenceRecord | None,
    observed: ObservedLog,
    before: Finding | None,
    adoption: Readoption | None,
    now: datetime,
    *,
    shared_now: datetime,
    went_back: bool = False,
    fallen: Finding | None = None,
) -> Identity:
    """What the fence says of a log after one more look.

    Args:
        record: what is written of it; None: nothing is, at the first contact.
        observed: the log as it is.
        before: what the look before found.
        adoption: what a person says, if who looks follows it.
        now: the operator's wall clock.
        shared_now: the clock by which verdicts are written.
        went_back: it says that of metadata that had gone back: nobody could find by them what is broken before that.
        fallen: that the topic's marker is lower than it was.
    """
    finding = fence.find_break(record, observed)
    if fallen is not None and (finding is None or finding.what is Break.STANDING):
        finding = fallen
    if record is None:
        verdict = fence.judge(before, finding)
        first = fence.renew(fence.first_record(observed), observed, verdict)
        first = first if adoption is None else adoption.mark(first, now)
        is_sure = verdict is not Verdict.SUSPECTED
        return Identity(verdict, finding, first if is_sure else None, is_urgent=is_sure)
    is_foreign = record.topic_id == observed.topic_id and observed.log_start > record.intent
    is_back = went_back and fence.has_gone_back(record, observed)
    is_wrong = record.broken or is_foreign or is_back or fence.is_of_other_database(record, observed)
    if adoption is not None and is_wrong and adoption.may_adopt(record, now):
        return _readopted(observed, adoption, shared_now)
    verdict = fence.judge(before, finding)
    renewed = fence.renew(record, observed, verdict)
    renewed = renewed if adoption is None else adoption.mark(renewed, now)
    is_urgent = (
        renewed.broken != record.broken
        or renewed.leader_epoch != record.leader_epoch
        or renewed.readopted != record.readopted
        or (verdict is Verdict.WHOLE and _is_outdated(record, observed))
    )
    return Identity(verdict, finding, renewed, is_urgent=is_urgent)


def _is_outdated(record: FenceRecord, observed: ObservedLog) -> bool:
    """Whether something could go back, and nobody would notice by the record."""
    return _lacks_end(record, observed) or _lacks_regions(record, observed) or _lacks_database(record, observed)


def _lacks_end(record: FenceRecord, observed: ObservedLog) -> bool:
    """Whether the log could be cut between what is recorded and what is flushed."""
    return observed.max_flushed is not None and observed.max_flushed >= record.high_watermark


def _lacks_regions(record: FenceRecord, observed: ObservedLog) -> bool:
    """Whether a region was made, or moved, since: metadata without it must be older than the record.

    Rows of a PostgreSQL with open transactions may be newer than the revision of what was read: a record that would be
    no newer is not written again and again.
    """
    recorded = _greatest(record.revision, record.issued_revision) or 0
    now = _greatest(observed.revision, observed.issued_revision) or 0
    return observed.newest_route is not None and recorded < min(observed.newest_route, now)


def _lacks_database(record: FenceRecord, observed: ObservedLog) -> bool:
    """Whether the record is of before records named their database."""
    return record.database is None and observed.database is not None


def _readopted(observed: ObservedLog, adoption: Readoption, at: datetime) -> Identity:
    """A new record; what does not fit even then (the log still ends before a known id) is a finding again."""
    record = fence.first_record(observed, adoption.token, in_seconds(at))
    finding = fence.find_break(record, replace(observed, went_back=None, cut=None))
    return Identity(fence.judge(None, finding), finding, record, is_urgent=True, is_readopted=True)


def _begun_anew(found: Identity, at: datetime) -> Identity:
    """Its record was gone, and nobody can see what was cut off meanwhile: what was verified before counts no more."""
    return found if found.record is None else replace(found, record=replace(found.record, readopted_at=in_seconds(at)))


def find_replaced(memory: Memory, read: Read) -> set[str]:
    """Topics in whose place another log is than this process observed last, and whose records say that it is right.

    A restore brings back a log of an earlier time, and the database's files are of that time too: flushed ids of before
    are of the log that was there before.
    """
    found, first = set[str](), memory.records or {}
    for name, log in read.logs.items():
        record = read.records.get(name)
        is_right = record is not None and record.is_good_for(log.topic_id)
        known = {each.topic_id for each in (memory.logs.get(name), first.get(name)) if each is not None}
        if is_right and known - {log.topic_id}:
            found.add(name)
    return found


def find_identities(
    memory: Memory, read: Read, table: RegionsOfTopics, topics: Topics, reports_history: ReportHistory
) -> dict[str, Identity]:
    """The fence, topic by topic; one of which Kafka said nothing is left out. Of the table all followers count."""
    regions, names = table.regions, table.names
    back = flushed_ids.went_back(memory.flushed, regions, is_newest(reports_history, regions))
    first = first_records(memory, read)
    back |= flushed_ids.is_below_record(regions, names, first, is_settled(reports_history, regions))
    clauses = flushed_ids.clauses(regions, back, names)
    known = flushed_ids.greatest_known_ids(regions, topics.marker)
    lowest = flushed_ids.lowest_by_topic(regions, table.followers, len(names))
    highest = flushed_ids.greatest_flushed_ids(regions, len(names))
    routes = regions.route_revision.greatest_by(regions.topic, len(names))
    heads = [head for head in (read.snapshot, read.newest_head) if head is not None]
    revision, issued = max(head.revision for head in heads), max(head.issued_revision for head in heads)
    database, fallen = database_digest(read.snapshot.store_id), _fallen_markers(memory, read)
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
            issued if issued != revision else None,
            routes.at(row),
        )
        record, before, shared = read.records.get(name), memory.findings.get(name), read.shared_now or read.now
        identity = identify(
            record,
            observed,
            before,
            read.readoption,
            read.now,
            shared_now=shared,
            went_back=read.went_back,
            fallen=fallen.get(name),
        )
        found[name] = _begun_anew(identity, shared) if name in read.begun_anew else identity
    return found


def _markers(read: Read) -> dict[str, int]:
    found = ((name, marker.pruned_entry_id) for name, marker in read.snapshot.topics.items())
    return {name: at for name, at in found if at is not None}


def _fallen_markers(memory: Memory, read: Read) -> dict[str, Finding]:
    """Of a store whose rows somebody wrote back, or whose revision was raised with the copy, nothing else went back."""
    before = {} if read.went_back else memory.markers
    fallen = {name: at for name, at in _markers(read).items() if at < before.get(name, 0)}
    sentences = {
        name: f"the pruned marker of {name} went back from {before[name]} to {at}: {_FELL}"
        for name, at in fallen.items()
    }
    return {name: Finding(Break.METADATA_WENT_BACK, sentence) for name, sentence in sentences.items()}


def remembered_markers(memory: Memory, read: Read, adopted: Collection[str]) -> dict[str, int]:
    """The greatest of each topic; where a person says that the metadata, or a log, are right, as they are now."""
    before = {} if read.went_back else {name: at for name, at in memory.markers.items() if name not in adopted}
    return {**before, **{name: max(at, before.get(name, 0)) for name, at in _markers(read).items()}}


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
