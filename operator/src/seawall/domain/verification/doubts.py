"""Which verifications must stay: a bad verdict that goes would let the good ones from before it count again.

A verdict is in the status of its object alone. So the newest one that found a topic bad does not go by itself, by its
ttl or a history limit, as long as one is there that began before it was over and found the same log good, or may yet.
Only statuses are compared: a spec that cannot be read may be read again by the next release.
"""

from __future__ import annotations

from collections.abc import Iterable

from seawall.api.v1alpha1.spark_job import VERDICTS
from seawall.api.v1alpha1.verification import WALVerification, WALVerificationStatus
from seawall.domain.cluster_name import cluster_name
from seawall.domain.ledger.verdicts import began_at, doubt_time

Logs = frozenset[tuple[str, str]]
"""Names and ids of topics."""


def doubted_by(status: WALVerificationStatus) -> Logs:
    """The topics that a verification has found bad."""
    has_verdict = doubt_time(status) is not None
    return frozenset((row.name, row.topic_id) for row in status.topics if has_verdict and not row.verified)


def why_it_stays(obj: WALVerification, found: Iterable[WALVerification]) -> str | None:
    """Why a verification must not go by itself, in one clause; None: it may. `found` are all of the namespace."""
    doubted, ended = doubted_by(obj.status), doubt_time(obj.status)
    if not doubted or ended is None:
        return None
    others = [each for each in found if each.metadata.uid != obj.metadata.uid]
    for each in others:
        time = doubt_time(each.status)
        is_newer = time is not None and (ended, obj.metadata.uid) < (time, each.metadata.uid)
        doubted -= doubted_by(each.status) if is_newer and _may_replace(each, obj) else frozenset()
    for each in others:
        spoken_for = doubted & _trusted_by(each.status)
        if spoken_for and began_at(each) <= ended:
            topic = min(name for name, _ in spoken_for)
            would = "would count again" if each.status.is_over else "could count"
            return f"without it {each.metadata.name} {would} for topic {topic}"
    return None


def _trusted_by(status: WALVerificationStatus) -> Logs:
    """The topics that it found good, or reads and may yet find so."""
    is_open = not status.is_over and status.outcome not in VERDICTS
    return frozenset((row.name, row.topic_id) for row in status.topics if row.verified or is_open)


def _may_replace(other: WALVerification, obj: WALVerification) -> bool:
    """Whether what the other one found bad is bad for the same WALCluster, and nobody deletes it."""
    return other.metadata.deletion_timestamp is None and cluster_name(other) == cluster_name(obj)
