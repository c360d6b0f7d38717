"""Whether the topics of a WALCluster that is being deleted are still those that were decided to go.

    the topics and their records can be read → each log is the recorded one → decided (`going.py`)
    → nobody needs them (`needed.py`) → nobody wrote to them since

Nobody wrote: the log ends where it ended when it was decided. Where a database is declared, that may have written until
its tables were dropped; there the log ends where it ended when the database was asked, right before.

What differs stops the deletion of the whole pool: the decision is an old one then, and so it may be for the others.
"""

from __future__ import annotations

from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.cluster.going import PoolNow, decided
from seawall.domain.cluster.needed import WAY_OUT as RETAIN
from seawall.domain.cluster.reasons import Reason
from seawall.domain.conditions import Outlook, Verdict
from seawall.domain.ledger.observation import Observation, Unavailable
from seawall.domain.times import CLUSTER_RETRY_SECONDS

NOT_OBSERVED = Verdict(
    Outlook.PROGRESSING, Reason.USE_UNKNOWN, "nobody has looked yet at the topics", CLUSTER_RETRY_SECONDS
)


def why_unclear(pool: PoolNow) -> Verdict | None:
    """What cannot be read of the topics."""
    if not pool.unclear:
        return None
    name, sentence = next(iter(pool.unclear.items()))
    message = f"it cannot be seen whether topic {name} is the one that is to go: {sentence}; mend that, {RETAIN}"
    return Verdict(Outlook.PROGRESSING, Reason.USE_UNKNOWN, message, CLUSTER_RETRY_SECONDS)


def why_remade(cluster: WALCluster, pool: PoolNow) -> Verdict | None:
    """The first topic that is another one than is recorded, or was made since the deletion was decided."""
    for name, log in pool.logs.items():
        record = pool.records.get(name)
        if record is not None and record.topic_id != log.topic_id:
            return _changed(f"topic {name} was made anew: its id is {log.topic_id} and was {record.topic_id}")
        if cluster.status.deletion is not None and decided(cluster, record) is None:
            return _changed(f"topic {name} was made since this deletion was decided")
    return None


def why_written(cluster: WALCluster, pool: PoolNow, observation: Observation | Unavailable | None) -> Verdict | None:
    """The first topic that somebody wrote to since its log was decided to go; see above for databases."""
    for name, log in pool.logs.items():
        then, now = _end_then(cluster, pool, observation, name), log.offsets.high_watermark
        if then is not None and then != now:
            return _changed(f"somebody writes to topic {name}: it ended at {then} and ends at {now}")
    return None


def _end_then(
    cluster: WALCluster, pool: PoolNow, observation: Observation | Unavailable | None, name: str
) -> int | None:
    if isinstance(observation, Observation):
        log = observation.read.logs.get(name)
        return None if log is None else log.high_watermark
    going = decided(cluster, pool.records.get(name))
    return None if going is None else going.end


def _changed(what: str) -> Verdict:
    return Verdict(
        Outlook.STALLED,
        Reason.TOPICS_CHANGED,
        f"{what}; nothing is deleted: if nobody needs the topics delete them by hand, {RETAIN}",
    )
