"""The report: everything that was seen, as `contract/report.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from replay_verification.request import Request, Topic
from sparkjob.integrity.findings import Finding, Severity, worst_first
from sparkjob.integrity.tally import Tally
from sparkjob.outcome import Outcome

VERSION = 1
MOST_FINDINGS = 1_000


@dataclass(frozen=True, slots=True)
class RegionCounts:
    """What a region would replay."""

    topic: str
    region: int
    reads_from: int
    tally: Tally


@dataclass(frozen=True, slots=True)
class TopicCounts:
    """What was read of a topic."""

    records: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Comparison:
    """How a region's rows compare between cuts: `Equal`, `Differs`, or `NotCompared` with the reason."""

    outcome: str
    reason: str | None = None
    cuts: tuple[Mapping[str, Any], ...] = ()

    @property
    def is_compared(self) -> bool:
        """Whether there is a result."""
        return self.outcome != NOT_COMPARED

    def as_json(self) -> dict[str, Any]:
        """As the report has it."""
        return {"outcome": self.outcome, "reason": self.reason, "cuts": list(self.cuts)}


EQUAL, DIFFERS, NOT_COMPARED = "Equal", "Differs", "NotCompared"


@dataclass(slots=True)
class Seen:
    """All that the levels have found; `errors` and `warnings` count findings that were not told, too."""

    topics: dict[str, TopicCounts] = field(default_factory=dict)
    regions: list[RegionCounts] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    untold_errors: int = 0
    untold_warnings: int = 0
    comparisons: dict[int, Comparison] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Report:
    """A whole report."""

    request: Request
    outcome: Outcome
    message: str
    counts: Mapping[str, int]
    topics: Sequence[Mapping[str, Any]]
    regions: Sequence[Mapping[str, Any]]
    findings: Sequence[Finding]
    started_at: datetime
    finished_at: datetime

    @property
    def not_verified(self) -> list[str]:
        """The topics that the level did not prove."""
        return [topic["name"] for topic in self.topics if not topic["verified"]]

    def as_json(self) -> dict[str, Any]:
        """The contract's object."""
        whom = self.request.verification
        return {
            "version": VERSION,
            "requestDigest": self.request.digest,
            "verification": {"namespace": whom.namespace, "name": whom.name, "uid": whom.uid, "attempt": whom.attempt},
            "level": self.request.level.value,
            "outcome": self.outcome.value,
            "message": self.message,
            "startedAt": _instant(self.started_at),
            "finishedAt": _instant(self.finished_at),
            "counts": dict(self.counts),
            "topics": list(self.topics),
            "regions": list(self.regions),
            "findings": [finding_json(finding) for finding in self.findings[:MOST_FINDINGS]],
            "findingsTruncated": self.counts["errors"] + self.counts["warnings"] > len(self.findings[:MOST_FINDINGS]),
        }

    def to_bytes(self) -> bytes:
        """The file."""
        return (json.dumps(self.as_json(), indent=2) + "\n").encode()


def finding_json(finding: Finding) -> dict[str, Any]:
    """A finding in report and summary."""
    return {
        "kind": finding.kind.value,
        "severity": finding.severity.value,
        "topic": finding.topic,
        "offset": finding.offset,
        "region": finding.region,
        "message": finding.message,
    }


def make_report(request: Request, seen: Seen, started_at: datetime) -> Report:
    """The verdict on what was seen."""
    findings = worst_first(seen.findings)
    errors = [found for found in findings if found.severity is Severity.ERROR]
    left_out = {region for region, comparison in seen.comparisons.items() if not comparison.is_compared}
    topics = [_topic_json(topic, seen, errors, left_out) for topic in request.topics]
    counts = {
        "records": sum(counts.records for counts in seen.topics.values()),
        "bytes": sum(counts.bytes for counts in seen.topics.values()),
        "entries": sum(region.tally.entries for region in seen.regions),
        "errors": len(errors) + seen.untold_errors,
        "warnings": len(findings) - len(errors) + seen.untold_warnings,
        "regionsNotCompared": len(left_out),
    }
    passed = all(topic["verified"] for topic in topics)
    return Report(
        request,
        Outcome.PASSED if passed else Outcome.FAILED,
        _sentence(request, seen, errors, counts),
        counts,
        topics,
        [_region_json(region, seen) for region in seen.regions],
        findings,
        started_at,
        datetime.now(UTC),
    )


def _topic_json(topic: Topic, seen: Seen, errors: Sequence[Finding], left_out: set[int]) -> dict[str, Any]:
    own = [found for found in errors if found.topic == topic.name]
    counts = seen.topics.get(topic.name)
    read = counts if counts is not None else TopicCounts()
    return {
        "name": topic.name,
        "topicId": topic.topic_id,
        "from": topic.start,
        "to": topic.end,
        "verified": not own and counts is not None and not any(region.id in left_out for region in topic.regions),
        "records": read.records,
        "bytes": read.bytes,
        "entries": sum(region.tally.entries for region in seen.regions if region.topic == topic.name),
        "firstBadOffset": min((found.offset for found in own if found.offset is not None), default=None),
    }


def _region_json(region: RegionCounts, seen: Seen) -> dict[str, Any]:
    comparison, tally = seen.comparisons.get(region.region), region.tally
    return {
        "id": region.region,
        "topic": region.topic,
        "readsFrom": region.reads_from,
        "entries": tally.entries,
        "bytes": tally.size,
        "rows": tally.rows,
        "lastEntryId": tally.last_entry_id if tally.entries else None,
        "digest": tally.digest(),
        "comparison": None if comparison is None else comparison.as_json(),
    }


def _sentence(request: Request, seen: Seen, errors: Sequence[Finding], counts: Mapping[str, int]) -> str:
    if errors:
        topics = len({found.topic for found in errors})
        first = errors[0]
        where = f"topic {first.topic}" if first.region is None else f"region {first.region} of topic {first.topic}"
        at = "" if first.offset is None else f" at offset {first.offset}"
        return f"{_count(counts['errors'], 'error')} in {_count(topics, 'topic')}: {where}{at}: {first.message}"
    if left := [(region, found) for region, found in seen.comparisons.items() if not found.is_compared]:
        return f"{_count(len(left), 'region')} could not be compared: region {left[0][0]}: {left[0][1].reason}"
    read, warnings = _count(counts["records"], "record"), counts["warnings"]
    noted = f", {_count(warnings, 'warning')}" if warnings else ""
    entries = _count(counts["entries"], "entry", "entries")
    return f"{request.level} of {_count(len(request.topics), 'topic')} is proved: {read}, {entries}{noted}"


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _instant(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
