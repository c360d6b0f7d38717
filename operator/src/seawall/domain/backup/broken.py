"""Which chains are broken, as far as a WALRestore found out; a drill is one.

That a full backup was proved says how it was when it was made. What the store lost since then, and what no database
could read, shows when it is to come back. Such a chain lets no other one go, and no backup continues it, also when the
object of the restore is gone: the policy's list remembers it, and before it does the object goes by no ttl.
"""

from __future__ import annotations

from collections.abc import Iterable

from seawall.api.meta import ConditionType, InvalidSpec
from seawall.api.v1alpha1.backup_policy import BackupChain, WALBackupPolicy
from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.restore_status import RestoreStage
from seawall.domain.conditions import find_condition

CHAIN_BROKEN = "ChainBroken"
"""The reason of a WALRestore for which the store does not have what was written."""
NOT_DECODED = "NotDecoded"
"""That of one whose records came back, and cannot be decoded; without findings its image does not decode any."""


def as_restored(row: BackupChain, restores: Iterable[WALRestore]) -> BackupChain:
    """The row, with the first of these restores that found its chain broken; that is never taken back."""
    if row.broken_by is not None:
        return row
    name = next((each.metadata.name for each in restores if found_it_broken(each) and _is_about(each, row)), None)
    return row if name is None else row.model_copy(update={"broken_by": name})


def why_it_stays(restore: WALRestore, policies: Iterable[WALBackupPolicy]) -> str | None:
    """Why a restore must not go by itself, in one clause; None: it may. `policies` are all of the namespace."""
    for policy in policies:
        rows = () if policy.metadata.deletion_timestamp is not None else policy.status.chains
        row = next((each for each in rows if not each.gone and as_restored(each, (restore,)) != each), None)
        if row is not None:
            return f"WALBackupPolicy {policy.metadata.name} has not written down yet that chain {row.name} is broken"
    return None


def found_it_broken(restore: WALRestore) -> bool:
    """By its verdict, also while its topics go yet."""
    status, reason = restore.status, restore.status.fails_as
    if reason is None and status.stage is RestoreStage.FAILED:
        ready = find_condition(status.conditions, ConditionType.READY)
        reason = None if ready is None else ready.reason
    return reason == CHAIN_BROKEN or (reason == NOT_DECODED and bool(status.findings))


def _is_about(restore: WALRestore, row: BackupChain) -> bool:
    """Whether it may have read this chain: one that names none, or whose spec cannot be read, any that was there."""
    status, source = restore.status, None if isinstance(restore.spec, InvalidSpec) else restore.spec.source
    if status.location != row.location or (source is not None and source.cluster_id != row.cluster_id):
        return False
    if source is not None and source.chain is not None:
        return source.chain == row.name
    # Once its topics have to go, which may take days, the attempt's time is that of the verdict.
    judged = status.completion_time if status.fails_as is None else status.attempt_time
    return judged is None or row.full_time <= judged
