"""The summary: what a run says when it ends, in at most 4 KiB, which Kubernetes keeps of a termination message."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from wal_subscription.stops import Stop

VERSION = 1
MOST_BYTES = 4096
_MOST_SHOWN = 40
_MOST_MESSAGE = 300
"""Characters, so that there is room for a topic at least: one that is never shown would stop every run."""


class Outcome(StrEnum):
    """Why a run ended."""

    STOPPED = "Stopped"
    """Topics must not go on."""
    REFUSED = "Refused"
    """Nothing can be done with this request."""
    INTERRUPTED = "Interrupted"
    """It broke off: the same request is to be tried again."""

    @property
    def exit_code(self) -> int:
        """Of the process: 0 where a restart would change nothing."""
        return 3 if self is Outcome.INTERRUPTED else 0


def summarize(outcome: Outcome, message: str, digest: str | None, stops: Sequence[Stop] = ()) -> bytes:
    """The summary; of many topics the first ones, and how many there are."""
    shown: list[dict[str, Any]] = [
        {**stop.to_json(), "message": stop.message[:_MOST_MESSAGE]} for stop in stops[:_MOST_SHOWN]
    ]
    head = {
        "version": VERSION,
        "requestDigest": digest,
        "outcome": outcome.value,
        "message": message[:_MOST_MESSAGE],
        "stoppedTopics": len(stops),
    }
    while True:
        content = json.dumps({**head, "stopped": shown}, separators=(",", ":"), ensure_ascii=False).encode()
        if len(content) <= MOST_BYTES or not shown:
            return content
        shown.pop()
