"""What one tick of a roll of datanodes sees, and what it decides, before it is made a step."""

from __future__ import annotations

from dataclasses import dataclass

from seawall.api.v1alpha1.rollout import RestartStatus
from seawall.domain.datanodes.actions import RolloutAction
from seawall.domain.datanodes.facts import Facts
from seawall.domain.decision import Decision
from seawall.domain.rollout.decision import Roll


@dataclass(frozen=True, slots=True)
class Observed:
    """What one tick sees.

    Attributes:
        facts: all of them.
        forbidden: what a PodDisruptionBudget answered to the eviction of this tick, in the API server's sentence.
    """

    facts: Facts
    forbidden: str | None = None


DatanodeRoll = Roll[RestartStatus]
"""The status, and the one datanode that is restarted."""

RollDecision = Decision[RestartStatus, RolloutAction]
"""The status as it should be, with the sentences that it has; if it is so already, what to do."""
