"""The gate: whether a datanode may be restarted now. One predicate for each reason, in the order in which it is asked.

A predicate says what is against it as a clause, or None. What is not known is against it. Two more laws hold, and are
tested as properties: a fact that gets worse never opens the gate, and the first predicate that holds gives the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from seawall.api.duration import format_duration
from seawall.api.v1alpha1.rollout import MeasuredReplay
from seawall.domain.datanodes.facts import Datanode, Facts, TopicFacts
from seawall.domain.datanodes.replay import replay_seconds
from seawall.domain.rollout.refusal import Refusal, first_few, first_if_passed, first_that_counts, refusals
from seawall.domain.rollout_reasons import OVERRIDABLE, Blocker


@dataclass(frozen=True, slots=True)
class Candidate:
    """The datanode in question, with what is known."""

    name: str
    """Of its pod."""
    facts: Facts
    measured: MeasuredReplay | None = None

    @property
    def datanode(self) -> Datanode | None:
        """What the database says of it."""
        return self.facts.datanodes.get(self.name)

    @property
    def is_ready(self) -> bool:
        """Whether its process is there for sure."""
        pod = self.facts.pod(self.name)
        return pod is not None and pod.ready

    @property
    def topics(self) -> tuple[TopicFacts, ...]:
        """The topics that it would replay."""
        return () if self.datanode is None else self.datanode.topics


def _is_paused(asked: Candidate) -> str | None:
    return "" if asked.facts.is_paused else None


def _kafka_is_silent(asked: Candidate) -> str | None:
    return asked.facts.kafka_problem


def _datanode_is_unknown(asked: Candidate) -> str | None:
    datanode = asked.datanode
    if datanode is None:
        return (
            asked.name
            if asked.facts.observation_problem is None
            else f"{asked.name}: {asked.facts.observation_problem}"
        )
    if datanode.epoch is None and not datanode.regions and asked.is_ready:  # of one with regions, they are unknown
        return f"{asked.name}: it has not reported yet"
    unmapped = [region.region for region in datanode.regions if region.reads_from is None]
    known = {topic.name for topic in datanode.topics}
    unmapped += [region.region for region in datanode.regions if region.topic not in known]
    return f"{asked.name}: where region {min(unmapped)} begins to read" if unmapped else None


def _is_not_in_sync(asked: Candidate) -> str | None:
    behind = [topic for topic in asked.topics if topic.replicas == 0 or topic.in_sync < topic.replicas]
    return first_few(f"{topic.name} has {topic.in_sync} of {topic.replicas}" for topic in behind)


def _wal_is_not_intact(asked: Candidate) -> str | None:
    return asked.facts.wal_problem


def _log_starts_too_late(asked: Candidate) -> str | None:
    datanode = asked.datanode
    starts = {topic.name: topic.log_start for topic in asked.topics}
    for region in () if datanode is None else datanode.regions:
        start = starts.get(region.topic)
        if start is None:
            return f"where {region.topic} starts is not known"
        if region.reads_from is not None and start > region.reads_from:
            return f"{region.topic} starts at {start}, region {region.region} reads from {region.reads_from}"
    return None


def _is_moving(asked: Candidate) -> str | None:
    return first_few(topic.name for topic in asked.topics if topic.is_moving)


def _is_cut(asked: Candidate) -> str | None:
    found, why = first_few(topic.name for topic in asked.topics if topic.is_cut), asked.facts.paused_run
    return found if found is None or why is None else f"{found}; {why}"


def _another_is_down(asked: Candidate) -> str | None:
    return first_few(asked.facts.down(besides=asked.name))


def _has_bad_record(asked: Candidate) -> str | None:
    found = asked.facts.bad_records.get(asked.name)
    return None if found is None else f"offset {found.offset} of {found.topic}: {found.what}"


def _replays_too_long(asked: Candidate) -> str | None:
    budget = asked.facts.limits.replay_budget
    seconds = None if asked.datanode is None else replay_seconds(asked.datanode, asked.measured)
    if seconds is None:
        return f"how much {asked.name} would read is not known"
    if seconds <= budget.total_seconds():
        return None
    entries = "" if asked.datanode is None or asked.datanode.entries is None else f"{asked.datanode.entries} entries, "
    return f"{asked.name}: {entries}about {seconds} s of {format_duration(budget)}"


Predicate = Callable[[Candidate], str | None]

GATE: Mapping[Blocker, Predicate] = MappingProxyType(
    {
        Blocker.PAUSED: _is_paused,
        Blocker.KAFKA_UNREACHABLE: _kafka_is_silent,
        Blocker.DATANODE_UNKNOWN: _datanode_is_unknown,
        Blocker.NOT_FULLY_IN_SYNC: _is_not_in_sync,
        Blocker.WAL_NOT_INTACT: _wal_is_not_intact,
        Blocker.LOG_START_BEYOND_REPLAY: _log_starts_too_late,
        Blocker.REASSIGNMENT: _is_moving,
        Blocker.DELETE_ONGOING: _is_cut,
        Blocker.ANOTHER_DOWN: _another_is_down,
        Blocker.BAD_RECORD: _has_bad_record,
        Blocker.REPLAY_TOO_LONG: _replays_too_long,
    }
)
"""Every reason has its predicate, in the order of the reasons."""


def against(asked: Candidate) -> tuple[Refusal, ...]:
    """All that is against a restart, in the order of the gate, whoever lets it through."""
    return refusals(GATE, asked)


def refusal(asked: Candidate, *, but: frozenset[Blocker] = frozenset()) -> Refusal | None:
    """The first that is against a restart and that nobody lets through; None: the gate is open.

    Args:
        asked: the datanode.
        but: reasons that do not count now.
    """
    passed = but if asked.facts.override is None else but | OVERRIDABLE
    return first_that_counts(against(asked), passed)


def let_through(asked: Candidate) -> Refusal | None:
    """What would shut the gate if nobody had let it through; None: nothing, or nobody did."""
    return None if asked.facts.override is None else first_if_passed(against(asked), OVERRIDABLE)
