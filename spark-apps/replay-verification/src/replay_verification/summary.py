"""The summary: the verdict in at most 4 KiB, which is what Kubernetes keeps of a termination message."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from replay_verification.report import VERSION, Report, finding_json
from sparkjob.outcome import Outcome

MOST_BYTES = 4096
MOST_FINDINGS = 20
_MOST_MESSAGE = 500
_MOST_URI = 500


def summarize(report: Report, report_uri: str | None) -> bytes:
    """The summary of a report."""
    return _fit(
        {
            "version": VERSION,
            "requestDigest": report.request.digest,
            "level": report.request.level.value,
            "outcome": report.outcome.value,
            "message": report.message,
            "report": report_uri,
            "counts": dict(report.counts),
        },
        report.not_verified,
        [finding_json(finding) for finding in report.findings[:MOST_FINDINGS]],
    )


def summarize_failure(outcome: Outcome, message: str, digest: str | None, level: str | None) -> bytes:
    """The summary of a verification that has no report: `Refused` or `Interrupted`. No topic counts as verified."""
    counts = dict.fromkeys(("records", "bytes", "entries", "errors", "warnings", "regionsNotCompared"), 0)
    head = {
        "version": VERSION,
        "requestDigest": digest,
        "level": level,
        "outcome": outcome.value,
        "message": message,
        "report": None,
        "counts": counts,
    }
    return _fit(head, (), (), truncated=True)


def _fit(
    head: Mapping[str, Any],
    not_verified: Sequence[str],
    findings: Sequence[Mapping[str, Any]],
    *,
    truncated: bool = False,
) -> bytes:
    """Drops what matters least until it fits: findings from the last one, long texts, then all topics at once."""
    uri = head["report"]
    head = {
        **head,
        "message": _short(head["message"], _MOST_MESSAGE),
        "report": uri if uri is None or len(uri) <= _MOST_URI else None,
    }
    findings = [{**finding, "message": _short(finding["message"], _MOST_MESSAGE)} for finding in findings]
    topics = list(not_verified)
    while True:
        tail = {"topicsNotVerified": topics, "topicsNotVerifiedTruncated": truncated, "findings": findings}
        content = json.dumps({**head, **tail}, separators=(",", ":"), ensure_ascii=True).encode()
        if len(content) <= MOST_BYTES:
            return content
        if len(findings) > 1 or (findings and not topics):
            findings = findings[:-1]
        elif topics:
            topics, truncated = [], True
        else:  # only what JSON escapes can make the head so long
            head = {**head, "message": _short(head["message"], len(head["message"]) // 2), "report": None}


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: max(most - 1, 0)] + "…"
