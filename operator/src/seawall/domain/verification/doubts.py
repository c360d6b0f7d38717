"""Which verifications must stay: a bad verdict that goes would let the good ones from before it count again.

A verdict is in the status of its object alone. So the newest one that found a topic bad does not go by itself, by its
ttl or a history limit, as long as an older one that found the same log good is there. Only statuses are compared: a
spec that cannot be read may be read again by the next release.
"""

from __future__ import annotations

from collections.abc import Iterable

from seawall.api.v1alpha1.spark_job import VERDICTS
from seawall.api.v1alpha1.verification import WALVerification, WALVerificationStatus
from seawall.domain.cluster_name import cluster_name

Logs = frozenset[tuple[str, str]]
"""Names and ids of topics."""


def doubted_by(status: WALVerificationStatus) -> Logs:
    """The topics that a verification which is over found bad."""
    has_verdict = status.is_over and status.completion_time is not None and status.outcome in VERDICTS
    return frozenset((row.name, row.topic_id) for row in status.topics if has_verdict and not row.verified)


def why_it_stays(obj: WALVerification, found: Iterable[WALVerification]) -> str | None:
    """Why a verification must not go by itself, in one clause; None: it may. `found` are all of the namespace."""
    doubted, ended = doubted_by(obj.status), obj.status.completion_time
    if not doubted or ended is None:
        return None
    others = [
        (time, each)
        for each in found
        if each.metadata.uid != obj.metadata.uid and (time := each.status.completion_time) is not None
    ]
    for time, each in others:
        is_newer = (ended, obj.metadata.uid) < (time, each.metadata.uid)
        doubted -= doubted_by(each.status) if is_newer and _may_replace(each, obj) else frozenset()
    for time, each in others:
        spoken_for = doubted & _trusted_by(each.status)
        if spoken_for and time <= ended:
            topic = min(name for name, _ in spoken_for)
            return f"without it {each.metadata.name} would count again for topic {topic}"
    return None


def _trusted_by(status: WALVerificationStatus) -> Logs:
    return frozenset((row.name, row.topic_id) for row in status.topics if status.is_over and row.verified)


def _may_replace(other: WALVerification, obj: WALVerification) -> bool:
    """Whether what the other one found bad is bad for the same WALCluster, and nobody deletes it."""
    return other.metadata.deletion_timestamp is None and cluster_name(other) == cluster_name(obj)
