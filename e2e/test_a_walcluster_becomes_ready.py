"""The main job: the operator by Helm with its default rights, and topic pools on plain and on secured Kafka."""

from __future__ import annotations

from seawall_e2e.cluster import SASL_SSL, make_kafka_secrets
from seawall_e2e.site import Site

WAL_CONFIGS = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "unclean.leader.election.enable": "false",
    "compression.type": "producer",
    "min.insync.replicas": "2",
    "max.message.bytes": "1048576",
    "segment.bytes": "67108864",
}

SECURED = {
    "bootstrapServers": list(SASL_SSL),
    "tls": {"caSecretRef": {"name": "kafka-ca"}},
    "sasl": {"mechanism": "SCRAM-SHA-512", "credentialsSecretRef": {"name": "kafka-user"}},
}


def test_a_pool_on_plaintext_kafka_becomes_ready(site: Site) -> None:
    """The namespaces enforce Pod Security `restricted`, so the chart's pod complies with it."""
    site.install()
    wal = site.wal_cluster()
    wal.apply(site.pool(8, config={"flush.messages": 1000}))

    status = wal.wait("Ready")["status"]

    brokers = status["kafka"]["brokers"]
    assert (brokers["total"], brokers["online"]) == (3, 3)
    assert (status["topics"]["desired"], status["topics"]["ready"]) == (8, 8)
    topics = site.topics()
    assert sorted(topics) == [f"{site.prefix}_{index}" for index in range(8)]
    for topic in topics.values():
        assert topic["partitions"] == 1
        assert sorted(topic["replicas"]["0"]) == [0, 1, 2]
        assert topic["configs"] == {**WAL_CONFIGS, "flush.messages": "1000"}
    print(f"the operator's resident memory: {site.operator.resident_megabytes()} MB")


def test_a_pool_on_kafka_with_tls_and_scram_becomes_ready_once_the_chart_names_its_secrets(site: Site) -> None:
    make_kafka_secrets(site.namespace)
    site.install()
    wal = site.wal_cluster()
    wal.apply(site.pool(4), SECURED)

    stalled = wal.wait("SecretForbidden")
    assert "kafka-ca" in str(stalled["status"]["conditions"])

    site.install("secrets.names={kafka-ca,kafka-user}")

    wal.wait("Ready")
    assert len(site.topics()) == 4


def test_a_config_changed_behind_the_operators_back_is_repaired(site: Site) -> None:
    site.install()
    wal = site.wal_cluster()
    wal.apply(site.pool(2))
    wal.wait("Ready")

    site.toolbox.alter(f"{site.prefix}_1", "retention.ms", "604800000")

    event = wal.wait_event("RetentionGuarded")
    assert event["type"] == "Warning"
    assert f"{site.prefix}_1" in event["message"]
    assert site.topics()[f"{site.prefix}_1"]["configs"] == WAL_CONFIGS
