"""A restore point: the bracket around a snapshot of the database's own files and metadata.

    hold granted → what any region reads, recorded (`held_time`): Bracketed → a person takes the snapshot, and says so
    → recorded (`snapshot_time`) → the ends of the logs are asked → the request

It needs events and no clocks. Whatever the snapshot needs of the log is between the two: it was read from no earlier
offset than what was recorded before it began, because flushed ids and markers only rise; and it has no entry beyond the
ends that were asked for after it was taken. Its metadata must not be newer than its files: a region opens behind marker
and checkpoint, and what these let it skip is in files only. All topics have to be there, those without regions as well:
one that becomes used in between is needed, too. A later attempt keeps the bracket if the log still has all of that.
A point that continues another backup begins where the chain has all that any region would read: until that is known it
waits, and where it has not a full backup is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from seawall.api.meta import MAX_SNAPSHOT
from seawall.api.v1alpha1.backup import (
    Bracket,
    BracketedTopic,
    RestorePoint,
    WALBackupSpec,
    WALBackupStatus,
    is_snapshot_name,
)
from seawall.domain.backup.reasons import Reason
from seawall.domain.backup.selection import BackupSelection, find_fallen
from seawall.domain.conditions import Outlook, Verdict
from seawall.domain.decision import Decision
from seawall.domain.ledger.observation import Observation
from seawall.domain.spark_job.case import Case, JobDecision
from seawall.domain.spark_job.holding import split_by_hold
from seawall.domain.spark_job.reasons import JobReason
from seawall.domain.spark_job.selection import TopicRange
from seawall.domain.times import JOB_POLL_SECONDS

BackupCase = Case[WALBackupSpec, WALBackupStatus]
BackupDecision = JobDecision[WALBackupStatus]


def begin(case: BackupCase, selection: BackupSelection, held: Mapping[str, object]) -> BackupDecision:
    """The log is held: what a snapshot may need of it from now on is recorded."""
    bracket = case.spec.bracket
    if bracket is None:
        raise ValueError("a backup without a bracket needs no snapshot")
    topics, left = split_by_hold(selection.topics, held)
    if left:
        name = min(left)
        return case.ends(Reason.NOT_ALL_BACKED_UP, f"it would be no restore point: {name} {left[name]}")
    if (unfit := _unless_chain_fits(case, bracket, selection, topics)) is not None:
        return unfit
    if case.obj.metadata.snapshot is not None:
        message = "seawall.dev/snapshot-done was set before the log was held: take it away, and the bracket begins"
        return case.stays(Verdict(Outlook.PAUSED, Reason.SNAPSHOT_TOO_EARLY, message, JOB_POLL_SECONDS))
    rows = tuple(
        BracketedTopic(name=topic.name, topic_id=topic.topic_id, reads_from=topic.first_read) for topic in topics
    )
    point = RestorePoint(name=bracket.name, held_time=case.now, topics=rows)
    status = case.status.model_copy(update={"restore_point": point})
    return Decision(status, _waits(point))


def _unless_chain_fits(
    case: BackupCase, bracket: Bracket, selection: BackupSelection, topics: Iterable[TopicRange]
) -> BackupDecision | None:
    """What comes first where a region may read from before the chain: nobody could go back to the point."""
    topic = next((each for each in topics if each.chain_start is not None and each.first_read < each.chain_start), None)
    if topic is None:
        return None
    doubt, since = selection.unsure.get(topic.name), case.kind.waits_since(case.status) or case.now
    if doubt is not None and case.now < since + bracket.timeout:
        message = f"it waits until it is known what the database reads of topic {topic.name} ({doubt})"
        return case.stays(case.goes_on(JobReason.OBSERVING, message))
    why = "" if doubt is None else f" ({doubt})"
    message = f"topic {topic.name} may be read from {topic.first_read} on{why}, and the chain begins at"
    return case.ends(Reason.CHAIN_ENDED, f"{message} {topic.chain_start}: make a full backup")


def await_snapshot(case: BackupCase, point: RestorePoint) -> BackupDecision:
    """Until the annotation says what the snapshot is called, it takes too long, or the point is lost.

    Markers that went back may have risen again when the annotation is there, and the snapshot has them as they were.
    """
    bracket, snapshot, observation = case.spec.bracket, case.obj.metadata.snapshot, case.observed.observation
    if isinstance(observation, Observation):
        fallen = find_fallen(observation, {topic.name: topic.reads_from for topic in point.topics})
        if fallen is not None:
            return end_of_fallen(case, fallen)
    if snapshot is not None and not is_snapshot_name(snapshot):
        message = f"seawall.dev/snapshot-done must have at most {MAX_SNAPSHOT} printable characters of ASCII"
        return case.stays(Verdict(Outlook.PAUSED, Reason.SNAPSHOT_UNNAMED, message, JOB_POLL_SECONDS))
    if snapshot is not None:
        update = {"restore_point": point.model_copy(update={"snapshot": snapshot, "snapshot_time": case.now})}
        verdict = case.goes_on(JobReason.OBSERVING, f"snapshot {snapshot} is taken: it asks where the logs end")
        return Decision(case.status.model_copy(update=update), verdict)
    if bracket is not None and case.now >= point.held_time + bracket.timeout:
        message = f"nobody said within {bracket.timeout} that the snapshot is taken"
        return case.ends(Reason.BRACKET_TIMED_OUT, message)
    return case.stays(_waits(point))


def end_of_fallen(case: BackupCase, fallen: str) -> BackupDecision:
    """The end: a snapshot may need more than what was recorded before it, and is held."""
    return case.ends(Reason.POINT_LOST, f"{fallen}; take another snapshot")


def needed_by_point(case: BackupCase) -> Mapping[str, int] | None:
    """By topic the offset from which on the snapshot may need it, once that is recorded; None: there is no bracket."""
    if case.spec.bracket is None:
        return None
    point = case.status.restore_point
    return {} if point is None else {topic.name: topic.reads_from for topic in point.topics}


def end_of_point(
    case: BackupCase, topics: Iterable[TopicRange], left: Mapping[str, str] | None = None
) -> BackupDecision | None:
    """The end, where these ranges do not have all that the snapshot may need; `left`: the topics that are left out."""
    point = case.status.restore_point
    if point is None:
        return None
    problem = _find_problem(point, {topic.name: topic for topic in topics})
    if problem is None and left:
        name = min(left)
        problem = f"topic {name} cannot be backed up: {left[name]}"
    return None if problem is None else case.ends(Reason.POINT_LOST, f"{problem}: take another snapshot")


def _find_problem(point: RestorePoint, found: Mapping[str, TopicRange]) -> str | None:
    """In one clause. Where the chain begins is not known of one that an operator continued which did not say so."""
    for row in point.topics:
        topic = found.get(row.name)
        if topic is None:
            return f"topic {row.name}, which was there when the bracket began, cannot be backed up any more"
        if topic.topic_id != row.topic_id:
            return f"topic {row.name} was made again since the bracket began"
        begins = topic.chain_start
        if begins is not None and begins > row.reads_from:
            return f"topic {row.name} begins at {begins} now, and the snapshot may need it from {row.reads_from}"
    new = found.keys() - {row.name for row in point.topics}
    late = next((name for name in sorted(new) if found[name].start > 0), None)
    return None if late is None else f"topic {late} was added since the bracket began, and its log is cut already"


def _waits(point: RestorePoint) -> Verdict:
    message = (
        f"the log is held for restore point {point.name}: take the database's own snapshot, of its metadata first and "
        "then of its files, and set seawall.dev/snapshot-done to what it is called"
    )
    return Verdict(Outlook.PAUSED, Reason.AWAITING_SNAPSHOT, message, JOB_POLL_SECONDS)
