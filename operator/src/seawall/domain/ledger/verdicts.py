"""When what a verification found counts, and since when it had looked at the log."""

from __future__ import annotations

from datetime import datetime

from seawall.api.v1alpha1.spark_job import VERDICTS, JobStage
from seawall.api.v1alpha1.verification import WALVerification, WALVerificationStatus


def proof_time(status: WALVerificationStatus) -> datetime | None:
    """When the topics that it found good were so: when its driver ended, however late that was read. None: not over."""
    return (status.verdict_time or status.completion_time) if status.is_over else None


def doubt_time(status: WALVerificationStatus) -> datetime | None:
    """When it found those bad that it did not find good; None: not yet, or it proved nothing of them either way.

    They are bad from then on: older ones that are good must not count until its hold is let go, which may take long.
    """
    is_judged = status.is_over or status.stage is JobStage.RELEASING
    time = status.attempt_time or status.completion_time
    return time if is_judged and status.outcome in VERDICTS else None


def began_at(obj: WALVerification) -> datetime:
    """When it began: it has looked at nothing of before. A start that is after its end is of a clock that was wrong."""
    start = obj.status.start_time or obj.metadata.creation_timestamp
    return min(filter(None, (start, proof_time(obj.status), doubt_time(obj.status))))
