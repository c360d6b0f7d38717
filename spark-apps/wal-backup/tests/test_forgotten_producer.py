"""A Kafka that forgets who wrote old records, and takes a batch again whose answer was lost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from kafka.errors import KafkaConnectionError
from kafka.protocol.admin import DescribeProducersRequest
from kafka.protocol.producer import ProduceRequest
from restores import GUARDED
from spark_marks import WITH_SPARK
from wal_topics import Topics

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.waiting import wait_until
from sparkjob.errors import Interrupted
from sparkjob.wire.batches import nulls
from sparkjob.wire.connection import PARTITION, Connection
from sparkjob.wire.kafka_state import KafkaState
from wal_backup.restore.appender import Appender

pytest_plugins = ("spark_beds", "backup_beds")
pytestmark = WITH_SPARK
LONG_AGO, COUNT = 1_600_000_000_000, 10
"""In ms: older than `producer.id.expiration.ms`, which is a day by default."""


@pytest.fixture(scope="module")
def forgetful(beds: str) -> Iterator[KafkaProcesses]:
    """It looks for producers to forget twice a second, and no longer every ten minutes."""
    with KafkaProcesses(properties={"producer.id.expiration.check.interval.ms": "500"}) as kafka:
        yield kafka


def knows_nobody(connection: Connection, name: str) -> bool:
    topics = [DescribeProducersRequest.TopicRequest(name=name, partition_indexes=[PARTITION])]
    return not connection.ask(DescribeProducersRequest(topics=topics)).topics[0].partitions[0].active_producers


@pytest.mark.parametrize("is_forgotten", [True, False])
def test_a_batch_whose_answer_is_lost_is_there_twice_only_if_its_producer_was_forgotten(
    forgetful: KafkaProcesses, monkeypatch: pytest.MonkeyPatch, *, is_forgotten: bool
) -> None:
    options, name = {"bootstrap.servers": forgetful.bootstrap_servers[0]}, f"old_{is_forgotten}"
    Topics(forgetful.bootstrap_servers).create(name, config=GUARDED)
    found = wait_until(lambda: KafkaState(options).topics([name]).get(name), "the topic is there")
    honest, lost = Connection.ask, list[bool]()

    def losing(connection: Connection, request: Any, broker: int | None = None) -> Any:
        answer = honest(connection, request, broker)
        if isinstance(request, ProduceRequest) and answer.responses[0].partition_responses[0].error_code == 0:
            lost.append(True)
            if len(lost) == 1:
                if is_forgotten:
                    wait_until(lambda: knows_nobody(connection, name), "Kafka has forgotten the producer")
                raise KafkaConnectionError("the answer is lost")
        return answer

    monkeypatch.setattr(Connection, "ask", losing)
    (batch,) = nulls(COUNT, LONG_AGO if is_forgotten else int(time.time() * 1000))
    with Appender(options, name, found.topic_id) as log:
        if is_forgotten:
            with pytest.raises(Interrupted, match="from offset 0 on twice: the answer to the first was lost"):
                log.append(batch)
        else:
            log.append(batch)
            assert log.position == COUNT
    assert KafkaState(options).topics([name])[name].end == COUNT * (1 + is_forgotten)
