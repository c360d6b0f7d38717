"""Records that would crash the database's reader: as verifications and the operator find them, by keys alone, too.

A finding counts while the log is the one that was read, and while a restart would still read it. The newest one of a
datanode is not better than an older one: a record that was bad stays bad until nobody reads it any more.

The operator itself reads only what a datanode would that crashes again and again for no other reason: the database says
in which topic it met a record that it cannot read, and not at which offset; and no verification reads a topic whose
regions are silent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace

from seawall.api.v1alpha1.rollout import MeasuredReplay
from seawall.api.v1alpha1.verification import Finding, WALVerification
from seawall.domain.datanodes.diagnosis import diagnose
from seawall.domain.datanodes.facts import BadRecord, Datanode, Facts
from seawall.domain.rollout_reasons import FailureReason

KEYLESS = "the record has a value but no key"
NOT_JSON = "the key of the record is not JSON"


def describe_unreadable(key: bytes | None, *, has_value: bool) -> str | None:
    """A clause that says why a record cannot be read; None: it can. One without a value is skipped by every reader."""
    if not has_value:
        return None
    if key is None:
        return KEYLESS
    try:
        json.loads(key)
    except ValueError:
        return NOT_JSON
    return None


CRASHES = frozenset(
    {
        "IllegalSequence",
        "MalformedEntry",
        "MissingKey",
        "OffsetsMissing",
        "PartsDoNotJoin",
        "TimestampOutOfRange",
        "UndecodableEntry",
        "UndecodableKey",
    }
)
"""Kinds of findings at which the database's reader ends, or waits for ever; it does not notice the others."""


def bad_records(
    verifications: Iterable[WALVerification], topic_ids: Mapping[str, str], datanodes: Mapping[str, Datanode]
) -> dict[str, BadRecord]:
    """By the name of the pod the first bad record that its datanode would read.

    Args:
        verifications: of the WALCluster, in any order.
        topic_ids: by topic the id that it has now.
        datanodes: by the name of the pod.
    """
    findings = [finding for each in verifications for finding in _of_this_log(each, topic_ids)]
    found: dict[str, BadRecord] = {}
    for name, datanode in datanodes.items():
        mine = [record for finding in findings if (record := _read_by(datanode, finding)) is not None]
        if mine:
            found[name] = min(mine, key=lambda record: (record.topic, record.offset))
    return found


def _of_this_log(verification: WALVerification, topic_ids: Mapping[str, str]) -> list[Finding]:
    if not verification.status.is_over:
        return []
    read = {row.name for row in verification.status.topics if topic_ids.get(row.name) == row.topic_id}
    return [each for each in verification.status.findings if each.kind in CRASHES and each.topic in read]


def _read_by(datanode: Datanode, finding: Finding) -> BadRecord | None:
    """A finding that names a region crashes only who replays that one; where a region begins to read may be unknown."""
    if finding.topic is None or finding.offset is None:
        return None
    record = BadRecord(finding.topic, finding.offset, finding.message)
    only = None if finding.region is None else int(finding.region)
    return record if _would_read(datanode, record, only) else None


SUSPICIOUS = frozenset({FailureReason.CRASHES, FailureReason.BAD_RECORD})


def suspicious_topics(facts: Facts, measured: MeasuredReplay | None = None) -> dict[str, int]:
    """By topic the offset from which a datanode reads that crashes for a reason which its records may tell."""
    found: dict[str, int] = {}
    ailing = [each.pod for each in diagnose(facts, measured) if each.ailment in SUSPICIOUS]
    for name in ailing:
        datanode = facts.datanodes.get(name)
        for region in () if datanode is None else datanode.regions:
            start = region.reads_from or 0
            found[region.topic] = min(start, found.get(region.topic, start))
    starts = {topic.name: topic.log_start or 0 for each in facts.datanodes.values() for topic in each.topics}
    return {name: max(start, starts.get(name, 0)) for name, start in found.items()}


def with_scanned(facts: Facts, scanned: Iterable[BadRecord]) -> Facts:
    """The facts with what the operator read itself: it is everybody's who would read the record."""
    found = dict(facts.bad_records)
    for record in scanned:
        for name, datanode in facts.datanodes.items():
            if _would_read(datanode, record):
                known = found.get(name, record)
                found[name] = min(known, record, key=lambda each: (each.topic, each.offset))
    return replace(facts, bad_records=found)


def _would_read(datanode: Datanode, record: BadRecord, only: int | None = None) -> bool:
    """Whether any region of the datanode reads so far back; `only` names the one that counts."""
    if any(topic.name == record.topic and record.offset < (topic.log_start or 0) for topic in datanode.topics):
        return False  # it was deleted since
    regions = [region for region in datanode.regions if region.topic == record.topic and only in {None, region.region}]
    return any(region.reads_from is None or region.reads_from <= record.offset for region in regions)
