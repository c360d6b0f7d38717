"""What a process remembers of a subscription from one tick to the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from seawall.domain.subscription.beginning import Beginning
from seawall.domain.subscription.brokers import Brokers
from seawall.domain.subscription.case import Silent
from seawall.domain.subscription.committed.chain import Chains
from seawall.domain.subscription.lag import Pending
from seawall.observe.chains import KnownChains
from seawall.observe.old_requests import OldRequests

_FoundT = TypeVar("_FoundT")


@dataclass(slots=True)
class Kept(Generic[_FoundT]):
    """What was found, when (in the stopwatch's milliseconds), and for what it was asked."""

    found: _FoundT | None = None
    at: int = 0
    asked: object = None

    def read(self, ask: Callable[[], _FoundT | Silent], asked: object, now: int, most: int) -> _FoundT | Silent:
        """What is not older than `most`, and was asked for the same; a silence is not kept."""
        if self.found is not None and self.asked == asked and 0 <= now - self.at < most:
            return self.found
        found = ask()
        self.found, self.at, self.asked = None if isinstance(found, Silent) else found, now, asked
        return found


@dataclass(slots=True)
class Memory:
    """What a process that starts anew finds out again.

    Attributes:
        pending: by topic since when the target lacks something.
        beginning: by topic that was never copied what it waits for, and since when.
        leaderless: since when topics have been whose hold is not granted, in the stopwatch's milliseconds.
        configs_at: when the configs of the target's topics were last looked at, in the stopwatch's milliseconds.
        brokers: what was found then of a mirror's brokers.
        tables: the names of tables.
        chains: of a bucket; `known` is what need not be read again.
        old_requests: which of them is looked at next.
    """

    pending: dict[str, Pending] = field(default_factory=dict)
    beginning: dict[str, Beginning] = field(default_factory=dict)
    leaderless: dict[str, int] = field(default_factory=dict)
    configs_at: int | None = None
    brokers: Brokers | None = None
    tables: Kept[Mapping[int, str]] = field(default_factory=Kept)
    chains: Kept[Chains] = field(default_factory=Kept)
    known: KnownChains = field(default_factory=KnownChains)
    old_requests: OldRequests = field(default_factory=OldRequests)
