"""Which chains of a policy are not needed any more: the only decision that deletes anything in a store.

A full backup and all that continue it are one unit. It goes once one can go back by the whole recovery window without
it: a newer full backup that was proved is older than that. The window counts back from the newest backup that
completed, so nothing goes by itself when backups stop. The newest full ones that were proved always stay. Proved is
none of a chain that a restore found broken (`broken.py`).

The list is frozen in the request of the next backup: in its status first, and only then it is asked whether a restore
needs one of them. A WALRestore that is created later finds the list in the status.

It is asked again whether all of the list may go, right before the application is made and as long as its driver has not
ended: `find_needed`. If not, the attempt is over, and the next one deletes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from seawall.api.meta import InvalidSpec
from seawall.api.v1alpha1.backup import MAX_EXPIRING, WALBackup, WALBackupStatus
from seawall.api.v1alpha1.backup_policy import BackupChain, Retention, WALBackupPolicy
from seawall.api.v1alpha1.backup_template import BackupLevel
from seawall.api.v1alpha1.restore import WALRestore
from seawall.domain.backup.broken import as_restored
from seawall.domain.backup.runs import keeps
from seawall.domain.schedule import controlled_by


@dataclass(frozen=True, slots=True)
class Expiry:
    """Chains that are to go, what did not go before last, and those that must be there, and whole, or nothing goes."""

    chains: tuple[BackupChain, ...]
    stays: tuple[BackupChain, ...]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """A policy that declares a retention, and all backups and restores of its namespace."""

    policy: WALBackupPolicy
    backups: Sequence[WALBackup]
    restores: Sequence[WALRestore]


def retention_of(policy: WALBackupPolicy) -> Retention | None:
    """What it declares; None: nothing is ever deleted."""
    return None if isinstance(policy.spec, InvalidSpec) else policy.spec.retention


def plan_expiry(
    found: Surroundings, location: str, cluster_id: str, chain: str, most: int | None = MAX_EXPIRING
) -> Expiry | None:
    """What a backup of `chain`, which is kept here, shall delete, at most so many; None: nothing."""
    retention, status = retention_of(found.policy), found.policy.status
    if retention is None or status.retention_time is None:
        return None
    listed = (each for each in status.chains if (each.location, each.cluster_id) == (location, cluster_id))
    here = [as_restored(each, found.restores) for each in listed]
    needed = {chain, *_needed(found, [each.name for each in here])}
    return choose(here, retention, status.retention_time, needed, most, asked_in_vain=_asked_in_vain(found))


def _asked_in_vain(found: Surroundings) -> list[str]:
    """Chains that backups of the policy were to delete and did not, the newest of these backups last."""
    own = (each.status for each in controlled_by(found.policy.metadata, found.backups))
    return [name for each in own if each.expiry is not None for name in each.expiring if name not in each.expiry.gone]


def find_needed(found: Surroundings, backup: WALBackupStatus) -> str | None:
    """The first chain of the list of a backup that may not go any more; None: all of them may.

    It is asked of all chains: another one that may go by now, and is older, needs none of the list to stay.
    """
    may_go = plan_expiry(found, backup.location or "", backup.cluster_id or "", backup.chain or "", None)
    names = frozenset[str]() if may_go is None else {each.name for each in may_go.chains}
    return next((name for name in backup.expiring if name not in names), None)


def choose(
    chains: Sequence[BackupChain],
    retention: Retention,
    counts_from: datetime,
    needed: Collection[str],
    most: int | None = MAX_EXPIRING,
    *,
    asked_in_vain: Sequence[str] = (),
) -> Expiry | None:
    """Of chains of one store and one Kafka, the oldest first, those that go; None: all stay.

    What was asked for in vain comes last: it may stay for good, and the others are not to wait for it.
    """
    known = [each for each in chains if not each.gone]
    proved = [each for each in known if each.verified is not BackupLevel.NONE and each.broken_by is None]
    limit = counts_from - retention.recovery_window
    base = next((each for each in reversed(proved) if each.full_time <= limit), None)
    if base is None or len(proved) < retention.minimum_fulls:
        return None
    stays = proved[-retention.minimum_fulls :]
    stays = stays if base in stays else [base, *stays]
    left = {each.name for each in stays} | set(needed)
    older = known[: known.index(base)]
    goes = [each for each in older if each.name not in left and each.kept_by is None]
    tried = {name: at for at, name in enumerate(asked_in_vain)}
    goes.sort(key=lambda each: tried.get(each.name, -1))
    return Expiry(tuple(goes[:most]), tuple(stays)) if goes else None


def _needed(found: Surroundings, names: Sequence[str]) -> set[str]:
    """Chains that a WALBackup keeps, or that a restore which is not over may read: without a name it may read any."""
    needed = {
        backup.status.chain
        for backup in found.backups
        if backup.status.chain is not None and (keeps(backup) or backup.status.restore_point is not None)
    }
    for restore in found.restores:
        if restore.status.is_over:
            continue
        chain = None if isinstance(restore.spec, InvalidSpec) else restore.spec.source.chain
        needed |= set(names) if chain is None else {chain}
    return needed


def deleting(chain: str | None, backups: Sequence[WALBackup]) -> str | None:
    """The name of a backup that is not over, and deletes this chain; None: none does."""
    names = (each.metadata.name for each in backups if not each.status.is_over and chain in each.status.expiring)
    return next(names, None)
