"""Which backups a restore takes its records from: a path of manifests, each of which names the one before."""

from __future__ import annotations

from collections.abc import Sequence

from sparkjob.errors import Denied, Refused
from wal_backup.chain import StoredManifest, read_chains, read_parent, why_no_child
from wal_backup.findings import Finding, Kind
from wal_backup.layout import chain_folder, chains_folder, manifests_folder
from wal_backup.manifest import digest_of_manifest, parse_manifest
from wal_backup.restore.request import PlanRequest, Point
from wal_backup.store import Damaged, Store


class ChainBroken(Exception):  # noqa: N818 - what it is
    """A chain is not whole, and nothing is restored from it."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__(findings[0].message)
        self.findings = tuple(findings)


def find_chain(store: Store, request: PlanRequest) -> str:
    """The chain that is meant.

    Raises:
        Refused: there is none, or several, and it is not said which.
    """
    if request.chain is not None:
        return request.chain
    names = store.names(chains_folder(request.cluster_id))
    if not names:
        raise Refused(f"the store has no backup of Kafka {request.cluster_id}")
    if len(names) > 1:
        shown = ", ".join(names[-5:])
        raise Refused(f"Kafka {request.cluster_id} has {len(names)} chains of backups: say which ({shown})")
    return names[0]


def find_source(store: Store, request: PlanRequest) -> tuple[str, tuple[StoredManifest, ...]]:
    """The chain that is meant, and its backups up to the one that is meant, the full one first.

    Raises:
        Refused: there is none, or several, and it is not said which.
        ChainBroken: what is needed is not whole.
        Interrupted: the store does not answer.
    """
    if not isinstance(request.target, Point):
        chain = find_chain(store, request)
        return chain, find_path(store, request, chain)
    chain, backup = _find_point(store, request, request.target.name)
    return chain, _path_to(store, chain_folder(request.cluster_id, chain), backup)


def _find_point(store: Store, request: PlanRequest, name: str) -> tuple[str, str]:
    """The chain, and the backup of it that made this restore point; what else is wrong in the store does not matter."""
    chains = read_chains(store, request.cluster_id, request.chain)
    points = [
        (chain.name, stored.manifest.name, stored.manifest.restore_point.name)
        for chain in chains
        for stored in chain.path
        if stored.manifest.restore_point is not None and request.backup in {None, stored.manifest.name}
    ]
    found = [(chain, backup) for chain, backup, point in points if point == name]
    if not found:
        known = ", ".join(sorted({point for *_, point in points})[-5:])
        hint = f"it has {known}" if known else "it has none"
        raise Refused(f"the store has no restore point {name} of Kafka {request.cluster_id}: {hint}")
    if len(found) > 1:
        shown = ", ".join(backup for _, backup in found[-5:])
        raise Refused(f"{len(found)} backups made a restore point {name}: say which in source.backup ({shown})")
    return found[0]


def find_path(store: Store, request: PlanRequest, chain: str) -> tuple[StoredManifest, ...]:
    """The backups, the full one first.

    Without a name, the whole chain must be without a finding: it could be that something newer is left out. A backup
    that is named needs those before it and no others.

    Raises:
        ChainBroken: what is needed is not whole.
        Refused, Interrupted: there is no such backup; the store does not let us, or does not answer.
    """
    if request.backup is not None:
        return _path_to(store, chain_folder(request.cluster_id, chain), request.backup)
    (found,) = read_chains(store, request.cluster_id, chain)
    if not found.path and not found.problems:
        raise Refused(f"the store has no chain {chain} of Kafka {request.cluster_id}")
    findings = found.findings()
    if findings:
        raise ChainBroken(findings)
    return found.path


def _path_to(store: Store, folder: str, name: str) -> tuple[StoredManifest, ...]:
    where = f"{manifests_folder(folder)}/{name}"
    try:
        content = store.read(where)
    except FileNotFoundError:
        raise Refused(f"the store has no backup {where}") from None
    except Damaged as damaged:
        raise _broken(str(damaged)) from None
    try:
        path = [StoredManifest(parse_manifest(content, where), digest_of_manifest(content))]
        while (parent := path[0].manifest.parent) is not None:
            before = StoredManifest(read_parent(store, folder, parent), parent.digest)
            trouble = why_no_child(path[0], before, parent)
            if trouble is not None:
                raise _broken(f"{path[0].manifest.name} {trouble}")
            path.insert(0, before)
    except Denied:  # a key that is rotated meanwhile: nothing is said of the chain
        raise
    except Refused as refused:
        raise _broken(str(refused)) from refused
    return tuple(path)


def _broken(message: str) -> ChainBroken:
    return ChainBroken([Finding(Kind.CHAIN_BROKEN, message)])
