"""What a run that begins now would do, by the same plan as the run: nothing is recorded and nothing done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from seawall.api.v1alpha1.purge import AskedRegion, WALPurgeSpec, WALPurgeStatus
from seawall.domain.ledger.observation import Observation
from seawall.domain.ledger.page import TopicLine, build_lines, line_to_json
from seawall.domain.purge.state import RunState, candidates


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """The topics that a run would look at, and the regions that it would ask to flush first: then more may go."""

    lines: tuple[TopicLine, ...]
    flushes: tuple[AskedRegion, ...]

    def to_json(self) -> Mapping[str, object]:
        """As the operator serves it."""
        return {
            "topics": [line_to_json(line) for line in self.lines],
            "flushes": [each.model_dump(by_alias=True) for each in self.flushes],
        }


def plan_run(observation: Observation, spec: WALPurgeSpec) -> PlannedRun:
    """What a run of this spec would do; the look must have counted it among the policies."""
    state = RunState.of(observation, spec, WALPurgeStatus())
    lines = tuple(line for line in build_lines(observation, state.planned) if line.name in state.rows)
    return PlannedRun(lines, candidates(state, spec))
