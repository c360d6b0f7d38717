"""A status that is behind the target: the API server was restored from a backup, and runs and generations went back.

The target ends whoever has an older number than the newest that it has (`Fenced`), and so it would for ever: the next
run would be older still. What names the writer, and so the UID of the subscription, was written for it, whatever its
status remembers.
"""

from __future__ import annotations

from seawall.api.v1alpha1.subscription_status import MirroredTopic, SubscriptionRun
from seawall.domain.spark_job.actions import RemoveApplication
from seawall.domain.spark_job.reasons import JobReason
from seawall.domain.subscription.case import Case, SubscriptionDecision
from seawall.domain.subscription.committed.progress import Committed


def catch_up(case: Case) -> SubscriptionDecision | None:
    """What the target knows is taken over, and the next run is a later one; None: the status is not behind."""
    latest = max((each.run for each in case.committed.values()), default=0)
    run = case.status.run
    rows = tuple(_of_generation(row, case.committed.get(row.name)) for row in case.status.topics)
    is_known = latest <= (0 if run is None else run.number)
    if is_known and rows == case.status.topics:
        return None
    application = case.own_application
    if application is not None:
        message = f"{application.key.name} goes: the target knows what the status does not"
        return case.stays(case.goes_on(JobReason.SUBMITTING, message), RemoveApplication(application))
    verdict = case.goes_on(JobReason.SUBMITTING, f"the target knows run {latest}, which the status does not")
    generation = max((case.status.generation, *(row.generation for row in rows)))
    # Nobody knows what that run was: what is meant differs from it, so another one begins.
    meant = run if is_known else SubscriptionRun(number=latest, digest="")
    return case.becomes(verdict, topics=rows, generation=generation, run=meant)


def _of_generation(row: MirroredTopic, found: Committed | None) -> MirroredTopic:
    """The topic as it began last; progress about another log of its name is of no use to it."""
    if found is None or found.generation <= row.generation or found.source_topic_id != row.source_id:
        return row
    return row.model_copy(update={"generation": found.generation})
