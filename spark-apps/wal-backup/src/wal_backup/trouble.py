"""Whether the log that was meant still has what is to be read of it, or was."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sparkjob.wire.epochs import Ends, Piece, first_lost
from sparkjob.wire.kafka_state import TopicState
from wal_backup.request import TopicRange


def find_trouble(topics: Iterable[TopicRange], found: Mapping[str, TopicState]) -> str | None:
    """Why a range cannot be read of the log that was meant; None: each can."""
    for topic in topics:
        state = found.get(topic.name)
        if state is None:
            return f"topic {topic.name} is gone"
        if state.topic_id != topic.topic_id:
            return f"topic {topic.name} was made again: it is {state.topic_id}, not {topic.topic_id}"
        if state.start > topic.start:
            return f"topic {topic.name} begins at offset {state.start}: records from {topic.start} on are gone"
        if state.end < topic.end:
            return f"topic {topic.name} ends at offset {state.end}: it lost its records up to {topic.end}"
    return None


def find_cut(read: Mapping[str, Sequence[Piece]], ends: Mapping[str, Ends]) -> str | None:
    """Why what was read of a topic is not of one log, though that has its id and is long enough; None: all is."""
    for topic, pieces in read.items():
        lost = first_lost(pieces, ends.get(topic, {}))
        if lost is not None:
            return f"topic {topic} lost its records from offset {lost} on while it was read, whatever it has by now"
    return None
