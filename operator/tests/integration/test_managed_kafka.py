"""A Kafka that somebody else runs and that lets nobody do some things: they are told by name, and all else goes on.

Two brokers play it. What a service gives its users is given by ACLs; what it refuses to all of them, by policies.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AclOperation

from seawall.adapters.kafka.admin import ConfluentKafkaAdmin
from seawall.domain.errors import NotSupported
from seawall.domain.kafka import ConfigChange, KafkaConnection
from seawall_e2e.commands import run
from seawall_e2e.loopback import KafkaProcesses, OperatorProcess
from seawall_e2e.loopback.etcd import EtcdProcess
from seawall_e2e.loopback.java import kafka_jars
from seawall_e2e.loopback.refdb import RefDbProcesses
from seawall_e2e.waiting import wait_until
from tests.support.kube import OBJECTS, KubeClient, Object
from tests.support.rights import AUTHORIZER, Right, Rights, RightsOf
from tests.support.secure_kafka import by_password
from tests.support.site import Site, condition, new_site

pytestmark = pytest.mark.integration

NOT_SUPPORTED = "NotSupportedByKafka"
POLICY = Path(__file__).parents[1] / "support/java/ManagedPolicy.java"
POLICIES = {
    "create.topic.policy.class.name": "ManagedPolicy$Create",
    "alter.config.policy.class.name": "ManagedPolicy$Alter",
}
GIVEN: Rights = frozenset(
    map(Right, (AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS, AclOperation.CREATE, AclOperation.READ))
)
"""Topics may be made and read; they may not be altered, their records not be deleted, and nothing of the cluster."""
RUN_SECONDS = 120.0


@pytest.fixture(scope="module")
def managed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaProcesses]:
    """Brokers with an authorizer and with policies."""
    folder = tmp_path_factory.mktemp("policy")
    run("javac", "-cp", ":".join(map(str, kafka_jars())), "-d", folder, POLICY)
    jar = folder / "policy.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for found in folder.glob("*.class"):
            archive.write(found, found.name)
    with KafkaProcesses(2, sasl_ssl=True, properties={**AUTHORIZER, **POLICIES}, jars=[jar]) as kafka:
        yield kafka


@pytest.fixture
def corner(kube: KubeClient, managed: KafkaProcesses, operator: OperatorProcess) -> Iterator[Site]:
    found = new_site(kube, managed, operator)
    yield found
    found.clear()


@pytest.fixture
def rights_on(managed: KafkaProcesses) -> Iterator[Callable[[str], RightsOf]]:
    """What the user may with topics of a prefix; at the end it may nothing, for the sake of other tests."""
    made: list[RightsOf] = []

    def make(prefix: str) -> RightsOf:
        made.append(RightsOf(managed, prefix))
        return made[-1]

    yield make
    for each in made:
        each.give(frozenset())


def as_user(site: Site) -> Mapping[str, Any]:
    """`spec.kafka.external` of the user with few rights; its Secrets are made."""
    secure = site.kafka.secure
    site.make_secret("ca", ca_crt=secure.ca_pem)
    site.make_secret("user", username=secure.username, password=secure.password)
    return {
        "bootstrapServers": list(secure.sasl_ssl_servers),
        "tls": {"caSecretRef": {"name": "ca"}},
        "sasl": {"credentialsSecretRef": {"name": "user"}},
    }


def may_not_alter(kafka: KafkaProcesses, topic: str) -> bool:
    """Whether Kafka refuses the user what would change nothing."""
    try:
        ConfluentKafkaAdmin(by_password(kafka.secure)).alter_configs([ConfigChange(topic, {"retention.ms": "-1"})])
    except NotSupported:
        return True
    return False


def purge(site: Site, name: str) -> Object:
    """A run by hand, at its end."""
    body = {
        "apiVersion": "seawall.dev/v1alpha1",
        "kind": "WALPurge",
        "metadata": {"name": name},
        "spec": {
            "clusterRef": {"name": "wal"},
            "flush": {"whenBehindEntries": 1, "timeout": "20s"},
            "safety": {"staleAfter": "3s", "openGrace": "13s"},
        },
    }
    path = OBJECTS.format(site.namespace, "walpurges")
    site.kube.create(path, body)

    def over() -> Object | None:
        found = site.kube.request("GET", f"{path}/{name}")
        return found if found.get("status", {}).get("stage") in {"Completed", "Failed"} else None

    def explain() -> str:
        return f"{site.kube.request('GET', f'{path}/{name}').get('status')}\n{site.explain(site.read())}"

    return wait_until(over, f"run {name} is over", within=RUN_SECONDS, explain=explain)


def wait_granted(site: Site) -> None:
    """Places a hold on everything, and waits for its grant."""
    path = OBJECTS.format(site.namespace, "walholds")
    spec = {"clusterRef": {"name": "wal"}, "topics": {"*": "earliest"}}
    body = {"apiVersion": "seawall.dev/v1alpha1", "kind": "WALHold", "metadata": {"name": "all"}, "spec": spec}
    site.kube.create(path, body)

    def is_granted() -> bool:
        found = site.kube.request("GET", f"{path}/all")
        return bool(condition(found, "Granted").get("status") == "True")

    wait_until(is_granted, "the hold is granted", explain=lambda: site.explain(site.read()))


def test_a_user_who_may_neither_alter_nor_delete_has_a_pool_and_holds_and_is_told_of_the_rest(
    corner: Site, managed: KafkaProcesses, etcd: EtcdProcess, rights_on: Callable[[str], RightsOf]
) -> None:
    boss = ConfluentKafkaAdmin(KafkaConnection(managed.bootstrap_servers))
    with RefDbProcesses(managed.bootstrap_servers, etcd, datanodes=1) as database:
        prefix = f"wal_{database.prefix}"
        rights = rights_on(prefix)
        rights.give(GIVEN | {Right(AclOperation.ALTER_CONFIGS)})  # the database has made the topics itself
        greptimedb = database.declared(autoPrune="Disabled")
        topics = {"prefix": prefix, "replicationFactor": 1, "count": 3}
        corner.declare(topics=topics, external=as_user(corner), greptimedb=greptimedb)
        corner.wait_ready()
        rights.give(GIVEN)
        wait_until(lambda: may_not_alter(managed, f"{prefix}_1"), "the brokers know what the user may not any more")

        boss.alter_configs([ConfigChange(f"{prefix}_0", {"retention.ms": "86400000"})])
        sentence = corner.wait_stalled(NOT_SUPPORTED)
        assert f"{prefix}_0" in sentence
        assert "authorization failed" in sentence.lower()
        corner.wait_event(NOT_SUPPORTED)
        corner.edit(count=4)
        corner.becomes(lambda: len(corner.eyes.topics(prefix)), 4)
        wait_granted(corner)
        replication = corner.wait_for("ReplicationHealthy", "Unknown", "NotAllowed")
        assert "authorization failed" in condition(replication, "ReplicationHealthy")["message"].lower()
        boss.alter_configs([ConfigChange(f"{prefix}_0", {"retention.ms": "-1"})])
        corner.wait_ready()
        corner.kube.delete(f"{OBJECTS.format(corner.namespace, 'walholds')}/all")

        answer = database.sql("CREATE TABLE t (ts TIMESTAMP TIME INDEX, k STRING, PRIMARY KEY(k))")
        assert "code" not in answer, answer
        for number in range(10):
            database.write(f"INSERT INTO t(ts, k) VALUES ({number}, 'k{number}')")  # noqa: S608 - numbers
        before = corner.eyes.log_starts(prefix)
        refused = purge(corner, "refused")
        status = refused["status"]
        assert (status["stage"], status["topics"]["failed"], status["topics"]["purged"]) == ("Completed", 1, 0), status
        (row,) = status["refused"]
        assert row["reason"] == NOT_SUPPORTED
        assert "authorization failed" in row["message"].lower()
        assert {each["topic"]: each["reason"] for each in status["skipped"]}[row["topic"]] == NOT_SUPPORTED
        assert corner.eyes.log_starts(prefix) == before
        corner.wait_ready()

        rights.give(GIVEN | {Right(AclOperation.DELETE)})
        done = purge(corner, "let")
        assert done["status"]["topics"]["purged"] == 1, done["status"]
        assert corner.eyes.log_starts(prefix)[row["topic"]] > before[row["topic"]]
        assert len(database.rows("SELECT k FROM t")) == 10


def test_replicas_that_may_not_be_moved_are_told_and_topics_are_made_all_the_same(
    corner: Site, rights_on: Callable[[str], RightsOf]
) -> None:
    see = frozenset({Right(AclOperation.DESCRIBE, on_cluster=True), Right(AclOperation.DESCRIBE_CONFIGS, True)})
    rights_on(corner.prefix).give(GIVEN | see)
    corner.declare(topics={"replicationFactor": 1}, external=as_user(corner))
    corner.wait_ready()
    corner.wait_brokers_told()
    corner.edit(replicationFactor=2, count=3)
    corner.becomes(lambda: len(corner.eyes.topics(corner.prefix)), 3)
    found = corner.wait_object(
        lambda found: found["status"].get("reassignment", {}).get("failedChange", {}).get("reason") == NOT_SUPPORTED,
        "the reassignment says that it is not supported",
    )
    assert "authorization failed" in found["status"]["reassignment"]["failedChange"]["message"].lower()
    corner.wait_stalled(NOT_SUPPORTED)


def test_a_config_that_the_service_lets_nobody_set_is_told_in_its_own_words(corner: Site) -> None:
    prefix = f"managed-{corner.prefix}"
    corner.declare(topics={"prefix": prefix, "replicationFactor": 1})
    assert "this service does not let topic configs be set" in corner.wait_stalled(NOT_SUPPORTED)
    assert not corner.eyes.topics(prefix)
    corner.wait_event(NOT_SUPPORTED)

    corner.eyes.create(f"{prefix}_0", {"retention.ms": "86400000"}, replication_factor=1)
    corner.becomes(lambda: corner.eyes.config(f"{prefix}_0").get("retention.ms"), "-1")
    assert "this service does not let topic configs be set" in corner.wait_stalled(NOT_SUPPORTED)
