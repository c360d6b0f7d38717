"""The status of a WALSubscription: how far it is, which topics stopped, and what became of a promotion."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field, StrictBool

from seawall.api.meta import StatusModel
from seawall.api.resource import Conditions, ObjectStatus
from seawall.api.v1alpha1.verification_template import MAX_TOPICS

MAX_WORST = 50
MAX_REGIONS = 20
TopicName = Annotated[str, Field(max_length=249)]
TopicId = Annotated[str, Field(max_length=64)]
Offset = Annotated[int, Field(ge=0)]


class SubscriptionState(StrEnum):
    """Where a subscription is; each member says what comes next."""

    PENDING = "Pending"
    """It has not begun: something has to be there first. Then Holding."""
    HOLDING = "Holding"
    """Its WALHold is asked for, then the topics of the target are made; nothing is read yet. Then Streaming."""
    STREAMING = "Streaming"
    """It copies, and keeps up. Then Lagging or Stopped."""
    LAGGING = "Lagging"
    """It copies, and has been behind for a minute, or has used half of `lagBudget.maxBytes`. Then Streaming, Stopped or
    Lost."""
    STOPPED = "Stopped"
    """A person stopped it (`suspend`), or some topic needs one; the other topics go on."""
    LOST = "Lost"
    """It was further behind than lagBudget allows, and the source keeps nothing for it any more. `resync` begins
    anew."""
    PROMOTING = "Promoting"
    """`promote` is set: nothing is copied any more, the topics of the target are fenced and padded. Then Promoted."""
    PROMOTED = "Promoted"
    """The end: a database can go on with the target's topics; `status.promotion` says what they lack."""


class StopReason(StrEnum):
    """Why a topic is not copied any more; each member says what a person can do."""

    SOURCE_GAP = "SourceGap"
    """The source does not have records any more that the target lacks. Set `resync`: it begins anew at the source's log
    start. Of a mirror delete the topic in the target before."""
    IDENTITY_FENCE_BROKEN = "IdentityFenceBroken"
    """The topic is gone from the source, or was made again: it is another log. If that was meant, set `resync`; of a
    mirror delete the topic in the target before."""
    TARGET_LOST = "TargetLost"
    """A topic is gone from the target, or was made again; Seawall does not begin anew by itself. Set `resync`; of a
    mirror delete a topic that has records before."""
    TARGET_NOT_EMPTY = "TargetNotEmpty"
    """The target has a topic of this name with records that this subscription did not copy. Delete it there if nobody
    needs it, and set `resync`."""
    DIVERGED = "Diverged"
    """The target has something else at an offset than the source: a foreign record, or a source that was cut. Find out
    who writes to the target; then set `resync`. Of a mirror delete the topic there before."""
    TARGET_UNSUITABLE = "TargetUnsuitable"
    """The target does not take records as they are: too large, or with other timestamps. Mend what the message names,
    and set `resync`."""
    FENCED = "Fenced"
    """The target knows a newer epoch of the producer, or a newer run: nothing more is written to it. Of a mirror it was
    promoted. Rows go on, as a run that is newer still, when you set `resync`."""
    SNAPSHOT_UNUSABLE = "SnapshotUnusable"
    """The topic has begun with another snapshot than `spec.start` names by now. Name that one again; or set `resync`,
    and it begins anew."""
    UNREADABLE = "Unreadable"
    """The log has a record that gives no rows; the message says where, and why. Set `sink.records.deadLetters` to have
    it there, then `resync`."""


class MirroredTopic(StatusModel):
    """A topic that is copied, and which logs it is about."""

    name: TopicName
    """Name of the topic, on both sides."""
    source_id: TopicId
    """Which log is copied: a topic that is created again has another id."""
    target_id: TopicId | None = None
    """Which log it is copied to; absent: one with records was there, and nothing is written to it, or only its rows
    are."""
    start: Offset
    """The first offset that is taken; before it a mirror has records of null."""
    generation: Offset = 0
    """Of rows: how often `resync` had been met when it began. Progress of an older one counts for nothing."""
    progress_partition: Offset | None = None
    """Of rows: the partition of the topic of progress that says how far it is."""
    names_known_to: Offset | None = None
    """Of rows: where the log ended before the names of all tables were read. A table of a record before that is known,
    or gone."""
    held: Offset | None = None
    """Where its hold began when the last one ended: up to there it is surely copied."""
    stopped: StopReason | None = None
    """Why it is not copied any more; absent: it is."""
    offset: Offset | None = None
    """Where it stopped."""
    message: Annotated[str, Field(max_length=1024)] = ""
    """The same in one sentence."""


class SubscriptionRun(StatusModel):
    """The Spark application and the request that are meant."""

    number: Annotated[int, Field(ge=1)]
    """The request and the application are called `<name>-<number>`; another image, size or topic is another run."""
    digest: Annotated[str, Field(max_length=64)]
    """SHA-256 over request and application."""


class Producer(StatusModel):
    """The idempotent producer of all that is written to the target, taken once."""

    id: Annotated[int, Field(ge=0)]
    """Its id, which the target gave."""
    epoch: Annotated[int, Field(ge=0)]
    """Its epoch."""


class TargetTopic(StatusModel):
    """A topic of the target, as it was when it was first used."""

    name: TopicName
    """Its name."""
    id: TopicId
    """Its id: a topic that is created again has another one."""
    partitions: Annotated[int, Field(ge=1)]
    """How many partitions it has; of those of rows these are used, and no others."""
    max_message_bytes: Annotated[int, Field(ge=1)]
    """The largest record that it takes."""


class RecordsTopics(StatusModel):
    """The topics of the target that rows go to."""

    rows: TargetTopic
    """Gets the rows."""
    progress: TargetTopic
    """Gets, in the same transaction, how far each topic of the log is."""
    dead_letters: TargetTopic | None = None
    """Gets what gives no rows; absent: nothing does."""


class SubscriptionTopicCounts(StatusModel):
    """Topics by how they are."""

    total: Annotated[int, Field(ge=0)] = 0
    """Topics that are copied, or stopped."""
    stopped: Annotated[int, Field(ge=0)] = 0
    """Topics that need a person."""


class Lag(StatusModel):
    """How far the copy is behind, when that was last measured."""

    entries: Annotated[int, Field(ge=0)]
    """Records of all topics that the target lacks."""
    bytes: Annotated[int, Field(ge=0)] | None = None
    """Bytes of the source from where the hold begins, estimated from the sizes of topics."""
    seconds: Annotated[int, Field(ge=0)]
    """For how long at least the target has lacked the oldest of them; of the worst topic."""


class HandedOn(StatusModel):
    """What was handed on of all topics, in all generations, when it was last measured."""

    rows: Annotated[int, Field(ge=0)]
    """Rows; those that came again because a topic began anew are counted again."""
    dead_letters: Annotated[int, Field(ge=0)]
    """Records that give no rows."""


class LaggingTopic(StatusModel):
    """A topic that is behind, or stopped."""

    topic: TopicName
    """Name of the topic."""
    applied: Offset | None = None
    """Up to where it is surely copied; absent: that is not known."""
    source_end: Offset | None = None
    """Where the source ends."""
    reason: StopReason | None = None
    """Why it is stopped; absent: it is behind."""
    message: Annotated[str, Field(max_length=1024)] = ""
    """The same in one sentence; of one that is not stopped why it is not certain how far it is."""


def _digits(region: object) -> object:
    """An earlier version wrote numbers."""
    return str(region) if isinstance(region, int) and not isinstance(region, bool) else region


RegionId = Annotated[str, BeforeValidator(_digits), Field(max_length=20, pattern=r"^[0-9]+$")]


class PromotedTopic(StatusModel):
    """A topic of the copy, and what it lacks."""

    name: TopicName
    """Name of the topic."""
    end: Offset
    """Where the copy ended: all before it is there. What somebody else wrote to the target is no copy."""
    known_end: Offset
    """Where the source is known to have ended, or the database to have entries, exclusive. Offsets from `end` up to
    here are lost, and are records of null where `othersTo` is not there."""
    pad_to: Offset
    """Up to where records of null were appended: `knownEnd`, or further where nobody could say all."""
    regions: Annotated[tuple[RegionId, ...], Field(max_length=MAX_REGIONS)] = ()
    """Regions that had not flushed all of them, as far as the database said; at most 20. In digits: ids may be greater
    than JSON's numbers are exact."""
    others_to: Offset | None = None
    """Up to where the target had records from `end` on that are not known to be copies: somebody else wrote them, or it
    has forgotten who did. Absent: it had none."""


class PromotionStatus(StatusModel):
    """What became of the topics when the copying ended."""

    begin_time: datetime
    """Since when nothing is copied any more."""
    time: datetime | None = None
    """When the target was ready for a database; absent until then."""
    topics: Annotated[tuple[PromotedTopic, ...], Field(max_length=MAX_TOPICS)] = ()
    """The topics: where `knownEnd` is beyond `end`, entries are lost."""
    lost_entries: Annotated[int, Field(ge=0)] = 0
    """Entries that are known to be lost, of all topics."""
    source_known: StrictBool = True
    """Whether the source said where it ended; else more may be lost than is known."""
    regions_known: StrictBool = True
    """Whether the database said what all its regions have flushed; else `regions` may lack some."""


class WALSubscriptionStatus(ObjectStatus):
    """How far the subscription is."""

    conditions: Conditions = ()
    """Ready, Reconciling and Stalled (kstatus); Streaming: records are copied; Held: the source keeps what is not;
    WithinBudget: it will go on doing so; TargetSafe: late writers are kept out; OwnKafkaUser."""
    state: SubscriptionState | None = None
    """Where it is; absent until it is first looked at."""
    resync: Annotated[str, Field(max_length=253)] = ""
    """The `resync` that was met last."""
    target_cluster_id: Annotated[str, Field(max_length=64)] | None = None
    """Which Kafka is the target, pinned at first contact."""
    producer: Producer | None = None
    """As whom the target is written to, of a mirror."""
    records: RecordsTopics | None = None
    """The topics of the target that rows go to."""
    generation: Offset = 0
    """How often `resync` was met by beginning topics of rows anew."""
    hold: Annotated[str, Field(max_length=253)] | None = None
    """The WALHold that keeps what is not copied."""
    run: SubscriptionRun | None = None
    """What copies; absent until the topics of the target are there."""
    topics: Annotated[tuple[MirroredTopic, ...], Field(max_length=MAX_TOPICS)] = ()
    """The topics."""
    counts: SubscriptionTopicCounts | None = None
    """Topics by how they are."""
    measured_time: datetime | None = None
    """When lag and worst were measured."""
    lag: Lag | None = None
    """How far it is behind; absent: that is not known."""
    handed_on: HandedOn | None = None
    """What was handed on, of rows; absent: that is not known."""
    promotion: PromotionStatus | None = None
    """What became of the topics; absent unless `promote` is set."""
    worst: Annotated[tuple[LaggingTopic, ...], Field(max_length=MAX_WORST)] = ()
    """The topics that are stopped or furthest behind, at most 50."""
