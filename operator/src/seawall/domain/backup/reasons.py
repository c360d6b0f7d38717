"""The closed set of reasons that WALBackups have beside those of all Spark jobs."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """How a WALBackup ends; each member says its state, and what to do."""

    BACKED_UP = "BackedUp"
    """Ready. The end: all topics are in the store, and what `spec.verify` asks for was proved."""
    NOTHING_TO_BACK_UP = "NothingToBackUp"
    """Ready. The end: no region writes to any of the topics."""
    NOT_ALL_BACKED_UP = "NotAllBackedUp"
    """Stalled. The end: `status.notBackedUp` says which topics were left out, and why (the ledger's reasons). What was
    written counts, and can be restored; no incremental backup continues it."""
    PARENT_UNUSABLE = "ParentUnusable"
    """Stalled. The end: what it was to continue is not there, not Completed, of another WALCluster, kept elsewhere, or
    continued by another one already. Continue the newest backup of the chain, or make a full one."""
    CHAIN_ENDED = "ChainEnded"
    """Stalled. The end: the log does not go on where the parent ended: a topic was made again, or records that no
    backup has were deleted or lost. The message says where. Make a full backup; look for who deletes."""
    LOG_CHANGED = "LogChanged"
    """Stalled. The end: the log was cut, or made again, while it was read. Make another backup."""
    DAMAGED = "BackupDamaged"
    """Stalled. The end: what the store has is not what was written; `status.findings` say where. It does not count.
    Look at the store, and make another backup."""
