"""The closed sets of reasons that WALVerifications have beside those of all Spark jobs, and of their schedule."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """How a WALVerification ends; each member says its state, and what to do."""

    VERIFIED = "Verified"
    """Ready. The end: every topic that was read replays."""
    NOTHING_TO_REPLAY = "NothingToReplay"
    """Ready. The end: no region writes to any of the topics."""
    DOES_NOT_REPLAY = "DoesNotReplay"
    """Stalled. The end: findings are errors. `status.findings` has the first bad offsets, the report all of them.
    **Restart no datanode before you know.**"""
    NOT_ALL_READ = "NotAllRead"
    """Stalled. The end: what was read replays, and `status.notRead` says what was not read, and why (the ledger's
    reasons)."""


class ScheduledReason(StrEnum):
    """Why verifications are made on a schedule, or are not: the condition VerificationScheduled of a WALCluster."""

    SCHEDULED = "Scheduled"
    """True. Verifications begin as declared."""
    SUSPENDED = "Suspended"
    """False. No new verifications: set `verification.suspend: false`."""
    NAME_TOO_LONG = "NameTooLong"
    """False. Verifications could not be named after the WALCluster: its name has more than 30 characters."""
