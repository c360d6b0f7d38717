"""Secrets, TLS and SASL: what hinders the connection is told in one sentence, and mending it is enough."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.pki import CertificateAuthority
from seawall_e2e.loopback.processes import free_ports
from tests.integration.conftest import NewOperator
from tests.support.kube import Object
from tests.support.site import Site, condition

pytestmark = pytest.mark.integration

TLS = {"caSecretRef": {"name": "ca"}}
SASL = {"credentialsSecretRef": {"name": "user"}}


@pytest.fixture
def secure(site: Site, sasl_kafka: KafkaProcesses) -> Site:
    """A corner with the secured broker."""
    return site.on(sasl_kafka)


def connection(kafka: KafkaProcesses, **changes: object) -> Object:
    servers = list(kafka.secure.sasl_ssl_servers)
    return {"bootstrapServers": servers, "tls": TLS, "sasl": SASL, **changes}


def declare(site: Site, *, config_map: str | None = None, **changes: object) -> None:
    external = {key: value for key, value in connection(site.kafka, **changes).items() if value is not None}
    site.declare(topics={"replicationFactor": 1}, external=external, config_map=config_map)


def make_secrets(site: Site, *, ca: bool = True, password: str | None = None) -> None:
    secure = site.kafka.secure
    if ca:
        site.make_secret("ca", ca_crt=secure.ca_pem)
    site.make_secret("user", username=secure.username, password=password or secure.password)


def sentence_of(site: Site, reason: str) -> str:
    found = site.wait_for("KafkaReachable", "False", reason)
    ready, reachable = condition(found, "Ready"), condition(found, "KafkaReachable")
    assert ready["status"] == "False"
    assert ready["reason"] == reason
    assert ready["message"] == reachable["message"]
    assert not site.eyes.topics(site.prefix)
    return str(reachable["message"])


def test_good_secrets_make_a_pool_ready(secure: Site) -> None:
    make_secrets(secure)
    declare(secure)
    secure.wait_ready()
    assert len(secure.eyes.topics(secure.prefix)) == 2


def test_a_user_whose_name_is_in_the_spec_needs_a_password_only(secure: Site) -> None:
    """As a Strimzi KafkaUser's Secret has it."""
    material = secure.kafka.secure
    secure.make_secret("ca", ca_crt=material.ca_pem)
    secure.make_secret("user", password=material.password)
    declare(secure, sasl={**SASL, "username": material.username})
    secure.wait_ready()


def test_mutual_tls_makes_a_pool_ready(secure: Site) -> None:
    material = secure.kafka.secure
    secure.make_secret("ca", ca_crt=material.ca_pem)
    secure.make_secret("client", tls_crt=material.client_cert_pem, tls_key=material.client_key_pem)
    tls = {**TLS, "clientCertSecretRef": {"name": "client"}}
    declare(secure, bootstrapServers=list(material.mutual_tls_servers), tls=tls, sasl=None)
    secure.wait_ready()


def test_renewed_certificates_in_strimzis_keys_are_used_without_a_restart(secure: Site, tmp_path: Path) -> None:
    """Secrets are read at every look: one that is of no use is noticed while all is well, and so is the next."""
    material, other = secure.kafka.secure, CertificateAuthority(tmp_path)
    stranger = other.issue("user", "/CN=seawall")
    good = {"user.crt": material.client_cert_pem, "user.key": material.client_key_pem}
    bad = {"user.crt": stranger.cert.read_text(), "user.key": stranger.key.read_text()}
    secure.make_secret("wal-cluster-ca-cert", ca_crt=material.ca_pem)
    secure.make_secret("seawall", ca_crt="the CA of clients", **{k.replace(".", "_"): v for k, v in good.items()})
    client = {"name": "seawall", "certKey": "user.crt", "keyKey": "user.key"}
    tls = {"caSecretRef": {"name": "wal-cluster-ca-cert"}, "clientCertSecretRef": client}
    declare(secure, bootstrapServers=list(material.mutual_tls_servers), tls=tls, sasl=None)
    generation = secure.wait_ready()["metadata"]["generation"]

    def renew(secret: str, data: dict[str, str]) -> None:
        secure.kube.merge(secure.core("secrets", secret), {"stringData": data})

    for secret, useless, renewed in (
        ("seawall", bad, good),
        ("wal-cluster-ca-cert", {"ca.crt": other.cert.read_text()}, {"ca.crt": material.ca_pem}),
    ):
        renew(secret, useless)
        secure.wait_for("KafkaReachable", "False", "TLSFailed")
        renew(secret, renewed)
        assert secure.wait_ready()["metadata"]["generation"] == generation


def test_a_missing_secret_is_named_and_its_creation_is_enough(secure: Site) -> None:
    declare(secure)
    assert sentence_of(secure, "SecretMissing") == "Secret ca does not exist"
    make_secrets(secure)
    secure.wait_ready()


def test_a_missing_key_is_named_and_adding_it_is_enough(secure: Site) -> None:
    material = secure.kafka.secure
    secure.make_secret("ca", ca_crt=material.ca_pem)
    secure.make_secret("user", username=material.username)
    declare(secure)
    assert sentence_of(secure, "SecretMissing") == "Secret user has no key password"
    secure.kube.merge(secure.core("secrets", "user"), {"stringData": {"password": material.password}})
    secure.wait_ready()


def test_a_wrong_password_is_told_and_correcting_the_secret_is_enough(secure: Site) -> None:
    make_secrets(secure, password="wrong")
    declare(secure)
    assert "refused the user name or password" in sentence_of(secure, "AuthenticationFailed")
    generation = secure.read()["metadata"]["generation"]
    secure.kube.merge(secure.core("secrets", "user"), {"stringData": {"password": secure.kafka.secure.password}})
    assert secure.wait_ready()["metadata"]["generation"] == generation


def test_a_password_changed_while_ready_is_noticed(secure: Site) -> None:
    make_secrets(secure)
    declare(secure)
    secure.wait_ready()
    secure.kube.merge(secure.core("secrets", "user"), {"stringData": {"password": "another"}})
    found = secure.wait_for("KafkaReachable", "False", "AuthenticationFailed")
    assert found["status"]["topics"]["ready"] == 2  # what was last known stays


def test_a_missing_ca_is_told(secure: Site) -> None:
    make_secrets(secure)
    declare(secure, tls={})
    assert "set tls.caSecretRef to the CA that signed it" in sentence_of(secure, "TLSFailed")


def test_a_ca_that_is_no_certificate_is_told(secure: Site) -> None:
    secure.make_secret("ca", ca_crt="nonsense")
    make_secrets(secure, ca=False)
    declare(secure)
    assert "cannot be read" in sentence_of(secure, "TLSFailed")


def test_an_unreachable_kafka_is_told_once(site: Site) -> None:
    (port,) = free_ports(1)
    site.declare(external={"bootstrapServers": [f"127.0.0.1:{port}"]})
    assert f"No broker of Kafka at 127.0.0.1:{port} answered" in sentence_of(site, "KafkaUnreachable")
    version = site.read()["metadata"]["resourceVersion"]
    site.operator.wait_for_idle_ticks(1)
    assert site.read()["metadata"]["resourceVersion"] == version
    servers = {"bootstrapServers": list(site.kafka.bootstrap_servers)}
    site.kube.merge(site.path(), {"spec": {"kafka": {"external": servers}}})
    site.wait_ready()


def test_the_password_is_nowhere(own_site: Site, sasl_kafka: KafkaProcesses, new_operator: NewOperator) -> None:
    site = own_site.on(sasl_kafka)
    password = sasl_kafka.secure.password
    operator = new_operator(log_level="DEBUG")
    operator.start()
    make_secrets(site, password=f"{password}x")
    declare(site, config_map="wal")
    sentence_of(site, "AuthenticationFailed")
    site.kube.merge(site.core("secrets", "user"), {"stringData": {"password": password}})
    site.wait_ready()
    kinds = ("events", "configmaps")
    written = [json.dumps(site.kube.request("GET", site.core(kind))) for kind in kinds]
    written += [json.dumps(site.read()), operator.log(), operator.metrics()]
    forms = (password, base64.b64encode(password.encode()).decode())
    assert not [(form, text) for form in forms for text in written if form in text]
