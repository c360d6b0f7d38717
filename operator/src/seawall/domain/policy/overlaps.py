"""Other policies that are stricter about topics of a policy: what they ask is done, and this one says so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from seawall.api.meta import InvalidSpec
from seawall.api.v1alpha1.policy import WALPurgePolicy
from seawall.domain.ledger.declared import policy_of
from seawall.domain.ledger.policy import Policy, strictest


def describe_stricter(policy: WALPurgePolicy, others: Iterable[WALPurgePolicy], topics: Sequence[str]) -> str | None:
    """What others ask of topics that they share with it, as a clause; None: nothing that is stricter.

    Args:
        policy: which one says it.
        others: all of the namespace; those of other WALClusters, and those that cannot be read, ask nothing of it.
        topics: the names of the WALCluster's topics.
    """
    own = policy_of(policy)
    if isinstance(own, InvalidSpec) or isinstance(policy.spec, InvalidSpec):
        return None
    asked = [
        found
        for other in others
        if not isinstance(other.spec, InvalidSpec)
        and other.spec.cluster_ref == policy.spec.cluster_ref
        and not isinstance(found := policy_of(other), InvalidSpec)
        and strictest([own, found]).overrules(own)
        and _share(own, found, topics)
    ]
    clauses = strictest([own, *asked]).overrules(own)
    return f"stricter about topics of it: {', '.join(clauses)}" if clauses else None


def _share(one: Policy, other: Policy, topics: Sequence[str]) -> bool:
    return any(one.matches(topic) and other.matches(topic) for topic in topics)
