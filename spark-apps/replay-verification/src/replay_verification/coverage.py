"""Coverage: whether the log that Kafka has is the one that was asked for, and has all that the regions would read.

Pure: what Kafka says comes in as values, before the log is read and again after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from replay_verification.request import Region, Topic
from sparkjob.integrity.findings import Finding, Kind

LAST_TIME = 8_210_266_876_799_999
"""The end of the year 262142 in milliseconds since 1970: the last timestamp that the database's Kafka client reads.

GreptimeTeam/rskafka f5688f83, src/client/partition.rs, `extract_records`: an answer with a later one is an error.
"""


@dataclass(frozen=True, slots=True)
class LogState:
    """What Kafka says of partition 0: `end` is the high watermark, and open transactions begin at `stable_end`.

    `bad_time` is the first offset whose timestamp is beyond `LAST_TIME`, None if there is none. `epoch` is of who
    led it when it was asked, None if it did not say.
    """

    topic_id: str
    start: int
    end: int
    stable_end: int
    partitions: int = 1
    bad_time: int | None = None
    epoch: int | None = None

    def read_to(self, topic: str, end: int) -> Extent:
        """What is read of the log from now on, up to an offset that it has."""
        return Extent(topic, end, self.epoch)


@dataclass(frozen=True, slots=True)
class Extent:
    """A log that is read up to `end`, and who led it when it was asked whether it reaches so far."""

    topic: str
    end: int
    epoch: int | None


def find_coverage(topics: tuple[Topic, ...], states: Mapping[str, LogState]) -> list[Finding]:
    """What is wrong with the logs; a topic without a state does not exist."""
    return [finding for topic in topics for finding in _of_topic(topic, states.get(topic.name))]


def led_anew(extents: Iterable[Extent], states: Mapping[str, LogState]) -> list[Extent]:
    """Those that another leader leads by now: the log may have lost its end while it was read, and grown again."""
    asked = (each for each in extents if each.topic in states)
    return [each for each in asked if each.epoch is not None and states[each.topic].epoch != each.epoch]


def find_cuts(last_epochs: Mapping[Extent, int]) -> list[Finding]:
    """What was cut off meanwhile, by the epochs that the last records of extents have now.

    Each of them was there when the log was asked first, so no later leader had appended it.
    """
    return [
        _cut(extent, epoch)
        for extent, epoch in last_epochs.items()
        if extent.epoch is not None and epoch > extent.epoch
    ]


def _cut(extent: Extent, epoch: int) -> Finding:
    said = (
        f"the log lost its tail while it was read, and has another one: at leader epoch {extent.epoch} it reached "
        f"offset {extent.end}, and the record before that is of epoch {epoch} now"
    )
    return Finding(Kind.LOG_ENDS_BEFORE_RANGE, extent.topic, said)


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
