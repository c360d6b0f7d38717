"""What Kafka says of topics: asked before they are read, and again afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from sparkjob.errors import Interrupted, Refused
from wal_backup.request import TopicRange

SECONDS = 30.0
_PAUSE = 0.2
_PASSING = frozenset(
    {
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.FENCED_LEADER_EPOCH,  # the client remembers a leader until it asks for metadata
        KafkaError.UNKNOWN_LEADER_EPOCH,  # the broker does not know yet that it leads
        KafkaError._NOENT,  # noqa: SLF001 - confluent-kafka calls it so: to delete records it found no leader
    }
)
T = TypeVar("T")
_URL_SAFE = str.maketrans("+/", "-_")
"""Java, and so Seawall, prints ids with - and _ where librdkafka has + and /."""


@dataclass(frozen=True, slots=True)
class TopicState:
    """A topic's id, and its offsets [start, end)."""

    topic_id: str
    start: int
    end: int


class KafkaState:
    """An admin client. Every answer has a deadline."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._admin = AdminClient(dict(options))

    def cluster_id(self) -> str:
        """Kafka's id of the cluster.

        Raises:
            Interrupted: Kafka does not answer.
        """
        return answer(lambda: str(self._admin.describe_cluster(request_timeout=SECONDS).result(SECONDS).cluster_id))

    def topics(self, names: Iterable[str]) -> dict[str, TopicState]:
        """The topics that there are.

        Raises:
            Refused: Kafka does not let its user describe one of them.
            Interrupted: as `cluster_id`.
        """
        wanted = list(names)
        return answer(lambda: self._topics(wanted), UNKNOWN)  # of offsets only: one broker has it, another one not yet

    def _topics(self, wanted: list[str]) -> dict[str, TopicState]:
        asked = self._admin.describe_topics(TopicCollection(wanted), request_timeout=SECONDS)
        ids = {name: found for name in wanted if (found := _id_of(name, asked[name])) is not None}
        starts, ends = self._offsets(ids, OffsetSpec.earliest()), self._offsets(ids, OffsetSpec.latest())  # type: ignore[no-untyped-call]
        return {name: TopicState(topic_id, starts[name], ends[name]) for name, topic_id in ids.items()}

    def _offsets(self, names: Iterable[str], which: OffsetSpec) -> dict[str, int]:
        asked = {TopicPartition(name, 0): which for name in names}
        if not asked:
            return {}
        level = IsolationLevel.READ_UNCOMMITTED
        futures = self._admin.list_offsets(asked, isolation_level=level, request_timeout=SECONDS)
        return {partition.topic: int(future.result(SECONDS).offset) for partition, future in futures.items()}


UNKNOWN = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART})
"""What a broker says of a topic that it has not heard of yet."""


def answer(ask: Callable[[], T], passing: frozenset[int] = frozenset()) -> T:
    """Asks again for a while: a topic has no leader while one is elected; `passing` are errors that pass as well."""
    give_up = time.monotonic() + SECONDS
    while True:
        try:
            return ask()
        except (KafkaException, TimeoutError) as error:
            may_pass = isinstance(error, KafkaException) and error.args[0].code() in _PASSING | passing
            if not may_pass or time.monotonic() > give_up:
                raise Interrupted(f"Kafka does not answer: {error}") from error
        time.sleep(_PAUSE)


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


def _id_of(name: str, future: object) -> str | None:
    try:
        return str(future.result(SECONDS).topic_id).translate(_URL_SAFE)  # type: ignore[attr-defined]
    except KafkaException as error:
        code = error.args[0].code()
        if code == KafkaError.UNKNOWN_TOPIC_OR_PART:
            return None
        if code == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            raise Refused(f"the user of Kafka may not describe topic {name}: it needs Read and Describe") from None
        raise
