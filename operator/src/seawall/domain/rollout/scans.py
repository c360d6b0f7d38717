"""Records that would crash the database's reader, as replay verifications found them: the scan of the replay range.

A finding counts while the log is the one that was read, and while a restart would still read it. The newest one of a
datanode is not better than an older one: a record that was bad stays bad until nobody reads it any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from seawall.api.v1alpha1.wal_verification import Finding, WALVerification
from seawall.domain.rollout.facts import BadRecord, Datanode

CRASHES = frozenset({"MissingKey", "UndecodableKey", "UndecodableEntry", "PartsDoNotJoin"})
"""Kinds of findings at which the database's reader ends; it does not notice the others."""


def bad_records(
    verifications: Iterable[WALVerification], topic_ids: Mapping[str, str], datanodes: Mapping[str, Datanode]
) -> dict[str, BadRecord]:
    """By the name of the pod the first bad record that its datanode would read.

    Args:
        verifications: of the WALCluster, in any order.
        topic_ids: by topic the id that it has now.
        datanodes: by the name of the pod.
    """
    findings = [finding for each in verifications for finding in _of_this_log(each, topic_ids)]
    found: dict[str, BadRecord] = {}
    for name, datanode in datanodes.items():
        mine = [record for finding in findings if (record := _read_by(datanode, finding)) is not None]
        if mine:
            found[name] = min(mine, key=lambda record: (record.topic, record.offset))
    return found


def _of_this_log(verification: WALVerification, topic_ids: Mapping[str, str]) -> list[Finding]:
    if not verification.status.is_over:
        return []
    read = {row.name for row in verification.status.topics if topic_ids.get(row.name) == row.topic_id}
    return [each for each in verification.status.findings if each.kind in CRASHES and each.topic in read]


def _read_by(datanode: Datanode, finding: Finding) -> BadRecord | None:
    """A finding that names a region crashes only who replays that one; where a region begins to read may be unknown."""
    if finding.topic is None or finding.offset is None:
        return None
    regions = [region for region in datanode.regions if region.topic == finding.topic]
    if finding.region is not None:
        regions = [region for region in regions if region.region == int(finding.region)]
    if all(region.reads_from is not None and region.reads_from > finding.offset for region in regions):
        return None
    return BadRecord(finding.topic, finding.offset, finding.message)
