"""Sees to it that the topics exist: makes them, or only looks when `auto_create_topics` is false."""

from __future__ import annotations

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from refdb.errors import Unavailable
from refdb.wal.options import WalOptions

TIMEOUT = 15.0


def require_topics(options: WalOptions) -> None:
    """Returns when all topics are there."""
    admin = AdminClient(options.kafka)
    try:
        there = admin.list_topics(timeout=TIMEOUT).topics
    except KafkaException as error:
        raise Unavailable(f"Kafka: {error.args[0].str()}") from None
    missing = [topic for topic in options.topics if topic not in there]
    if missing and not options.auto_create_topics:
        raise Unavailable(f"auto_create_topics is false, and topics are missing: {', '.join(missing[:3])}, …")
    if missing:
        _create(admin, missing, options.replication_factor)


def _create(admin: AdminClient, topics: list[str], replication_factor: int) -> None:
    # The only setting: without it, a broker's default retention would delete the log.
    config = {"retention.ms": "-1"}
    new = [NewTopic(topic, 1, replication_factor, config=config) for topic in topics]
    for made in admin.create_topics(new, operation_timeout=TIMEOUT).values():
        try:
            made.result(TIMEOUT)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise Unavailable(f"cannot create topics: {error.args[0].str()}") from None
