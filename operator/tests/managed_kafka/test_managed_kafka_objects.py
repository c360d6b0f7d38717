"""What a node is made of: the pod, its files, its budgets."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALClusterSpec
from seawall.api.v1alpha1.managed_kafka import GUARDED_PROPERTIES, ManagedKafka
from seawall.domain.managed_kafka.node import Node, nodes_of
from seawall.domain.managed_kafka.objects import (
    ObjectKind,
    budgets,
    node_objects,
    spec_hash,
    spec_hashes,
    template_hash,
    volume,
)
from seawall.domain.managed_kafka.properties import most_replicas, server_properties
from seawall.domain.spark_job.allowed import kafka_of_job
from seawall.domain.walconfig.render import render_wal_config
from tests.product.test_examples import EXAMPLES

KEY = Key("db", "wal")
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"


def declared(example: str = "managed-kafka", **changes: Any) -> ManagedKafka:
    raw = yaml.safe_load((EXAMPLES / f"valid/{example}.yaml").read_text())["spec"]
    raw["kafka"]["managed"] |= changes
    found = WALClusterSpec.model_validate(raw).kafka.managed
    assert found is not None
    return found


def node(number: int, kafka: ManagedKafka, key: Key = KEY) -> Node:
    return next(each for each in nodes_of(key, kafka) if each.id == number)


def properties(number: int, kafka: ManagedKafka) -> dict[str, str]:
    found = node(number, kafka)
    return server_properties(KEY, kafka, number, found.pool)


def pod_of(number: int, kafka: ManagedKafka) -> dict[str, Any]:
    (found,) = (each for each in node_objects(node(number, kafka), CLUSTER_ID) if each.kind is ObjectKind.STATEFUL_SET)
    spec: dict[str, Any] = found.body["spec"]["template"]["spec"]
    return spec


def test_every_pod_meets_pod_security_restricted_and_no_probe_ends_it() -> None:
    for number in (0, 100):
        pod = pod_of(number, declared())
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not pod["automountServiceAccountToken"]
        for container in (*pod["initContainers"], *pod["containers"]):
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert not container["securityContext"]["allowPrivilegeEscalation"]
            assert container["securityContext"]["readOnlyRootFilesystem"]
            assert not {"livenessProbe", "startupProbe"} & container.keys()
        assert pod["terminationGracePeriodSeconds"] >= 120


@pytest.mark.parametrize(("number", "port"), [(0, "clients"), (100, "controller")])
def test_a_node_is_ready_when_its_last_port_is_open(number: int, port: str) -> None:
    (container,) = pod_of(number, declared())["containers"]
    assert container["readinessProbe"]["tcpSocket"] == {"port": port}
    assert port in {each["name"] for each in container["ports"]}


def test_a_broker_and_a_controller_listen_where_others_look_for_them() -> None:
    broker, controller = properties(0, declared()), properties(100, declared())
    assert broker["process.roles"] == "broker"
    assert broker["listeners"] == "INTERNAL://:9091,CLIENTS://:9092"
    assert broker["advertised.listeners"] == "INTERNAL://wal-0.db.svc:9091,CLIENTS://wal-0.db.svc:9092"
    assert controller["advertised.listeners"] == "CONTROLLER://wal-100.db.svc:9090"
    voters = "wal-100.db.svc:9090,wal-101.db.svc:9090,wal-102.db.svc:9090"
    assert broker["controller.quorum.bootstrap.servers"] == controller["controller.quorum.bootstrap.servers"] == voters
    access = WALClusterSpec.model_validate({"kafka": {"managed": declared().model_dump(by_alias=True)}}).kafka.access(
        KEY
    )
    assert access.bootstrap_servers == tuple(f"wal-{number}.db.svc:9092" for number in range(3))


def test_three_brokers_have_three_replicas_of_kafkas_own_topics_and_one_has_one() -> None:
    three, one = properties(0, declared()), properties(0, declared("managed-kafka-single"))
    assert (three["offsets.topic.replication.factor"], three["min.insync.replicas"]) == ("3", "2")
    assert (one["offsets.topic.replication.factor"], one["min.insync.replicas"]) == ("1", "1")
    assert one["process.roles"] == "controller,broker"


def test_what_would_lose_records_cannot_be_configured() -> None:
    found = properties(0, declared(config={"num.io.threads": "7", "min.insync.replicas": "1"}))
    assert (found["num.io.threads"], found["min.insync.replicas"]) == ("7", "2"), "one of them is set while it runs"
    assert found["unclean.leader.election.enable"] == "false"
    fixed = properties(0, declared()).keys() - properties(0, declared(config={})).keys()
    assert fixed == {"num.io.threads"}
    ours = {
        "node.id",
        "listeners",
        "advertised.listeners",
        "log.dirs",
        "process.roles",
        "unclean.leader.election.enable",
    }
    assert all(re.match(GUARDED_PROPERTIES, key) for key in ours)


def test_one_budget_counts_brokers_another_pure_controllers_and_none_counts_a_pod_twice() -> None:
    found = {each.name: each.body["spec"] for each in budgets(KEY, nodes_of(KEY, declared()))}
    assert {name: spec["minAvailable"] for name, spec in found.items()} == {
        "wal-kafka-brokers": 2,
        "wal-kafka-controllers": 2,
    }
    (single,) = budgets(KEY, nodes_of(KEY, declared("managed-kafka-single")))
    assert (single.name, single.body["spec"]["minAvailable"]) == ("wal-kafka-brokers", 0)


def test_a_pod_is_ready_when_it_is_said_to_be_in_sync_and_one_that_is_not_goes_only_while_all_others_are() -> None:
    for number in (0, 100):
        assert pod_of(number, declared()).get("readinessGates") == [{"conditionType": "seawall.dev/in-sync"}]
    policies = {each.body["spec"]["unhealthyPodEvictionPolicy"] for each in budgets(KEY, nodes_of(KEY, declared()))}
    assert policies == {"IfHealthyBudget"}
    (single,) = budgets(KEY, nodes_of(KEY, declared("managed-kafka-single")))
    assert single.body["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow", "a budget of 0 is never healthy"
    (service,) = (each for each in node_objects(node(0, declared()), CLUSTER_ID) if each.kind is ObjectKind.SERVICE)
    assert service.body["spec"]["publishNotReadyAddresses"], "nodes find each other to become Ready"


def test_a_volume_has_no_owner_and_the_size_of_its_pool() -> None:
    found = volume(node(0, declared("managed-kafka-single")), CLUSTER_ID)
    assert not found.owned
    assert found.body["spec"]["resources"]["requests"]["storage"] == str(10 * 2**30)
    assert found.body["spec"]["storageClassName"] == "fast"


def test_names_fit_into_labels() -> None:
    longest = Key("db", "w" * 40)
    (node_of_it,) = (each for each in nodes_of(longest, declared()) if each.id == 102)
    for each in node_objects(node_of_it, CLUSTER_ID):
        assert len(f"{each.name}-0") <= 63  # the pod's name is a label of it


@pytest.mark.parametrize("change", [{"image": "another"}, {"config": {"num.io.threads": "5"}}], ids=["image", "config"])
def test_what_changes_a_node_changes_its_hash_and_nothing_else_does(change: dict[str, Any]) -> None:
    before = template_hash(node(0, declared()), CLUSTER_ID)
    assert template_hash(node(0, declared(**change)), CLUSTER_ID) != before
    assert template_hash(node(0, declared()), CLUSTER_ID) == before
    assert template_hash(node(1, declared()), CLUSTER_ID) != before


def secured(**changes: Any) -> ManagedKafka:
    found = yaml.safe_load((EXAMPLES / "valid/managed-kafka-secured.yaml").read_text())["spec"]
    return declared(security={**found["kafka"]["managed"]["security"], **changes})


USER = {"name": "more", "access": "ReadOnly", "secretName": "more"}


def with_heap(heap: str | None) -> ManagedKafka:
    """The pools of the example, whose brokers have 4Gi of Java's heap without a word."""
    pools = [each.model_dump(by_alias=True, mode="json") for each in declared().node_pools]
    return declared(nodePools=[{**each, "heap": heap} if each["firstId"] == 0 else each for each in pools])


EDITS: dict[str, tuple[ManagedKafka, ManagedKafka, bool]] = {
    "users": (secured(), secured(users=[*secured().model_dump(by_alias=True)["security"]["users"], USER]), False),
    "operatorTls": (secured(), secured(operatorTls={"secretName": "another"}), False),
    "tls": (secured(), secured(tls={"secretName": "another"}), True),
    "authentication": (secured(), secured(authentication="MutualTLS"), True),
    "insecure": (secured(), declared(), True),
    "version": (declared(), declared(version="4.3.0"), True),
    "version beside image": (declared(image="own"), declared(image="own", version="4.3.0"), False),
    "image": (declared(), declared(image="own"), True),
    "the default image": (declared(), declared(image="apache/kafka:4.3.1"), False),
    "heap": (with_heap("4Gi"), with_heap("3Gi"), True),
    "the default heap": (with_heap(None), with_heap("4Gi"), False),
    "config": (declared(), declared(config={"num.io.threads": "5"}), True),
    "config of brokers that run": (declared(config={}), declared(config={"min.insync.replicas": "1"}), False),
    "rollout": (declared(), declared(rollout={"dwell": "20s"}), False),
    "networkPolicy": (declared(), declared(networkPolicy={"enabled": False}), False),
}


@pytest.mark.parametrize("name", EDITS)
def test_what_is_remembered_of_the_spec_is_what_a_node_is_made_of(name: str) -> None:
    """Else an edit that restarts nobody makes what a newer Seawall writes later look like an edit (K7)."""
    one, other, reaches = EDITS[name]
    for before, after in ((one, other), (other, one)):
        had, has = node(0, before), node(0, after)
        assert (template_hash(had, CLUSTER_ID) != template_hash(has, CLUSTER_ID)) == reaches
        assert (spec_hash(had) not in spec_hashes(has)) == reaches


@pytest.mark.parametrize("kafka", [declared(), secured(), declared(image="own"), with_heap("3Gi")])
def test_pods_that_were_made_before_it_was_so_still_say_the_same(kafka: ManagedKafka) -> None:
    """All of `security` and `version` were hashed; an upgrade alone restarts nobody."""
    for each in nodes_of(KEY, kafka):
        include = {"version", "image", "security"}
        said = kafka.model_dump(mode="json", by_alias=True, exclude_defaults=True, include=include)
        said |= {"config": dict(kafka.static_config)} if kafka.static_config else {}
        pool = each.pool.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"storage", "replicas"})
        text = json.dumps([said, pool, [list(kafka.controller_ids), most_replicas(kafka)]], sort_keys=True)
        assert hashlib.sha256(text.encode()).hexdigest()[:10] in spec_hashes(each)


def test_nodes_of_a_secured_kafka_let_nobody_in_without_tls() -> None:
    broker, controller = properties(0, secured()), properties(100, secured())
    for found in (broker, controller):
        protocols = dict(each.split(":") for each in found["listener.security.protocol.map"].split(","))
        assert protocols == {"CONTROLLER": "SSL", "INTERNAL": "SSL", "CLIENTS": "SASL_SSL"}
        assert found["ssl.client.auth"] == "required"
        assert found["authorizer.class.name"].endswith("StandardAuthorizer")
        assert found["allow.everyone.if.no.acl.found"] == "false"
        assert found["super.users"] == "User:CN=seawall:wal:node,OU=db;User:CN=seawall:wal:operator,OU=db"
        assert "PLAINTEXT" not in "".join(found.values())
    assert broker["listener.name.clients.sasl.enabled.mechanisms"] == "SCRAM-SHA-512"


def test_by_certificate_alone_nobody_is_asked_for_a_password() -> None:
    found = properties(0, secured(authentication="MutualTLS"))
    assert found["listener.security.protocol.map"] == "CONTROLLER:SSL,INTERNAL:SSL,CLIENTS:SSL"
    assert not [key for key in found if "sasl" in key or key == "listener.name.clients.ssl.client.auth"]


def test_certificates_are_mounted_and_an_insecure_kafka_has_none() -> None:
    pod = pod_of(0, secured())
    (volume_of_it,) = (each for each in pod["volumes"] if each["name"] == "tls")
    assert volume_of_it["secret"] == {"secretName": "secured-kafka-tls", "defaultMode": 0o440}
    for container in (*pod["initContainers"], *pod["containers"]):
        assert {"name": "tls", "mountPath": "/etc/seawall/tls", "readOnly": True} in container["volumeMounts"]
    assert "tls" not in {each["name"] for each in pod_of(0, declared())["volumes"]}
    assert not [key for key in properties(0, declared()) if "ssl" in key or "super" in key or "authorizer" in key]


def spec_of(kafka: ManagedKafka, **more: Any) -> WALClusterSpec:
    return WALClusterSpec.model_validate({"kafka": {"managed": kafka.model_dump(by_alias=True)}, **more})


def test_seawall_comes_by_its_own_certificate_and_the_database_as_its_user() -> None:
    kafka = spec_of(secured()).kafka
    mine, theirs = kafka.access(KEY), kafka.access_of_database(KEY)
    assert mine.bootstrap_servers[0] == "wal-0.db.svc:9091"
    assert mine.sasl is None
    assert mine.tls is not None
    assert mine.tls.client_cert_secret_ref is not None
    assert mine.tls.client_cert_secret_ref.name == "secured-kafka-seawall"
    assert theirs.bootstrap_servers[0] == "wal-0.db.svc:9092"
    assert theirs.sasl is not None
    assert (theirs.sasl.username, theirs.sasl.credentials_secret_ref.name) == (
        "greptimedb", "secured-kafka-greptimedb"
    )  # fmt: skip
    by_certificate = spec_of(secured(authentication="MutualTLS")).kafka.access_of_database(KEY)
    assert by_certificate.sasl is None
    assert by_certificate.tls is not None
    assert by_certificate.tls.client_cert_secret_ref is not None
    assert by_certificate.tls.client_cert_secret_ref.name == "secured-kafka-greptimedb"
    insecure = spec_of(declared()).kafka
    assert insecure.access(KEY) == insecure.access_of_database(KEY)


def test_the_databases_configuration_names_its_user_and_not_seawalls() -> None:
    database = {"walConfig": {"configMapName": "rendered"}}
    text = render_wal_config(KEY, spec_of(secured(), dataPlane=database))["datanode.toml"]
    assert "wal-0.db.svc:9092" in text
    assert 'type = "SCRAM-SHA-512"' in text
    assert "__WAL__SASL__USERNAME to greptimedb." in text
    assert "__WAL__SASL__PASSWORD from Secret secured-kafka-greptimedb, key password." in text
    assert "Mount Secret secured-kafka-greptimedb at /etc/greptimedb/wal-tls." in text
    assert "secured-kafka-seawall" not in text
    assert "secured-kafka-tls" not in text


def test_a_job_may_come_by_a_certificate_of_its_own() -> None:
    verification = {"kafkaClientCertSecretRef": {"name": "verifier"}, "spark": {"image": "x"}}
    database = yaml.safe_load((EXAMPLES / "valid/verification-schedule.yaml").read_text())["spec"]["dataPlane"]
    spec = spec_of(secured(), dataPlane=database, verification=verification)
    found = kafka_of_job(KEY, spec, spec.verification)
    assert found.bootstrap_servers[0] == "wal-0.db.svc:9091"
    assert found.tls is not None
    assert found.tls.client_cert_secret_ref is not None
    assert found.tls.client_cert_secret_ref.name == "verifier"
    with pytest.raises(ValidationError, match="stands in for"):
        spec_of(declared(), dataPlane=database, verification=verification)
