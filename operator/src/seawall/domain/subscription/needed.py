"""Where a topic must end that is promoted, and what it lacks: when that is recorded, and when all is written."""

from __future__ import annotations

from seawall.api.v1alpha1.subscription_status import MAX_REGIONS, PromotedTopic, PromotionStatus
from seawall.domain.subscription.case import Case
from seawall.domain.subscription.copies import Flushed, source_end
from seawall.domain.subscription.logs import LogsNow

MARGIN = 200_000
"""Records of null beyond what is known, where the source does not say where it ended: the database may have written,
and flushed, since it was last asked."""


def record_problem(case: Case, name: str) -> str | None:
    """Why Seawall's own record of a topic cannot be read, where the source does not say where that ended.

    It may say that the log must end further up than all else that is known, and what is recorded of that stays.
    """
    needs = (case.observed.needs or {}).get(name)
    return None if needs is None or source_end(case, name) is not None else needs.record_problem


def promoted_topic(case: Case, name: str, end: int, flushed: Flushed) -> PromotedTopic:
    """What is recorded of a topic whose copy ends here."""
    needs = (case.observed.needs or {}).get(name)
    at_source = source_end(case, name)
    known = max(end, at_source or 0, 0 if needs is None else needs.end)
    said = ((region, at) for region, at in flushed.get(name, {}).items() if at is not None)
    behind = (region for region, at in said if end < known and at + 1 < known)
    return PromotedTopic(
        name=name,
        end=end,
        known_end=known,
        pad_to=known + MARGIN if at_source is None else known,
        regions=tuple(map(str, sorted(behind)[:MAX_REGIONS])),
        others_to=others_to(case, name, end),
    )


def others_to(case: Case, name: str, end: int) -> int | None:
    """Where the log of a target ends that goes on beyond the copy; None: it does not."""
    target = case.observed.target
    found = target.ends(name) if isinstance(target, LogsNow) else None
    return found.high_watermark if found is not None and found.high_watermark > end else None


def with_late(case: Case, promotion: PromotionStatus) -> PromotionStatus:
    """With what the source got since that was recorded; where it says that no more, with what it may have got.

    A database may have flushed it, so the log must end beyond it. Whoever goes on writing moves that end only when it
    is more than the margin: it comes to an end.
    """
    rows = tuple(_with_late(case, row) for row in promotion.topics)
    has_late = any(row.known_end > before.known_end for row, before in zip(rows, promotion.topics, strict=True))
    selected = [row.name for row in rows if row.name in case.rows]
    update = {
        "topics": rows,
        "lost_entries": sum(row.known_end - row.end for row in rows),
        "source_known": promotion.source_known and all(source_end(case, name) is not None for name in selected),
        "regions_known": promotion.regions_known and not has_late,
    }
    return promotion.model_copy(update=update)


def _with_late(case: Case, row: PromotedTopic) -> PromotedTopic:
    if row.name not in case.rows:  # it was left out meanwhile
        return row
    end = source_end(case, row.name)
    if end is None:
        return row.model_copy(update={"pad_to": max(row.pad_to, row.known_end + MARGIN)})
    if end <= row.known_end:
        return row
    return row.model_copy(update={"known_end": end, "pad_to": row.pad_to if end <= row.pad_to else end + MARGIN})
