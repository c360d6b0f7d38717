"""What Kafka shows of the topics that a restore makes, be they those of the pool or scratch topics.

That there is no such topic is one answer, that nobody answers is another: `why_unshown` tells them apart, and
`why_silent` needs the offsets of one that there is, too. Of a name of which nothing was heard `is_shown` raises a
KeyError, and never says that there is none.
"""

from __future__ import annotations

from collections.abc import Mapping

from seawall.domain.kafka_log import DescribedTopic, LogOffsets, TopicFailure, TopicTrouble
from seawall.domain.restore.case import PoolNow, ScratchNow

Now = PoolNow | ScratchNow


def why_unshown(now: Now, name: str) -> str | None:
    """Why nobody knows whether there is such a topic; None: it is known. The cluster's metadata needs no leader."""
    found = now.described.get(name)
    if isinstance(found, DescribedTopic) or _is_unknown(found):
        return None
    return f"Kafka says nothing of {name}" if found is None else found.message


def why_silent(now: Now, name: str) -> str | None:
    """Why nobody knows whether there is such a topic, or what it has; None: it is known."""
    offsets = now.offsets.get(name)
    if not isinstance(now.described.get(name), DescribedTopic):
        return why_unshown(now, name)
    if isinstance(offsets, LogOffsets):
        return None
    return f"Kafka says nothing of the offsets of {name}" if offsets is None else offsets.message


def _is_unknown(found: TopicFailure | None) -> bool:
    return found is not None and found.why is TopicTrouble.UNKNOWN_TOPIC


def is_shown(now: Now, name: str, removed_id: str | None) -> bool:
    """Whether there is such a topic; a broker may still show the one of an attempt before, which is none."""
    found = now.described[name]
    return isinstance(found, DescribedTopic) and found.topic_id != removed_id


def still_there(now: Now, made: Mapping[str, str]) -> dict[str, str]:
    """Those that are shown by their ids, of topics by name with their ids; of the others `why_unshown` has to be asked.

    An id is enough to delete a topic: neither its leader nor its offsets are asked for.
    """
    return {
        name: topic_id
        for name, topic_id in made.items()
        if isinstance(found := now.described.get(name), DescribedTopic) and found.topic_id == topic_id
    }
