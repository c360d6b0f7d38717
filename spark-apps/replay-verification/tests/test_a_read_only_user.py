"""The user of Kafka that docs/kafka-acls.md gives to jobs: a broker that knows rights lets it read, and not delete."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession
from spark_marks import WITH_SPARK
from verifications import verify
from wal_logs import clean_log
from wal_topics import Topics, request_of

from seawall_e2e import kafka_users
from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.waiting import wait_until

pytest_plugins = ("spark_beds",)
pytestmark = WITH_SPARK

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",  # the plaintext listener of the bed
}
READER, PASSWORD, TOPIC = "reader", "a-password", "acl_wal_0"


@pytest.fixture(scope="module")
def strict(beds: str) -> Iterator[KafkaProcesses]:
    """A broker that knows rights."""
    with KafkaProcesses(1, sasl_ssl=True, properties=AUTHORIZER) as processes:
        yield processes


def test_a_verification_passes_with_a_user_who_cannot_delete(
    spark: SparkSession, strict: KafkaProcesses, tmp_path: Path
) -> None:
    topics, log = Topics(strict.bootstrap_servers), clean_log()
    topics.fill({TOPIC: log.records})
    boss, secure = AdminClient({"bootstrap.servers": topics.servers}), strict.secure
    who = (secure.sasl_ssl_servers[0], READER, PASSWORD, secure.ca_pem)
    assert isinstance(kafka_users.end_as(boss, TOPIC, *who), str), "nobody knows the user yet"
    kafka_users.let_read(boss, READER, PASSWORD, "acl_")
    wait_until(lambda: kafka_users.end_as(boss, TOPIC, *who) == log.end, "the broker knows the user")

    for name, text in {"ca.crt": secure.ca_pem, "password": PASSWORD}.items():
        (tmp_path / name).write_text(text)
    request = json.loads(request_of(topics.servers, "Integrity", [topics.topic(TOPIC, log.end)]))
    request["kafka"] = {
        "bootstrapServers": [who[0]],
        "clusterId": strict.cluster_id,
        "tls": {"caFile": str(tmp_path / "ca.crt"), "certFile": None, "keyFile": None},
        "sasl": {
            "mechanism": "SCRAM-SHA-512",
            "username": READER,
            "passwordFile": str(tmp_path / "password"),
        },
    }
    answer = verify(spark, tmp_path, json.dumps(request).encode())
    assert (answer.code, answer.verified()) == (0, {TOPIC}), answer.summary

    assert kafka_users.delete_as(boss, TOPIC, "1", *who) == "TOPIC_AUTHORIZATION_FAILED"
    kafka_users.forget(boss, READER)
