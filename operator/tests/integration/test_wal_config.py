"""The database's `[wal]` configuration in a ConfigMap."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping

import pytest

from seawall_e2e.loopback import KafkaProcesses
from tests.support.kube import Object
from tests.support.site import Site, condition

pytestmark = pytest.mark.integration

NAME = "greptimedb-wal"
COMMON = {"provider": str, "broker_endpoints": list}
METASRV = {"auto_create_topics": bool, "num_topics": int, "topic_name_prefix": str, "replication_factor": int}
DATANODE = {"max_batch_bytes": str}
TYPES: dict[str, Mapping[str, type]] = {
    "metasrv.toml": {**COMMON, **METASRV},
    "datanode.toml": {**COMMON, **DATANODE},
    "standalone.toml": {**COMMON, **METASRV, **DATANODE},
}


def config_map(site: Site) -> Object:
    return site.kube.request("GET", site.core("configmaps", NAME))


def parsed(site: Site) -> dict[str, Object]:
    documents = {key: tomllib.loads(text) for key, text in config_map(site)["data"].items()}
    assert all(list(document) == ["wal"] for document in documents.values())
    return {key: document["wal"] for key, document in documents.items()}


def test_its_keys_and_types_are_those_that_the_database_reads(site: Site) -> None:
    site.declare(topics={"count": 3}, config_map=NAME)
    site.wait_ready()
    documents = parsed(site)
    assert {key: {name: type(value) for name, value in wal.items()} for key, wal in documents.items()} == TYPES
    assert documents["standalone.toml"] == {
        "provider": "kafka",
        "broker_endpoints": list(site.kafka.bootstrap_servers),
        "auto_create_topics": False,
        "num_topics": 3,
        "topic_name_prefix": site.prefix,
        "replication_factor": 3,
        "max_batch_bytes": "1MB",
    }
    assert all(wal.items() <= documents["standalone.toml"].items() for wal in documents.values())


def test_it_belongs_to_the_wal_cluster(site: Site) -> None:
    uid = site.declare(config_map=NAME)["metadata"]["uid"]
    site.wait_ready()
    (owner,) = config_map(site)["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"], owner["controller"]) == ("WALCluster", "wal", uid, True)


def test_it_names_the_secrets_and_holds_none(site: Site, sasl_kafka: KafkaProcesses) -> None:
    site, secure = site.on(sasl_kafka), sasl_kafka.secure
    site.make_secret("ca", ca_crt=secure.ca_pem)
    site.make_secret("user", username=secure.username, password=secure.password)
    sasl = {"credentialsSecretRef": {"name": "user"}}
    external = {"bootstrapServers": list(secure.sasl_ssl_servers), "tls": {"caSecretRef": {"name": "ca"}}, "sasl": sasl}
    site.declare(topics={"replicationFactor": 1}, external=external, config_map=NAME)
    site.wait_ready()
    for key, wal in parsed(site).items():
        assert wal["sasl"] == {"type": "SCRAM-SHA-512"}
        assert list(wal["tls"]) == ["server_ca_cert_path"]
        text = config_map(site)["data"][key]
        assert secure.password not in text
        assert "__WAL__SASL__PASSWORD from Secret user, key password" in text


def test_it_follows_the_pool(site: Site) -> None:
    site.declare(config_map=NAME)
    site.wait_ready()
    site.edit(count=4)
    site.wait_ready()
    assert parsed(site)["metasrv.toml"]["num_topics"] == 4


def test_a_manual_edit_is_undone(site: Site) -> None:
    site.declare(config_map=NAME)
    site.wait_ready()
    before = config_map(site)["data"]
    site.kube.merge(site.core("configmaps", NAME), {"data": {"metasrv.toml": "[wal]", "extra": "x"}})
    site.wait(lambda: config_map(site)["data"] == before, "the ConfigMap is repaired")
    site.wait_ready()


def test_a_deleted_one_is_written_again(site: Site) -> None:
    site.declare(config_map=NAME)
    site.wait_ready()
    site.kube.delete(site.core("configmaps", NAME))
    site.wait(lambda: site.kube.find(site.core("configmaps", NAME)) is not None, "the ConfigMap is back")


def test_somebody_elses_is_not_touched(site: Site) -> None:
    site.kube.create(site.core("configmaps"), {"metadata": {"name": NAME}, "data": {"mine": "yes"}})
    site.declare(config_map=NAME)
    sentence = site.wait_stalled("ConfigMapTaken")
    assert (
        sentence
        == f"ConfigMap {NAME} exists and is not this WALCluster's for the database: choose another configMapName"
    )
    site.operator.wait_for_idle_ticks()
    assert config_map(site)["data"] == {"mine": "yes"}
    assert condition(site.read(), "TopicsReady")["status"] == "True"
    site.kube.delete(site.core("configmaps", NAME))
    site.wait_ready()


def test_it_is_not_repaired_while_paused(site: Site) -> None:
    site.declare(config_map=NAME)
    site.wait_ready()
    site.annotate(paused="true")
    site.kube.merge(site.core("configmaps", NAME), {"data": {"metasrv.toml": "[wal]"}})
    site.wait_for("Ready", "False", "Paused")
    site.operator.wait_for_idle_ticks()
    assert config_map(site)["data"]["metasrv.toml"] == "[wal]"
    site.annotate(paused=None)
    site.wait_ready()
    assert parsed(site)["metasrv.toml"]["num_topics"] == 2
