"""What Kafka says of topics: asked before they are read, and again afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AclOperation, AdminClient, ListOffsetsResultInfo, OffsetSpec, TopicDescription

from sparkjob.errors import Denied, Interrupted, Refused
from sparkjob.wire.trouble import Trouble

SECONDS = 30.0
ASK_SECONDS = 10.0
"""Of one request: one for a broker that has died waits for it, whoever leads by then."""
_PAUSE = 0.2
NO_OFFSET = -1
"""Kafka's word for no record with such a timestamp."""
_EARLIEST, _LATEST = OffsetSpec.earliest(), OffsetSpec.latest()  # type: ignore[no-untyped-call]
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
    """A topic's id, its offsets [start, end), and the leader epoch at its end; None: Kafka did not say."""

    topic_id: str
    start: int
    end: int
    epoch: int | None = None


@dataclass(frozen=True, slots=True)
class LogState(TopicState):
    """The same, and what else a reader of partition 0 has to know.

    Attributes:
        stable_end: where transactions begin that are open; without one, the end.
        partitions: of the topic.
        late: the first offset with a timestamp as late as was asked for; None: there is none.
    """

    stable_end: int = 0
    partitions: int = 1
    late: int | None = None


class Silence(Interrupted):
    """Nobody answers, and why is not known."""


class KafkaState:
    """An admin client. Every answer has a deadline.

    A client that got none is replaced: it may ask the same dead broker, which it takes for the controller, for minutes.

    Raises:
        Refused: a certificate or key makes no sense.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._trouble = Trouble()
        self._options: dict[str, Any] = {**options, "error_cb": self._trouble}
        try:
            self._admin = AdminClient(self._options)
        except KafkaException as error:
            raise Refused(f"Kafka's client cannot be made: {error.args[0].str()}") from None

    def cluster_id(self) -> str:
        """Kafka's id of the cluster.

        Raises:
            Interrupted: Kafka does not answer.
        """
        return self._answer(
            lambda: str(self._admin.describe_cluster(request_timeout=ASK_SECONDS).result(ASK_SECONDS).cluster_id)
        )

    def topics(self, names: Iterable[str]) -> dict[str, TopicState]:
        """The topics that there are.

        Raises:
            Refused: Kafka does not let its user describe one of them.
            Interrupted: as `cluster_id`.
        """
        wanted = list(names)
        return self._answer(
            lambda: self._states(self._described(wanted)), UNKNOWN
        )  # of offsets only: one has it, another one not yet

    def logs(self, names: Iterable[str], late: int) -> dict[str, LogState]:
        """The topics that there are; `late` is a timestamp in milliseconds since 1970.

        Raises:
            Refused, Interrupted: as `topics`.
        """
        wanted = list(names)
        return self._answer(lambda: self._logs(wanted, late), UNKNOWN)

    def _states(self, described: Mapping[str, TopicDescription]) -> dict[str, TopicState]:
        starts, ends = self._offsets(described, _EARLIEST), self._offsets(described, _LATEST)
        return {name: TopicState(_id_of(found), starts[name][0], *ends[name]) for name, found in described.items()}

    def _logs(self, wanted: list[str], late: int) -> dict[str, LogState]:
        described = self._described(wanted)
        found = self._states(described)
        stable = self._offsets(found, _LATEST, IsolationLevel.READ_COMMITTED)
        lates = self._offsets(found, OffsetSpec.for_timestamp(late), least=NO_OFFSET)
        return {
            name: LogState(
                **asdict(state),
                stable_end=stable[name][0],
                partitions=len(described[name].partitions),
                late=None if lates[name][0] == NO_OFFSET else lates[name][0],
            )
            for name, state in found.items()
        }

    def _described(self, wanted: list[str]) -> dict[str, TopicDescription]:
        """Those that there are."""
        if not wanted:
            return {}
        asked = self._admin.describe_topics(TopicCollection(wanted), request_timeout=ASK_SECONDS)
        return {name: found for name in wanted if (found := _description(name, asked[name])) is not None}

    def require_rights(
        self,
        names: Iterable[str],
        rights: Mapping[AclOperation, str],
        purpose: str,
        least_partitions: int | None = None,
    ) -> None:
        """Refuses topics of several partitions, and a user who lacks a right on one of them (KIP-430).

        Args:
            names: topics that there are.
            rights: their names, for people.
            purpose: what needs them all.
            least_partitions: of a topic that is no WAL.

        Raises:
            Refused: it is so.
            Interrupted: as `cluster_id`.
        """
        asked = TopicCollection(list(names))

        def describe() -> list[TopicDescription]:
            futures = self._admin.describe_topics(
                asked, include_authorized_operations=True, request_timeout=ASK_SECONDS
            )
            return [future.result(ASK_SECONDS) for future in futures.values()]

        for found in self._answer(describe, UNKNOWN):
            number = len(found.partitions)
            if least_partitions is None and number != 1:
                raise Refused(f"topic {found.name} has {number} partitions: a WAL topic has one")
            if least_partitions is not None and number < least_partitions:
                raise Refused(f"topic {found.name} has {number} partitions: {purpose} needs {least_partitions}")
            missing = rights.keys() - set(found.authorized_operations or rights)
            if missing:
                names_of = ", ".join(name for right, name in rights.items() if right in missing)
                needed = ", ".join(rights.values())
                raise Denied(f"the user of Kafka lacks {names_of} on topic {found.name}: {purpose} needs {needed}")

    def _answer(self, ask: Callable[[], T], passing: frozenset[int] = frozenset()) -> T:
        def asked() -> T:
            try:
                return ask()
            except (KafkaException, TimeoutError) as error:
                while self._admin.poll(0):
                    pass  # its callback hears of nothing before
                if self._trouble.is_final:
                    raise self._trouble.explained("") from error
                if _is_silence(error):
                    self._admin = AdminClient(self._options)
                raise

        try:
            return answer(asked, passing)
        except Silence as silence:
            raise self._trouble.explained(str(silence)) from silence

    def _offsets(
        self,
        names: Iterable[str],
        which: OffsetSpec,
        level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        least: int = 0,
    ) -> dict[str, tuple[int, int | None]]:
        asked = {TopicPartition(name, 0): which for name in names}
        if not asked:
            return {}
        futures = self._admin.list_offsets(asked, isolation_level=level, request_timeout=ASK_SECONDS)
        return {partition.topic: offset_of(future.result(ASK_SECONDS), least) for partition, future in futures.items()}


def offset_of(told: ListOffsetsResultInfo, least: int = 0) -> tuple[int, int | None]:
    """An offset and its leader epoch. Of a leader that dies while it is asked, librdkafka gives -1001, and no error."""
    if told.offset < least:
        raise KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE))
    return int(told.offset), told.leader_epoch


UNKNOWN = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART})
"""What a broker says of a topic that it has not heard of yet."""


def answer(ask: Callable[[], T], passing: frozenset[int] = frozenset()) -> T:
    """Asks again for a while: while a leader is elected, nobody answers; `passing` are errors that pass as well."""
    give_up = time.monotonic() + SECONDS
    while True:
        try:
            return ask()
        except (KafkaException, TimeoutError) as error:
            may_pass = _is_silence(error) or error.args[0].code() in _PASSING | passing
            if not may_pass or time.monotonic() > give_up:
                if _is_silence(error):
                    raise Silence("Kafka does not answer in time") from error
                raise Interrupted(f"Kafka does not answer: {error}") from error
        time.sleep(_PAUSE)


def _is_silence(error: KafkaException | TimeoutError) -> bool:
    """Whether the one who was asked may be down: the next one who is asked may be another one."""
    return isinstance(error, TimeoutError) or error.args[0].code() == KafkaError._TIMED_OUT  # noqa: SLF001 - as above


def _id_of(found: TopicDescription) -> str:
    return str(found.topic_id).translate(_URL_SAFE)


def _description(name: str, future: Future[TopicDescription]) -> TopicDescription | None:
    try:
        return future.result(ASK_SECONDS)
    except KafkaException as error:
        code = error.args[0].code()
        if code == KafkaError.UNKNOWN_TOPIC_OR_PART:
            return None
        if code == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            raise Denied(f"the user of Kafka may not describe topic {name}: it needs Read and Describe") from None
        raise
