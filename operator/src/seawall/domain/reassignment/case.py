"""One tick of a run, and what can be decided of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.reassignment import (
    Approval,
    ReassignedPartitions,
    ReassignmentSpec,
    ReassignmentStage,
    ReassignmentStatus,
)
from seawall.domain.reassignment.actions import ReassignmentAction, SetThrottle
from seawall.domain.reassignment.journal import Journal
from seawall.domain.reassignment.observed import KafkaState, Observed
from seawall.domain.reassignment.throttling import rate_in_force, rates_with
from seawall.domain.reassignment.tracker import Direction, MoveTracker, Progress
from seawall.domain.times import REASSIGNMENT_IDLE_SECONDS, REASSIGNMENT_POLL_SECONDS, REASSIGNMENT_WAIT_SECONDS

MAX_MESSAGE = 1024


@dataclass(frozen=True, slots=True)
class Decision:
    """The status as it should be; if it is so already, what to do; and when to look again, in seconds."""

    status: ReassignmentStatus | None
    actions: tuple[ReassignmentAction, ...] = ()
    after: float = REASSIGNMENT_IDLE_SECONDS
    why: str = field(default="nothing to reassign")


@dataclass(frozen=True, slots=True)
class Case:
    """A run that has not ended, its journal, and a look at Kafka."""

    cluster: WALCluster
    spec: ReassignmentSpec
    observed: Observed
    kafka: KafkaState
    journal: Journal
    status: ReassignmentStatus

    @property
    def now(self) -> datetime:
        """The time of this tick."""
        return self.observed.now

    @property
    def is_approved(self) -> bool:
        """Whether a person is not asked, or has answered."""
        return self.spec.approval is Approval.AUTOMATIC or self.cluster.metadata.approves(self.journal.digest)

    @property
    def throttles(self) -> bool:
        """Whether the run may have set a throttle: it is written down before."""
        return bool(self.status.rates_set)

    def tracker(self, direction: Direction) -> MoveTracker:
        """How far each partition is."""
        refused = frozenset((row.topic, row.partition) for row in self.status.refused)
        ids = frozenset(move.id for move in self.journal.moves if move.id in refused)
        return MoveTracker(self.journal, self.kafka, direction, ids)

    def stays(self, message: str, after: float = REASSIGNMENT_WAIT_SECONDS, *actions: ReassignmentAction) -> Decision:
        """The stage goes on."""
        return Decision(self.status.model_copy(update={"message": message[:MAX_MESSAGE]}), actions, after, message)

    def throttles_at(self, rate: int, message: str, action: SetThrottle) -> Decision:
        """The throttle is set, once the status has the rate: whose a rate is must be known after a death, too."""
        update = {"message": message[:MAX_MESSAGE], "rates_set": rates_with(self.status, rate)}
        return Decision(self.status.model_copy(update=update), (action,), REASSIGNMENT_POLL_SECONDS, message)

    def enters(self, stage: ReassignmentStage, message: str, **update: object) -> Decision:
        """The next stage begins."""
        reported = {"stage": stage, "stage_time": self.now, "progress_time": self.now, "message": message[:MAX_MESSAGE]}
        return Decision(self.status.model_copy(update={**reported, **update}), (), 0.0, message)

    def with_numbers(self, decision: Decision, tracker: MoveTracker) -> Decision:
        """The decision with the numbers of this look."""
        if decision.status is None:
            return decision
        update = {
            "partitions": count_partitions(tracker),
            "bytes_left": tracker.bytes_left,
            "throttle_bytes_per_second": rate_in_force(self.kafka, self.journal),
        }
        status = decision.status.model_copy(update=update)
        return Decision(status, decision.actions, decision.after, decision.why)


def count_partitions(tracker: MoveTracker) -> ReassignedPartitions:
    """Partitions by what became of them."""
    return ReassignedPartitions(
        total=len(tracker.journal.moves),
        done=tracker.count(Progress.DONE),
        in_flight=tracker.count(Progress.IN_FLIGHT, Progress.TO_CANCEL),
        failed=tracker.count(Progress.REFUSED),
        left_alone=tracker.count(Progress.LEFT_ALONE),
    )
