"""Sees to it that the topics exist: makes them, or only looks when `auto_create_topics` is false."""

from __future__ import annotations

import time
from collections.abc import Sequence

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from refdb.errors import Unavailable
from refdb.wal.options import WalOptions

TIMEOUT = 15.0
POLL = 0.1


def require_topics(options: WalOptions) -> None:
    """Returns when all topics are there, and those that it makes are led."""
    admin = AdminClient(options.kafka)
    there = _leaders(admin)
    missing = [topic for topic in options.topics if topic not in there]
    if missing and not options.auto_create_topics:
        raise Unavailable(f"auto_create_topics is false, and topics are missing: {', '.join(missing[:3])}, …")
    if missing:
        _create(admin, missing, options.replication_factor)
        _wait_until_led(admin, missing)


def _leaders(admin: AdminClient) -> dict[str, int]:
    """The leader of each topic that the broker that is asked knows; -1: none."""
    try:
        topics = admin.list_topics(timeout=TIMEOUT).topics
    except KafkaException as error:
        raise Unavailable(f"Kafka: {error.args[0].str()}") from None
    return {name: topic.partitions[0].leader if 0 in topic.partitions else -1 for name, topic in topics.items()}


def _wait_until_led(admin: AdminClient, topics: Sequence[str]) -> None:
    """The controller has made them; a busy broker hears of it seconds later, and would call them unknown."""
    deadline = time.monotonic() + TIMEOUT
    while True:
        leaders = _leaders(admin)
        waiting = [topic for topic in topics if leaders.get(topic, -1) < 0]
        if not waiting:
            return
        if time.monotonic() > deadline:
            raise Unavailable(f"topics have no leader yet: {', '.join(waiting[:3])}, …")
        time.sleep(POLL)


def _create(admin: AdminClient, topics: Sequence[str], replication_factor: int) -> None:
    # The only setting: without it, a broker's default retention would delete the log.
    config = {"retention.ms": "-1"}
    new = [NewTopic(topic, 1, replication_factor, config=config) for topic in topics]
    for made in admin.create_topics(new, operation_timeout=TIMEOUT).values():
        try:
            made.result(TIMEOUT)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise Unavailable(f"cannot create topics: {error.args[0].str()}") from None
        except TimeoutError:  # they may be there: the next attempt looks
            raise Unavailable(f"cannot create topics: no answer within {TIMEOUT:.0f} s") from None
