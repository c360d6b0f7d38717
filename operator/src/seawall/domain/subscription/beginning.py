"""Topics that are about to be copied: the run that is made for some of them would be ended for the others.

Each topic of the target is made, gets a leader, and is heard of by one broker after another: of one that takes
moments, and of another seconds. A run takes longer to start than that. So another run begins with all of them, but
waits for none longer than it takes to start: one that has no leader, or is not held, keeps no other from being copied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from seawall.domain.subscription.case import Case, SubscriptionDecision
from seawall.domain.subscription.copies import not_begun
from seawall.domain.subscription.logs import LogsNow
from seawall.domain.subscription.reasons import Reason
from seawall.domain.subscription.targets import held_from
from seawall.domain.text import listed
from seawall.domain.times import SUBSCRIPTION_BEGINS_TOGETHER_SECONDS


class Awaits(IntEnum):
    """What a topic waits for that was never copied, in this order; each takes its own time."""

    HOLD = 1
    TOPIC = 2
    ENDS = 3


@dataclass(frozen=True, slots=True)
class Beginning:
    """What a topic waits for, and since when, in the stopwatch's milliseconds.

    What it has waited for once it waits for no more: a ledger that comes and goes would begin that anew for ever.
    """

    awaits: Awaits
    since: int


def advance(before: Mapping[str, Beginning], case: Case, now: int) -> dict[str, Beginning]:
    """By topic that is meant, and was never copied, what it waits for now.

    A process that starts anew knows nothing of before: it waits once more.
    """
    names = not_begun(case)
    held = held_from(case) if names else {}
    found = {name: _awaits(case, name, is_held=name in held) for name in names}
    return {name: _since(before.get(name), awaits, now) for name, awaits in found.items()}


def _awaits(case: Case, name: str, *, is_held: bool) -> Awaits:
    target = case.observed.target
    if not is_held:
        return Awaits.HOLD
    is_there = target is None or (isinstance(target, LogsNow) and not target.is_absent(name))
    return Awaits.ENDS if is_there else Awaits.TOPIC


def _since(before: Beginning | None, awaits: Awaits, now: int) -> Beginning:
    return before if before is not None and awaits <= before.awaits else Beginning(awaits, now)


def seconds_of(beginning: Mapping[str, Beginning], now: int) -> dict[str, int]:
    """By topic for how long it has waited for the same, in whole seconds."""
    return {name: max(0, now - each.since) // 1000 for name, each in beginning.items()}


def wait_for_others(case: Case) -> SubscriptionDecision | None:
    """Another run waits for the topics that are about to begin; None: there are none."""
    waiting = case.observed.seconds_beginning.items()
    soon = [name for name, seconds in waiting if seconds < SUBSCRIPTION_BEGINS_TOGETHER_SECONDS]
    if not soon:
        return None
    return case.stays(case.goes_on(Reason.MAKING_TOPICS, f"another run waits a moment for {listed(soon)}"))
