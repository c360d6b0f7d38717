"""How a subscription stands when nothing is to be done: what people read, and the state that `kubectl get` shows."""

from __future__ import annotations

from dataclasses import replace

from seawall.api.v1alpha1.subscription_status import SubscriptionState
from seawall.domain.conditions import Outlook, Verdict
from seawall.domain.ledger.observation import Unavailable
from seawall.domain.spark_job.allowed import why_not_allowed
from seawall.domain.spark_job.application import works
from seawall.domain.spark_job.reasons import JobReason
from seawall.domain.subscription import promotion, running
from seawall.domain.subscription.case import Case, Silent, SubscriptionDecision
from seawall.domain.subscription.committed.chain import Chains
from seawall.domain.subscription.copies import not_begun
from seawall.domain.subscription.holdable import deleted_by_others
from seawall.domain.subscription.kept import find_refusal
from seawall.domain.subscription.logs import Halt, LogsNow, Position
from seawall.domain.subscription.published import lag_of
from seawall.domain.subscription.reasons import Reason
from seawall.domain.subscription.targets import unheld
from seawall.domain.text import listed
from seawall.domain.times import JOB_RETRY_SECONDS, SUBSCRIPTION_LAGGING_SECONDS

STAYS = frozenset({SubscriptionState.LOST, SubscriptionState.PROMOTING, SubscriptionState.PROMOTED})
"""States that are recorded, and do not follow from how topics are."""


def silence(found: Silent | LogsNow | Chains | None) -> Verdict:
    """Of a side that does not answer, or must not be asked."""
    if isinstance(found, Silent):
        return Verdict(found.outlook, found.reason, found.message, JOB_RETRY_SECONDS)
    return Verdict(Outlook.PROGRESSING, Reason.TARGET_UNREACHABLE, "nobody asked Kafka yet", JOB_RETRY_SECONDS)


def stalled(reason: str, message: str) -> Verdict:
    """A person is needed; it is tried again all the same."""
    return Verdict(Outlook.STALLED, reason, message, JOB_RETRY_SECONDS)


class _Kind:
    """How it is called in sentences."""

    noun = "subscription"
    """The WALCluster's field that declares it."""
    may = "copy it"


def _not_allowed(case: Case) -> Verdict | None:
    """Why its WALCluster does not let it run as it says; None: it does."""
    refusal = why_not_allowed(case.spec.spark, case.declared, case.cluster, _Kind)
    return None if refusal is None else stalled(Reason.SPARK_NOT_ALLOWED, refusal)


def not_allowed_any_more(case: Case) -> Verdict | None:
    """Of an edit: what copies was allowed when it began, and to end it would take more of the budget."""
    refusal = _not_allowed(case)
    if refusal is None or case.observed.application is None:
        return refusal
    return replace(refusal, message=f"{refusal.message}; what was begun before goes on, and nothing is begun anew")


def standing(case: Case) -> Verdict:
    """How it is, when nothing is to be done."""
    halts = {name: each for name, each in case.standings.items() if isinstance(each, Halt)}
    refusal = find_refusal(case.own_hold)
    if refusal is not None:
        message = f"the source keeps what was held before, as what is held now is not granted: {refusal.message}"
        return stalled(Reason.HOLD_REFUSED, message)
    if case.spec.suspend:
        return _suspended(case)
    # Of a promotion people read what it waits for; of those that stopped nothing more will come.
    if halts and case.spec.promote is None:
        first = min(halts)
        message = f"{len(halts)} of {len(case.rows)} topics stopped, the others go on: {halts[first].message}"
        return Verdict(Outlook.STALLED, Reason.TOPICS_STOPPED, message, JOB_RETRY_SECONDS)
    waits = not_allowed_any_more(case) or running.follow(case) or _doubt(case) or promotion.why_not_begun(case)
    return waits or _unheld(case) or _lagging(case) or _beginning(case) or _streaming(case)


def _lagging(case: Case) -> Verdict | None:
    if not _is_behind(case):
        return None
    message = "the target lacks records, or half of the budget is used up: status.worst says of which topics"
    return case.goes_on(Reason.LAGGING, message)


def _beginning(case: Case) -> Verdict | None:
    """Which topics are selected, and not copied yet; None: all are."""
    new = not_begun(case)
    if not new:
        return None
    ledger = case.observed.ledger
    others = sorted(deleted_by_others(case).intersection(new))
    held = "it is not held yet, or nobody says where it begins"
    if others:
        held = f"somebody else deletes from {listed(others)}, so no hold is granted (seawall.dev/readopt)"
    why = ledger.message if isinstance(ledger, Unavailable) else held
    return case.goes_on(JobReason.HOLDING, f"nothing is copied yet of {listed(new)}: {why}")


def _unheld(case: Case) -> Verdict | None:
    """Which topics are not copied until they can be held; None: all are."""
    names = unheld(case)
    if not names:
        return None
    message = f"nothing is copied of {listed(names)}, which cannot be held now; the others go on"
    return case.goes_on(JobReason.HOLDING, message)


def _streaming(case: Case) -> Verdict:
    sink, name = case.spec.sink, case.goes_to.name
    message = f"{len(case.rows)} topics are copied to {name}"
    if sink.records is not None:
        message = f"the rows of {len(case.rows)} topics go to topic {sink.records.topic} of {name}"
    elif sink.table is not None:
        message = f"the rows of {len(case.rows)} topics go to bucket {name}"
    return Verdict(Outlook.READY, Reason.STREAMING, message, JOB_RETRY_SECONDS)


def _suspended(case: Case) -> Verdict:
    """What a person wants, unless something that was asked for waits for ever."""
    waits = promotion.why_not_begun(case)
    if waits is not None and waits.reason == Reason.NOT_EVEN:
        message = "promote: Switchover waits until the target has all of the source, and suspend is set: take that back"
        return stalled(Reason.CANNOT_PROMOTE, message)
    message = "suspend is set: nothing is copied, and the source keeps what is not until lagBudget is used up"
    return waits or Verdict(Outlook.READY, Reason.SUSPENDED, message, JOB_RETRY_SECONDS)


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


def state_of(case: Case, decision: SubscriptionDecision) -> SubscriptionState:
    """What `kubectl get` shows: of topics the worst, of the object where it is."""
    decided, before = decision.status.state, case.status.state
    if decided is not None and decided in STAYS:
        return decided
    if case.spec.suspend or any(isinstance(each, Halt) for each in case.standings.values()):
        return SubscriptionState.STOPPED
    if decision.status.run is None:
        return SubscriptionState.HOLDING if case.observed.hold is not None else decided or SubscriptionState.PENDING
    if works(case.observed.application, case.observed.driver):
        return SubscriptionState.LAGGING if _is_behind(case) else SubscriptionState.STREAMING
    begins = before in {None, SubscriptionState.PENDING, SubscriptionState.HOLDING}
    return SubscriptionState.HOLDING if begins else SubscriptionState.LAGGING
