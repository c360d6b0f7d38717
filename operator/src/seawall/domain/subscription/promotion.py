"""The end of a copy: a database goes on with it.

    promote: Switchover → waits until the target has all of the source
    → Promoting: recorded; from here on nothing is copied → what copies goes
    → by topic where the copy ends, and where it must end: recorded; a switchover goes back where the source has more
    → fenced: one record of null of the next epoch, so that the target refuses writers that wake up late
    → padded with records of null → the source got more meanwhile: that is lost too, and it is padded beyond it
    → Promoted, the hold goes

A log that ends below what the database has flushed would give new rows offsets that the next replay skips. So it ends
above all that the database says it has, and above where the source is known to have ended: what it lacks between is
lost, and listed. Where source and database do not answer, Seawall's own records of the source's logs say it.
"""

from __future__ import annotations

from dataclasses import dataclass

from seawall.api.v1alpha1.subscription import Promotion
from seawall.api.v1alpha1.subscription_status import (
    Producer,
    PromotedTopic,
    PromotionStatus,
    StopReason,
    SubscriptionState,
)
from seawall.domain.conditions import Outlook, Verdict
from seawall.domain.kafka_log import Nulls, ProducerId, ProducerState, TopicFailure, TopicTrouble
from seawall.domain.spark_job.actions import ReleaseHold, RemoveApplication
from seawall.domain.subscription.actions import AppendNulls
from seawall.domain.subscription.case import Case, Silent, SubscriptionDecision
from seawall.domain.subscription.copies import copied, flushed_by, lost_by_source, says_all, source_end, without_copy
from seawall.domain.subscription.logs import LogsNow, Position
from seawall.domain.subscription.needed import others_to, promoted_topic, record_problem, with_late
from seawall.domain.subscription.reasons import Reason
from seawall.domain.text import listed
from seawall.domain.times import JOB_POLL_SECONDS

AT_ONCE = 100_000
"""Records of null that one action appends to a topic at most: 0.2 s, and 0.8 MB."""


def begin(case: Case) -> SubscriptionDecision | None:
    """Begins to promote, once that is asked for and may be; None: it goes on as before."""
    if case.spec.promote is None or case.status.producer is None or not copied(case) or _why_forgotten(case):
        return None
    if case.spec.promote is Promotion.SWITCHOVER and not _is_even(case):
        return None
    status = PromotionStatus(begin_time=case.now.replace(microsecond=0))
    verdict = case.goes_on(Reason.PROMOTING, "nothing is copied any more")
    return case.becomes(verdict, state=SubscriptionState.PROMOTING, promotion=status)


def why_not_begun(case: Case) -> Verdict | None:
    """What a promotion that is asked for waits for; None: it is not asked for."""
    if case.spec.promote is None:
        return None
    if not copied(case):
        return Verdict(Outlook.STALLED, Reason.CANNOT_PROMOTE, "no topic was ever copied", JOB_POLL_SECONDS)
    message = "promote: Switchover waits until the target has all of the source: stop what writes to it"
    return case.goes_on(Reason.NOT_EVEN, message)


def explained(case: Case, decision: SubscriptionDecision) -> SubscriptionDecision:
    """What it waits for, with what keeps a promotion that is asked for from beginning."""
    forgotten = None if case.spec.promote is None else _why_forgotten(case)
    if forgotten is None or decision.actions or decision.status != case.status:
        return decision
    verdict = decision.verdict
    message = f"{forgotten}. Until then: {verdict.message}"
    return case.stays(Verdict(Outlook.STALLED, Reason.CANNOT_PROMOTE, message, verdict.after))


def _why_forgotten(case: Case) -> str | None:
    """Which topics a database that goes on with the copy would miss; None: none."""
    names = without_copy(case)
    if names:
        return f"{listed(names)} would be forgotten, for want of a copy of its own: leave it out of spec.topics"
    lost = lost_by_source(case)
    if not lost:
        return None
    found = f"{listed(lost)} is gone at the source, was never copied, and had entries"
    return f"{found}: a database that goes on would skip new rows of it; to give it up, leave it out of spec.topics"


def promote(case: Case, promotion: PromotionStatus) -> SubscriptionDecision:
    """Goes on until the target is ready."""
    application, hold = case.own_application, case.observed.hold
    if application is not None:
        return case.stays(case.goes_on(Reason.PROMOTING, "what copies goes"), RemoveApplication(application))
    if promotion.time is None:
        return _promote(case, promotion)
    message = f"{case.goes_to.name} is ready for a database, and {_what_it_lacks(promotion)}"
    verdict = Verdict(Outlook.READY, Reason.PROMOTED, message)
    if hold is not None and hold.metadata.controller_uid == case.uid and hold.metadata.deletion_timestamp is None:
        return case.stays(verdict, ReleaseHold(hold))
    return case.stays(verdict)


def _what_it_lacks(promotion: PromotionStatus) -> str:
    lost, others = promotion.lost_entries, [row.name for row in promotion.topics if row.others_to is not None]
    found = f"lacks {lost} entries" if lost else "has all that the source had"
    if not promotion.source_known:
        found = f"lacks {lost} entries that are known of: the source did not say where it ended"
    more = f"; {listed(others)} had records beyond the end of the copy that are not known to be copies"
    return found + more if others else found


def _promote(case: Case, promotion: PromotionStatus) -> SubscriptionDecision:
    target, producer = case.observed.target, case.status.producer
    if isinstance(target, Silent):
        return case.stays(Verdict(target.outlook, target.reason, target.message, JOB_POLL_SECONDS))
    if target is None or producer is None:
        return case.stays(case.goes_on(Reason.TARGET_UNREACHABLE, "nobody asked the target yet"))
    others = [name for name in copied(case) if _is_another(case, name, target)]
    if others:
        return _cannot(case, f"{listed(others)} of the target is gone, or was made again: leave it out of spec.topics")
    forgotten = _why_forgotten(case)
    if forgotten is not None and case.spec.promote is Promotion.SWITCHOVER and not promotion.topics:
        return _go_back(case, forgotten)
    if forgotten is not None:
        return _cannot(case, forgotten)
    return _write(case, promotion, target, producer) if promotion.topics else _plan(case, promotion, target)


def _cannot(case: Case, message: str) -> SubscriptionDecision:
    """A person is needed."""
    return case.stays(Verdict(Outlook.STALLED, Reason.CANNOT_PROMOTE, message, JOB_POLL_SECONDS))


def _plan(case: Case, promotion: PromotionStatus, target: LogsNow) -> SubscriptionDecision:
    """Records where each copy ends, and where it must."""
    names, needs = copied(case), case.observed.needs
    ends = {name: end for name in names if (end := _end_of_copy(case, name, target)) is not None}
    if len(ends) < len(names):
        return _unknown(case, "where the copy ends", [name for name in names if name not in ends])
    if needs is None:
        return case.stays(case.goes_on(Reason.PROMOTING, "nobody asked yet what the database has"))
    uneven = [name for name in names if _is_uneven(case, name, ends[name])]
    if uneven:
        why = "the source has more than the target, or does not say where it ends, or somebody else wrote to the target"
        return _go_back(case, f"of {listed(uneven)} {why}")
    problems = {name: problem for name in names if (problem := record_problem(case, name)) is not None}
    if problems:
        message = f"it is not known where {listed(list(problems))} must end: the source does not say it, and "
        return case.stays(case.goes_on(Reason.PROMOTING, message + problems[min(problems)]))
    flushed = flushed_by(case)
    topics = tuple(promoted_topic(case, name, ends[name], flushed) for name in names)
    update = {
        "topics": topics,
        "lost_entries": sum(row.known_end - row.end for row in topics),
        "source_known": all(source_end(case, name) is not None for name in names),
        "regions_known": says_all(flushed, names),
    }
    verdict = case.goes_on(Reason.PROMOTING, f"{len(topics)} topics are fenced and padded")
    return case.becomes(verdict, promotion=promotion.model_copy(update=update))


def _unknown(case: Case, what: str, names: list[str]) -> SubscriptionDecision:
    """Something is not known of some topics of the target: which, and what Kafka says of the first of them."""
    failures = [failure for name in names if (failure := _failure(case, name)) is not None]
    refused = [failure for failure in failures if failure.why is TopicTrouble.REFUSED]
    said = [failure.message for failure in refused or failures]
    message = ": ".join([f"it is not known {what} of {listed(names)}", *said[:1]])
    if refused:
        return case.stays(Verdict(Outlook.STALLED, Reason.TARGET_ACCESS, message, JOB_POLL_SECONDS))
    return case.stays(case.goes_on(Reason.TARGET_UNREACHABLE, message))


def _failure(case: Case, name: str) -> TopicFailure | None:
    target = case.observed.target
    found = (target.described.get(name), target.offsets.get(name)) if isinstance(target, LogsNow) else ()
    answers = (*found, case.observed.producers.get(name))
    return next((each for each in answers if isinstance(each, TopicFailure)), None)


def _is_uneven(case: Case, name: str, end: int) -> bool:
    """Whether a switchover would lose something of a topic that goes on, or nobody says that it would not."""
    if case.spec.promote is not Promotion.SWITCHOVER or case.rows[name].stopped is not None:
        return False
    at_source = source_end(case, name)
    return at_source is None or at_source > end or others_to(case, name, end) is not None


def _go_back(case: Case, why: str) -> SubscriptionDecision:
    """Nothing is fenced yet: it is copied on as if nobody had begun to promote."""
    return case.becomes(case.goes_on(Reason.NOT_EVEN, f"{why}: it is copied on"), promotion=None, state=None)


def _end_of_copy(case: Case, name: str, target: LogsNow) -> int | None:
    """Up to where a topic is a copy; None: that is not known.

    What somebody else wrote does not count, nor what came after it. Of a producer that is forgotten nobody knows: then
    what is certain counts, and what may be missing is listed as lost.
    """
    row, ends, state = case.rows[name], target.ends(name), case.observed.producers.get(name)
    if ends is None or target.topic_id(name) is None or not isinstance(state, ProducerState):
        return None
    ours = case.find_written(row, ends.high_watermark).applied
    good = row.offset if row.stopped is StopReason.DIVERGED and row.offset is not None else ours
    return min(ends.high_watermark, ours, good)


@dataclass(frozen=True, slots=True)
class _Standing:
    """A topic while it is promoted."""

    row: PromotedTopic
    topic_id: str
    end: int
    state: ProducerState


def _write(case: Case, promotion: PromotionStatus, target: LogsNow, producer: Producer) -> SubscriptionDecision:
    """Fences, then pads, whatever is known of the other topics; both are seen in the target before it is done."""
    rows = [row for row in promotion.topics if row.name in case.rows]
    standings = [each for row in rows if (each := _standing(case, row, target)) is not None]
    new = ProducerId(producer.id, producer.epoch + 1)
    unfenced = [each for each in standings if each.state.epoch != new.epoch]
    if unfenced:
        fences = tuple(Nulls(each.row.name, each.topic_id, new, 0, 1) for each in unfenced)
        verdict = case.goes_on(Reason.PROMOTING, f"it fences the writers of {len(fences)} topics")
        return case.stays(verdict, AppendNulls(fences, fences=True))
    short = [each for each in standings if each.end < each.row.pad_to]
    if short:
        verdict = case.goes_on(Reason.PROMOTING, f"it pads {len(short)} topics")
        return case.stays(verdict, AppendNulls(tuple(_padding(each, new) for each in short), fences=False))
    if len(standings) < len(rows):
        known = {each.row.name for each in standings}
        return _unknown(case, "what the target remembers", [row.name for row in rows if row.name not in known])
    last = with_late(case, promotion)
    if any(row.pad_to > before.pad_to for row, before in zip(last.topics, promotion.topics, strict=True)):
        message = "the source got more meanwhile, or does not answer any more: it pads beyond that"
        return case.becomes(case.goes_on(Reason.PROMOTING, message), promotion=last)
    done = last.model_copy(update={"time": case.now.replace(microsecond=0)})
    verdict = case.goes_on(Reason.PROMOTING, "all topics are fenced and padded")
    return case.becomes(verdict, promotion=done, state=SubscriptionState.PROMOTED)


def _padding(each: _Standing, new: ProducerId) -> Nulls:
    count = min(each.row.pad_to - each.end, AT_ONCE)
    return Nulls(each.row.name, each.topic_id, new, each.state.last_sequence + 1, count)


def _standing(case: Case, row: PromotedTopic, target: LogsNow) -> _Standing | None:
    state, ends, topic_id = case.observed.producers.get(row.name), target.ends(row.name), target.topic_id(row.name)
    if not isinstance(state, ProducerState) or ends is None or topic_id is None:
        return None
    return _Standing(row, topic_id, ends.high_watermark, state)


def is_over(case: Case) -> bool:
    """Whether the target is ready: the source is nobody's affair any more."""
    return case.status.promotion is not None and case.status.promotion.time is not None


def asked(case: Case) -> list[str]:
    """The topics of which it matters what the target remembers of the producer."""
    status = case.status.promotion
    if status is None:
        return case.unsure
    if status.time is not None:
        return []
    return [row.name for row in status.topics] or copied(case)


def _is_another(case: Case, name: str, target: LogsNow) -> bool:
    """Whether it is surely not the log that was written; nothing is written to it."""
    return target.is_absent(name) or target.topic_id(name) not in {case.rows[name].target_id, None}


def _is_even(case: Case) -> bool:
    """Whether the target has all of each topic that goes on; of those that stopped for good nothing more will come."""
    return all(
        case.rows[name].stopped is not None or (isinstance(each, Position) and not each.behind and not each.doubt)
        for name, each in case.standings.items()
    )
