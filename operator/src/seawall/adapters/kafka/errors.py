"""Kafka's answers for each topic, a partition or a request, sorted into fine, refused and not answered."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from seawall.adapters.times import KAFKA_GRACE_SECONDS
from seawall.domain.errors import NotSupported, OutsideUnavailable, Refused
from seawall.domain.kafka_log import TopicFailure, TopicTrouble
from seawall.domain.partitions import PartitionId
from seawall.progress import request_ended

ALREADY_EXISTS = frozenset({KafkaError.TOPIC_ALREADY_EXISTS})
UNKNOWN_TOPIC = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART})

RETRIABLE = frozenset(
    {
        KafkaError.BROKER_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.FENCED_LEADER_EPOCH,  # the client remembers a leader that is none any more
        KafkaError.INCONSISTENT_TOPIC_ID,
        KafkaError.KAFKA_STORAGE_ERROR,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.LISTENER_NOT_FOUND,  # the leader has none of this name yet, as in a roll that adds it
        KafkaError.NETWORK_EXCEPTION,
        KafkaError.NOT_CONTROLLER,
        KafkaError.NOT_ENOUGH_REPLICAS,  # under min.insync.replicas: nothing was written
        KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,  # it is under it since, and the records are in the log
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.OFFSET_NOT_AVAILABLE,  # a new leader that does not know the high watermark yet
        KafkaError.PREFERRED_LEADER_NOT_AVAILABLE,  # it shuts down, or is not in sync any more
        KafkaError.REBOOTSTRAP_REQUIRED,
        KafkaError.REPLICA_NOT_AVAILABLE,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.THROTTLING_QUOTA_EXCEEDED,
        KafkaError.UNKNOWN_LEADER_EPOCH,  # the broker does not know yet that it leads
        KafkaError.UNKNOWN_TOPIC_ID,
        KafkaError.UNKNOWN_TOPIC_OR_PART,  # right after creation, and right after deletion by somebody else
    }
)
"""What brokers say when the same request may succeed later."""

ELECTING = frozenset(
    {
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError.UNKNOWN_LEADER_EPOCH,
    }
)
"""Those that pass within a moment of an election: Kafka's own admin client asks again, librdkafka's does not
(Kafka 4.3, `ListOffsetsHandler.handlePartitionError`)."""

NOT_SUPPORTED = frozenset(
    {
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.POLICY_VIOLATION,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.UNSUPPORTED_VERSION,
        KafkaError._UNSUPPORTED_FEATURE,  # noqa: SLF001 - a public constant
    }
)
"""What says that Kafka does not do such a thing for this user, whatever is asked for: a right, a policy of whoever runs
it, or an API that it has not. INVALID_CONFIG is not among them: mostly it is about a value."""

UNSENDABLE = frozenset({KafkaError._INVALID_ARG, KafkaError._UNSUPPORTED_FEATURE})  # noqa: SLF001 - public constants
"""The client refuses what it cannot encode, or what the broker is too old for. Its other errors mean that no answer
came."""


def wait_for(futures: Mapping[str, Future[Any]], timeout: float) -> tuple[dict[str, Any], dict[str, KafkaError]]:
    """Waits for every topic's answer: the values, and the errors.

    Raises:
        OutsideUnavailable: an answer did not come, not even an error.
    """
    deadline = time.monotonic() + timeout + KAFKA_GRACE_SECONDS
    values: dict[str, Any] = {}
    errors: dict[str, KafkaError] = {}
    for topic, future in futures.items():
        try:
            values[topic] = future.result(max(0.0, deadline - time.monotonic()))
        except KafkaException as failure:
            errors[topic] = failure.args[0]
        except FutureTimeoutError:
            request_ended()
            raise OutsideUnavailable(f"Kafka's client gave no answer for {named_topics(list(futures))}") from None
    request_ended()
    return values, errors


def is_silence(error: KafkaError) -> bool:
    """Whether no answer came; librdkafka's own errors have negative codes."""
    return error.code() < 0 and error.code() not in UNSENDABLE


def is_refusal(error: KafkaError) -> bool:
    """Whether Kafka said no for good, and did nothing."""
    return error.code() in UNSENDABLE or (error.code() >= 0 and error.code() not in RETRIABLE)


def refusal_of(error: KafkaError, sentence: str) -> Refused:
    """The refusal, with this sentence."""
    return NotSupported(sentence) if error.code() in NOT_SUPPORTED else Refused(sentence)


class Failures:
    """The errors of one call, over all its batches."""

    def __init__(self, fine: frozenset[int] = frozenset()) -> None:
        self._fine = fine
        self._refused: dict[str, KafkaError] = {}
        self._unanswered: dict[str, KafkaError] = {}

    def add(self, errors: Mapping[str, KafkaError]) -> None:
        """Sorts the errors of one batch."""
        for topic, error in errors.items():
            if error.code() in self._fine:
                continue
            (self._refused if is_refusal(error) else self._unanswered)[topic] = error

    def has_unanswered(self) -> bool:
        """Whether to save the further batches: each would wait for its own deadline."""
        return bool(self._unanswered)

    def raise_any(self) -> None:
        """Raises what there is.

        Raises:
            Refused: also when others were not answered: those are tried again, whatever is raised.
            OutsideUnavailable: some were not answered.
        """
        if self._refused:
            first = next(iter(self._refused.values()))
            raise refusal_of(first, f"Kafka refused {named_topics(list(self._refused))}: {first.str()}")
        if self._unanswered:
            first = next(iter(self._unanswered.values()))
            raise OutsideUnavailable(f"Kafka did not answer for {named_topics(list(self._unanswered))}: {first.str()}")


def refuse_repeated(names: Iterable[str]) -> None:
    """Kafka refuses such a request as well; librdkafka is not trusted to survive the answer.

    Raises:
        Refused: a name occurs twice.
    """
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise Refused(f"One request names topic {repeated[0]} more than once")


def named_topics(topics: list[str]) -> str:
    """`topic a`, or `topic a and 2 others`."""
    others = len(topics) - 1
    if others == 0:
        return f"topic {topics[0]}"
    return f"topic {topics[0]} and {others} other{'s' if others > 1 else ''}"


AUTHORIZATION = frozenset({KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED})
"""The controller's sentence for these is a dump of the request, another one each time."""


def failure_of_partition(partition: PartitionId, code: int, message: str | None) -> TopicFailure:
    """An error as a value, with Kafka's sentence if it gave one."""
    error, named = KafkaError(code), f"partition {partition.partition} of topic {partition.topic}"
    sentence = _sentence(error, message)
    if code in UNKNOWN_TOPIC:
        return TopicFailure(TopicTrouble.UNKNOWN_TOPIC, f"Kafka knows no {named}")
    if is_refusal(error):
        return TopicFailure(TopicTrouble.REFUSED, f"Kafka refused {named}: {sentence}")
    return TopicFailure(TopicTrouble.UNANSWERED, f"Kafka did not answer for {named}: {sentence}")


def raise_error(what: str, code: int, message: str | None) -> None:
    """Raises what Kafka said of a request as a whole; 0 is no error.

    Raises:
        Refused: it said no to `what`.
        OutsideUnavailable: it could not do it now.
    """
    if not code:
        return
    error = KafkaError(code)
    sentence = _sentence(error, message)
    if is_refusal(error):
        raise refusal_of(error, f"Kafka refused {what}: {sentence}")
    raise OutsideUnavailable(f"Kafka did not answer for {what}: {sentence}")


def _sentence(error: KafkaError, message: str | None) -> str:
    return message if message and error.code() not in AUTHORIZATION else error.str()
