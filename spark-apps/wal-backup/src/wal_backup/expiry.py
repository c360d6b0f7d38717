"""Deletes chains that nobody needs any more: the only code that deletes anything in a store.

Which ones is in the request, frozen before the backup began. A chain goes from its newest manifest to its oldest, each
manifest before its objects: whoever is killed meanwhile leaves a chain that is shorter, and whole. What cannot be
deleted is a sentence, and never fails the backup, which counts already.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sparkjob.errors import Interrupted, Refused
from sparkjob.session import sentence_of
from wal_backup.chain import StoredManifest, read_chains
from wal_backup.layout import attempt_folder, chain_folder, manifests_folder
from wal_backup.manifest import Manifest, digest_of_manifest, parse_manifest
from wal_backup.request import Expiry, NamedChain
from wal_backup.store import Damaged, Locked, Store, parse_place

LOG = logging.getLogger("wal_backup")
_MOST_MESSAGE = 300


class Problem(StrEnum):
    """Why not all went."""

    LOCKED = "Locked"
    """The bucket does not let an object go yet."""
    REFUSED = "Refused"
    """The store refuses: the credentials are missing, or may not delete."""
    LEFT_ALONE = "LeftAlone"
    """A chain is not what the operator knows, or is needed."""
    INTERRUPTED = "Interrupted"
    """The store did not answer; the next backup goes on."""


class LeftAlone(Exception):  # noqa: N818 - what becomes of it
    """Why a chain is left as it is, in one sentence."""


@dataclass(frozen=True, slots=True)
class Expired:
    """Names of chains of which nothing is left, and the first reason why others are."""

    gone: tuple[str, ...]
    problem: Problem | None = None
    message: str = ""

    def to_json(self) -> dict[str, Any]:
        """As it stands in a summary."""
        return {"gone": list(self.gone), "problem": self.problem, "message": self.message[:_MOST_MESSAGE]}


def expire(asked: Expiry, backup: Manifest) -> Expired:
    """Deletes what is asked for, if it is what was meant, and what is to stay is there; `backup` asks, and counts."""
    gone, problems = list[str](), list[tuple[Problem, str]]()
    try:
        store = Store(parse_place(asked.storage))
        _require_stays(store, backup.cluster_id, asked)
        for chain in asked.chains:
            try:
                _delete(store, backup, chain)
            except (LeftAlone, Locked, Damaged) as found:
                problems.append((Problem.LOCKED if isinstance(found, Locked) else Problem.LEFT_ALONE, str(found)))
            else:
                LOG.info("Chain %s is deleted", chain.name)
                gone.append(chain.name)
    except (LeftAlone, Damaged) as found:
        problems.append((Problem.LEFT_ALONE, str(found)))
    except Refused as refused:
        problems.append((Problem.REFUSED, str(refused)))
    except Interrupted as interrupted:
        problems.append((Problem.INTERRUPTED, str(interrupted)))
    except Exception as error:
        LOG.exception("The deletion broke off")
        problems.append((Problem.INTERRUPTED, f"the deletion broke off: {sentence_of(error)}"))
    for problem, message in problems:
        LOG.warning("%s: %s", problem, message)
    return Expired(tuple(gone), *(problems[0] if problems else ()))


def _require_stays(store: Store, cluster_id: str, asked: Expiry) -> None:
    """Chains that are to stay are there, whole, with all their objects: else nothing goes."""
    if not asked.stays:
        raise LeftAlone("no chain is named that is to stay: nothing is deleted")
    for each in asked.stays:
        (chain,) = read_chains(store, cluster_id, each.name)
        if not chain.path or chain.path[0].digest != each.full.digest:
            raise LeftAlone(f"chain {each.name} is to stay, and its full backup is not the one that was made: check it")
        if chain.problems:
            raise LeftAlone(f"chain {each.name} is to stay, and is not whole: {chain.problems[0]}")
        found = store.sizes(chain_folder(cluster_id, each.name))
        for stored in chain.path:
            missing = next((one for one in stored.manifest.objects if found.get(one.path) != one.bytes), None)
            if missing is not None:
                raise LeftAlone(f"chain {each.name} is to stay, and its object {missing.path} is damaged: check it")


def _delete(store: Store, backup: Manifest, chain: NamedChain) -> None:
    folder = chain_folder(backup.cluster_id, chain.name)
    for stored in _newest_first(_manifests(store, folder, backup, chain), chain):
        store.delete(f"{manifests_folder(folder)}/{stored.manifest.name}")
        store.delete_all(f"{folder}/{attempt_folder(stored.manifest.backup, stored.manifest.attempt)}")
    store.delete_all(folder)  # what no manifest names: of attempts that were interrupted, or of a deletion
    if store.sizes(folder):
        raise Interrupted(f"{folder} is not empty yet")


def _manifests(store: Store, folder: str, backup: Manifest, chain: NamedChain) -> list[StoredManifest]:
    """All manifests of a chain that may go; none: a deletion got so far before, as the full backup's goes last.

    Raises:
        LeftAlone: it may not go, or the store does not list what it has.
    """
    if chain.name == backup.chain:
        raise LeftAlone(f"chain {chain.name} has this backup itself")
    found = list[StoredManifest]()
    for file in store.names(manifests_folder(folder)):
        where = f"{manifests_folder(folder)}/{file}"
        content = store.read(where)
        try:
            manifest = parse_manifest(content, where)
        except Refused as refused:
            raise LeftAlone(str(refused)) from None
        why = _why_it_stays(manifest, file, backup, chain)
        if why is not None:
            raise LeftAlone(f"chain {chain.name} is left alone: {file} {why}")
        found.append(StoredManifest(manifest, digest_of_manifest(content)))
    if not found and store.size(f"{manifests_folder(folder)}/{chain.full.name}") is not None:
        raise LeftAlone(f"chain {chain.name} is left alone: the store has {chain.full.name}, and does not list it")
    if found and chain.full.digest not in {each.digest for each in found}:
        raise LeftAlone(f"chain {chain.name} is left alone: its full backup is not the one that was made")
    return found


def _why_it_stays(manifest: Manifest, file: str, backup: Manifest, chain: NamedChain) -> str | None:
    """Why this manifest keeps its chain, as a clause that follows its name; None: it does not."""
    if (manifest.cluster_id, manifest.chain, manifest.name) != (backup.cluster_id, chain.name, file):
        return f"is the manifest {manifest.name} of another place"
    if manifest.restore_point is not None:
        return f"has the restore point {manifest.restore_point.name}"
    if manifest.finished_time >= backup.started_time:
        return f"was finished at {manifest.finished_time}, after this backup began"
    return None


def _newest_first(found: Sequence[StoredManifest], chain: NamedChain) -> list[StoredManifest]:
    """The full backup by which the chain is known goes last, after others of its own place."""
    return sorted(
        found, key=lambda each: (each.manifest.sequence, each.digest != chain.full.digest, each.manifest.name)
    )[::-1]
