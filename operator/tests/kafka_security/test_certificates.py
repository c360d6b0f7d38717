"""What is read of real certificates, and the one sentence for each that does not fit."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

from seawall.adapters.authority import Authority, Pair
from seawall.domain.managed_kafka.certificates import Certificate, Certificates, why_unusable
from seawall.observe.certificates import read_certificates
from seawall_e2e.loopback.pki import CertificateAuthority
from tests.fakes.kube import FakeKube
from tests.managed_kafka.test_managed_kafka_objects import declared
from tests.support.clock import START
from tests.worlds.managed_world import WAL
from tests.worlds.secured_world import (
    HOSTS,
    NODES,
    OPERATOR,
    SECURED,
    YEAR,
    authority,
    certificate,
    secret,
    secret_of,
)

KAFKA = declared(security=SECURED["kafka"]["managed"]["security"])
Content = dict[str, bytes]


def found_with(nodes: Content | None, operator: Content | None = None) -> Certificates:
    kube = FakeKube()
    kube.secrets[secret(OPERATOR)] = certificate("operator") if operator is None else operator
    if nodes is not None:
        kube.secrets[secret(NODES)] = nodes
    found = read_certificates(kube, WAL, KAFKA)
    assert found is not None
    return found


def why(nodes: Content | None, operator: Content | None = None, now: datetime = START) -> str | None:
    return why_unusable(WAL, KAFKA, found_with(nodes, operator), now)


def issued(
    common_name: str = "seawall:wal:node",
    unit: str = "db",
    names: tuple[str, ...] = HOSTS,
    begins: datetime = START - timedelta(minutes=1),
) -> Content:
    return secret_of(authority().issue(common_name, unit, names, begins, YEAR), authority())


def without(key: str) -> Content:
    return {name: text for name, text in certificate("node").items() if name != key}


def with_text(key: str, text: bytes) -> Content:
    return {**certificate("node"), key: text}


def pkcs1() -> bytes:
    """As cert-manager writes keys unless it is told otherwise."""
    key = serialization.load_pem_private_key(certificate("node")["tls.key"], None)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def test_what_fits_is_not_spoken_of() -> None:
    assert why(certificate("node")) is None


def test_a_kafka_without_certificates_has_none_to_read() -> None:
    assert read_certificates(FakeKube(), WAL, declared(security={"insecure": True})) is None


@pytest.mark.parametrize(
    ("nodes", "sentence"),
    [
        (lambda: None, "Secret wal-nodes does not exist"),
        (lambda: without("tls.key"), "Secret wal-nodes has no key tls.key"),
        (lambda: without("ca.crt"), "Secret wal-nodes has no key ca.crt"),
        (lambda: with_text("tls.crt", b"what?"), "key tls.crt of Secret wal-nodes is no PEM text that makes sense"),
        (lambda: with_text("ca.crt", b"what?"), "key ca.crt of Secret wal-nodes is no PEM text that makes sense"),
        (lambda: with_text("tls.key", pkcs1()), "key tls.key of Secret wal-nodes does not begin with"),
        (
            lambda: with_text("tls.key", issued()["tls.key"]),
            "the certificate in Secret wal-nodes is not of the key beside it",
        ),
        (
            lambda: issued("wal-node"),
            "the certificate in Secret wal-nodes has the subject CN=wal-node,OU=db, and not CN=seawall:wal:node,OU=db",
        ),
        (lambda: issued(unit="other"), "has the subject CN=seawall:wal:node,OU=other, and not"),
        (lambda: issued(begins=START - 2 * YEAR), "wal-nodes expired at 2025-11-21T12:00:00Z"),
        (lambda: issued(begins=START + YEAR), "wal-nodes is not valid before 2027-11-21T12:00:00Z"),
        (
            lambda: issued(names=HOSTS[1:]),
            "the certificate in Secret wal-nodes lacks the names wal-0.db.svc",
        ),
        (
            lambda: issued(names=("elsewhere.svc",)),
            "lacks the names wal-0.db.svc, wal-1.db.svc, wal-2.db.svc and 3 more",
        ),
        (lambda: issued(names=()), "the certificate in Secret wal-nodes is not for servers (extended key usage)"),
        (
            lambda: with_text("ca.crt", certificate("node", "other")["ca.crt"]),
            "the certificate in Secret wal-nodes is not signed by a CA in the ca.crt beside it",
        ),
        (
            lambda: certificate("node", "other"),
            "no CA in ca.crt of Secret wal-nodes signed the certificate in Secret wal-operator",
        ),
    ],
)
def test_each_fault_is_one_sentence(nodes: Callable[[], Content | None], sentence: str) -> None:
    found = why(nodes())
    assert found is not None
    assert sentence in found


def test_a_wildcard_is_a_name_of_every_node() -> None:
    assert why(issued(names=("*.db.svc",))) is None
    assert "lacks the names" in (why(issued(names=("*.svc",))) or "")


def test_the_operator_has_to_trust_the_nodes_too() -> None:
    both = certificate("node")["ca.crt"] + certificate("node", "other")["ca.crt"]
    operator = {**certificate("operator"), "ca.crt": both}
    assert why(certificate("node"), operator) is None
    blind = {**certificate("operator", "other"), "ca.crt": certificate("node", "other")["ca.crt"]}
    nodes = with_text("ca.crt", both)
    assert why(nodes, blind) == ("no CA in ca.crt of Secret wal-operator signed the certificate in Secret wal-nodes")


def test_while_an_old_authority_is_trusted_beside_the_new_both_fit() -> None:
    both = certificate("node")["ca.crt"] + certificate("node", "other")["ca.crt"]
    nodes = {**certificate("node", "other"), "ca.crt": both}
    assert why(nodes, {**certificate("operator"), "ca.crt": both}) is None


def test_a_certificate_for_servers_alone_cannot_be_a_nodes() -> None:
    found = found_with(certificate("node"))
    assert isinstance(found.nodes, Certificate)
    only_server = Certificates(replace(found.nodes, connects=False), found.operator)
    assert "is not for clients" in (why_unusable(WAL, KAFKA, only_server, START) or "")


def test_a_chain_ends_when_the_first_of_it_does() -> None:
    young = authority()
    until = young.certificate.not_valid_after_utc
    long = young.issue("seawall:wal:node", "db", HOSTS, START, timedelta(days=9999))
    found = found_with(secret_of(long, young)).nodes
    assert isinstance(found, Certificate)
    assert found.expires == until


def test_certificates_of_openssl_with_one_between_are_read_alike(tmp_path: Path) -> None:
    root = CertificateAuthority(tmp_path)
    between = signed_authority(root, tmp_path)
    names = ",".join(f"DNS:{host}" for host in HOSTS)
    leaf = between.issue("leaf", "/OU=db/CN=seawall:wal:node", names)
    chain = leaf.cert.read_bytes() + between.cert.read_bytes()
    ca = root.cert.read_bytes()
    nodes = {"tls.crt": chain, "tls.key": leaf.key.read_bytes(), "ca.crt": ca}
    mine = between.issue("mine", "/OU=db/CN=seawall:wal:operator")
    chain = mine.cert.read_bytes() + between.cert.read_bytes()
    operator = {"tls.crt": chain, "tls.key": mine.key.read_bytes(), "ca.crt": ca}
    now = x509.load_pem_x509_certificate(mine.cert.read_bytes()).not_valid_before_utc
    assert why(nodes, operator, now) is None
    alone = {**nodes, "tls.crt": leaf.cert.read_bytes()}
    assert "is not signed by a CA" in (why(alone, operator, now) or "")


def signed_authority(root: CertificateAuthority, folder: Path) -> CertificateAuthority:
    """A CA whose certificate another one signed."""
    within = folder / "between"
    within.mkdir()
    made = CertificateAuthority(within, "between")
    request, extensions, key = within / "ca.csr", within / "ca.ext", within / "between.key"
    extensions.write_text("basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n")
    _openssl("req", "-new", "-key", key, "-subj", "/CN=loopback-between", "-out", request)
    _openssl(
        *("x509", "-req", "-in", request, "-days", "2", "-extfile", extensions, "-CA", root.cert),
        *("-CAkey", root.cert.with_suffix(".key"), "-CAcreateserial", "-out", made.cert),
    )
    return made


def _openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True)  # noqa: S603, S607 - of this machine


def test_a_ca_that_is_renewed_with_its_key_is_the_same_one_and_is_read_anew() -> None:
    before = found_with(certificate("node")).nodes
    now = found_with(with_text("ca.crt", renewed(authority()).pair.certificate.encode())).nodes
    assert isinstance(before, Certificate)
    assert isinstance(now, Certificate)
    assert now.trusted == before.trusted
    assert before.signed_by <= now.signed_by
    assert now.digest != before.digest
    assert why(with_text("ca.crt", renewed(authority()).pair.certificate.encode())) is None


def renewed(ca: Authority) -> Authority:
    """The same name and the same key, in another certificate."""
    name, key = ca.certificate.subject, ca.key
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(START).not_valid_after(START + YEAR)
    made = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    return Authority(made.sign(key, hashes.SHA256()), key)


def test_an_authority_that_was_written_signs_as_before() -> None:
    again = Authority.of(Pair(authority().pair.certificate, authority().pair.key))
    made = again.issue("seawall:wal:node", "db", HOSTS, START - timedelta(minutes=1), YEAR)
    assert why(secret_of(made, again)) is None
