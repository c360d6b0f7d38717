"""What the identity fence says of each topic after a look, and the record as it should be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from seawall.domain.ledger import fence
from seawall.domain.ledger.fence import Finding, ObservedLog, Readoption, Verdict
from seawall.domain.ledger.intents import FenceRecord


@dataclass(frozen=True, slots=True)
class Identity:
    """What the fence says of a topic, and the record as it should be."""

    verdict: Verdict
    finding: Finding | None
    record: FenceRecord | None
    """None: nothing may be written (at a first contact that is suspected)."""
    is_urgent: bool
    """Whether the record is to be written at once; else it goes with the next intent."""
    is_readopted: bool = False
    """A person said that the log is right: the record is a new one."""


def identify(
    record: FenceRecord | None,
    observed: ObservedLog,
    before: Finding | None,
    adoption: Readoption | None,
    now: datetime,
) -> Identity:
    """What the fence says of a log after one more look.

    Args:
        record: what is written of it; None: nothing is, at the first contact.
        observed: the log as it is.
        before: what the look before found.
        adoption: what a person says, if who looks follows it.
        now: the operator's wall clock.
    """
    finding = fence.find_break(record, observed)
    if record is None:
        verdict = fence.judge(before, finding)
        first = fence.renew(fence.first_record(observed), observed, verdict)
        first = first if adoption is None else adoption.mark(first, now)
        is_sure = verdict is not Verdict.SUSPECTED
        return Identity(verdict, finding, first if is_sure else None, is_urgent=is_sure)
    is_foreign = record.topic_id == observed.topic_id and observed.log_start > record.intent
    is_wrong = record.broken or is_foreign or fence.is_of_other_database(record, observed)
    if adoption is not None and is_wrong and adoption.may_adopt(record, now):
        return _readopted(observed, adoption)
    verdict = fence.judge(before, finding)
    renewed = fence.renew(record, observed, verdict)
    renewed = renewed if adoption is None else adoption.mark(renewed, now)
    is_urgent = (
        renewed.broken != record.broken
        or renewed.leader_epoch != record.leader_epoch
        or renewed.readopted != record.readopted
        or (verdict is Verdict.WHOLE and (_is_outdated(record, observed) or _lacks_database(record, observed)))
    )
    return Identity(verdict, finding, renewed, is_urgent=is_urgent)


def _is_outdated(record: FenceRecord, observed: ObservedLog) -> bool:
    """Whether the log could be cut between what is recorded and what is flushed, and nobody would notice."""
    return observed.max_flushed is not None and observed.max_flushed >= record.high_watermark


def _lacks_database(record: FenceRecord, observed: ObservedLog) -> bool:
    """Whether the record is of before records named their database."""
    return record.database is None and observed.database is not None


def _readopted(observed: ObservedLog, adoption: Readoption) -> Identity:
    """A new record; what does not fit even then (the log still ends before a known id) is a finding again."""
    record = fence.first_record(observed, adoption.token)
    finding = fence.find_break(record, replace(observed, went_back=None, cut=None))
    return Identity(fence.judge(None, finding), finding, record, is_urgent=True, is_readopted=True)
