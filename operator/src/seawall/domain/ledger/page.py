"""The newest look at a ledger, as people read it: the topics of the pool, one line each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta

from seawall.domain.ledger.ledger import Ledger, plan
from seawall.domain.ledger.lines import TopicLine, topic_lines
from seawall.domain.ledger.looked import Looked
from seawall.domain.ledger.reasons import Reason
from seawall.domain.topic_name import by_number

DISASTERS = frozenset({Reason.LOG_START_BEYOND_REPLAY, Reason.FENCE_BROKEN})


@dataclass(frozen=True, slots=True)
class LedgerPage:
    """All topics of a WALCluster's pool, as one look saw them."""

    lines: tuple[TopicLine, ...]
    looked_at: datetime
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
            "lookedAt": self.looked_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "topics": [line_to_json(line) for line in self.lines],
            "problems": self.problems,
        }

    def damaged(self) -> tuple[TopicLine, ...]:
        """Topics whose log is not what the database needs."""
        return tuple(line for line in self.lines if line.reason in DISASTERS)


def build_page(looked: Looked) -> LedgerPage:
    """What a run that begins now would get to, topic by topic."""
    return page_of(looked, plan(looked.look.inputs))


def page_of(looked: Looked, ledger: Ledger) -> LedgerPage:
    """The same by a ledger of this look."""
    took = timedelta(milliseconds=looked.read.ended - looked.read.began)
    return LedgerPage(
        build_lines(looked, ledger),
        looked.read.now - took,
        looked.problems(),
        record_shards=looked.shards.written(),
        lost_shards=bool(looked.lost),
    )


def build_lines(looked: Looked, ledger: Ledger) -> tuple[TopicLine, ...]:
    """The topics of the pool by their numbers, by a ledger of this look."""
    lines = sorted(topic_lines(ledger), key=lambda line: by_number(line.name))
    return tuple(_with_finding(looked, line) for line in lines if line.name in looked.topics)


def line_to_json(line: TopicLine) -> Mapping[str, object]:
    """A line as the operator serves it, with what a person can do."""
    return {**asdict(line), "remedy": None if line.reason is None else line.reason.remedy}


def _with_finding(looked: Looked, line: TopicLine) -> TopicLine:
    """What the identity fence found, or which hold cannot be read, says more than the reason."""
    if line.reason is Reason.CONTESTED:
        return replace(line, message=f"{line.message} Found: WALCluster {looked.contender}.")
    if line.reason is Reason.HOLDS_UNREADABLE and looked.holds_problem is not None:
        return replace(line, message=f"{line.message} Found: {looked.holds_problem}.")
    identity = looked.look.identities.get(line.name)
    if line.reason is not Reason.FENCE_BROKEN or identity is None or identity.finding is None:
        return line
    said = "" if looked.readopt_problem is None else f" But {looked.readopt_problem}."
    return replace(line, message=f"{line.message} Found: {identity.finding.sentence}.{said}")
