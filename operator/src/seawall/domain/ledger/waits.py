"""For how long is waited of each topic, as its policy says; one without a policy has the default times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

import numpy as np

from seawall.domain.columns import Numbers
from seawall.domain.ledger.policy import EffectivePolicy, Policy, Safety, effective_policy


@dataclass(frozen=True, slots=True, eq=False)
class Waits:
    """One row for each topic, in milliseconds."""

    policies: Mapping[str, EffectivePolicy]
    """By topic; one without any has none."""
    stale_after: Numbers
    open_grace: Numbers

    @property
    def shortest_grace(self) -> int:
        """Of all topics; never longer than the default."""
        return int(self.open_grace.min(initial=_milliseconds(Safety().open_grace)))

    @property
    def longest_grace(self) -> int:
        """Of all topics; of none 0."""
        return int(self.open_grace.max(initial=0))


def waits_of(names: tuple[str, ...], policies: tuple[Policy, ...]) -> Waits:
    """Those of the topics of a pool."""
    found = ((name, effective_policy(name, policies)) for name in names)
    by_topic = {name: policy for name, policy in found if policy is not None}
    safeties = [by_topic[name].safety if name in by_topic else Safety() for name in names]
    stale = np.fromiter((_milliseconds(safety.stale_after) for safety in safeties), np.int64, count=len(names))
    grace = np.fromiter((_milliseconds(safety.open_grace) for safety in safeties), np.int64, count=len(names))
    return Waits(by_topic, stale, grace)


def _milliseconds(duration: timedelta) -> int:
    return duration // timedelta(milliseconds=1)
