"""What an attempt made goes, by ids, when it did not pass: then the next attempt, or the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from seawall.api.v1alpha1.restore_status import RestoreStage, WALRestoreStatus
from seawall.api.v1alpha1.spark_job import Outcome
from seawall.domain.restore.actions import RemoveTopics
from seawall.domain.restore.case import Case, PoolNow, RestoreDecision, without_topic
from seawall.domain.restore.kafka_now import still_there, why_silent, why_unshown
from seawall.domain.restore.reasons import Reason
from seawall.domain.restore.topics import has_records, pool_for_writing, was_started
from seawall.domain.spark_job.actions import RemoveApplication
from seawall.domain.spark_job.attempt import MAX_ATTEMPTS
from seawall.domain.spark_job.reasons import JobReason
from seawall.domain.text import listed
from seawall.domain.times import JOB_BACKOFF


def remove(case: Case) -> RestoreDecision:
    """What the attempt made goes, by ids; then the next one begins, or it is the end."""
    application, uid = case.observed.application, case.obj.metadata.uid
    is_interrupted = case.status.outcome is Outcome.INTERRUPTED
    if is_interrupted and application is not None and application.controller_uid == uid:
        verdict = case.goes_on(Reason.REMOVING_TOPICS, "its application goes")
        return case.stays(verdict, RemoveApplication(application))
    made = made_topics(case.status)
    if made:
        left = _left(case, made)
        if not isinstance(left, dict):
            return left
        if left:
            verdict = case.goes_on(Reason.REMOVING_TOPICS, f"it removes {listed(sorted(left))}")
            return case.stays(verdict, RemoveTopics(left))
    return go_on(case)


def made_topics(status: WALRestoreStatus) -> dict[str, str]:
    """By name the ids of the topics that this attempt made."""
    return {row.name: row.topic_id for row in status.planned if row.topic_id is not None}


def _left(case: Case, made: Mapping[str, str]) -> dict[str, str] | RestoreDecision:
    """Those that are still there: a database that runs has rows in them by now."""
    is_all_ours = _is_all_ours(case)
    pool = pool_for_writing(case, why_unshown)
    if not isinstance(pool, PoolNow):
        return pool
    left = still_there(pool, made)
    if (silent := _find_silent(pool, left)) is not None:
        return case.stays(case.goes_on(Reason.KAFKA_UNREACHABLE, silent))
    records = pool.shards.of_topics(left)
    doubtful = [] if is_all_ours else [name for name in left if has_records(pool, name)]
    doubtful += [name for name in left if name in records and records[name].is_good_for(left[name])]
    if doubtful:
        message = f"{case.status.message}; {listed(doubtful)} may have records of {_whose(case)}, and is left as it is"
        return case.leaves(Reason.NOT_OURS, message)
    return left


def _find_silent(pool: PoolNow, left: Iterable[str]) -> str | None:
    """Why nobody knows what is in a topic that would go; None: of all it is known, also whether it is younger.

    An id would be enough to delete it. But the database may have used it since, where the API server is of before.
    """
    for name in left:
        if (why := why_silent(pool, name)) is not None:
            return f"{name} may have records of others, which only its leader can say ({why}): delete it if it has none"
    return None


def _whose(case: Case) -> str:
    """An application that refuses has written nothing, and nobody knows of one that was deleted before it was read."""
    if case.status.outcome is not Outcome.REFUSED:
        return "others"
    return f"others, or of a SparkApplication {case.key.name} that somebody deleted as soon as it was made"


def _is_all_ours(case: Case) -> bool:
    """Whether what is in the topics is of this restore: its job wrote, and the database was stopped all the time."""
    is_known = case.status.stopped_as is not None and not case.status.database_ran
    is_stopped = is_known and not was_started(case)
    return is_stopped and case.status.outcome is not Outcome.REFUSED and not _has_younger(case)


def _has_younger(case: Case) -> bool:
    """Whether any of the topics has a record from after it was made: what comes back keeps the time that it had.

    An API server that was restored from a backup may have this restore, and the StatefulSet, of before it was complete:
    the database has used the topics since.
    """
    pool = case.observed.pool
    return isinstance(pool, PoolNow) and not pool.younger.isdisjoint(still_there(pool, made_topics(case.status)))


def go_on(case: Case) -> RestoreDecision:
    """After an attempt without success, of which nothing is left: the next one, or the end."""
    status, message = case.status, case.status.message or ""
    rows, interruptions = tuple(map(without_topic, status.topics)), status.interruptions + 1
    if status.fails_as is not None:
        return case.ends(status.fails_as, message, topics=rows, none_existed=False)
    if interruptions >= MAX_ATTEMPTS:
        message = f"attempt {status.attempt} did not end well either: {message}"
        return case.ends(JobReason.INTERRUPTED, message, topics=rows, none_existed=False)
    next_at = (status.attempt_time or case.now) + JOB_BACKOFF * 4**status.interruptions
    if case.now < next_at:
        after = (next_at - case.now).total_seconds()
        return case.stays(case.goes_on(JobReason.BACKING_OFF, f"attempt {status.attempt}: {message}", after))
    stage = RestoreStage.INSPECTING if status.plan is None else RestoreStage.PREPARING
    verdict = case.goes_on(JobReason.SUBMITTING, f"attempt {status.attempt + 1} begins")
    return case.next_attempt(stage, verdict, interruptions=interruptions)
