"""When the size of a topic begins a run.

Such runs are due at whole pauses after the last run, whenever a topic's size is seen to exceed the threshold: so ticks
that see the same begin the same run, and nothing but the last run's time has to be remembered. The pause is openGrace,
which a run needs in any case; it is ten times as long while a run would be, or the last one was, in vain. So a topic
that cannot shrink is tried again now and then, for a flush may help, and not run after run.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from seawall.api.quantity import format_bytes
from seawall.api.v1alpha1.policy import WALPurgePolicySpec
from seawall.domain.ledger.lines import TopicLine
from seawall.domain.ledger.observation import Unavailable
from seawall.domain.ledger.page import LedgerPage
from seawall.domain.ledger.reasons import Reason
from seawall.domain.policy.observed import Observed
from seawall.domain.policy.runs import OwnRuns
from seawall.domain.schedule import Every

IN_VAIN = 10
"""How many times longer the pause is while nothing can be purged."""

_WORTH_A_RUN = frozenset({None, Reason.NOTHING_TO_PURGE})
"""A topic that can be purged, or where a flush may change that; no run helps one that is left alone otherwise."""


@dataclass(frozen=True, slots=True)
class Triggered:
    """A run that a topic's size begins."""

    due: datetime
    why: str


def find_triggered(spec: WALPurgePolicySpec, observed: Observed, own: OwnRuns, since: datetime) -> Triggered | None:
    """The run that is due because a topic is too large; None: none is."""
    worth = [line for line in _exceeding(spec, observed) if line.reason in _WORTH_A_RUN]
    if not worth:
        return None
    purgeable = [line for line in worth if line.reason is None]
    is_in_vain = not purgeable or spec.dry_run or _purged_nothing(own)
    pause = spec.safety.open_grace * (IN_VAIN if is_in_vain else 1)
    due = Every(pause, since).latest(since, observed.now)
    return None if due is None else Triggered(due, _sentence(max(purgeable or worth, key=_size)))


def describe_trigger(spec: WALPurgePolicySpec, observed: Observed) -> str | None:
    """When it begins runs, and what keeps it from doing so; no numbers, which would change all the time."""
    if spec.trigger is None:
        return None
    reported = f"when a topic takes more than {format_bytes(spec.trigger.topic_bytes)} on disk"
    if isinstance(observed.ledger, Unavailable):
        return f"{reported} (sizes are not known now: {observed.ledger.why.value})"
    left_alone = [line for line in _exceeding(spec, observed) if line.reason not in _WORTH_A_RUN]
    if left_alone:
        return f"{reported} ({left_alone[0].name} does, and is left alone: {left_alone[0].reason})"
    return reported


def _exceeding(spec: WALPurgePolicySpec, observed: Observed) -> list[TopicLine]:
    """The policy's topics that take more than the threshold; one of unknown size does not."""
    if spec.trigger is None or not isinstance(observed.ledger, LedgerPage):
        return []
    return [
        line for line in observed.ledger.lines if _size(line) > spec.trigger.topic_bytes and spec.selects(line.name)
    ]


def _purged_nothing(own: OwnRuns) -> bool:
    """Whether the last run that ended, as far as it is kept, was of no use."""
    last = max(own.finished, key=lambda run: run.metadata.creation_timestamp, default=None)
    return last is not None and (last.status.topics is None or last.status.topics.purged == 0)


def _size(line: TopicLine) -> int:
    return line.size_bytes or 0


def _sentence(line: TopicLine) -> str:
    return f"{line.name} takes {_size(line)} bytes on disk"
