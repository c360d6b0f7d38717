"""Eligible leader replicas (KIP-966), as Kafka's controller remembers them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class InSync:
    """A partition as the controller recorded it last.

    Attributes:
        isr: who was in sync.
        eligible: who was in sync when it left, and left when no more were in sync than min.insync.replicas wants.
    """

    isr: frozenset[int]
    eligible: frozenset[int] = frozenset()

    def becomes(self, isr: Collection[int], replicas: Collection[int], min_isr: int) -> InSync:
        """As it is when these are in sync: first the new ones came, then the others went, one after another.

        Kafka may have heard of them in another order: then others are eligible, but no fewer.
        """
        steps = [self.isr | set(isr)]
        for leaving in sorted(self.isr - set(isr), reverse=True):
            steps.append(steps[-1] - {leaving})
        found, enough = self, min(min_isr, len(replicas))
        for step in steps:
            eligible = frozenset() if len(step) >= enough else (found.eligible | found.isr) - step
            found = InSync(step, eligible & set(replicas))
        return found
