"""Where the rows of a topic begin, and begin anew."""

from __future__ import annotations

from seawall.api.v1alpha1.subscription_status import MirroredTopic, StopReason
from seawall.domain.subscription.case import Case, SubscriptionDecision
from seawall.domain.subscription.logs import Halt, LogsNow
from seawall.domain.subscription.reasons import Reason
from seawall.domain.subscription.targets import held_from
from seawall.domain.text import listed

ANEW = frozenset(
    {
        StopReason.SOURCE_GAP,
        StopReason.IDENTITY_FENCE_BROKEN,
        StopReason.TARGET_LOST,
        StopReason.DIVERGED,
        StopReason.SNAPSHOT_UNUSABLE,
    }
)
"""What stopped for one of these has no position to go on from."""


def begin(case: Case, source: LogsNow) -> SubscriptionDecision | None:
    """Records where topics begin that are held and have not begun; None: all have."""
    new = held_from(case)
    begun = tuple(row for name, start in new.items() if (row := _row(case, name, start, source)) is not None)
    if not begun:
        return None
    verdict = case.goes_on(Reason.MAKING_TOPICS, f"{listed([row.name for row in begun])} begin")
    others = tuple(row for row in case.status.topics if row.name not in new)
    return case.becomes(verdict, topics=(*others, *begun))


def _row(case: Case, name: str, start: int, source: LogsNow) -> MirroredTopic | None:
    source_id, ends, number = source.topic_id(name), source.ends(name), case.kafka.topics.index_of(name)
    if source_id is None or ends is None or number is None or not _has_partition(case, number):
        return None
    return MirroredTopic(
        name=name,
        source_id=source_id,
        start=start,
        generation=case.status.generation,
        progress_partition=None if case.spec.sink.records is None else number,
        # Names of tables are read later than this: which one is new after that, is not known.
        names_known_to=max(start, ends.high_watermark),
    )


def _has_partition(case: Case, number: int) -> bool:
    """Whether its progress has a place; rows in a bucket need none."""
    records = case.status.records
    return case.spec.sink.records is None or (records is not None and number < records.progress.partitions)


def begun_anew(case: Case) -> dict[str, object]:
    """What the status becomes when a person begins anew: topics that have no position begin at the log start.

    Their progress counts for nothing then, because they are of another generation.
    """
    rows = kept(case)
    return {"topics": rows, "generation": case.status.generation + (len(rows) < len(case.status.topics))}


def kept(case: Case) -> tuple[MirroredTopic, ...]:
    """The topics that go on from where they are."""
    return tuple(
        row.model_copy(update={"stopped": None, "offset": None, "message": ""})
        for row in case.status.topics
        if _why_stopped(case, row) not in ANEW
    )


def _why_stopped(case: Case, row: MirroredTopic) -> StopReason | None:
    standing = case.standings.get(row.name)
    return standing.reason if isinstance(standing, Halt) else row.stopped
