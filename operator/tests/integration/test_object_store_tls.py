"""A bucket behind TLS, whose server's certificate a private CA signed, on a real server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from seawall.adapters.object_store import S3Bucket
from seawall.domain.errors import OutsideUnavailable
from seawall.domain.object_store import S3Connection
from seawall_e2e.loopback.pki import CertificateAuthority
from seawall_e2e.loopback.s3 import S3Process

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("object store")]


@dataclass(frozen=True)
class Served:
    """A bucket with one object, and the CAs."""

    connection: S3Connection
    other_ca: str


def serve(folder: Path, alt_names: str | None = None, *, days: str = "30") -> Iterator[Served]:
    """Serves bucket `lake` by a certificate for these names."""
    ca, other = CertificateAuthority(folder), CertificateAuthority(folder, "other")
    with S3Process(ca.issue("server", "/CN=s3", alt_names, days=days)) as server:
        (server.make_bucket("lake") / "a").write_bytes(b"1")
        keys = (server.access_key_id, server.secret_access_key)
        connection = S3Connection("lake", "", server.region, server.endpoint, ca.cert.read_text(), *keys)
        yield Served(connection, other.cert.read_text())


def sentence(connection: S3Connection) -> str:
    """Why it does not answer."""
    with pytest.raises(OutsideUnavailable) as error:
        S3Bucket(connection).get("a")
    return str(error.value).removeprefix(f"bucket lake at {connection.endpoint}: the store does not answer: ")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    yield from serve(tmp_path)


def test_the_ca_that_is_declared_is_trusted_and_no_other(served: Served) -> None:
    connection, other = served.connection, served.other_ca
    assert S3Bucket(connection).get("a") == b"1"
    assert S3Bucket(connection).names("") == ("a",)
    assert S3Bucket(replace(connection, ca_pem=f"{other}{connection.ca_pem}")).get("a") == b"1", "one of several"
    for ca in (None, other):
        assert sentence(replace(connection, ca_pem=ca)).startswith("no CA that is trusted signed its certificate")


def test_a_certificate_for_another_name_is_not_trusted(tmp_path: Path) -> None:
    for served in serve(tmp_path, "DNS:elsewhere"):
        assert sentence(served.connection).startswith("its certificate is for another name")


def test_an_expired_certificate_is_not_trusted(tmp_path: Path) -> None:
    for served in serve(tmp_path, days="-1"):
        assert sentence(served.connection).startswith("its certificate has expired")


def test_a_port_without_tls_says_so() -> None:
    with S3Process() as server:
        plain = S3Connection("lake", "", server.region, server.endpoint.replace("http:", "https:"), None, "key", "none")
        assert sentence(plain) == "it does not speak TLS at this port"
