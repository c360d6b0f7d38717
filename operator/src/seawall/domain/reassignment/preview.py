"""What a run moves, or would move if it began now, for `seawall plan`: nothing is recorded and nothing done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.reassignment import ReassignmentSpec
from seawall.domain.kafka import by_number
from seawall.domain.reassignment.journal import Journal, PlannedMove
from seawall.domain.reassignment.observed import Observed
from seawall.domain.reassignment.planning import CannotPlan
from seawall.domain.reassignment.throttling import estimate_seconds

AS_DECLARED = "nothing to move: replicas are where they should be"
FOREIGN = "somebody else moves these partitions: it is planned when that has ended"
NOT_YET = "not begun: what would be planned now"


@dataclass(frozen=True, slots=True)
class PlannedReassignment:
    """A plan as people see it.

    Attributes:
        stage: of the run; None: there is none under way.
        digest: what an approval must name; None: the plan is not frozen yet.
        message: how far the run is, or why there is nothing to show.
        journal: the moves; None: there are none.
        throttle: bytes a second of each broker, as declared now.
    """

    stage: str | None
    digest: str | None
    message: str
    journal: Journal | None
    throttle: int

    def to_json(self) -> Mapping[str, object]:
        """As the operator serves it; moves are by the number of their topic."""
        journal = self.journal
        moves = () if journal is None else journal.moves
        return {
            "stage": self.stage,
            "digest": self.digest,
            "message": self.message,
            "why": [] if journal is None else list(journal.why),
            "copies": 0 if journal is None else sum(len(move.adding) for move in journal.moves),
            "bytes": 0 if journal is None else journal.copied,
            "throttle_bytes_per_second": self.throttle,
            "estimated_seconds": 0 if journal is None else estimate_seconds(journal, self.throttle),
            "moves": [_line(move) for move in sorted(moves, key=lambda move: (by_number(move.id.topic), move.id))],
        }


def preview(cluster: WALCluster, spec: ReassignmentSpec, observed: Observed) -> PlannedReassignment | str:
    """The run under way, or what one that begins now would do; a sentence: why nobody can tell."""
    throttle, run, kafka = spec.throttle_bytes_per_second, cluster.status.reassignment, observed.kafka
    if run is not None and run.stage is not None and run.is_active:
        found = observed.journal.readable
        return PlannedReassignment(run.stage.value, run.digest, run.message, found, throttle)
    if isinstance(kafka, str):
        return kafka
    match observed.plan:
        case Journal() as journal:
            return PlannedReassignment(None, None, NOT_YET, journal, throttle)
        case CannotPlan(message):
            return PlannedReassignment(None, None, message, None, throttle)
        case None:
            is_foreign = any(found in kafka.partitions for found in kafka.ongoing)
            return PlannedReassignment(None, None, FOREIGN if is_foreign else AS_DECLARED, None, throttle)


def _line(move: PlannedMove) -> Mapping[str, object]:
    return {
        "topic": move.id.topic,
        "partition": move.id.partition,
        "original": list(move.original),
        "wanted": list(move.wanted),
        "bytes": move.copied,
    }
