"""The chains of a Kafka in a store: which manifests follow each other, and what is wrong with those that do not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sparkjob.errors import Refused
from wal_backup.findings import Finding, Kind
from wal_backup.layout import chain_folder, chains_folder, manifests_folder
from wal_backup.manifest import Manifest, Parent, digest_of_manifest, parse_manifest
from wal_backup.store import Damaged, Store


@dataclass(frozen=True, slots=True)
class StoredManifest:
    """A manifest and the digest of its bytes."""

    manifest: Manifest
    digest: str


@dataclass(frozen=True, slots=True)
class Chain:
    """A full backup and what follows it.

    Attributes:
        path: the longest whole path, the full backup first; empty: there is none.
        problems: one sentence each.
    """

    name: str
    path: tuple[StoredManifest, ...]
    problems: tuple[str, ...]

    def findings(self) -> tuple[Finding, ...]:
        """What is wrong with it; a chain without a full backup is wrong too."""
        problems = self.problems if self.path else (*self.problems, f"chain {self.name} has no full backup")
        return tuple(Finding(Kind.CHAIN_BROKEN, problem) for problem in problems)


def read_chains(store: Store, cluster_id: str, only: str | None = None) -> tuple[Chain, ...]:
    """All chains of this Kafka, or one.

    Raises:
        Refused, Interrupted: the store does not let us, or does not answer.
    """
    names = store.names(chains_folder(cluster_id)) if only is None else [only]
    return tuple(_read_chain(store, cluster_id, name) for name in names)


class ParentUnusable(Refused):
    """The parent that a backup continues is gone, or another one: nothing continues it any more."""


def read_parent(store: Store, folder: str, parent: Parent) -> Manifest:
    """The manifest that a backup continues.

    Raises:
        ParentUnusable: it is not there, not the one that was named, or of another program.
        Refused, Interrupted: the store does not let us, or does not answer.
    """
    path = f"{manifests_folder(folder)}/{parent.name}"
    try:
        content = store.read(path)
    except FileNotFoundError:
        raise ParentUnusable(f"the parent {path} is not there") from None
    except Damaged as damaged:
        raise ParentUnusable(f"the parent {damaged}") from None
    found = digest_of_manifest(content)
    if found != parent.digest:
        raise ParentUnusable(f"the parent {path} has digest {found}, not {parent.digest}: it was changed")
    try:
        return parse_manifest(content, path)
    except Refused as refused:
        raise ParentUnusable(f"the parent {refused}") from None


def _read_chain(store: Store, cluster_id: str, name: str) -> Chain:
    folder = manifests_folder(chain_folder(cluster_id, name))
    problems, found = list[str](), dict[str, StoredManifest]()
    for file in store.names(folder):
        try:
            content = store.read(f"{folder}/{file}")
        except Damaged as damaged:
            problems.append(str(damaged))
            continue
        try:
            manifest = parse_manifest(content, f"{folder}/{file}")
        except Refused as refused:
            problems.append(str(refused))
            continue
        if (manifest.cluster_id, manifest.chain, manifest.name) != (cluster_id, name, file):
            problems.append(f"{folder}/{file} is the manifest {manifest.name} of another place")
            continue
        found[file] = StoredManifest(manifest, digest_of_manifest(content))
    path, why = longest_path(found)
    return Chain(name, path, (*problems, *why))


def longest_path(found: Mapping[str, StoredManifest]) -> tuple[tuple[StoredManifest, ...], tuple[str, ...]]:
    """The longest path from a full backup in which each names the one before, and why others are in none.

    Two children of one parent are both true. Of two backups that is a problem, and named; of two attempts of one it is
    not: the first died, or was given up, when its manifest was there or came late. The longer path counts; of two as
    long that of the later attempt, which is the one that its WALBackup names, whatever the clocks of two nodes say.
    """
    children, problems = defaultdict[str, list[str]](list), list[str]()
    roots = [file for file, each in found.items() if each.manifest.parent is None]
    for file, each in sorted(found.items()):
        parent = each.manifest.parent
        if parent is None:
            continue
        known = found.get(parent.name)
        trouble = why_no_child(each, known, parent)
        if trouble is None:
            children[parent.name].append(file)
        else:
            problems.append(f"{file} {trouble}")
    for parent_name, files in [("nothing", roots), *children.items()]:
        if len({found[file].manifest.backup for file in files}) > 1:
            problems.append(f"{' and '.join(files)} follow {parent_name}")
    paths = [path for root in roots for path in _paths(root, children)]
    last = {path: found[path[-1]].manifest for path in paths}
    best = max(paths, key=lambda path: (len(path), last[path].attempt, last[path].finished_time), default=())
    return tuple(found[file] for file in best), tuple(problems)


def why_no_child(child: StoredManifest, parent: StoredManifest | None, named: Parent) -> str | None:
    """What is wrong with a manifest that names this one as its parent; None: nothing."""
    if parent is None:
        return f"names the parent {named.name}, which is not there"
    if parent.digest != named.digest:
        return f"names the parent {named.name} by digest {named.digest}, and it has {parent.digest}"
    if child.manifest.sequence != parent.manifest.sequence + 1:
        return f"has place {child.manifest.sequence} after {parent.manifest.sequence}"
    before = {topic.name: topic for topic in parent.manifest.topics}
    for topic in child.manifest.topics:
        old = before.get(topic.name)
        if old is not None and (old.topic_id, old.end) != (topic.topic_id, topic.start):
            return (
                f"continues topic {topic.name} ({topic.topic_id}) at offset {topic.start}, "
                f"and its parent ended {old.topic_id} at {old.end}"
            )
    return None


def _paths(root: str, children: Mapping[str, list[str]]) -> Iterator[tuple[str, ...]]:
    """All paths from a full backup to one that nothing follows."""
    left: list[tuple[str, ...]] = [(root,)]
    while left:
        path = left.pop()
        below = children.get(path[-1], ())
        if not below:
            yield path
        left += [(*path, child) for child in below]
