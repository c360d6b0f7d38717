"""Reads the ConfigMap of a reassignment's journal, and what its run lets min.insync.replicas be."""

from __future__ import annotations

from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.min_isr import NO_LIMITS, Limits, limit_of
from seawall.domain.reassignment.journal import (
    ABOUT_KEY,
    DATA_KEY,
    LISTS_KEY,
    UnreadableJournal,
    decode_journal,
    decode_lists,
    journal_key,
)
from seawall.domain.reassignment.limits import limits_of
from seawall.domain.reassignment.observed import FoundJournal
from seawall.ports import Kube


def observe_journal(kube: Kube, cluster: WALCluster) -> FoundJournal:
    """What is in the ConfigMap, whoever made it."""
    found = kube.get_config_map(journal_key(cluster.metadata.key))
    if found is None:
        return FoundJournal()
    is_of_others = bool(found.data) and ABOUT_KEY not in found.data
    is_foreign = found.controller_uid != cluster.metadata.uid or is_of_others
    try:
        journal = decode_journal(found.binary_data.get(DATA_KEY, b""))
        lists = decode_lists(found.binary_data[LISTS_KEY]) if LISTS_KEY in found.binary_data else {}
    except UnreadableJournal as error:
        return FoundJournal(str(error), found.resource_version, is_foreign)
    return FoundJournal(journal, found.resource_version, is_foreign, lists)


def observe_limits(kube: Kube, cluster: WALCluster) -> Limits:
    """What the run that is under way lets min.insync.replicas be; only one that takes replicas has its journal read.

    A run that begins later is none of this object's: whoever raises by this asks whether it changed.
    """
    run = cluster.status.reassignment
    if limit_of(run) is None:
        return NO_LIMITS
    return limits_of(run, observe_journal(kube, cluster).readable)
