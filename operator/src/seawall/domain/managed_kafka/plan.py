"""What is to be done for a managed Kafka, in the order in which it is safe; pure.

    volumes → they are recorded → tokens → NetworkPolicy → budgets, configuration, Services, StatefulSets
    → who registered is recorded → tokens back → files of before an edit go

Each line waits for the one before, and each is derived from the world again: it does not matter who died in between.
What is there is not changed, but for budgets, which count a node that joins (scale.py), and the NetworkPolicy
(network.py): a StatefulSet keeps the template with which it was made, or is made anew while its node has never come up:
nothing is on that, and what was declared wrong is mended by an edit. While certificates do not fit,
or the declared version is older than what is finalized, or first voters are not declared, nothing is made and no token
given; what is known is still recorded, and tokens are still taken back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from seawall.domain.managed_kafka.actions import (
    CreateObject,
    MakeAnew,
    ManagedAction,
    RemoveConfig,
    WriteIdentity,
    WriteTokens,
)
from seawall.domain.managed_kafka.case import Case
from seawall.domain.managed_kafka.found import FoundObject
from seawall.domain.managed_kafka.names import TEMPLATE_HASH_ANNOTATION, config_name, node_name
from seawall.domain.managed_kafka.network import first_policy, policy_actions
from seawall.domain.managed_kafka.node import Node
from seawall.domain.managed_kafka.objects import Manifest, ObjectKind, budgets, node_objects, volume
from seawall.domain.managed_kafka.scale import begun_nodes, budgets_to_change, is_new, losing
from seawall.domain.managed_kafka.tokens import recorded, tokens_now, wanted_tokens
from seawall.domain.managed_kafka.volumes import VolumeState

_OF_ALL = frozenset({ObjectKind.BUDGET, ObjectKind.NETWORK_POLICY})
"""Kinds of objects that are of no single node."""


def plan(case: Case) -> tuple[ManagedAction, ...]:
    """Everything to do now; the first line that has something to do."""
    record = case.observed.found.identity
    version = None if record is None else record.version
    known = recorded(case)
    if version is None or known != case.identity:
        return (WriteIdentity(known, version),)
    if case.unusable is not None or case.too_old is not None or case.missing_voters:
        return _only_taken_back(case)
    volumes = tuple(CreateObject(each) for each in _volumes(case))
    if volumes and not case.identity.formed:
        return volumes
    wanted, tokens = wanted_tokens(case), case.observed.found.tokens
    if wanted != tokens_now(case) or tokens is None:
        return (WriteTokens(wanted, None if tokens is None else tokens.version),)
    if (policy := first_policy(case)) is not None:
        return (CreateObject(policy),)
    objects: tuple[ManagedAction, ...] = (
        *budgets_to_change(case),
        *(CreateObject(each) for each in _objects(case)),
        *(MakeAnew(each) for each in _never_up(case)),
    )
    return (*(objects or volumes), *policy_actions(case)) or tuple(RemoveConfig(each) for each in _unused_files(case))


def _only_taken_back(case: Case) -> tuple[ManagedAction, ...]:
    """Tokens that nobody needs any more."""
    wanted, now, tokens = wanted_tokens(case), tokens_now(case), case.observed.found.tokens
    kept = {key: token for key, token in now.items() if wanted.get(key) == token}
    return () if tokens is None or kept == now else (WriteTokens(kept, tokens.version),)


def _volumes(case: Case) -> Iterator[Manifest]:
    """Those that nobody has made, and those that are gone for good without loss."""
    for node in case.nodes:
        is_free = (ObjectKind.VOLUME, node.volume) not in case.observed.found.objects
        state = case.volume_state(node)
        if is_free and (state is VolumeState.NEW or (state is VolumeState.LOST and case.may_format(node))):
            yield volume(node, case.identity.cluster_id)


def _objects(case: Case) -> Iterator[Manifest]:
    """What of nodes and budgets is missing. No node begins before all have volumes, or a name would lead nowhere.

    Who joins later begins when it has its own: a quota that refuses it does not keep others from being mended.
    """
    begins = begun_nodes(case)
    if len(begins) < len(case.nodes) and not case.identity.formed:
        return
    wanted: Iterable[Manifest] = budgets(case.key, begins, losing(case))
    for each in wanted:
        if (each.kind, each.name) not in case.observed.found.objects:
            yield each
    for node in begins:
        yield from _missing_of(case, node)


def _missing_of(case: Case, node: Node) -> Iterator[Manifest]:
    """A configuration is made again only for the template that names it."""
    config = config_name(node.cluster.name, node.id, case.declared[node.id])
    needed = {(ObjectKind.SERVICE, node.name), (ObjectKind.STATEFUL_SET, node.name)}
    if not is_outdated(case, node):
        needed.add((ObjectKind.CONFIG_MAP, config))
    missing = needed - case.observed.found.objects.keys()
    if missing:  # nothing is, nearly always, and what a node is made of takes a while
        objects = node_objects(node, case.identity.cluster_id, case.certificate)
        yield from (each for each in objects if (each.kind, each.name) in missing)


def _never_up(case: Case) -> Iterator[FoundObject]:
    """StatefulSets of before the newest edit whose nodes Kafka has never heard from, and which do not run.

    Nothing else is asked: no gate would open for them while they keep each other away, and a budget keeps what crashes.
    """
    for node in case.nodes:
        found = case.observed.found.objects.get((ObjectKind.STATEFUL_SET, node.name))
        is_meant = is_new(case, node) and is_outdated(case, node) and not node.is_leaving
        if found is None or not is_meant or found.replicas == 0 or found.is_terminating:
            continue
        if _has_stopped(case, node):
            yield found


def _has_stopped(case: Case, node: Node) -> bool:
    """Whether Kubernetes says that its container does not run, or makes no pod of it."""
    pod = case.pod(node)
    return pod is None or (not pod.is_started and not pod.is_terminating and bool(pod.said or pod.trouble))


def _unused_files(case: Case) -> Iterator[FoundObject]:
    """ConfigMaps of before an edit, which were made for this WALCluster, and which nobody deletes yet."""
    needed = {node.id: names for node in case.nodes if (names := _needed_files(case, node)) is not None}
    for (kind, name), found in sorted(case.observed.found.objects.items()):
        node, is_ours = found.node, found.owner_uid == case.cluster.metadata.uid and not found.is_terminating
        if kind is not ObjectKind.CONFIG_MAP or node is None or node not in needed or not is_ours:
            continue
        if name.startswith(f"{node_name(case.key.name, node)}-") and name not in needed[node]:
            yield found


def _needed_files(case: Case, node: Node) -> set[str] | None:
    """What it runs with and what is declared; None: it waits, comes up or goes, and may need any.

    Made again is only what a template names (`_missing_of`).
    """
    pod, made = case.pod(node), case.observed.found.objects.get((ObjectKind.STATEFUL_SET, node.name))
    runs_with = None if made is None else made.annotations.get(TEMPLATE_HASH_ANNOTATION)
    if pod is None or runs_with is None or pod.is_terminating or not pod.is_ready or pod.template != runs_with:
        return None
    return {config_name(node.cluster.name, node.id, each) for each in (runs_with, case.declared[node.id])}


def is_outdated(case: Case, node: Node) -> bool:
    """Whether the node was made of something else than the spec, or this operator, says now."""
    found = case.observed.found.objects.get((ObjectKind.STATEFUL_SET, node.name))
    return found is not None and found.annotations.get(TEMPLATE_HASH_ANNOTATION) != case.declared[node.id]


def of_a_former_life(case: Case) -> str | None:
    """An object of ours that another WALCluster owns, or nobody; None: there is none."""
    expected = {node.name for node in case.nodes}
    for (kind, name), found in sorted(case.observed.found.objects.items()):
        is_meant = kind in _OF_ALL or name in expected
        if kind is not ObjectKind.VOLUME and is_meant and found.owner_uid != case.cluster.metadata.uid:
            return f"{kind} {name}"
    return None
