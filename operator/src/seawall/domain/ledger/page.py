"""The newest look at a ledger, as people read it: the topics of the pool, one line each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta

from seawall.domain.ledger.ledger import Ledger, plan
from seawall.domain.ledger.lines import TopicLine, topic_lines
from seawall.domain.ledger.observation import Observation
from seawall.domain.ledger.reasons import Reason
from seawall.domain.topic_name import by_number

DISASTERS = frozenset({Reason.LOG_START_BEYOND_REPLAY, Reason.FENCE_BROKEN})


@dataclass(frozen=True, slots=True)
class LedgerPage:
    """All topics of a WALCluster's pool, as one look saw them."""

    lines: tuple[TopicLine, ...]
    observed_at: datetime
    """When the look began: what happened later is not in it."""
    problems: tuple[str, ...] = ()
    """What is wrong with annotations of the WALCluster, or with the records of its logs, one sentence each."""
    record_shards: frozenset[int] = frozenset()
    """The shards of intents and identities that there are."""
    lost_shards: bool = False
    """Whether a shard is gone that was there before."""

    def to_json(self) -> Mapping[str, object]:
        """As the operator serves it."""
        return {
            "lookedAt": self.observed_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "topics": [line_to_json(line) for line in self.lines],
            "problems": self.problems,
        }

    def damaged(self) -> tuple[TopicLine, ...]:
        """Topics whose log is not what the database needs."""
        return tuple(line for line in self.lines if line.reason in DISASTERS)


def build_page(observation: Observation) -> LedgerPage:
    """What a run that begins now would get to, topic by topic."""
    return page_of(observation, plan(observation.assessment.inputs))


def page_of(observation: Observation, ledger: Ledger) -> LedgerPage:
    """The same by a ledger of this look."""
    took = timedelta(milliseconds=observation.read.ended - observation.read.began)
    return LedgerPage(
        build_lines(observation, ledger),
        observation.read.now - took,
        observation.problems(),
        record_shards=observation.shards.written(),
        lost_shards=bool(observation.lost),
    )


def build_lines(observation: Observation, ledger: Ledger) -> tuple[TopicLine, ...]:
    """The topics of the pool by their numbers, by a ledger of this look."""
    lines = sorted(topic_lines(ledger), key=lambda line: by_number(line.name))
    return tuple(_with_finding(observation, line) for line in lines if line.name in observation.topics)


def line_to_json(line: TopicLine) -> Mapping[str, object]:
    """A line as the operator serves it, with what a person can do."""
    return {**asdict(line), "remedy": None if line.reason is None else line.reason.remedy}


def _with_finding(observation: Observation, line: TopicLine) -> TopicLine:
    """What the identity fence found, or which hold cannot be read, says more than the reason."""
    if line.reason is Reason.CONTESTED:
        return replace(line, message=f"{line.message} Found: WALCluster {observation.contender}.")
    if line.reason is Reason.HOLDS_UNREADABLE and observation.holds_problem is not None:
        return replace(line, message=f"{line.message} Found: {observation.holds_problem}.")
    identity = observation.assessment.identities.get(line.name)
    if line.reason is not Reason.FENCE_BROKEN or identity is None or identity.finding is None:
        return line
    said = "" if observation.readopt_problem is None else f" But {observation.readopt_problem}."
    return replace(line, message=f"{line.message} Found: {identity.finding.sentence}.{said}")
