"""The identity fence: is this still the log that the database wrote?

Whoever writes to a topic that was recreated, or whose end was cut off, gets offsets that the next replay skips: the
rows are acknowledged and lost, and nobody else looks. So before anything is deleted, or a datanode restarted, the log
is compared with its record (`intents.FenceRecord`) and with the database's ids. A record is renewed only by a look
without finding.

A first finding stops deletes at once. The verdict *broken* needs a second full look that finds something, is written
into the record, and stands until a person readopts the topic, which starts a new record.

Safe readings of the design: idle samples are ids of the log too, so the high watermark is compared with them as well
(in mode B they become the marker); the greatest flushed id of the record is compared, because the region may not
report any more; a high watermark below the recorded one is a truncation even when Kafka does not know the end of the
recorded leader epoch. A log start that went back after a failover is legal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from seawall.api.meta import READOPT_ANNOTATION
from seawall.api.v1alpha1.data_plane_status import readoption_token
from seawall.domain.clocks import TrustedTime
from seawall.domain.ledger.declarations import doubtful, is_too_far, parse_grounds
from seawall.domain.ledger.intents import FenceRecord, raise_intent

_EXAMPLE = "restored from backup@2026-12-24T18:00:00Z"


class Break(StrEnum):
    """What shows that the log is another one."""

    TOPIC_ID_CHANGED = "TopicIdChanged"
    """The topic was deleted and created again."""
    END_BEFORE_KNOWN_ID = "EndBeforeKnownId"
    """The next record would get an offset that the next replay skips."""
    TRUNCATED = "Truncated"
    """Records at the end were lost: an unclean leader election, or a broker that lost its disk."""
    FLUSHED_WENT_BACK = "FlushedWentBack"
    """A region's leader reports a lower flushed id than before: its manifest was restored from an older copy."""
    DATABASE_CHANGED = "DatabaseChanged"
    """Another metadata store answers than the one by which the record was written."""
    METADATA_WENT_BACK = "MetadataWentBack"
    """The metadata store has a lower revision than before: it was restored from an older copy, or is another one."""
    STANDING = "Standing"
    """It was found broken before, by two looks, and nobody has readopted the topic."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One break and its sentence."""

    what: Break
    sentence: str


@dataclass(frozen=True, slots=True)
class ObservedLog:
    """One look at a topic: the log as Kafka has it, and the ids that the database has of it."""

    topic_id: str
    leader_epoch: int | None
    log_start: int
    high_watermark: int
    greatest_known_id: int | None
    """max(flushed, checkpoint, idle, marker) over its regions; None: no region, and nothing is checked."""
    min_flushed: int | None = None
    max_flushed: int | None = None
    recorded_epoch_end: int | None = None
    """Where the recorded leader epoch ends now (OffsetsForLeaderEpoch); None: Kafka does not know it any more."""
    went_back: str | None = None
    """A region whose newest flushed id by its route's leader went back, as a clause."""
    revision: int | None = None
    """The metadata store's, at which the ids were read, or a newer one; None: no database was asked."""
    database: bytes | None = None
    """`database_digest` of the store."""
    cut: str | None = None
    """What was cut off since this process observed the log last, as a clause: it may have grown beyond again."""
    issued: int | None = None
    """As in `MetadataSnapshot`: it tells whether the store went back; None: `revision` does."""
    newest_route: int | None = None
    """The greatest revision at which the route of any region was written; None: there is none."""

    @property
    def issued_revision(self) -> int | None:
        """`issued`, whether it differs or not."""
        return self.revision if self.issued is None else self.issued


def find_break(record: FenceRecord | None, observed: ObservedLog) -> Finding | None:
    """The first thing that does not fit; None also at first contact with a log whose end is right."""
    return next(filter(None, (check(record, observed) for check in CHECKS)), None)


def _topic_id_changed(record: FenceRecord | None, observed: ObservedLog) -> Finding | None:
    if record is None or record.topic_id == observed.topic_id:
        return None
    sentence = f"the topic was recreated: its id is {observed.topic_id} and was {record.topic_id}"
    return Finding(Break.TOPIC_ID_CHANGED, sentence)


def _end_before_known_id(record: FenceRecord | None, observed: ObservedLog) -> Finding | None:
    """The high watermark is exclusive: if it is *equal* to a known id, the next row gets that id and is skipped.

    Another operator may have renewed the record after the offsets were read here. What it knows is compared with where
    the recorded epoch ends, which was read after it.
    """
    if observed.greatest_known_id is None:
        return None
    ends = [(observed.greatest_known_id, observed.high_watermark)]
    if record is not None and record.max_flushed is not None:
        ends.append((record.max_flushed, max(observed.high_watermark, observed.recorded_epoch_end or 0)))
    for known, end in ends:
        if end <= known:
            sentence = f"the log ends at {end} and the database knows of entry {known}"
            return Finding(Break.END_BEFORE_KNOWN_ID, sentence)
    return None


def _truncated(record: FenceRecord | None, observed: ObservedLog) -> Finding | None:
    """What was committed in the recorded leader epoch, or seen by the observation before, must still be there."""
    if observed.cut is not None:
        return Finding(Break.TRUNCATED, f"records were cut off: {observed.cut}")
    if record is None:
        return None
    end = observed.recorded_epoch_end if observed.recorded_epoch_end is not None else observed.high_watermark
    if end >= record.high_watermark:
        return None
    sentence = f"records were cut off: the log ended at {record.high_watermark} and what was then ends at {end} now"
    return Finding(Break.TRUNCATED, sentence)


def _flushed_went_back(_: FenceRecord | None, observed: ObservedLog) -> Finding | None:
    return None if observed.went_back is None else Finding(Break.FLUSHED_WENT_BACK, observed.went_back)


def standing(record: FenceRecord | None, _: ObservedLog | None = None) -> Finding | None:
    """What a record says by itself, whether the log can be looked at or not."""
    if record is None or not record.broken:
        return None
    return Finding(Break.STANDING, "the identity fence was found broken before and nobody has readopted the topic")


def _database_changed(record: FenceRecord | None, observed: ObservedLog) -> Finding | None:
    if not is_of_other_database(record, observed):
        return None
    return Finding(Break.DATABASE_CHANGED, "its record was written by another database's metadata store")


def is_of_other_database(record: FenceRecord | None, observed: ObservedLog) -> bool:
    """Whether the record was written by another metadata store than the one that answers."""
    return (
        record is not None and None not in {record.database, observed.database} and record.database != observed.database
    )


def _metadata_went_back(record: FenceRecord | None, observed: ObservedLog) -> Finding | None:
    """A store's revisions only rise; one that was restored has lost regions, checkpoints and markers."""
    if record is None or not has_gone_back(record, observed):
        return None
    sentence = f"the metadata store's revision went back from {record.issued_revision} to {observed.issued_revision}"
    return Finding(Break.METADATA_WENT_BACK, f"{sentence}: it was restored from an older copy, or it is another one")


def has_gone_back(record: FenceRecord, observed: ObservedLog) -> bool:
    """Whether the metadata store has a lower revision than the one by which the record was written."""
    was, now = record.issued_revision, observed.issued_revision
    return was is not None and now is not None and now < was


CHECKS = (
    _database_changed,
    _topic_id_changed,
    _end_before_known_id,
    _truncated,
    _metadata_went_back,
    _flushed_went_back,
    standing,
)


class Verdict(StrEnum):
    """What is known of a topic's identity."""

    WHOLE = "Whole"
    """Nothing was found."""
    SUSPECTED = "Suspected"
    """One look found something: nothing is deleted until another look is done."""
    BROKEN = "Broken"
    """Two looks found something: purges and restarts stop until a person readopts the topic."""


def judge(before: Finding | None, now: Finding | None) -> Verdict:
    """The verdict from the findings of two looks, one after the other."""
    if now is None:
        return Verdict.WHOLE
    return Verdict.BROKEN if before is not None or now.what is Break.STANDING else Verdict.SUSPECTED


def first_record(observed: ObservedLog, readopted: int | None = None, readopted_at: int | None = None) -> FenceRecord:
    """The record of first contact, or of a readoption: the intent is the log start."""
    return FenceRecord(
        observed.topic_id,
        observed.leader_epoch,
        observed.log_start,
        observed.high_watermark,
        intent=observed.log_start,
        min_flushed=observed.min_flushed,
        max_flushed=observed.max_flushed,
        readopted=readopted,
        revision=observed.revision,
        database=observed.database,
        issued=observed.issued,
        readopted_at=readopted_at,
    )


BEFORE_ANY_DATABASE = 0
"""The revision in records that were written before anybody had asked a database; all stores begin above it."""


def as_met(record: FenceRecord, topic_id: str | None, log_start: int | None) -> FenceRecord:
    """The record of a log as it counts when its database is asked for the first time: the intent is the log start.

    While nobody had declared a database, or it could not be asked, whoever deleted took nothing from Seawall's hands.
    """
    is_met = record.database is not None or record.revision != BEFORE_ANY_DATABASE
    is_about_it = record.topic_id == topic_id
    return raise_intent(record, log_start) if is_about_it and log_start is not None and not is_met else record


def renew(record: FenceRecord, observed: ObservedLog, verdict: Verdict) -> FenceRecord:
    """The record after a look: what was seen when it was whole, and nothing but the verdict when it was not."""
    if verdict is not Verdict.WHOLE:
        return replace(record, broken=record.broken or verdict is Verdict.BROKEN)
    revision = _greatest(record.revision, observed.revision)
    issued = _greatest(record.issued_revision, observed.issued_revision)
    return replace(
        record,
        leader_epoch=observed.leader_epoch,
        log_start=observed.log_start,
        high_watermark=observed.high_watermark,
        min_flushed=observed.min_flushed,
        max_flushed=_greatest(record.max_flushed, observed.max_flushed),
        revision=revision,
        database=observed.database or record.database,
        issued=None if issued == revision else issued,
    )


def _greatest(*numbers: int | None) -> int | None:
    return max((number for number in numbers if number is not None), default=None)


@dataclass(frozen=True, slots=True)
class Readoption:
    """`seawall.dev/readopt: <reason>@<expiry>`: a person says that the logs that are known to be broken are right.

    It adopts what is recorded as broken, or is deleted from by somebody else, when a look first meets it, and writes
    its token into every record of the pool, whole ones too: nothing that breaks later is adopted with it. A topic that
    is only suspected then breaks later. What could not be looked at is marked as well, if its record can be read.
    """

    reason: str
    expires: datetime
    token: int
    """Tells annotations apart: crc32 of the text."""

    def stands(self, time: TrustedTime) -> bool:
        """Whether it is over by neither of two clocks that agree; else it adopts nothing, and marks nothing as met."""
        return time.latest is not None and time.latest < self.expires

    def problem_by(self, time: TrustedTime) -> str | None:
        """Why it is not followed now, in one sentence."""
        return doubtful(READOPT_ANNOTATION, time) if time.latest is None else self.problem(time.now)

    def problem(self, now: datetime) -> str | None:
        """Why it is not followed, in one sentence; it never will be: it is marked as used."""
        if not is_too_far(self.expires, now):
            return None
        return "seawall.dev/readopt expires more than 24 hours ahead and is not followed: set one that expires sooner"

    def may_adopt(self, record: FenceRecord, now: datetime) -> bool:
        """Whether it is in time and has not been used for this topic."""
        return now < self.expires and self.problem(now) is None and record.readopted != self.token

    def mark(self, record: FenceRecord, now: datetime) -> FenceRecord:
        """The record of a topic that it does not adopt, now or ever."""
        return replace(record, readopted=self.token) if now < self.expires else record


def parse_readoption(annotation: str) -> Readoption | str:
    """The readoption, or the sentence that says what is wrong with the annotation."""
    found = parse_grounds(READOPT_ANNOTATION, annotation, None, example=_EXAMPLE)
    if isinstance(found, str):
        return found
    return Readoption(found.reason, found.expires, readoption_token(annotation))
