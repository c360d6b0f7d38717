"""Which topics a verification reads: all that a restart would replay and that can be held."""

from __future__ import annotations

from collections.abc import Callable

from seawall.domain.ledger.observation import Observation
from seawall.domain.ledger.reasons import Reason
from seawall.domain.spark_job.selection import Selection, TopicRange, Topics

UNREADABLE = frozenset(
    {
        Reason.LOG_START_BEYOND_REPLAY,
        Reason.FENCE_BROKEN,
        Reason.OFFSETS_UNKNOWN,
        Reason.MARKER_MISSING,
        Reason.REGION_START_UNKNOWN,
        Reason.REGION_UNMAPPED,
        Reason.REGION_MISSING,
        Reason.REGION_DROPPED,
        Reason.REGION_STALE,
        Reason.REGION_OPENING,
        Reason.DECLARATION_CONTRADICTED,
        Reason.COMPACTED,
        Reason.INTENTS_UNREADABLE,
        Reason.FOREIGN_DELETE,
    }
)
"""Why a topic is not read: what a restart would read of it is not known, known to be gone, or cannot be held."""


def select(observation: Observation, selects: Callable[[str], bool]) -> Selection:
    """Sorts the topics of the pool that the spec selects."""
    topics = Topics(observation, selects)
    left, readable, idle = topics.against(UNREADABLE), list[TopicRange](), list[str]()
    for name in topics.rows:
        if name in left:
            continue
        if topics.is_idle(name):
            idle.append(name)
        elif (found := _range(topics, name)) is not None:
            readable.append(found)
        else:
            left[name] = Reason.REGION_START_UNKNOWN
    return Selection(tuple(readable), tuple(idle), left, watched_too_briefly=topics.is_young(left))


def _range(topics: Topics, name: str) -> TopicRange | None:
    """None: something that must be known is not."""
    regions, log = topics.regions(name), topics.log(name)
    if not regions or log.topic_id is None or log.log_start is None or log.high_watermark is None:
        return None
    start = min(region.reads_from for region in regions)
    if start > log.high_watermark:
        return None
    return TopicRange(name, log.topic_id, log.log_start, start, log.high_watermark, regions)
