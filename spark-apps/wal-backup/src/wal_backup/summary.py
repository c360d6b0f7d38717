"""The summary: the verdict in at most 4 KiB, which is what Kubernetes keeps of a termination message."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sparkjob.outcome import Outcome
from wal_backup.findings import Finding

VERSION = 1
MOST_BYTES = 4096
_MOST_FINDINGS = 20
_MOST_MESSAGE = 400


def summarize(
    outcome: Outcome,
    message: str,
    request_digest: str | None,
    findings: Sequence[Finding] = (),
    details: Mapping[str, Any] | None = None,
) -> bytes:
    """The summary; of many findings the first ones, and how many there are."""
    shown = [_short(finding.to_json()) for finding in findings[:_MOST_FINDINGS]]
    head = {
        "version": VERSION,
        "requestDigest": request_digest,
        "outcome": outcome.value,
        "message": message[:_MOST_MESSAGE],
        **(details or {}),
        "errors": len(findings),
    }
    while True:
        content = json.dumps({**head, "findings": shown}, separators=(",", ":")).encode()
        if len(content) <= MOST_BYTES or not shown:
            return content
        shown.pop()


def _short(finding: dict[str, Any]) -> dict[str, Any]:
    return {**finding, "message": finding["message"][:_MOST_MESSAGE]}
