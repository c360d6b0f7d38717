"""Who still needs the topics of a WALCluster that is being deleted: they go only when it is certain that nobody does.

    a person said stop → no KafkaTopic manages any of them
    → the WALHolds can be read and claim none of them → where a database is declared, a look at it:
    its metadata did not go back, no region of them is mapped, reported or tombstoned, none vanished less than one
    openGrace ago

What cannot be read or looked at counts as needed. It is waited for without an end, visibly: unlike an unreachable
Kafka it is a reason to keep the topics *and* the object, and a person who wants neither sets deletionPolicy: Retain.
A hold that is placed after the holds were listed is not granted, because the granter sees that the WALCluster goes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seawall.api.meta import STOP_DELETES_ANNOTATION, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.cluster.observed import Needs
from seawall.domain.cluster.reasons import Reason
from seawall.domain.columns import Mask
from seawall.domain.conditions import Outlook, Verdict
from seawall.domain.ledger import fence
from seawall.domain.ledger.fence import Break, Finding
from seawall.domain.ledger.held import Hold
from seawall.domain.ledger.holds import lowest_claims
from seawall.domain.ledger.observation import Observation, Unavailable
from seawall.domain.sharing import Sharing
from seawall.domain.text import listed
from seawall.domain.times import CLUSTER_RETRY_SECONDS

WAY_OUT = "or set deletionPolicy: Retain to keep the topics"
NO_DATABASE = "remove the database from dataPlane if that database is gone for good"
_LACK_REGIONS = frozenset({Break.DATABASE_CHANGED, Break.METADATA_WENT_BACK, Break.STANDING})
"""With these a region that is not in the metadata may be needed all the same; what was found before may be one of
them."""


def why_needed(cluster: WALCluster, topics: Sequence[str], needs: Needs | None) -> Verdict | None:
    """The first who needs any of these topics, with what to do about it; None: nobody does."""
    if cluster.metadata.stops_deletes:
        return _waits(Reason.DELETES_STOPPED, f"{STOP_DELETES_ANNOTATION} is set: remove it, {WAY_OUT}")
    if needs is None:
        return _waits(Reason.USE_UNKNOWN, "nobody has looked yet whether the topics are still needed")
    claimed = _contended(needs.contender) or _managed(needs.sharing, topics) or _held(needs.holds, topics)
    if claimed is not None or needs.observation is None:
        return claimed
    if isinstance(needs.observation, Unavailable):
        message = f"it cannot be seen whether the database still needs the topics: {needs.observation.message}"
        return _waits(Reason.USE_UNKNOWN, f"{message}; mend that, {NO_DATABASE}, {WAY_OUT}", Outlook.PROGRESSING)
    return _doubted(needs, needs.observation, topics) or _used(needs.observation, topics)


def _contended(contender: Key | str | None) -> Verdict | None:
    if contender is None:
        return None
    if isinstance(contender, str):
        return _waits(Reason.USE_UNKNOWN, f"{contender}: let the operator read them, {WAY_OUT}")
    message = f"WALCluster {contender} claims the same topics and its database may write there: delete it first"
    return _waits(Reason.PREFIX_CONTESTED, f"{message}, {WAY_OUT}")


def _managed(sharing: Sharing | str | None, topics: Sequence[str]) -> Verdict | None:
    if isinstance(sharing, str):
        return _waits(Reason.USE_UNKNOWN, f"a KafkaTopic may manage the topics: {sharing}, {WAY_OUT}")
    why = None if sharing is None else sharing.why_not_ours(topics)
    return None if why is None else _waits(Reason.TOPICS_MANAGED, f"{why}, {WAY_OUT}")


def _held(holds: Sequence[Hold] | str, topics: Sequence[str]) -> Verdict | None:
    if isinstance(holds, str):
        return _waits(Reason.USE_UNKNOWN, f"a WALHold may need the topics: {holds}; mend or delete it, {WAY_OUT}")
    lowest, everything = lowest_claims(holds)
    if everything is not None:
        return _waits(Reason.HELD, f"WALHold {everything} claims all topics: release or delete it, {WAY_OUT}")
    held = [name for name in topics if name in lowest]
    if not held:
        return None
    message = f"WALHold {lowest[held[0]][1]} claims records of {listed(held)}: release or delete it"
    return _waits(Reason.HELD, f"{message}, {WAY_OUT}")


def doubts(needs: Needs) -> dict[str, Finding]:
    """By topic why the database's metadata may lack regions that need it; without a database, there are none.

    A topic that Kafka does not show is in doubt as well, by its record: where that may be old, its id would delete it.
    """
    if not isinstance(needs.observation, Observation):
        return {}
    records = {} if needs.pool is None else needs.pool.records
    standing = {name: found for name, record in records.items() if (found := fence.standing(record)) is not None}
    findings = {**standing, **needs.observation.assessment.memory.findings}
    return {name: finding for name, finding in findings.items() if finding.what in _LACK_REGIONS}


def _doubted(needs: Needs, observation: Observation, topics: Sequence[str]) -> Verdict | None:
    """Metadata of an earlier time lack the regions that were made since, and nothing else tells of them.

    Topics that Kafka does not have any more are not waited for: nothing of them is deleted, by whatever id.
    """
    there = observation.read.logs.keys() | (frozenset(topics) if needs.pool is None else needs.pool.logs.keys())
    found = doubts(needs)
    doubt = next((found[name] for name in topics if name in found and name in there), None)
    if doubt is None:
        return None
    mend = "find out what it was" if doubt.what is Break.STANDING else "bring back those of before"
    message = f"the database's metadata may lack regions that need the topics: {doubt.sentence}; {mend}"
    return _waits(Reason.USE_UNKNOWN, f"{message}, {NO_DATABASE}, {WAY_OUT}")


def _used(observation: Observation, topics: Sequence[str]) -> Verdict | None:
    wanted = frozenset(topics)
    table, recorded, bounds = (
        observation.assessment.table,
        observation.assessment.inputs.topics,
        observation.assessment.inputs.bounds,
    )
    regions = np.bincount(table.regions.topic, minlength=len(table.names))
    rows = [row for row, name in enumerate(table.names) if name in wanted]

    def those(mask: Mask) -> list[str]:
        return [table.names[row] for row in rows if mask[row]]

    if names := those(regions > 0):
        count = int(regions[rows].sum())
        return _in_use(f"{count} regions of the database still write to {listed(names)}: drop their tables")
    if names := [table.names[row] for row in rows if recorded.unmapped[row] is not None]:
        why = next(each for row in rows if (each := recorded.unmapped[row]) is not None)
        return _in_use(f"the database's metadata disagree about the regions of {listed(names)} ({why}): reconcile them")
    if names := those(recorded.vanished):
        return _in_use(f"regions of {listed(names)} vanished less than one openGrace ago and may come back: wait")
    if those(bounds.watched_too_shortly):
        message = "Seawall has watched the database for less than one openGrace: what just vanished may come back: wait"
        return _waits(Reason.USE_UNKNOWN, f"{message}, {WAY_OUT}", Outlook.PROGRESSING)
    return None


def _in_use(message: str) -> Verdict:
    return _waits(Reason.IN_USE, f"{message}, {WAY_OUT}")


def _waits(reason: Reason, message: str, outlook: Outlook = Outlook.STALLED) -> Verdict:
    return Verdict(outlook, reason, message, CLUSTER_RETRY_SECONDS)
