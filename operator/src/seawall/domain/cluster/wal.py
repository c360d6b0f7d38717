"""What a WALCluster's status says of its WAL, from the newest look at the ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from seawall.api.meta import Condition, ConditionType, InvalidSpec
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus, WALStatus
from seawall.domain.cluster.observed import Observed
from seawall.domain.cluster.reasons import Reason
from seawall.domain.conditions import find_condition, loss_event
from seawall.domain.ledger.lines import TopicLine
from seawall.domain.ledger.observation import Unavailable
from seawall.domain.ledger.page import LedgerPage
from seawall.domain.ledger.reasons import Reason as Against
from seawall.domain.step import Event
from seawall.domain.text import listed

KIND = ConditionType.WAL_INTACT
NOTICEABLE = 0.05
"""Bytes that changed by less than this share are not written: the status would change at every look."""


def wal_conditions(cluster: WALCluster, observed: Observed, build: Callable[..., Condition]) -> tuple[Condition, ...]:
    """The condition WALIntact, or none where there is no database to ask. False is a disaster, said first.

    A lost topic is one also where no database is declared: its record says that one wrote there.
    """
    before = find_condition(cluster.status.conditions, KIND)
    if observed.missing is not None and observed.missing.lost:
        return (build(KIND, "False", Reason.TOPIC_LOST, observed.missing.lost_sentence()),)
    if observed.missing is None and before is not None and before.reason == Reason.TOPIC_LOST:
        return (before,)
    return _of_ledger(cluster, observed, before, build)


def _of_ledger(
    cluster: WALCluster, observed: Observed, before: Condition | None, build: Callable[..., Condition]
) -> tuple[Condition, ...]:
    if isinstance(cluster.spec, InvalidSpec) or cluster.spec.greptimedb is None:
        return ()
    match observed.ledger:
        case LedgerPage() as page if damaged := page.damaged():
            disaster = _disaster(damaged)
            more = (problem for problem in page.problems if problem not in disaster)
            return (build(KIND, "False", str(damaged[0].reason), "; ".join((disaster, *more))),)
        case LedgerPage() as page:
            message = f"no region of {len(page.lines)} topics needs records that are gone"
            return (build(KIND, "True", Reason.INTACT, "; ".join((message, *page.problems))),)
        case Unavailable(why, message):
            return (build(KIND, "Unknown", why.value, message),)
        case None:
            is_of_ledger = before is not None and before.reason != Reason.TOPIC_LOST
            if before is not None and is_of_ledger and before.observed_generation == cluster.metadata.generation:
                return (before,)
            return (build(KIND, "Unknown", Reason.NOT_ASKED, "the first look at the ledger has not ended yet"),)


def wal_status(cluster: WALCluster, observed: Observed) -> WALStatus | None:
    """The numbers of the newest look that succeeded; those before, while they are about the same."""
    if isinstance(cluster.spec, InvalidSpec):
        return cluster.status.wal
    if cluster.spec.greptimedb is None:
        return _only_shards(cluster.status.wal)
    page, before = observed.ledger, cluster.status.wal
    if not isinstance(page, LedgerPage):
        return before
    now = WALStatus(
        topics=len(page.lines),
        purgeable=sum(1 for line in page.lines if line.purge_to is not None),
        held_back=sum(1 for line in page.lines if line.reason not in {None, Against.NOTHING_TO_PURGE}),
        bytes=_sum(line.size_bytes for line in page.lines),
        purgeable_bytes=_sum(line.bytes_to_purge for line in page.lines if line.purge_to is not None),
        record_shards=tuple(sorted({*page.record_shards, *(before.record_shards if before is not None else ())})),
    )
    return before if before is not None and _is_about_the_same(before, now) else now


def _only_shards(before: WALStatus | None) -> WALStatus | None:
    """Which records there are outlives the declaration of the database: they guard the logs, whoever writes them."""
    if before is None or not before.record_shards:
        return None
    return WALStatus(topics=0, purgeable=0, held_back=0, record_shards=before.record_shards)


def _disaster(damaged: Sequence[TopicLine]) -> str:
    first = damaged[0]
    names, remedy = listed([line.name for line in damaged]), first.reason.remedy if first.reason else ""
    return f"{names}: {first.message} {remedy}"


def wal_event(cluster: WALCluster, status: WALClusterStatus) -> Event | None:
    """One event when the WAL is damaged, or is whole again."""
    return loss_event(cluster.status.conditions, status.conditions, KIND, "the WAL is whole again")


def _sum(sizes: Iterable[int | None]) -> int | None:
    """None if any is unknown."""
    listed_sizes = list(sizes)
    known = [size for size in listed_sizes if size is not None]
    return sum(known) if len(known) == len(listed_sizes) else None


def _is_about_the_same(before: WALStatus, now: WALStatus) -> bool:
    if (before.topics, before.purgeable, before.held_back) != (now.topics, now.purgeable, now.held_back):
        return False
    if before.record_shards != now.record_shards:
        return False
    pairs = ((before.bytes, now.bytes), (before.purgeable_bytes, now.purgeable_bytes))
    return all(
        old == new or (old is not None and new is not None and abs(new - old) < NOTICEABLE * max(old, new))
        for old, new in pairs
    )
