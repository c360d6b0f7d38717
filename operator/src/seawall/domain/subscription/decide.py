"""What a subscription's controller decides: a pure function of it and of what was observed.

    being deleted → findings (spec, name, WALCluster, what that declares) → suspend, resync, Lost
    → its hold (holding.py) → the target's topics (targets.py) → what copies (running.py) → how far it is
    Where nothing is done, the hold is renewed when that is due.

    state      what is in the status            what is in the world                 what ends it
    ---------  -------------------------------  -----------------------------------  --------------------------------
    Pending    —                                —                                    the WALCluster declares it
    Holding    topics with their ids, producer  WALHold, topics, ConfigMap           the hold is granted, topics exist
    Streaming  run                              SparkApplication; the hold follows   behind, stopped, Lost
    Lagging    the same                         the same                             it has caught up
    Stopped    which topics stopped             the others go on                     suspend off; resync
    Lost       Lost                             application gone, hold over          resync
    Promoting  where copies end, and must       application gone; topics fenced      promotion.py
    Promoted   since when                       hold gone                            —

A tick records or acts, never both. An object that is deleted needs nothing: its hold, its requests and its application
are owned by it and go with it; what was copied stays. A pause stops only what would be begun, and what runs goes on
until another may take its place.
"""

from __future__ import annotations

from dataclasses import replace

from seawall.api.meta import ConditionType, InvalidSpec
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.subscription import WALSubscription, WALSubscriptionSpec
from seawall.api.v1alpha1.subscription_status import SubscriptionState, WALSubscriptionStatus
from seawall.api.v1alpha1.verification_template import MAX_TOPICS
from seawall.domain.conditions import Outlook, Verdict, find_condition
from seawall.domain.decision import Decision, Failure, Published, silent
from seawall.domain.spark_job.actions import (
    FreezeRequest,
    PlaceHold,
    ReleaseHold,
    RemoveApplication,
    Submit,
    why_unusable,
)
from seawall.domain.spark_job.reasons import JobReason
from seawall.domain.subscription import holding, promotion, running, targets
from seawall.domain.subscription.actions import AddPartitions, GuardTargets, MakeTargets
from seawall.domain.subscription.beginning import wait_for_others
from seawall.domain.subscription.behind import catch_up
from seawall.domain.subscription.brokers import TargetReason, compare
from seawall.domain.subscription.case import Case, Observed, Silent, SubscriptionDecision
from seawall.domain.subscription.committed.chain import Chains
from seawall.domain.subscription.logs import LogsNow, resynced
from seawall.domain.subscription.old_requests import rests
from seawall.domain.subscription.published import bare, published
from seawall.domain.subscription.reasons import Reason
from seawall.domain.subscription.records import begin, topics
from seawall.domain.subscription.standing import not_allowed_any_more, silence, stalled, state_of
from seawall.domain.times import JOB_RETRY_SECONDS


def decide(obj: WALSubscription, observed: Observed) -> SubscriptionDecision:
    """What one tick decides."""
    return weigh(obj, observed)[0]


def weigh(obj: WALSubscription, observed: Observed) -> tuple[SubscriptionDecision, bool]:
    """The same, and whether configs of the target are to be set, also where something else is first, or in the way."""
    if obj.metadata.deletion_timestamp is not None:
        said = "the subscription is being deleted, and what it owns with it; what was copied stays"
        return silent(obj, said), False
    case = case_of(obj, observed)
    if isinstance(case, Verdict):
        bared: SubscriptionDecision = Decision(obj.status, case, publish=lambda verdict: bare(obj, observed, verdict))
        return _renewing(obj, observed, bared), False
    wanted = _go_on(case)
    decision = _renewing(obj, observed, _allowed(case, wanted))

    def publish(verdict: Verdict) -> Published[WALSubscriptionStatus]:
        return published(case, decision.status, state_of(case, decision), verdict)

    return replace(decision, publish=publish), _has_drifted(case)


def _has_drifted(case: Case) -> bool:
    """Whether configs of the target that were read are not as they should be; of a copy that is over nobody asks."""
    target, mirror, records = case.observed.target, case.spec.sink.mirror, case.spec.sink.records
    is_over = case.status.promotion is not None or case.status.state is SubscriptionState.LOST
    if is_over or not isinstance(target, LogsNow) or not target.configs:
        return False
    if mirror is not None:
        return bool(targets.drift(case, mirror, target))
    return records is not None and topics.guard(case, target) is not None


def _renewing(obj: WALSubscription, observed: Observed, decision: SubscriptionDecision) -> SubscriptionDecision:
    """Whoever waits, for the target, a declaration or a person, renews the hold meanwhile."""
    waits = not decision.actions and decision.status == obj.status
    renewal = holding.renewal(obj, observed) if waits else None
    return decision if renewal is None else replace(decision, actions=(renewal,))


def case_of(obj: WALSubscription, observed: Observed) -> Case | Verdict:
    """The subscription with what its WALCluster declares; or why there is nothing to do."""
    spec, cluster = obj.spec, observed.cluster
    if observed.obstacle is not None:
        return Failure(observed.obstacle, final=True).verdict
    if isinstance(spec, InvalidSpec):
        return stalled(Reason.INVALID_SPEC, spec.message)
    problem = why_unusable(obj.metadata.name)
    if problem is not None:
        return stalled(Reason.NAME_UNUSABLE, problem)
    return _case_of_cluster(obj, spec, cluster, observed)


def _case_of_cluster(
    obj: WALSubscription, spec: WALSubscriptionSpec, cluster: WALCluster | None, observed: Observed
) -> Case | Verdict:
    if cluster is None:
        message = f"there is no WALCluster {spec.cluster_ref.name} in this namespace, or it is being deleted"
        return stalled(Reason.CLUSTER_MISSING, message)
    if isinstance(cluster.spec, InvalidSpec):
        message = f"WALCluster {cluster.metadata.name} has an invalid spec: its conditions say what is wrong"
        return Verdict(Outlook.PROGRESSING, JobReason.CLUSTER_STALLED, message, JOB_RETRY_SECONDS)
    declared, name = cluster.spec.subscription, spec.sink.target
    of_table, what = spec.sink.table is not None, f"a Kafka {name} in spec.subscription.targets"
    if of_table:
        what = f"a bucket {name} in spec.subscription.buckets"
    target = None if declared is None else (declared.bucket(name) if of_table else declared.target(name))
    if declared is None or target is None:
        field = "spec.subscription" if declared is None else what
        return stalled(Reason.NOT_DECLARED, f"WALCluster {cluster.metadata.name} does not declare {field}")
    case = Case(obj, spec, cluster, cluster.spec, declared, target, observed)
    return _selection(case) or case


def _selection(case: Case) -> Verdict | None:
    count = len(case.selected)
    if not count and case.observed.pool is not None:  # else Kafka may have one beyond the count
        return stalled(Reason.NOTHING_SELECTED, "no topic of the pool is selected by spec.topics")
    if count > MAX_TOPICS:
        message = f"{count} topics are selected, and one subscription copies at most {MAX_TOPICS}"
        return stalled(Reason.TOO_MANY, message)
    return None


def _allowed(case: Case, decision: SubscriptionDecision) -> SubscriptionDecision:
    blocker = _why_nothing_begins(case)
    begins = any(isinstance(action, BEGINS) for action in decision.actions)
    return case.stays(blocker) if blocker is not None and begins else decision


def _go_on(case: Case) -> SubscriptionDecision:
    if case.status.promotion is not None:
        return promotion.promote(case, case.status.promotion)
    return promotion.begin(case) or promotion.explained(case, _copies_on(case))


def _copies_on(case: Case) -> SubscriptionDecision:
    if case.is_asked_anew:
        return _resync(case)
    if case.status.state is SubscriptionState.LOST:
        return _is_lost(case)
    return catch_up(case) or running.hear(case) or _suspend(case) or holding.hold(case) or _copy(case)


BEGINS = PlaceHold | MakeTargets | AddPartitions | GuardTargets | FreezeRequest | Submit
"""What a pause, a WALCluster that is Stalled, or one that does not allow it keeps from being done."""


def _why_nothing_begins(case: Case) -> Verdict | None:
    cluster, name = case.cluster, case.cluster.metadata.name
    refusal = not_allowed_any_more(case)
    if refusal is not None:
        return refusal
    safe, sentence = (None, "") if case.observed.brokers is None else compare(case.observed.brokers)
    if safe is TargetReason.UNSAFE:
        return stalled(Reason.TARGET_UNSAFE, sentence)
    if case.obj.metadata.is_paused or cluster.metadata.is_paused:
        whose = "the subscription" if case.obj.metadata.is_paused else f"WALCluster {name}"
        return Verdict(Outlook.PAUSED, JobReason.PAUSED, f"seawall.dev/paused is set on {whose}", JOB_RETRY_SECONDS)
    condition = find_condition(cluster.status.conditions, ConditionType.STALLED)
    if condition is not None and condition.status == "True":
        message = f"WALCluster {name} is Stalled: {condition.message}"
        return Verdict(Outlook.PROGRESSING, JobReason.CLUSTER_STALLED, message, JOB_RETRY_SECONDS)
    return None


def _unless_blocked(case: Case, wanted: SubscriptionDecision | None) -> SubscriptionDecision | None:
    """What runs is not ended for another run that must not begin now."""
    ends = wanted is not None and any(isinstance(action, RemoveApplication) for action in wanted.actions)
    blocker = _why_nothing_begins(case) if ends else None
    return wanted if blocker is None else case.stays(blocker)


def _copy(case: Case) -> SubscriptionDecision:
    """The topics of the target, as whom they are written to, and what copies; else how it stands."""
    if case.spec.sink.table is not None:
        return _copy_to_bucket(case)
    source, target = case.observed.source, case.observed.target
    if not isinstance(target, LogsNow):
        return case.stays(silence(target))
    if not isinstance(source, LogsNow):
        return case.stays(silence(source))
    mirror, records = case.spec.sink.mirror, case.spec.sink.records
    prepared = None
    if mirror is not None:
        prepared = targets.prepare(case, mirror, source, target)
    elif records is not None:
        prepared = topics.prepare(case, records, source, target)
    if prepared is not None:
        # What copies to other topics than the spec means would begin and end for ever, and they never be made.
        is_meant = records is None or topics.is_recorded(case, records)
        return (_of_those_begun(case) if is_meant else None) or prepared
    return (_take_producer(case) if mirror is not None else None) or _run(case)


def _copy_to_bucket(case: Case) -> SubscriptionDecision:
    """Rows that go to a bucket: nothing is made there."""
    source, chains = case.observed.source, case.observed.chains
    if not isinstance(chains, Chains):
        return case.stays(silence(chains))
    if not isinstance(source, LogsNow):
        return case.stays(silence(source))
    return begin.begin(case, source) or (None if case.rows else holding.wait_for_grant(case)) or _run(case)


def _of_those_begun(case: Case) -> SubscriptionDecision | None:
    """What is first done for topics that have begun, while no other is about to: one may be refused for ever."""
    if not case.rows or wait_for_others(case) is not None:
        return None
    found = (_take_producer(case) if case.spec.sink.mirror is not None else None) or _what_copies(case)
    return found if found is not None and (found.actions or found.status != case.status) else None


def _run(case: Case) -> SubscriptionDecision:
    """What copies; else how it stands."""
    return _what_copies(case) or rests(case)


def _what_copies(case: Case) -> SubscriptionDecision | None:
    """What is to be done so that it copies as is meant; None: nothing, or nothing is to be copied."""
    if case.spec.suspend or not targets.active(case):
        return None
    if isinstance(case.observed.tables, Silent):
        return case.stays(silence(case.observed.tables))
    return holding.leave(case) or targets.wait_for_one(case) or _again(case, running.run(case))


def _again(case: Case, wanted: SubscriptionDecision | None) -> SubscriptionDecision | None:
    """What is wanted; while that is nothing, or only waits, what is over or stuck begins anew."""
    waits = wanted is None or (not wanted.actions and wanted.status == case.status)
    anew = running.again(case) if waits else None
    return anew if anew is not None and (wanted is None or anew.actions) else _unless_blocked(case, wanted)


def _take_producer(case: Case) -> SubscriptionDecision | None:
    """One for all that is ever written, recorded before it is used; None: there is one."""
    if case.status.producer is not None:
        return None
    waits = holding.wait_for_grant(case)
    if waits is not None:
        return waits
    if not case.rows:
        return case.stays(case.goes_on(Reason.MAKING_TOPICS, "the topics of the target are not known yet"))
    if case.observed.producer is None:
        return case.stays(case.goes_on(Reason.TARGET_UNREACHABLE, "the target gave no producer id yet"))
    return case.becomes(case.goes_on(JobReason.SUBMITTING, "it has a producer id"), producer=case.observed.producer)


def _resync(case: Case) -> SubscriptionDecision:
    """What is gone from the target, or empty there, begins anew; all else goes on if it can."""
    hold, target = case.observed.hold, case.observed.target
    if hold is not None and hold.metadata.controller_uid == case.uid and hold.status.is_final:
        verdict, rows = case.goes_on(JobReason.RELEASING, "the hold that is over goes"), holding.remembered(case)
        return (
            case.stays(verdict, ReleaseHold(hold)) if rows == case.status.topics else case.becomes(verdict, topics=rows)
        )
    verdict = case.goes_on(JobReason.HOLDING, "it begins anew, as resync says")
    update = {"resync": case.spec.resync, "state": SubscriptionState.HOLDING}
    if case.spec.sink.table is not None:
        return case.becomes(verdict, **update, **begin.begun_anew(case))
    if not isinstance(target, LogsNow):
        return case.stays(silence(target))
    if case.spec.sink.records is not None:
        return case.becomes(verdict, **update, **topics.begun_anew(case, target))
    rows = tuple(kept for row in case.status.topics if (kept := resynced(row, target)) is not None)
    return case.becomes(verdict, **update, topics=rows)


def _is_lost(case: Case) -> SubscriptionDecision:
    application, verdict = case.own_application, holding.lost_verdict(case.observed.hold)
    if application is not None:
        return case.stays(verdict, RemoveApplication(application))
    return case.stays(verdict)


def _suspend(case: Case) -> SubscriptionDecision | None:
    application = case.own_application
    if not case.spec.suspend or application is None:
        return None
    verdict = Verdict(Outlook.READY, Reason.SUSPENDED, "suspend is set: what copies goes")
    return case.stays(verdict, RemoveApplication(application))
