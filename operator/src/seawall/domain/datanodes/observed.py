"""Everything that one tick of the restarts looks at."""

from __future__ import annotations

from dataclasses import dataclass

from seawall.domain.datanodes.decision import Observed as RollObserved
from seawall.domain.datanodes.facts import Facts


@dataclass(frozen=True, slots=True)
class Observed:
    """What one tick sees.

    Attributes:
        facts: what a roll is decided from.
        is_declared: whether the spec names datanodes; None: the spec is invalid, and does not say.
        namespace_terminating: the namespace is being deleted.
        is_settling: this process has begun to look just now, so reports had no time to be seen to advance.
        asked_lately: regions that were asked to flush a moment ago: their reports may not show it yet.
        forbidden: what a PodDisruptionBudget answered to the eviction of this tick.
    """

    facts: Facts
    is_declared: bool | None = True
    namespace_terminating: bool = False
    is_settling: bool = False
    asked_lately: frozenset[int] = frozenset()
    forbidden: str | None = None

    @property
    def roll(self) -> RollObserved:
        """What a roll sees of it."""
        return RollObserved(self.facts, self.forbidden)
