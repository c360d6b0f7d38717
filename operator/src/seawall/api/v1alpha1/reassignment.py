"""How the replicas of a WALCluster's partitions are moved: what a person may say of it, and how far a run is."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from seawall.api.meta import MAX_INT32, MAX_REBALANCE, APIModel, Rule, StatusModel
from seawall.api.quantity import MI, LargeBytes, bytes_rule
from seawall.api.stretch import Stretch

MAX_RATE = 10**12
"""Bytes a second that no network carries."""
LEAST_RATE = 1024
"""Kafka's throttle works in windows of a second: below this a large batch would never fit."""
MAX_REFUSED = 50


class Approval(StrEnum):
    """Who lets a planned reassignment begin."""

    AUTOMATIC = "Automatic"
    """It begins by itself."""
    MANUAL = "Manual"
    """It waits for the annotation seawall.dev/approve-reassignment with the digest of the plan."""


class Rebalance(StrEnum):
    """When replicas move that could stay, to make the brokers' loads even."""

    NEVER = "Never"
    """Only when the annotation seawall.dev/rebalance gets a new value."""
    ON_EXPANSION = "OnExpansion"
    """Also when a broker that is online has no replica of these topics, and an equal share would be one or more."""


class Racks(StrEnum):
    """How replicas of a partition are spread over the brokers' racks (`broker.rack`)."""

    PREFERRED = "Preferred"
    """As far as possible."""
    REQUIRED = "Required"
    """Each in a rack of its own: those that are not are moved, and more replicas than racks are refused."""


class ReassignmentSpec(APIModel):
    """How replicas are moved when what is declared needs it."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        bytes_rule("throttleBytesPerSecond", MAX_RATE),
        Rule(
            "!has(self.throttleBytesPerSecond)"
            " || !quantity(string(self.throttleBytesPerSecond)).isLessThan(quantity('1Ki'))",
            "throttleBytesPerSecond must be at least 1Ki: a slower move never ends",
            lambda spec: spec.throttle_bytes_per_second >= LEAST_RATE,
        ),
        Rule(
            "!has(self.throttleBytesPerSecond)"
            f" || !quantity(string(self.throttleBytesPerSecond)).isGreaterThan(quantity('{MAX_RATE}'))",
            f"throttleBytesPerSecond must be at most {MAX_RATE} bytes",
            lambda spec: spec.throttle_bytes_per_second <= MAX_RATE,
        ),
        Rule(
            "!has(self.excludeBrokers) || self.excludeBrokers.all(id, self.excludeBrokers.exists_one(one, one == id))",
            "excludeBrokers names each broker once",
            lambda spec: len(set(spec.exclude_brokers)) == len(spec.exclude_brokers),
        ),
    )

    throttle_bytes_per_second: Annotated[LargeBytes, Field(json_schema_extra={"default": "50Mi"})] = 50 * MI
    """Bytes a second that each broker sends and fetches for replicas that are moved. It may be edited in mid-move.
    Below what the database writes, a move never ends."""
    max_concurrent_partitions: Annotated[int, Field(strict=True, ge=1, le=1000)] = 10
    """How many partitions are on their way at the same time: the budget of what a move costs writes. A produce with
    acks=all may wait up to the brokers' replica.fetch.wait.max.ms when a throttled partition comes into sync; with 1
    few do."""
    approval: Approval = Approval.AUTOMATIC
    """Whether a plan begins by itself, or waits for a person."""
    rebalance: Rebalance = Rebalance.NEVER
    """When replicas move that could stay, to make the brokers' loads even, with the fewest copies."""
    racks: Racks = Racks.PREFERRED
    """Whether each replica of a partition must be in a rack of its own, or only should."""
    exclude_brokers: Annotated[
        tuple[Annotated[int, Field(strict=True, ge=0, le=MAX_INT32)], ...],
        Field(max_length=64, json_schema_extra={"set": True}),
    ] = ()
    """Brokers that must have no replica of these topics: they are drained, and get nothing new by a move. Of a Kafka
    that Seawall runs all topics leave them."""


class ReassignmentStage(StrEnum):
    """Where a run is; each member says what comes next."""

    PENDING = "Pending"
    """Planned, and its targets are frozen. Then AwaitingApproval, Ongoing, or Aborted if it is no more wanted."""
    AWAITING_APPROVAL = "AwaitingApproval"
    """Waits for the annotation with its digest. Then Pending, or Aborted if it is no more wanted."""
    ONGOING = "Ongoing"
    """Replicas are on their way, a few partitions at a time. Then Verifying or Aborting; Pending again if another
    WALCluster on the same Kafka began at the same moment, and goes first."""
    VERIFYING = "Verifying"
    """Throttles are removed, in-sync replicas and leaders waited for. Then Completed, Ongoing or Aborting."""
    COMPLETED = "Completed"
    """The end: every partition is where it was planned to be, but for those in `partitions.failed`."""
    ABORTING = "Aborting"
    """What is on its way is cancelled; with an abort by a person, what was moved goes back. Then Aborted."""
    ABORTED = "Aborted"
    """The end: it was given up, and the message says why and what is where. No throttle is left."""


OVER = frozenset({ReassignmentStage.COMPLETED, ReassignmentStage.ABORTED})


class AbortCause(StrEnum):
    """Why a run is given up before its end."""

    BY_PERSON = "AbortedByPerson"
    """seawall.dev/abort-reassignment is set: all partitions get their original replicas back."""
    SUPERSEDED = "Superseded"
    """The spec asks for something else now: what was moved stays, and a new run is planned from what is."""
    DELETED = "Deleted"
    """The WALCluster is being deleted: what was moved stays."""
    JOURNAL_LOST = "JournalLost"
    """The ConfigMap with the targets is gone or damaged: what was moved stays."""


class ReassignedPartitions(StatusModel):
    """Partitions of a run by what became of them."""

    total: Annotated[int, Field(ge=0)]
    """Partitions that the run moves."""
    done: Annotated[int, Field(ge=0)] = 0
    """Those that have their replicas: the new ones, or the original ones while it is aborted."""
    in_flight: Annotated[int, Field(ge=0)] = 0
    """Those on their way."""
    failed: Annotated[int, Field(ge=0)] = 0
    """Those that Kafka refused to move: `refused` has its words."""
    left_alone: Annotated[int, Field(ge=0)] = 0
    """Those that are not any more as they were planned: deleted, moved by somebody else, or led by another broker."""


class RefusedPartition(StatusModel):
    """A partition that Kafka refused to move."""

    topic: Annotated[str, Field(max_length=249)]
    """Name of the topic."""
    partition: Annotated[int, Field(ge=0)]
    """Number of the partition."""
    message: Annotated[str, Field(max_length=512)]
    """Kafka's sentence."""


class RatesBefore(StatusModel):
    """The cluster's default rates for throttled replicas, in bytes a second; absent: none."""

    leader: Annotated[int, Field(ge=0)] | None = None
    """leader.replication.throttled.rate."""
    follower: Annotated[int, Field(ge=0)] | None = None
    """follower.replication.throttled.rate."""


class FailedChange(StatusModel):
    """What Kafka or the API server answered to a change that is tried again."""

    reason: Annotated[str, Field(max_length=64)]
    """ChangeRefused, NotSupportedByKafka or ChangeUnanswered."""
    message: Annotated[str, Field(max_length=1024)]
    """The answer, in its own sentence."""


class ReassignmentStatus(StatusModel):
    """The reassignment under way, or the last one. Its targets are in the ConfigMap `<name>-reassignment`."""

    infeasible: Annotated[str, Field(max_length=1024)] | None = None
    """Why what is declared cannot be planned; absent when it can."""
    failed_change: FailedChange | None = None
    """What was refused or not answered when it was last tried; absent when nothing was. Partitions: see refused."""
    stage: ReassignmentStage | None = None
    """Where the run is; absent while there was none."""
    digest: Annotated[str, Field(max_length=16)] | None = None
    """Digest of the plan: what seawall.dev/approve-reassignment must say."""
    why: Annotated[tuple[Annotated[str, Field(max_length=64)], ...], Field(max_length=8)] = ()
    """What the run is for."""
    message: Annotated[str, Field(max_length=1024)] = ""
    """How far it is, or what it waits for, in one sentence."""
    partitions: ReassignedPartitions | None = None
    """Partitions of the run by what became of them."""
    bytes: Annotated[int, Field(ge=0)] | None = None
    """Bytes that the plan copies, as the logs were then."""
    bytes_left: Annotated[int, Field(ge=0)] | None = None
    """How many of them belong to partitions that do not have their replicas yet."""
    estimated_seconds: Annotated[int, Field(ge=0)] | None = None
    """How long the copying takes at the throttle of the time of planning, if nothing else is written."""
    throttle_bytes_per_second: Annotated[int, Field(ge=0)] | None = None
    """The throttle in force, of the slowest broker of the run: somebody may have set another on a single one. Absent:
    none."""
    rates_before: RatesBefore | None = None
    """The rates that somebody had set before replicas began to move: they are put back at the end. Absent: it is not
    the turn of this run yet, because only one moves replicas on a Kafka."""
    rates_set: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(max_length=16)] = ()
    """The throttles that the run has set, the newest last. Another rate is somebody else's, and stays."""
    most_min_in_sync_replicas: Annotated[int, Field(ge=1)] | None = None
    """While the run may take replicas away or back: the lowest min.insync.replicas that one of its topics may need. Of
    each topic that gets another number of replicas it is not raised above what its fewest replicas allow, and lowered
    to that when replicas go back by an abort, or writes would stop; of all others it stays. Absent: no partition gets
    another number of replicas."""
    observed_generation: Annotated[int, Field(ge=0)] | None = None
    """The metadata.generation for which it was planned."""
    rebalanced_for: Annotated[str, Field(max_length=MAX_REBALANCE)] | None = None
    """The value of seawall.dev/rebalance that was last answered: by a run, because all was even, or because preferred
    leaders were elected, or could not be for five minutes (electionMessage)."""
    election_time: datetime | None = None
    """When preferred leaders began to be elected for seawall.dev/rebalance without a run; absent: none are."""
    election_message: Annotated[str, Field(max_length=1024)] = ""
    """Which of them could not be elected for the last value, and why; empty: all lead."""
    abort_cause: AbortCause | None = None
    """Why it is given up; absent while it is not."""
    start_time: datetime | None = None
    """When replicas began to move; absent before."""
    stage_time: datetime | None = None
    """When the stage began."""
    progress_time: datetime | None = None
    """When the numbers last changed."""
    completion_time: datetime | None = None
    """When it ended."""
    unanswered: Stretch | None = None
    """That Kafka cannot be asked while the WALCluster is being deleted, which goes on when that lasts; absent: it
    answered, or nothing is deleted."""
    refused: Annotated[tuple[RefusedPartition, ...], Field(max_length=MAX_REFUSED)] = ()
    """What Kafka refused, at most 50 partitions: with so many the run moves no others."""

    @property
    def asks_person(self) -> bool:
        """Whether it waits for an approval."""
        return self.stage is ReassignmentStage.AWAITING_APPROVAL

    @property
    def is_active(self) -> bool:
        """Whether there is a run that has not ended."""
        return self.stage is not None and self.stage not in OVER
