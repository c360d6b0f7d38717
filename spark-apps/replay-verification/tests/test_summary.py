"""Report and summary against the contract's vectors, and the bound of 4 KiB."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from replay_verification.report import (
    NOT_COMPARED,
    Comparison,
    RegionCounts,
    Report,
    Seen,
    TopicCounts,
    make_report,
)
from replay_verification.request import Request, parse_request
from replay_verification.summary import MOST_BYTES, summarize, summarize_failure
from sparkjob.integrity.findings import Finding, Kind
from sparkjob.integrity.tally import Tally
from sparkjob.outcome import Outcome

CONTRACT = Path(__file__).parents[1] / "contract"
REGION = 4398046511104
SAID = "the parts from 127 on give no entry: one before this is missing, or they are of two writes"
MISSING = Finding(Kind.PARTS_DO_NOT_JOIN, "wal_0", SAID, 130, REGION)


def request(**changes: Any) -> Request:
    """The contract's request, with changes."""
    return parse_request(json.dumps(json.loads((CONTRACT / "request.json").read_bytes()) | changes).encode())


def report_on(*findings: Finding, asked: Request | None = None, comparison: Comparison | None = None) -> Report:
    """A report on what the contract's report says, with these findings."""
    seen = Seen(findings=list(findings), topics={"wal_0": TopicCounts(4691, 938200)})
    seen.regions = [
        RegionCounts("wal_0", REGION, 20, Tally(4000, 12000, 800000, 4709)),
        RegionCounts("wal_0", REGION + 1, 31, Tally(600, 1800, 138200, 4710)),
    ]
    if comparison is not None:
        seen.comparisons = {REGION: comparison}
    return make_report(asked or request(), seen, datetime(2026, 11, 22, 6, 0, tzinfo=UTC))


def shape(value: Any) -> Any:
    """The names in an object and the types of what they hold."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


def test_the_report_has_the_shape_of_the_contract() -> None:
    expected = json.loads((CONTRACT / "report.json").read_bytes())
    found = json.loads(report_on(MISSING).to_bytes())
    assert shape(found) == shape(expected)
    same = (
        "version",
        "verification",
        "level",
        "outcome",
        "counts",
        "topics",
        "findings",
        "findingsTruncated",
        "startedAt",
    )
    assert {name: found[name] for name in same} == {name: expected[name] for name in same}


def test_the_summary_has_the_shape_of_the_contract() -> None:
    expected = json.loads((CONTRACT / "summary.json").read_bytes())
    found = json.loads(summarize(report_on(MISSING), "file:///reports/db/nightly-1.json"))
    assert shape(found) == shape(expected)
    same = (
        "version",
        "level",
        "outcome",
        "report",
        "counts",
        "topicsNotVerified",
        "topicsNotVerifiedTruncated",
        "findings",
    )
    assert {name: found[name] for name in same} == {name: expected[name] for name in same}


def test_the_exit_codes_are_those_of_the_contract() -> None:
    assert [outcome.exit_code for outcome in Outcome] == [0, 1, 2, 3]


def test_warnings_alone_pass() -> None:
    report = report_on(Finding(Kind.SEQUENCE_GAP, "wal_0", "…", 7, REGION))
    assert (report.outcome, report.not_verified, report.counts["warnings"]) == (Outcome.PASSED, [], 1)


def test_a_region_that_was_not_compared_does_not_pass() -> None:
    asked = request(level="Equivalence", snapshot={"uri": "file:///snapshot"})
    report = report_on(asked=asked, comparison=Comparison(NOT_COMPARED, "it is not in the snapshot"))
    assert (report.outcome, report.not_verified) == (Outcome.FAILED, ["wal_0"])
    assert report.message == f"1 region could not be compared: region {REGION}: it is not in the snapshot"


def test_a_topic_that_was_not_read_is_not_verified() -> None:
    assert make_report(request(), Seen(), datetime.now(UTC)).not_verified == ["wal_0"]


def test_errors_come_first_and_in_them_the_lowest_offset() -> None:
    gap = Finding(Kind.SEQUENCE_GAP, "wal_0", "…", 1, REGION)
    later = Finding(Kind.MISSING_KEY, "wal_0", "…", 4000)
    report = report_on(gap, later, MISSING)
    assert list(report.findings) == [MISSING, later, gap]
    assert report.topics[0]["firstBadOffset"] == 130


@given(st.lists(st.text(max_size=600), max_size=40), st.text(max_size=3000), st.integers(1, 80), st.text(max_size=249))
def test_a_summary_never_exceeds_what_kubernetes_keeps(messages: list[str], uri: str, topics: int, name: str) -> None:
    asked = json.loads((CONTRACT / "request.json").read_bytes())
    asked["topics"] = [asked["topics"][0] | {"name": f"{number}{name}"} for number in range(topics)]
    parsed = parse_request(json.dumps(asked).encode())
    findings = [Finding(Kind.MISSING_KEY, f"0{name}", message, 2**63 - 1, 2**64 - 1) for message in messages]
    content = summarize(report_on(*findings, asked=parsed), uri)
    assert len(content) <= MOST_BYTES
    found = json.loads(content)
    assert found["topicsNotVerifiedTruncated"] or len(found["topicsNotVerified"]) == topics - (not messages and 0)


@given(st.text(max_size=9000))
def test_a_failure_tells_its_sentence_within_the_bound(message: str) -> None:
    content = summarize_failure(Outcome.REFUSED, message, "0" * 64, "Integrity")
    assert len(content) <= MOST_BYTES
    found = json.loads(content)
    assert (found["outcome"], found["topicsNotVerifiedTruncated"]) == ("Refused", True)
    assert shape({**found, "report": "", "findings": []}) == shape(
        json.loads((CONTRACT / "summary.json").read_bytes()) | {"topicsNotVerified": [], "findings": []}
    )
