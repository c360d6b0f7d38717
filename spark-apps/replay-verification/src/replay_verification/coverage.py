"""Coverage: whether the log that Kafka has is the one that was asked for, and has all that the regions would read.

Pure: what Kafka says comes in as values, before the log is read and again after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from replay_verification.request import Region, Topic
from sparkjob.integrity.findings import Finding, Kind

LAST_TIME = 8_210_266_876_799_999
"""The end of the year 262142 in milliseconds since 1970: the last timestamp that the database's Kafka client reads.

GreptimeTeam/rskafka f5688f83, src/client/partition.rs, `extract_records`: an answer with a later one is an error.
Spark's own limit is a little higher (2^63 microseconds), and a record beyond that ends the reading of all topics.
"""


@dataclass(frozen=True, slots=True)
class LogState:
    """What Kafka says of partition 0: `end` is the high watermark, and open transactions begin at `stable_end`.

    `bad_time` is the first offset whose timestamp is beyond `LAST_TIME`, None if there is none.
    """

    topic_id: str
    start: int
    end: int
    stable_end: int
    partitions: int = 1
    bad_time: int | None = None


def find_coverage(topics: tuple[Topic, ...], states: Mapping[str, LogState]) -> list[Finding]:
    """What is wrong with the logs; a topic without a state does not exist."""
    return [finding for topic in topics for finding in _of_topic(topic, states.get(topic.name))]


def _of_topic(topic: Topic, state: LogState | None) -> Iterator[Finding]:
    if state is None:
        yield Finding(Kind.TOPIC_MISSING, topic.name, "Kafka has no such topic", topic.start)
        return
    if state.topic_id != topic.topic_id:
        said = f"the topic has id {state.topic_id}, not {topic.topic_id}: it was deleted and made again"
        yield Finding(Kind.TOPIC_RECREATED, topic.name, said, topic.start)
        return
    for region in topic.regions:
        yield from _of_region(topic, region, state)
    if state.start > topic.start and all(state.start <= region.reads_from for region in topic.regions):
        said = f"the log starts at {state.start}, after the range that was asked for, which begins at {topic.start}"
        yield Finding(Kind.LOG_START_BEYOND_REPLAY, topic.name, said, topic.start)
    if state.end < topic.end:
        said = f"the log ends at {state.end}, before the range that was asked for, which ends at {topic.end}"
        yield Finding(Kind.LOG_ENDS_BEFORE_RANGE, topic.name, said, state.end)
    if state.bad_time is not None and topic.start <= state.bad_time < topic.end:
        said = (
            "the record's timestamp is beyond the year 262142: the database's Kafka client refuses it, nothing is read"
        )
        yield Finding(Kind.TIMESTAMP_OUT_OF_RANGE, topic.name, said, state.bad_time)
    if state.partitions > 1:
        said = f"the topic has {state.partitions} partitions: the database writes to and reads partition 0 alone"
        yield Finding(Kind.MORE_PARTITIONS, topic.name, said)


def _of_region(topic: Topic, region: Region, state: LogState) -> Iterator[Finding]:
    if state.start > region.reads_from:
        said = f"the region reads from {region.reads_from}, but the log starts at {state.start}"
        yield Finding(Kind.LOG_START_BEYOND_REPLAY, topic.name, said, region.reads_from, region.id)
    if region.flushed is not None and state.end <= region.flushed:
        said = f"the log ends at {state.end}, but entry {region.flushed} is durable: new rows would not be replayed"
        yield Finding(Kind.LOG_ENDS_BEFORE_FLUSHED, topic.name, said, state.end, region.id)
