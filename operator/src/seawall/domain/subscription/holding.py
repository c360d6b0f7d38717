"""What the source keeps: from the first offset that the target lacks, by our own reads of the target, and never more.

    no hold → asked for, from where each topic is, or surely was; of one that was never copied from the log start on
    Lost by its budget → the subscription is Lost, until resync; for another reason → placed anew
    target has more → the hold begins later, every half minute, or at once when it is at risk
    nothing else to do → renewed each hour as it is, whatever is waited for

Nothing is read before it is granted. A topic that cannot go on keeps its place in the hold until that ends by the
budget; then it has none, and the others go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from seawall.api.meta import ConditionType
from seawall.api.v1alpha1.hold import WALHold, WALHoldSpec
from seawall.api.v1alpha1.subscription import WALSubscription
from seawall.api.v1alpha1.subscription_status import MirroredTopic, StopReason, SubscriptionState
from seawall.domain.conditions import Outlook, Verdict, find_condition
from seawall.domain.ledger.observation import Observation
from seawall.domain.spark_job.actions import PlaceHold, ReleaseHold
from seawall.domain.spark_job.case import is_granted
from seawall.domain.spark_job.reasons import JobReason
from seawall.domain.subscription.actions import MoveHold
from seawall.domain.subscription.case import Case, Observed, SubscriptionDecision, claims_of, is_at_risk
from seawall.domain.subscription.contract import MAX_MESSAGE
from seawall.domain.subscription.frozen_run import copied_by
from seawall.domain.subscription.holdable import deleted_by_others, edges, find_ungranted, leaderless_lately
from seawall.domain.subscription.logs import Halt, LogsNow, Position, missing_source
from seawall.domain.subscription.reasons import Reason
from seawall.domain.subscription.written import certain
from seawall.domain.times import SUBSCRIPTION_HOLD_TTL, SUBSCRIPTION_MOVES_HOLD, SUBSCRIPTION_RENEWS_HOLD


def hold(case: Case) -> SubscriptionDecision | None:
    """Places the hold, moves it, or waits for it; None: it stands."""
    found = case.observed.hold
    if found is not None and found.metadata.controller_uid != case.uid:
        message = f"WALHold {found.metadata.name} exists and was not made by this subscription: delete it"
        return case.stays(Verdict(Outlook.STALLED, Reason.NAME_TAKEN, message))
    if found is not None and found.status.is_final:
        return _after_its_end(case, found)
    claims = _claims(case, None if found is None else claims_of(found))
    if claims is None:
        return _unavailable(case)
    return _place(case, claims) if found is None else _move(case, found, claims)


def _after_its_end(case: Case, found: WALHold) -> SubscriptionDecision:
    """Beyond the budget a person is needed; else it is placed anew, without topics that are stopped."""
    if case.observed.is_over_budget:
        return case.becomes(lost_verdict(found), state=SubscriptionState.LOST)
    if case.observed.is_over_budget is None:
        message = (
            f"WALHold {found.metadata.name} is {found.status.state}, and the source does not say of which age it was"
        )
        return case.stays(case.goes_on(Reason.SOURCE_UNREACHABLE, message))
    message = f"WALHold {found.metadata.name} is {found.status.state} and is placed anew: {_sentence(found)}"
    rows = remembered(case)
    if rows != case.status.topics:
        return case.becomes(case.goes_on(JobReason.HOLDING, message), topics=rows)
    return case.stays(case.goes_on(JobReason.HOLDING, message), ReleaseHold(found))


def remembered(case: Case) -> tuple[MirroredTopic, ...]:
    """The topics with where their hold began, before that goes: up to there they are surely copied."""
    held = case.held
    return tuple(
        row if row.name not in held else row.model_copy(update={"held": max(row.held or 0, held[row.name])})
        for row in case.status.topics
    )


def bytes_kept(case: Case, found: WALHold) -> int:
    """What it kept when it was last measured; without the share of topics that are stopped, of which no more comes."""
    used, entries = found.status.lag_bytes or 0, found.status.lag_entries or 0
    if not any(isinstance(each, Halt) for each in case.standings.values()):
        return used
    behind = sum(each.behind for each in case.standings.values() if isinstance(each, Position))
    return used * min(behind, entries) // entries if entries else 0


def kept_from(case: Case) -> dict[str, int]:
    """By topic that goes on the first offset that is kept for it; where nobody says how far it is, by its hold."""
    found = {name: each.keep_from for name, each in case.standings.items() if isinstance(each, Position)}
    unknown = [name for name, each in case.standings.items() if each is None and name in case.held]
    return {**found, **{name: case.held[name] for name in unknown}}


def lost_verdict(found: WALHold | None) -> Verdict:
    """Of a subscription whose hold is over by its budget."""
    why = "its WALHold is over" if found is None else _sentence(found)
    return Verdict(Outlook.STALLED, Reason.LOST, f"the source keeps nothing for it any more: {why}. Set resync")


def _place(case: Case, claims: Mapping[str, int]) -> SubscriptionDecision | None:
    if not claims:
        return None
    verdict = case.goes_on(JobReason.HOLDING, f"it places a hold on {len(claims)} topics")
    return case.stays(verdict, PlaceHold(case.obj.metadata.key, _spec(case, claims)))


def _move(case: Case, found: WALHold, claims: Mapping[str, int]) -> SubscriptionDecision | None:
    if not claims or not isinstance(found.spec, WALHoldSpec):
        return None
    wanted = _spec(case, claims).model_copy(update={"renew_time": found.spec.renew_time})
    before = _renewed_at(found, found.spec)
    is_other = wanted.model_copy(update={"topics": found.spec.topics}) != found.spec
    is_about_others = claims.keys() != found.spec.topics.keys() or any(
        claims[name] < held for name, held in claims_of(found).items()
    )
    is_further = dict(claims) != found.spec.topics and (
        _is_due(before, SUBSCRIPTION_MOVES_HOLD, case.now) or at_risk(case)
    )
    if is_other or is_about_others or is_further or _is_due(before, SUBSCRIPTION_RENEWS_HOLD, case.now):
        verdict = case.goes_on(JobReason.HOLDING, f"it moves its hold, on {len(claims)} topics")
        return case.stays(verdict, MoveHold(found, wanted))
    return None


def _renewed_at(found: WALHold, spec: WALHoldSpec) -> datetime:
    return spec.renew_time or found.metadata.creation_timestamp


def renewal(obj: WALSubscription, observed: Observed) -> MoveHold | None:
    """Renews the hold as it is: its ttl must not end it, whatever is waited for. None: that is not due."""
    found = observed.hold
    if found is None or found.metadata.controller_uid != obj.metadata.uid or not isinstance(found.spec, WALHoldSpec):
        return None
    if found.status.is_final or found.metadata.deletion_timestamp is not None:
        return None
    is_due = _is_due(_renewed_at(found, found.spec), SUBSCRIPTION_RENEWS_HOLD, observed.now)
    return MoveHold(found, found.spec) if is_due else None


def at_risk(case: Case) -> bool:
    """Whether the hold is near its budget: then it moves at once."""
    return is_at_risk(case.own_hold)


def wait_for_grant(case: Case) -> SubscriptionDecision | None:
    """Nothing is read, or made, before what is claimed is granted; None: it is."""
    found = case.observed.hold
    if found is None:
        return case.stays(case.goes_on(JobReason.HOLDING, "no topic can be held"))
    if is_granted(found):
        return None
    message = f"WALHold {found.metadata.name} is not granted yet: {_sentence(found)}"
    return case.stays(case.goes_on(JobReason.HOLDING, message))


def leave(case: Case) -> SubscriptionDecision | None:
    """Records the stop of topics that cannot go on and have no place in the hold; None: there are none.

    What runs says that itself, of what it copies. But nothing is begun that would read what is not held.
    """
    known, copied = edges(case), copied_by(case)
    unheld = {name: each for name, each in case.standings.items() if name not in case.held and name not in copied}
    halts = {name: _why_unheld(name, each, known) for name, each in unheld.items()}
    new = {name: each for name, each in halts.items() if each is not None and case.rows[name].stopped is None}
    if not new:
        return None
    verdict = Verdict(Outlook.STALLED, Reason.TOPICS_STOPPED, new[min(new)].message)
    return case.becomes(verdict, topics=tuple(_halted(row, new.get(row.name)) for row in case.status.topics))


def _why_unheld(name: str, standing: Position | Halt | None, known: Mapping[str, int]) -> Halt | None:
    """Why a topic cannot be held any more; None: it may be."""
    if not isinstance(standing, Position):
        return standing
    edge = known.get(name, 0)
    if standing.keep_from >= edge:
        return None
    message = f"{name} is at {standing.keep_from}, and up to {edge} it may be deleted by what was decided before"
    return Halt(StopReason.SOURCE_GAP, standing.keep_from, message)


def _halted(row: MirroredTopic, halt: Halt | None) -> MirroredTopic:
    if halt is None:
        return row
    return row.model_copy(update={"stopped": halt.reason, "offset": halt.offset, "message": halt.message[:MAX_MESSAGE]})


def _claims(case: Case, held: Mapping[str, int] | None) -> dict[str, int] | None:
    """By topic from where on it is kept; None: there is no hold yet, and it cannot be known now where it begins.

    A topic that goes on: from the first offset on that the target surely lacks, by what was just read, and never from
    an earlier one than before. One that is stopped, or of which nothing is known: as before; of which nothing is known
    and that is not held: from where it was surely copied up to. One that was not copied yet: from where the log can be
    held.
    """
    known, before = edges(case), held or {}
    if held is None and not known:
        return None
    # Unless it was granted before, a topic that nobody ever copied waits until a person has found out who deletes.
    refused = deleted_by_others(case) - case.rows.keys() - case.granted.keys()
    names = [name for name in case.selected if name not in refused]
    claims = {name: offset for name in names if (offset := _claim(case, name, before, known)) is not None}
    kept = before.keys() - find_ungranted(case)
    # Of others records are gone, or may go by what was decided before: nobody could keep them. Nor is one granted
    # that has no leader; while nothing is known of any, what was claimed stays.
    asked = leaderless_lately(case) if isinstance(case.observed.ledger, Observation) else before.keys()
    least = {name: known.get(name, 0 if name in asked else offset + 1) for name, offset in claims.items()}
    return {name: offset for name, offset in claims.items() if name in kept or offset >= least[name]}


def _claim(case: Case, name: str, held: Mapping[str, int], known: Mapping[str, int]) -> int | None:
    standing, row = case.standings.get(name), case.rows.get(name)
    if isinstance(standing, Position):
        # Where nothing says for sure how far it is: from as early on as can be.
        least = known.get(name, 0) if standing.doubt else 0
        # All others would wait for a claim beyond the end of a log that was cut.
        least = max(min(standing.keep_from, standing.source_end), least)
        return max(standing.keep_from, held[name]) if name in held else least
    if row is None:
        return known.get(name, held.get(name))
    if standing is None and name not in held:
        return _from_certain(case, row, known)
    return held.get(name) if row.stopped is None else _of_stopped(case, row, held)


def _of_stopped(case: Case, row: MirroredTopic, held: Mapping[str, int]) -> int | None:
    """Of a topic that is stopped: as before, but nothing that the source has no more; None: it has nothing of it.

    A claim is granted as a whole: what cannot be granted of one topic would leave all others where they were. That a
    topic is not there is believed only of one of which the job has said so, too.
    """
    before, source = held.get(row.name), case.observed.source
    if before is None or not isinstance(source, LogsNow):
        return before
    if row.stopped is StopReason.IDENTITY_FENCE_BROKEN and missing_source(row, source) is not None:
        return None
    ends = source.ends(row.name)
    return before if ends is None else min(before, ends.high_watermark)


def _from_certain(case: Case, row: MirroredTopic, known: Mapping[str, int]) -> int | None:
    """Of a topic of which nobody says now how far it is: from where it was surely copied up to; None: not at all.

    All others would wait for a claim beyond the end of a log that was cut, or on another one than was copied.
    """
    least, source = max(certain(row, 0), known.get(row.name, 0)), case.observed.source
    if not isinstance(source, LogsNow):
        return least
    if missing_source(row, source) is not None:
        return None
    ends = source.ends(row.name)
    return least if ends is None else min(least, ends.high_watermark)


def _spec(case: Case, claims: Mapping[str, int]) -> WALHoldSpec:
    budget = case.spec.lag_budget
    return WALHoldSpec(
        cluster_ref=case.spec.cluster_ref,
        topics=dict(claims),
        ttl=SUBSCRIPTION_HOLD_TTL,
        max_lag_bytes=budget.max_bytes,
        max_lag_age=budget.max_age,
        reason=f"WALSubscription {case.obj.metadata.name} takes them to {case.goes_to.name}",
    )


def _is_due(before: datetime, every: timedelta, now: datetime) -> bool:
    """A clock that was set back makes it due, too."""
    return not before <= now < before + every


def _sentence(found: WALHold) -> str:
    condition = find_condition(found.status.conditions, ConditionType.READY)
    return "nobody has looked at it yet" if condition is None else condition.message


def _unavailable(case: Case) -> SubscriptionDecision:
    ledger = case.observed.ledger
    message = "it is not known from where on topics can be held"
    if ledger is not None and not isinstance(ledger, Observation):
        message = ledger.message
    return case.stays(case.goes_on(JobReason.CANNOT_OBSERVE, message))
