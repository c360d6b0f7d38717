"""Whether records that a hold was granted are gone, or may be: what Kafka and the identity fence say of their logs."""

from __future__ import annotations

from seawall.domain.ledger.fence import Break
from seawall.domain.ledger.held import Claim, Hold, HoldView


def why_overtaken(hold: Hold, view: HoldView) -> str | None:
    """That a granted record is gone already, in one sentence: only somebody else can have deleted it."""
    if hold.granted is None or hold.state.is_final:
        return None
    return _deleted(hold.granted, view) or _recreated(hold, hold.granted, view) or _cut(hold.granted, view)


def _deleted(granted: Claim, view: HoldView) -> str | None:
    for name, offset in granted.offsets.items():
        topic = view.topics.get(name)
        if topic is not None and topic.log_start is not None and topic.log_start > offset:
            return f"{name} starts at {topic.log_start} and offset {offset} was held: somebody else deleted it"
    for name, topic in view.topics.items():
        if granted.everything and topic.is_foreign():
            return f"{name} starts at {topic.log_start}, and everything was held: somebody else deleted records"
    return None


def _recreated(hold: Hold, granted: Claim, view: HoldView) -> str | None:
    """Another log: as the fence is sure, or, when a person has readopted it meanwhile, by what was granted then."""
    recreated = [name for name in granted.offsets_among(view.topics) if _is_recreated(name, view)]
    if recreated:
        is_sure = view.topics[recreated[0]].is_broken
        return f"{recreated[0]} was recreated, and what was held of it is gone" if is_sure else None
    before, now = hold.granted_logs, view.logs_of(granted, as_held=hold.granted_logs)
    if before is None or now is None or now.count != before.count or now.digest == before.digest:
        return None
    return "a topic that it holds was recreated since, and what was held of it is gone"


def _is_recreated(name: str, view: HoldView) -> bool:
    return name in view.topics and view.topics[name].is_recreated()


def _cut(granted: Claim, view: HoldView) -> str | None:
    """A log that ends before the granted offset, and the fence is sure that it was cut."""
    for name, offset in granted.offsets.items():
        topic = view.topics.get(name)
        if topic is not None and topic.is_broken and topic.ends_before(offset):
            return f"{name} was cut off: it ends at {topic.high_watermark}, and offset {offset} was held"
    return None


def why_in_doubt(hold: Hold, granted: Claim, view: HoldView) -> str | None:
    """What may mean that granted records are gone, in one sentence: a region whose manifest was restored does not."""
    for name, offset in granted.offsets_among(view.topics).items():
        topic = view.topics.get(name)
        if topic is None:
            return f"there is no topic {name} any more"
        if topic.finding is not None and topic.finding.what is not Break.FLUSHED_WENT_BACK:
            return f"the log of {name} is in doubt: {topic.finding.sentence}"
        if topic.ends_before(offset):
            return f"{name} ends at {topic.high_watermark}, before offset {offset}, which is held"
    held = hold.granted_logs if granted.everything else None
    there = 0 if held is None else len(held.among(view.topics))
    if held is not None and held.count > there:
        return f"{held.count} topics were held, and there are only {there} of them now"
    return None
