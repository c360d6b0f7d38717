"""What min.insync.replicas may be beside a number of replicas: the one place of that rule.

Two controllers depend on each other: replicas are the one's, min.insync.replicas is the other's. Both act at the same
time, so neither trusts the order of their calls: while a run may take replicas of a topic away or back, nobody raises
its min.insync.replicas (`Limits`); and right before replicas go it is read again (`why_not_fewer`, `why_not_cancel`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from seawall.api.v1alpha1.reassignment import AbortCause, ReassignmentStage, ReassignmentStatus
from seawall.domain.partitions import Partition, PartitionId, Reassigning


@dataclass(frozen=True, slots=True)
class Limit:
    """What a run lets min.insync.replicas of a topic be.

    Attributes:
        most: it is not raised above this.
        is_lowered: replicas go back, so what is higher is lowered first.
    """

    most: int
    is_lowered: bool

    def forbids(self, now: int | None, wanted: int) -> bool:
        """Whether it must not be set: it would be raised to what writes need of replicas that may go again."""
        return wanted > self.most and (now is None or wanted > now)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run lets min.insync.replicas be, topic by topic.

    Attributes:
        by_topic: of the topics that it gives another number of replicas.
        others: of all others; None: anything, because it takes nothing of them.
    """

    by_topic: Mapping[str, Limit] = field(default_factory=dict)
    others: Limit | None = None

    def of(self, topic: str) -> Limit | None:
        """What it may be of one topic; None: anything."""
        return self.by_topic.get(topic, self.others)


NO_LIMITS = Limits()
"""No run may take replicas away."""


def limit_of(run: ReassignmentStatus | None) -> Limit | None:
    """What a run that is not over lets it be of that of its topics that needs the lowest; None: anything."""
    if run is None or not run.is_active or run.most_min_in_sync_replicas is None:
        return None
    is_lowered = run.stage is ReassignmentStage.ABORTING and run.abort_cause is AbortCause.BY_PERSON
    return Limit(run.most_min_in_sync_replicas, is_lowered)


def most_min_isr(replicas: int) -> int:
    """The highest min.insync.replicas with which one of so many replicas may be down; 1 for a single one."""
    return max(1, replicas - 1)


def required_in_sync(min_isr: int, replicas: int) -> int:
    """What Seawall sets as min.insync.replicas on a topic with so many replicas (`topics.pool.desired_configs`)."""
    return min_isr if min_isr <= most_min_isr(replicas) else 1


def why_not_fewer(found: Partition, goal: Collection[int], min_isr: int | None) -> str | None:
    """Why a partition must not be left with these replicas, which are fewer, in one sentence; None: it may.

    min.insync.replicas is lowered before replicas go, and those that stay must be in sync before the others go.
    """
    topic, name = found.id.topic, f"{found.id.topic}-{found.id.partition}"
    if min_isr is None:
        return f"Kafka has not told min.insync.replicas of {topic} yet"
    if min_isr > most_min_isr(len(goal)):
        return f"min.insync.replicas of {topic} is {min_isr}: it has to be lowered before replicas go"
    in_sync = len(found.isr.intersection(goal)) + len(set(goal) - set(found.replicas))
    if in_sync < max(1, min_isr):
        return f"{name} would have {in_sync} replicas in sync, and needs {max(1, min_isr)}"
    return None


def why_not_cancel(found: Partition, original: Collection[int], min_isr: int | None) -> str | None:
    """Why the move of a partition must not be cancelled now, in one sentence; None: it may.

    What it had before it may have again, even a min.insync.replicas that is as high as its replicas: only that the
    cancellation itself stops writes must not be.
    """
    if min_isr is None:
        return f"Kafka has not told min.insync.replicas of {found.id.topic} yet"
    in_sync = len(found.isr.intersection(original))
    if in_sync < min(min_isr, len(found.isr)):
        name = f"{found.id.topic}-{found.id.partition}"
        return f"min.insync.replicas of {found.id.topic} is {min_isr}, and {name} would have {in_sync} in sync"
    return None


def find_under_min_isr(
    partitions: Iterable[Partition], ongoing: Mapping[PartitionId, Reassigning], min_isr: int
) -> tuple[PartitionId, ...]:
    """Those with fewer replicas in sync than they need for reasons other than a move.

    Of a partition that is moved only the replicas count that it had before: those that come are not in sync yet.
    """
    found = []
    for partition in partitions:
        under_way = ongoing.get(partition.id)
        settled = under_way.original if under_way is not None else frozenset(partition.replicas)
        if partition.leader is None or len(partition.isr) < required_in_sync(min_isr, len(settled)):
            found.append(partition.id)
    return tuple(sorted(found))
