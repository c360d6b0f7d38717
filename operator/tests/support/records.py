"""Records written as a database would, or as a careless one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from confluent_kafka import KafkaError, Message, Producer
from kafka.protocol.admin import ElectLeadersRequest

from seawall.adapters.kafka.raw import Silence, connect
from seawall.domain.kafka import KafkaConnection

TIMEOUT = 60.0
VALUE = b"x" * 1_000
UNCLEAN = 1
"""The election of ElectLeaders that may choose a replica which is not in sync."""


def produce(servers: Sequence[str], counts: dict[str, int], *, acks: str = "all", key: bytes | None = None) -> None:
    """Appends so many records to each topic, and waits until all are acknowledged."""
    producer = Producer(
        _config(servers) | {"acks": acks, "enable.idempotence": acks == "all"}
    )  # sent again, never twice
    failed: list[KafkaError] = []

    def on_delivery(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failed.append(error)

    for topic, count in counts.items():
        for _ in range(count):
            producer.produce(topic, VALUE, key, partition=0, on_delivery=on_delivery)
            producer.poll(0)
    assert producer.flush(TIMEOUT) == 0, "not all records were answered"
    assert not failed, failed


@contextmanager
def open_transaction(servers: Sequence[str], topic: str, count: int) -> Iterator[None]:
    """So many records of a transaction that is open as long as this is."""
    producer = Producer(_config(servers) | {"transactional.id": f"open-{topic}"})
    producer.init_transactions(TIMEOUT)
    producer.begin_transaction()
    for _ in range(count):
        producer.produce(topic, VALUE, partition=0)
    assert producer.flush(TIMEOUT) == 0
    try:
        yield
    finally:
        producer.abort_transaction(TIMEOUT)


def _config(servers: Sequence[str]) -> dict[str, str | int | float | bool]:
    return {"bootstrap.servers": ",".join(servers), "log_level": 0, "linger.ms": 5}


def elect_unclean(servers: Sequence[str], topic: str) -> None:
    """Asks for a leader that is not in sync; the records that it lacks are lost. Nothing happens while one is left."""
    # confluent-kafka 2.16.1 cannot: "more argument specifiers than keyword list entries".
    asked = ElectLeadersRequest.TopicPartitions(topic=topic, partitions=[0])
    kafka = connect(KafkaConnection(tuple(servers)), 5)
    if not isinstance(kafka, Silence):
        with kafka:
            kafka.ask_any(ElectLeadersRequest(election_type=UNCLEAN, topic_partitions=[asked], timeout_ms=5_000))
