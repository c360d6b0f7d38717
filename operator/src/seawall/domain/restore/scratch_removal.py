"""How scratch topics go: when an attempt is over, and when a restore is deleted at whatever stage.

By ids that are recorded, and until none of the names appears any more: a topic without a leader goes, too, and one of
which Kafka says nothing keeps no other. A topic whose id nobody could record yet is the restore's if none of its names
existed before, and nobody has written to it: only of such a one the offsets have to be known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.restore_status import RestoredTopic, RestoreStage, WALRestoreStatus
from seawall.api.v1alpha1.spark_job import Outcome
from seawall.domain.clocks import prolonged
from seawall.domain.conditions import Outlook, Verdict
from seawall.domain.decision import Decision
from seawall.domain.kafka_log import DescribedTopic, LogOffsets
from seawall.domain.restore.actions import ReleaseScratch, RemoveTopics
from seawall.domain.restore.case import Case, Observed, RestoreDecision, ScratchNow, without_topic
from seawall.domain.restore.cluster_pin import why_replaced
from seawall.domain.restore.kafka_now import is_shown, still_there, why_silent, why_unshown
from seawall.domain.restore.reasons import Reason
from seawall.domain.restore.removal import go_on
from seawall.domain.spark_job.actions import RemoveApplication
from seawall.domain.spark_job.reasons import JobReason
from seawall.domain.text import listed
from seawall.domain.times import JOB_POLL_SECONDS, SCRATCH_GIVE_UP_AFTER, SCRATCH_LINGER, SILENCE_LONGEST_BREAK

NOT_ASKED = "nobody has asked yet"


def remove(case: Case) -> RestoreDecision:
    """What the attempt made goes, and is waited for; then comes what comes after it."""
    status, application = case.status, case.observed.application
    is_ours = application is not None and application.controller_uid == case.obj.metadata.uid
    if application is not None and is_ours and status.outcome is Outcome.INTERRUPTED:
        return case.stays(case.goes_on(Reason.REMOVING_TOPICS, "its application goes"), RemoveApplication(application))
    if may_be_left(status):
        cleared = clear(status, case.observed, status.attempt_time or case.now)
        if cleared is not None:
            return cleared
    if status.outcome is not Outcome.PASSED:
        return go_on(case)
    rows, plan = tuple(map(without_topic, status.topics)), status.plan
    what = "" if plan is None else f": {plan.records} records of {plan.topics} topics"
    message = f"{status.message}{what}; the scratch topics are deleted"
    return case.ends(Reason.DRILLED, message, complete=True, topics=rows, none_existed=False)


def may_be_left(status: WALRestoreStatus) -> bool:
    """Whether there may be topics that this attempt made, or has asked for."""
    return status.none_existed or any(row.topic_id is not None for row in status.topics)


def clear(status: WALRestoreStatus, observed: Observed, since: datetime) -> RestoreDecision | None:
    """What removes the topics, or waits until none appears any more; None: all are gone."""
    now = observed.scratch
    if not isinstance(now, ScratchNow):
        return Decision(status, _unreachable(now or NOT_ASKED))
    rows = tuple(_with_late_id(row, now) for row in status.topics) if status.none_existed else status.topics
    if rows != status.topics:
        verdict = _removing("topics that were made meanwhile go, too")
        return Decision(status.model_copy(update={"topics": rows}), verdict)
    left = _left(status.planned, now)
    if left:
        return Decision(status, _removing(f"it removes {listed(sorted(left))}"), (RemoveTopics(left),))
    if (unknown := why_unsure(status, now)) is not None:
        return Decision(status, _unreachable(unknown))
    until = since + SCRATCH_LINGER
    if observed.now < until:
        after = (until - observed.now).total_seconds()
        return Decision(status, _removing("none of its topics is there: it waits whether one appears", after=after))
    return None


def _removing(message: str, reason: Reason = Reason.REMOVING_TOPICS, after: float = JOB_POLL_SECONDS) -> Verdict:
    return Verdict(Outlook.PROGRESSING, reason, message, after)


def _unreachable(message: str) -> Verdict:
    return _removing(message, Reason.KAFKA_UNREACHABLE)


def let_go(obj: WALRestore, observed: Observed) -> RestoreDecision:
    """The deletion of a restore whose finalizer stands: its topics go first, if anybody can be asked for them."""
    status, deleted = obj.status, obj.metadata.deletion_timestamp or observed.now
    if not may_be_left(status):
        return _release(status, ())
    application = observed.application
    is_silent = why_unsure(status, observed.scratch) is not None
    silence = prolonged(status.unanswered, observed.now, SILENCE_LONGEST_BREAK) if is_silent else None
    is_elsewhere = observed.cluster is None or why_replaced(status, observed.cluster) is not None
    given_up = silence is not None and observed.now - silence.from_time >= SCRATCH_GIVE_UP_AFTER
    if observed.terminating or is_elsewhere:
        return release(status)
    if given_up:
        return _release(status, _may_be_there(status, observed.scratch))
    if application is not None and application.controller_uid == obj.metadata.uid:
        return Decision(status, _removing("its application goes"), (RemoveApplication(application),))
    status = status.model_copy(update={"unanswered": silence})
    return clear(status, observed, deleted) or _release(status, ())


def release(status: WALRestoreStatus) -> RestoreDecision:
    """The finalizer of a restore that is over, or whose topics are elsewhere: nothing waits for it any more.

    One whose WALCluster went, or was made again, has left its topics: nobody can be asked for them any more.
    """
    return _release(status, tuple(map(into, status.planned)) if may_be_left(status) else ())


def end_with_cluster(case: Case) -> RestoreDecision | None:
    """What ends a drill whose WALCluster is being deleted; None: it is not, or that is what it does already."""
    if case.cluster.metadata.deletion_timestamp is None or case.status.stage is RestoreStage.REMOVING:
        return None
    message = f"WALCluster {case.cluster.metadata.name} is being deleted"
    return case.attempt_is_over(Outcome.INTERRUPTED, message, JobReason.CLUSTER_MISSING)


def _release(status: WALRestoreStatus, left: Sequence[str]) -> RestoreDecision:
    return Decision(status, _removing("its topics are gone"), (ReleaseScratch(tuple(left), status.kafka_cluster_id),))


def with_ids(status: WALRestoreStatus, now: ScratchNow) -> tuple[RestoredTopic, ...]:
    """The rows with the ids of topics that were made, and that nobody has written to: only such are this restore's."""
    if not status.none_existed:
        return status.topics
    return tuple(_with_id(row, now) for row in status.topics)


def _with_id(row: RestoredTopic, now: ScratchNow) -> RestoredTopic:
    found, offsets = now.described.get(row.into or ""), now.offsets.get(row.into or "")
    is_new = row.planned and row.topic_id is None and isinstance(found, DescribedTopic) and is_there(row, now)
    if not is_new or not isinstance(found, DescribedTopic) or not isinstance(offsets, LogOffsets):
        return row
    return row if offsets.high_watermark > 0 else row.model_copy(update={"topic_id": found.topic_id})


def _with_late_id(row: RestoredTopic, now: ScratchNow) -> RestoredTopic:
    """A request that was on its way may make a topic after the one of its name was removed: it is ours as well."""
    found = now.described.get(row.into or "")
    if row.topic_id is None or not isinstance(found, DescribedTopic) or found.topic_id == row.topic_id:
        return _with_id(row, now)
    late = _with_id(without_topic(row), now)
    return row if late.topic_id is None else late


def _left(rows: Sequence[RestoredTopic], now: ScratchNow) -> Mapping[str, str]:
    """By name the ids of those that are still there."""
    return still_there(now, {into(row): row.topic_id for row in rows if row.topic_id is not None})


def into(row: RestoredTopic) -> str:
    """The name of its scratch topic."""
    if row.into is None:
        raise ValueError(f"{row.name} does not come back into a scratch topic")
    return row.into


def is_there(row: RestoredTopic, now: ScratchNow) -> bool:
    """Whether its scratch topic is shown, and is not that of an attempt before."""
    return is_shown(now, into(row), row.removed_id)


def why_unknown(status: WALRestoreStatus, now: ScratchNow | str | None) -> str | None:
    """Why nobody knows what there is; None: it is known of all."""
    if not isinstance(now, ScratchNow):
        return now or NOT_ASKED
    return next((why for row in status.planned if (why := why_silent(now, into(row))) is not None), None)


def why_unsure(status: WALRestoreStatus, now: ScratchNow | str | None) -> str | None:
    """Why nobody knows what is left of what the restore made; None: it is known of all."""
    if not isinstance(now, ScratchNow):
        return now or NOT_ASKED
    return next((why for row in status.planned if (why := _why_unsure(status, row, now)) is not None), None)


def _why_unsure(status: WALRestoreStatus, row: RestoredTopic, now: ScratchNow) -> str | None:
    """One with its recorded id needs no leader; another one is the restore's, too, if it came late and is empty."""
    found = now.described.get(into(row))
    is_recorded = isinstance(found, DescribedTopic) and found.topic_id == row.topic_id
    return why_silent(now, into(row)) if status.none_existed and not is_recorded else why_unshown(now, into(row))


def _may_be_there(status: WALRestoreStatus, now: ScratchNow | str | None) -> tuple[str, ...]:
    """The scratch topics that are there, or may be."""
    names = (into(row) for row in status.planned)
    if not isinstance(now, ScratchNow):
        return tuple(names)
    return tuple(
        name
        for name in names
        if isinstance(now.described.get(name), DescribedTopic) or why_unshown(now, name) is not None
    )
