"""What is judged at each change beside the invariants that the adversary's referee knows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seawall.api.v1alpha1.reassignment import ReassignmentStage
from seawall.domain.partitions import NO_RATES
from tests.adversary.judge import CHANGES, Violation

if TYPE_CHECKING:  # it imports this module
    from tests.simulation.run import Simulation

MOVES = frozenset({ReassignmentStage.ONGOING, ReassignmentStage.VERIFYING, ReassignmentStage.ABORTING})
"""Stages in which a run may have set a throttle."""


@dataclass
class Checks:
    """Judges calls on the world, as the referee does."""

    sim: Simulation

    def call(self, function: Callable[[], Any], name: str, args: Sequence[Any]) -> Any:
        """One call that changes something, and what it did."""
        before = self._stage()
        try:
            return function()
        finally:
            if name == "set_finalizers":
                _judge_finalizers(*args)
            if before in MOVES:
                self._judge_throttle(name)
            if name not in CHANGES:  # else the referee asks them
                for each in self.sim.day.referee.beside:
                    each(name)

    def _stage(self) -> ReassignmentStage | None:
        found = self.sim.day.found_cluster()
        run = None if found is None else found.status.reassignment
        return None if run is None else run.stage

    def _judge_throttle(self, name: str) -> None:
        """A run that ends leaves no throttle, unless somebody who slept sets it once more meanwhile."""
        day = self.sim.day
        if self._stage() in MOVES or day.damaged_by or self._was_throttled_by_others():
            return
        topics = sorted(day.kafka.topics.items())
        listed = [topic for topic, found in topics if any("throttled" in key for key in found.configs)]
        if listed or day.kafka.moves.rates != NO_RATES:
            raise Violation(f"T: the run ended by {name}, and left {day.kafka.moves.rates} and lists of {listed}")

    def _was_throttled_by_others(self) -> bool:
        record, tick = self.sim.record, self.sim.inside[-1]
        since = range(tick.looks_since, len(record.names))
        return any(record.names[n] == "alter_throttles" and record.ticks[n] is not tick for n in since)


def _judge_finalizers(obj: Any, finalizers: Sequence[str]) -> None:
    """A write of what was read already is the begin of a loop."""
    if list(obj.metadata.finalizers) == list(finalizers):
        raise Violation(f"N: the finalizers of {obj.metadata.name} are set to what they are: {list(finalizers)}")
