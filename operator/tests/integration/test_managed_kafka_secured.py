"""A managed Kafka that lets in only whom it knows, on real parts: nodes over mutual TLS, users, an emptied disk."""

from __future__ import annotations

import base64
import re
import ssl
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Message, Producer

from seawall.adapters.kafka.connection import client_config
from seawall.api.meta import ConditionType, Key
from seawall.controllers.kafka_config import KafkaConfigController
from seawall.controllers.kafka_security import KafkaSecurityController
from seawall.domain.conditions import find_condition
from seawall.domain.kafka import KafkaConnection
from seawall_e2e.loopback.pki import Certificate, CertificateAuthority
from tests.integration.test_managed_kafka_nodes import CONTROLLER, NAME, RECORDS, A, B, Bed, _message, spec
from tests.integration.test_managed_kafka_nodes import bed as bed  # noqa: PLC0414 - the fixture
from tests.integration.test_managed_kafka_roll import RollBed
from tests.support.kafka import kafka_tool
from tests.support.kube import WAL_CLUSTERS, Object
from tests.support.kubelet import empty
from tests.support.records import VALUE

pytestmark = pytest.mark.integration

PASSWORDS = {"greptimedb": "correct horse", "leaver": "battery staple"}
TOPIC, OTHER = "orders_0", "other"
FEATURES = "org.apache.kafka.tools.FeatureCommand"
REFUSED, SILENT = "TOPIC_AUTHORIZATION_FAILED", "_MSG_TIMED_OUT"
SHORT = 2_000
"""Longer than a login takes that is let in."""


def secured(*users: str) -> Object:
    found = spec()
    declared = [{"name": name, "access": "WAL", "secretName": f"user-{name}"} for name in users]
    security = {"tls": {"secretName": "nodes"}, "operatorTls": {"secretName": "operator"}, "users": declared}
    found["kafka"]["managed"]["security"] = security
    found["kafka"]["managed"]["rollout"] = {"dwell": "10s"}  # the least
    found["topics"]["prefix"] = "orders"
    return found


@dataclass
class Secrets:
    """Somebody who makes Secrets, with openssl; certificates are good for loopback, too."""

    bed: Bed
    folder: Path

    def put_certificate(self, secret: str, authority: CertificateAuthority, role: str) -> None:
        names = [f"DNS:{NAME}-{node}.{self.bed.namespace}.svc" for node in (A, B, 100)]
        subject = f"/OU={self.bed.namespace}/CN=seawall:{NAME}:{role}"
        made = authority.issue(role, subject, ",".join([*names, "IP:127.0.0.1"]))
        self.put(secret, files_of(made, authority))

    def put(self, name: str, texts: Mapping[str, str]) -> None:
        """Makes it, or puts another content into it."""
        data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        path = f"/api/v1/namespaces/{self.bed.namespace}/secrets"
        if self.bed.client.find(f"{path}/{name}") is None:
            self.bed.client.create(path, {"metadata": {"name": name}, "data": data})
        else:
            self.bed.client.merge(f"{path}/{name}", {"data": data})

    def authority(self, name: str) -> CertificateAuthority:
        folder = self.folder / name
        folder.mkdir()
        return CertificateAuthority(folder)


def files_of(made: Certificate, authority: CertificateAuthority) -> dict[str, str]:
    return {
        "tls.crt": made.cert.read_text(),
        "tls.key": made.key.read_text(),
        "ca.crt": authority.cert.read_text(),
    }


@pytest.fixture
def secrets(bed: Bed) -> Iterator[Secrets]:
    with tempfile.TemporaryDirectory() as folder:
        yield Secrets(bed, Path(folder))


def sentence(bed: Bed, kind: ConditionType) -> str:
    found = find_condition(bed.cluster().status.conditions, kind)
    return "" if found is None else f"{found.status} {found.reason}: {found.message}"


def write(bed: Bed, topic: str, count: int, connection: KafkaConnection, *, patience: int = 30_000) -> str | None:
    """Writes records as a user; the first error. `patience` in milliseconds, less where nobody will answer."""
    producer = Producer({**client_config(connection), "message.timeout.ms": patience, "acks": "all", "log_level": 0})
    errors: list[KafkaError] = []

    def on_delivery(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            errors.append(error)

    for _ in range(count):
        producer.produce(topic, VALUE, partition=0, on_delivery=on_delivery)
        producer.poll(0)
    assert producer.flush(40) == 0, bed.logs()
    return None if not errors else str(errors[0].name())


def as_user(bed: Bed, ca: str, name: str, password: str) -> KafkaConnection:
    servers = bed.connection().bootstrap_servers
    return KafkaConnection(servers, True, ca, sasl_mechanism="SCRAM-SHA-512", username=name, password=password)


@pytest.mark.timeout(400)
def test_nodes_and_users_are_let_in_by_what_they_show_and_an_emptied_disk_is_filled_again(
    bed: Bed, secrets: Secrets
) -> None:
    """One story, because each bring-up of a Kafka takes seconds."""
    ports = (bed.kube, bed.controller.kafka_clusters, bed.controller.clock)
    bed.beside = (KafkaSecurityController(*ports, True), KafkaConfigController(*ports, True))
    bed.declare(secured(*PASSWORDS))
    bed.wait(lambda: bed.says("CertificatesUnusable"), "what is missing is told")
    assert _message(bed) == "Secret nodes does not exist; nothing is started"
    assert bed.kubelet.pods == {}

    authority, other = secrets.authority("own"), secrets.authority("other")
    ca = authority.cert.read_text()
    secrets.put_certificate("nodes", authority, "node")
    secrets.put_certificate("operator", authority, "operator")
    for name, password in PASSWORDS.items():
        secrets.put(f"user-{name}", {"password": password})
    bed.wait(lambda: bed.says("AllOnline") and bed.tokens() == {}, "all nodes are Online")
    bed.wait(lambda: sentence(bed, ConditionType.KAFKA_USERS_READY).startswith("True"), "users have their rights")
    assert sentence(bed, ConditionType.CERTIFICATES_VALID).startswith("True CertificatesFit: ")

    nodes_own_tool_may_finalize(bed, secrets.folder / "admin")
    one_config_is_set_while_brokers_run(bed)

    bed.make_topic(TOPIC, (A, B), 1)
    bed.make_topic(OTHER, (A,), 1)
    database, leaver = (as_user(bed, ca, name, password) for name, password in PASSWORDS.items())
    assert write(bed, TOPIC, RECORDS, database) is None
    assert write(bed, TOPIC, 1, leaver) is None
    assert write(bed, OTHER, 1, database) == REFUSED
    assert write(bed, TOPIC, 1, bed.connection(), patience=SHORT) == SILENT
    assert write(bed, TOPIC, 1, as_user(bed, ca, "greptimedb", "wrong"), patience=SHORT) == SILENT

    security = secured("greptimedb")["kafka"]["managed"]["security"]
    path = f"{WAL_CLUSTERS.format(bed.namespace)}/{NAME}"
    bed.client.merge(path, {"spec": {"kafka": {"managed": {"security": security}}}})
    bed.wait(lambda: users(bed) == ("greptimedb",), "the user that left has nothing any more")
    assert write(bed, TOPIC, 1, leaver, patience=SHORT) == SILENT

    bed.kubelet.stop(B)
    bed.wait(lambda: bed.isr(TOPIC) == {A}, "only A is in sync")
    secrets.put_certificate("nodes", other, "node")
    bed.kubelet.start(B)
    bed.wait(lambda: B in bed.kubelet.pods and "PKIX path" in bed.kubelet.log(B), "the other CA is not believed")
    bed.wait(lambda: bed.says("CertificatesUnusable"), "the other CA is told")
    assert "no CA in ca.crt of Secret nodes signed the certificate in Secret operator" in _message(bed)
    assert bed.online() == {A}

    bed.kubelet.stop(B)
    secrets.put_certificate("nodes", authority, "node")
    empty(bed.kubelet.volume_of(B))
    bed.kubelet.start(B)
    bed.wait(lambda: bed.isr(TOPIC) == {A, B}, "B is in sync again")
    bed.wait(lambda: bed.says("RollingNodes") and bed.tokens() == {}, "its token is taken back")
    assert bed.records(TOPIC) == RECORDS + 1
    at_b = as_user(bed, ca, "greptimedb", PASSWORDS["greptimedb"])
    only_b = replace(at_b, bootstrap_servers=at_b.bootstrap_servers[1:])
    b_has_what_is_new(bed, only_b)
    old = "False OldCertificateInUse: nodes 0, 1, 100 began with another certificate"
    bed.wait(lambda: sentence(bed, ConditionType.CERTIFICATES_VALID).startswith(old), "who has an old one is told")


def b_has_what_is_new(bed: Bed, only_b: KafkaConnection) -> None:
    """It began after a user had left, with the certificate of now; A did not."""
    assert write(bed, TOPIC, 1, only_b) is None, "it knows the other users"
    assert shown_by(bed, B) == leaf_in(bed, "nodes") != shown_by(bed, A)


def nodes_own_tool_may_finalize(bed: Bed, config: Path) -> None:
    """By what docs/kafka.md (Another version) makes of a node's own files."""
    lines = (bed.kubelet.config_of(A) / "server.properties").read_text().splitlines(keepends=True)
    own = [line for line in lines if re.match(r"config\.providers|ssl\.(key|trust)store", line)]
    config.write_text("".join(own) + "security.protocol=SSL\n")
    server = bed.kubelet.local(f"{NAME}-{A}.{bed.namespace}.svc:9091")
    where = ("--bootstrap-server", server, "--command-config", config)
    assert "metadata.version" in kafka_tool(FEATURES, *where, "describe")
    kafka_tool(FEATURES, *where, "upgrade", "--release-version", "4.3", "--dry-run")


def one_config_is_set_while_brokers_run(bed: Bed) -> None:
    """An edit is in force on all brokers, and none of them was restarted."""
    kafka, pods = bed.kafka(), {node: pod.uid for node, pod in bed.kubelet.pods.items()}
    path = f"{WAL_CLUSTERS.format(bed.namespace)}/{NAME}"
    bed.client.merge(path, {"spec": {"kafka": {"managed": {"config": {"message.max.bytes": "2000000"}}}}})
    wanted = {A: {"message.max.bytes": "2000000"}, B: {"message.max.bytes": "2000000"}}
    bed.wait(lambda: kafka.describe_broker_configs(["message.max.bytes"]) == wanted, "both brokers have it")
    applied = "True ConfigApplied: all brokers have message.max.bytes as declared"
    bed.wait(lambda: sentence(bed, ConditionType.KAFKA_CONFIG_APPLIED) == applied, "it is told")
    assert {node: pod.uid for node, pod in bed.kubelet.pods.items()} == pods
    bed.client.merge(path, {"spec": {"kafka": {"managed": {"config": {"message.max.bytes": None}}}}})
    bed.wait(lambda: bed.cluster().status.kafka_config is None, "it is taken back")
    assert kafka.describe_default_configs().keys() == {"min.insync.replicas"}, (
        "Kafka's own, by eligible leader replicas"
    )
    assert bed.says("AllOnline")


# In every run: the same in memory (operator/tests/managed_kafka/test_certificate_roll.py), and a broker that shows it.
@pytest.mark.soak
def test_a_renewed_certificate_is_shown_by_each_broker_after_its_restart(bed: Bed, secrets: Secrets) -> None:
    """The controller is the only one, so a person has to let it go."""
    rolled = RollBed(bed)
    authority = secrets.authority("own")
    for secret, role in (("nodes", "node"), ("operator", "operator")):
        secrets.put_certificate(secret, authority, role)
    bed.declare(secured("greptimedb"))
    bed.wait(lambda: bed.says("AllOnline") and bed.tokens() == {}, "all nodes are Online")
    secrets.put_certificate("nodes", authority, "node")
    assert leaf_in(bed, "nodes") != shown_by(bed, A)
    rolled.wait(lambda: "the only controller" in rolled.roll().message, "all but the controller are restarted")
    assert {shown_by(bed, node) for node in (A, B)} == {leaf_in(bed, "nodes")}
    assert (rolled.roll().restarted, old_nodes(bed)) == (2, [CONTROLLER])


def leaf_in(bed: Bed, secret: str) -> bytes:
    found = bed.kube.get_secret(Key(bed.namespace, secret))
    assert found is not None
    return ssl.PEM_cert_to_DER_cert(found["tls.crt"].decode())


def shown_by(bed: Bed, node: int) -> bytes:
    """The certificate that a broker shows to clients."""
    host, _, port = bed.kubelet.local(f"{NAME}-{node}.{bed.namespace}.svc:9092").rpartition(":")
    return ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate((host, int(port)), timeout=10))


def old_nodes(bed: Bed) -> list[int]:
    managed = bed.cluster().status.managed_kafka
    return [] if managed is None else [node.id for node in managed.nodes if node.old_certificate]


def users(bed: Bed) -> tuple[str, ...]:
    found = bed.cluster().status.kafka_security
    return () if found is None else found.users
