"""Everything that one tick of the restarts looks at."""

from __future__ import annotations

from dataclasses import dataclass

from seawall.domain.failure import Failure
from seawall.domain.rollout.decision import Observed as RollSeen
from seawall.domain.rollout.facts import Facts


@dataclass(frozen=True, slots=True)
class Observed:
    """What one tick sees.

    Attributes:
        facts: what a roll is decided from.
        is_declared: whether the spec names datanodes; None: the spec is invalid, and does not say.
        namespace_terminating: the namespace is being deleted.
        is_settling: this process has begun to look just now, so reports had no time to be seen to advance.
        asked_lately: regions that were asked to flush a moment ago: their reports may not show it yet.
        failure: what the outside answered to the actions of this tick.
        forbidden: what a PodDisruptionBudget answered to the eviction of this tick.
    """

    facts: Facts
    is_declared: bool | None = True
    namespace_terminating: bool = False
    is_settling: bool = False
    asked_lately: frozenset[int] = frozenset()
    failure: Failure | None = None
    forbidden: str | None = None

    @property
    def roll(self) -> RollSeen:
        """What a roll sees of it."""
        return RollSeen(self.facts, self.failure, self.forbidden)

    @property
    def has_failed(self) -> bool:
        """Whether an action of this tick was not done: then nothing more is done in it."""
        return self.failure is not None or self.forbidden is not None
