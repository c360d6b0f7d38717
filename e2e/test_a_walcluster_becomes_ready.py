"""The main job: the operator by Helm with its default rights, and topic pools on plain and on secured Kafka."""

from __future__ import annotations

import pytest

from seawall_e2e.cluster import SASL_SSL, WALCluster, make_kafka_secrets
from seawall_e2e.site import Site
from seawall_e2e.waiting import wait_until

WAL_CONFIGS = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "unclean.leader.election.enable": "false",
    "compression.type": "producer",
    "min.insync.replicas": "2",
    "max.message.bytes": "1048576",
    "segment.bytes": "67108864",
    "flush.messages": "1000",
}
"""What the operator demands of topics of a WAL, and the one that the pool asks for."""

SECURED = {
    "bootstrapServers": list(SASL_SSL),
    "tls": {"caSecretRef": {"name": "kafka-ca"}},
    "sasl": {"mechanism": "SCRAM-SHA-512", "credentialsSecretRef": {"name": "kafka-user"}},
}


@pytest.fixture(scope="module")
def wal(shared_site: Site) -> WALCluster:
    """A pool of eight topics. The namespaces enforce Pod Security `restricted`, so the chart's pod complies with it."""
    shared_site.install()
    made = shared_site.wal_cluster()
    made.apply(shared_site.pool(8, config={"flush.messages": 1000}))
    made.wait("Ready")
    return made


def test_a_pool_on_plaintext_kafka_becomes_ready(shared_site: Site, wal: WALCluster) -> None:
    status = wal.wait("Ready")["status"]
    brokers = status["kafka"]["brokers"]
    assert (brokers["total"], brokers["online"]) == (3, 3)
    assert (status["topics"]["desired"], status["topics"]["ready"]) == (8, 8)
    topics = shared_site.wait_for_topics(8)
    assert sorted(topics) == [f"{shared_site.prefix}_{index}" for index in range(8)]
    for topic in topics.values():
        assert topic["partitions"] == 1
        assert sorted(topic["replicas"]["0"]) == [0, 1, 2]
        assert topic["configs"] == WAL_CONFIGS
    print(f"the operator's resident memory: {shared_site.operator.resident_megabytes()} MB")


def test_a_config_changed_behind_the_operators_back_is_repaired(shared_site: Site, wal: WALCluster) -> None:
    changed = f"{shared_site.prefix}_1"
    shared_site.toolbox.alter(changed, "retention.ms", "604800000")

    event = wal.wait_event("RetentionGuarded")
    assert event["type"] == "Warning"
    assert changed in event["message"]
    wait_until(lambda: shared_site.topics()[changed]["configs"] == WAL_CONFIGS, "each broker knows of the repair")


def test_a_pool_on_kafka_with_tls_and_scram_becomes_ready_once_the_chart_names_its_secrets(site: Site) -> None:
    make_kafka_secrets(site.namespace)
    site.install()
    wal = site.wal_cluster()
    wal.apply(site.pool(4), SECURED)

    stalled = wal.wait("SecretForbidden")
    assert "kafka-ca" in str(stalled["status"]["conditions"])

    site.install("secrets.names={kafka-ca,kafka-user}")

    wal.wait("Ready")
    site.wait_for_topics(4)
