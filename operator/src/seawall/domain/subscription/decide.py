"""What a subscription's controller decides: a pure function of it and of what was observed.

    being deleted → findings (spec, name, WALCluster, what that declares) → suspend, resync, Lost
    → its hold (holding.py) → the target's topics (targets.py) → what copies (running.py) → how far it is

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
are owned by it and go with it; what was copied stays. A pause stops only what would be begun.
"""

from __future__ import annotations

from dataclasses import replace

from seawall.api.meta import ConditionType, InvalidSpec
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterSpec
from seawall.api.v1alpha1.subscription import WALSubscription, WALSubscriptionSpec
from seawall.api.v1alpha1.subscription_status import SubscriptionState, WALSubscriptionStatus
from seawall.api.v1alpha1.verification_template import MAX_TOPICS
from seawall.domain.conditions import ConditionBuilder, Outlook, Verdict, find_condition
from seawall.domain.decision import Decision, Failure, Published, silent
from seawall.domain.spark_job.actions import (
    FreezeRequest,
    PlaceHold,
    ReleaseHold,
    RemoveApplication,
    Submit,
    why_unusable,
)
from seawall.domain.spark_job.allowed import why_not_allowed
from seawall.domain.spark_job.reasons import JobReason
from seawall.domain.subscription import holding, promotion, running, targets
from seawall.domain.subscription.actions import AddPartitions, GuardTargets, MakeTargets
from seawall.domain.subscription.brokers import TargetReason, compare
from seawall.domain.subscription.case import Case, Observed, Silent, SubscriptionDecision, selected_of
from seawall.domain.subscription.logs import Halt, LogsNow, Position, resynced
from seawall.domain.subscription.published import bare, lag_of, published
from seawall.domain.subscription.reasons import Reason
from seawall.domain.subscription.records import topics
from seawall.domain.text import listed
from seawall.domain.times import JOB_RETRY_SECONDS, SUBSCRIPTION_LAGGING_SECONDS

STAYS = frozenset({SubscriptionState.LOST, SubscriptionState.PROMOTING, SubscriptionState.PROMOTED})
"""States that are recorded, and do not follow from how topics are."""


class _Kind:
    """How it is called in sentences."""

    noun = "subscription"
    """The WALCluster's field that declares it."""
    may = "copy it"


def decide(obj: WALSubscription, observed: Observed) -> SubscriptionDecision:
    """What one tick decides."""
    if obj.metadata.deletion_timestamp is not None:
        return silent(obj, "the subscription is being deleted, and what it owns with it; what was copied stays")
    case = case_of(obj, observed)
    if isinstance(case, Verdict):
        build = ConditionBuilder(obj.status.conditions, obj.metadata.generation, observed.now)
        return Decision(obj.status, case, publish=lambda verdict: bare(obj, build, verdict))
    decision = _decide(case)

    def publish(verdict: Verdict) -> Published[WALSubscriptionStatus]:
        return published(case, decision.status, _state(case, decision), verdict)

    return replace(decision, publish=publish)


def case_of(obj: WALSubscription, observed: Observed) -> Case | Verdict:
    """The subscription with what its WALCluster declares; or why there is nothing to do."""
    spec, cluster = obj.spec, observed.cluster
    if observed.obstacle is not None:
        return Failure(observed.obstacle, final=True).verdict
    if isinstance(spec, InvalidSpec):
        return _stalled(Reason.INVALID_SPEC, spec.message)
    problem = why_unusable(obj.metadata.name)
    if problem is not None:
        return _stalled(Reason.NAME_UNUSABLE, problem)
    return _case_of_cluster(obj, spec, cluster, observed)


def _case_of_cluster(
    obj: WALSubscription, spec: WALSubscriptionSpec, cluster: WALCluster | None, observed: Observed
) -> Case | Verdict:
    if cluster is None:
        message = f"there is no WALCluster {spec.cluster_ref.name} in this namespace, or it is being deleted"
        return _stalled(Reason.CLUSTER_MISSING, message)
    if isinstance(cluster.spec, InvalidSpec):
        message = f"WALCluster {cluster.metadata.name} has an invalid spec: its conditions say what is wrong"
        return Verdict(Outlook.PROGRESSING, JobReason.CLUSTER_STALLED, message, JOB_RETRY_SECONDS)
    declared, name = cluster.spec.subscription, spec.sink.target
    target = None if declared is None else declared.target(name)
    if declared is None or target is None:
        field = "spec.subscription" if declared is None else f"a Kafka {name} in spec.subscription.targets"
        return _stalled(Reason.NOT_DECLARED, f"WALCluster {cluster.metadata.name} does not declare {field}")
    wrong = _selection(spec, cluster.spec)
    return wrong or Case(obj, spec, cluster, cluster.spec, declared, target, observed)


def _selection(spec: WALSubscriptionSpec, kafka: WALClusterSpec) -> Verdict | None:
    count = len(selected_of(spec, kafka))
    if not count:
        return _stalled(Reason.NOTHING_SELECTED, "no topic of the pool is selected by spec.topics")
    if count > MAX_TOPICS:
        message = f"{count} topics are selected, and one subscription copies at most {MAX_TOPICS}"
        return _stalled(Reason.TOO_MANY, message)
    return None


def _decide(case: Case) -> SubscriptionDecision:
    decision = _go_on(case)
    blocker = _why_nothing_begins(case)
    begins = any(isinstance(action, BEGINS) for action in decision.actions)
    return case.stays(blocker) if blocker is not None and begins else decision


def _go_on(case: Case) -> SubscriptionDecision:
    if case.status.promotion is not None:
        return promotion.promote(case, case.status.promotion)
    return promotion.begin(case) or _copies_on(case)


def _copies_on(case: Case) -> SubscriptionDecision:
    if case.spec.resync != case.status.resync:
        return _resync(case)
    if case.status.state is SubscriptionState.LOST:
        return _is_lost(case)
    return running.hear(case) or _suspend(case) or holding.hold(case) or _copy(case)


BEGINS = PlaceHold | MakeTargets | AddPartitions | GuardTargets | FreezeRequest | Submit
"""What a pause, a WALCluster that is Stalled, or one that does not allow it keeps from being done."""


def _why_nothing_begins(case: Case) -> Verdict | None:
    cluster, name = case.cluster, case.cluster.metadata.name
    refusal = why_not_allowed(case.spec.spark, case.declared, cluster, _Kind)
    if refusal is not None:
        return _stalled(Reason.SPARK_NOT_ALLOWED, refusal)
    is_mirror, brokers = case.spec.sink.mirror is not None, case.observed.brokers
    safe, sentence = (None, "") if brokers is None or not is_mirror else compare(brokers)
    if safe is TargetReason.UNSAFE:
        return _stalled(Reason.TARGET_UNSAFE, sentence)
    if case.obj.metadata.is_paused or cluster.metadata.is_paused:
        whose = "the subscription" if case.obj.metadata.is_paused else f"WALCluster {name}"
        return Verdict(Outlook.PAUSED, JobReason.PAUSED, f"seawall.dev/paused is set on {whose}", JOB_RETRY_SECONDS)
    stalled = find_condition(cluster.status.conditions, ConditionType.STALLED)
    if stalled is not None and stalled.status == "True":
        message = f"WALCluster {name} is Stalled: {stalled.message}"
        return Verdict(Outlook.PROGRESSING, JobReason.CLUSTER_STALLED, message, JOB_RETRY_SECONDS)
    return None


def _copy(case: Case) -> SubscriptionDecision:
    """The topics of the target, as whom they are written to, and what copies; else how it stands."""
    source, target = case.observed.source, case.observed.target
    if not isinstance(target, LogsNow):
        return case.stays(_silence(target))
    if not isinstance(source, LogsNow):
        return case.stays(_silence(source))
    sink = case.spec.sink.records
    if sink is None:
        decision = targets.prepare(case, source, target) or _take_producer(case)
    else:
        decision = topics.prepare(case, sink, source, target)
    if decision is None and not case.spec.suspend and targets.active(case):
        if isinstance(case.observed.tables, Silent):
            return case.stays(_silence(case.observed.tables))
        decision = running.run(case) or running.again(case)
    return decision or case.stays(_standing(case))


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
    if not isinstance(target, LogsNow):
        return case.stays(_silence(target))
    verdict = case.goes_on(JobReason.HOLDING, "it begins anew, as resync says")
    update = {"resync": case.spec.resync, "state": SubscriptionState.HOLDING}
    if case.spec.sink.records is not None:
        return case.becomes(verdict, **update, **topics.begun_anew(case, target))
    rows = tuple(kept for row in case.status.topics if (kept := resynced(row, target)) is not None)
    return case.becomes(verdict, **update, topics=rows)


def _is_lost(case: Case) -> SubscriptionDecision:
    application, verdict = case.observed.application, holding.lost_verdict(case.observed.hold)
    if application is not None and application.controller_uid == case.uid:
        return case.stays(verdict, RemoveApplication(application))
    return case.stays(verdict)


def _suspend(case: Case) -> SubscriptionDecision | None:
    application = case.observed.application
    if not case.spec.suspend or application is None or application.controller_uid != case.uid:
        return None
    verdict = Verdict(Outlook.READY, Reason.SUSPENDED, "suspend is set: what copies goes")
    return case.stays(verdict, RemoveApplication(application))


def _silence(found: Silent | LogsNow | None) -> Verdict:
    if isinstance(found, Silent):
        return Verdict(found.outlook, found.reason, found.message, JOB_RETRY_SECONDS)
    return Verdict(Outlook.PROGRESSING, Reason.TARGET_UNREACHABLE, "nobody asked Kafka yet", JOB_RETRY_SECONDS)


def _stalled(reason: str, message: str) -> Verdict:
    return Verdict(Outlook.STALLED, reason, message, JOB_RETRY_SECONDS)


def _standing(case: Case) -> Verdict:
    """How it is, when nothing is to be done."""
    halts = {name: each for name, each in case.standings.items() if isinstance(each, Halt)}
    if case.spec.suspend:
        message = "suspend is set: nothing is copied, and the source keeps what is not until lagBudget is used up"
        return Verdict(Outlook.READY, Reason.SUSPENDED, message, JOB_RETRY_SECONDS)
    if halts:
        first = min(halts)
        message = f"{len(halts)} of {len(case.rows)} topics stopped, the others go on: {halts[first].message}"
        return Verdict(Outlook.STALLED, Reason.TOPICS_STOPPED, message, JOB_RETRY_SECONDS)
    waits = running.follow(case) or _doubt(case) or promotion.why_not_begun(case)
    if waits is not None:
        return waits
    if _is_behind(case):
        message = "the target lacks records, or half of the budget is used up: status.worst says of which topics"
        return case.goes_on(Reason.LAGGING, message)
    sink, name = case.spec.sink.records, case.kafka_target.name
    message = f"{len(case.rows)} topics are copied to {name}"
    if sink is not None:
        message = f"the rows of {len(case.rows)} topics go to topic {sink.topic} of {name}"
    return Verdict(Outlook.READY, Reason.STREAMING, message, JOB_RETRY_SECONDS)


def _doubt(case: Case) -> Verdict | None:
    """Why it is not certain how far topics are; None: it is."""
    doubts = {name: each.doubt for name, each in case.standings.items() if isinstance(each, Position) and each.doubt}
    if not doubts:
        return None
    message = f"of {listed(list(doubts))} it is not certain how far they are, and the source keeps the rest: "
    return case.goes_on(Reason.IN_DOUBT, message + doubts[min(doubts)])


def _is_behind(case: Case) -> bool:
    lag, most = lag_of(case), case.spec.lag_budget.max_bytes
    if lag is None:
        return False
    is_half = most is not None and lag.bytes is not None and 2 * lag.bytes >= most
    return is_half or lag.seconds >= SUBSCRIPTION_LAGGING_SECONDS


def _state(case: Case, decision: SubscriptionDecision) -> SubscriptionState:
    """What `kubectl get` shows: of topics the worst, of the object where it is."""
    decided, before = decision.status.state, case.status.state
    if decided is not None and decided in STAYS:
        return decided
    if case.spec.suspend or any(isinstance(each, Halt) for each in case.standings.values()):
        return SubscriptionState.STOPPED
    if decision.status.run is None:
        return SubscriptionState.HOLDING if case.observed.hold is not None else decided or SubscriptionState.PENDING
    application = case.observed.application
    if application is not None and application.state == "RUNNING":
        return SubscriptionState.LAGGING if _is_behind(case) else SubscriptionState.STREAMING
    begins = before in {None, SubscriptionState.PENDING, SubscriptionState.HOLDING}
    return SubscriptionState.HOLDING if begins else SubscriptionState.LAGGING
