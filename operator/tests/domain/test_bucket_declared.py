"""What of a bucket is declared, and what its Secrets say, becomes a connection, or one sentence."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from seawall.api.v1alpha1.backup_template import S3Storage
from seawall.domain.errors import Forbidden
from seawall.domain.object_store import NoStore, S3Connection
from seawall.observe.connections import resolve_s3

PLACE = {
    "bucket": "lake",
    "prefix": "db/wal",
    "region": "eu-central-1",
    "endpoint": "https://s3.example",
    "caSecretRef": {"name": "ca"},
    "credentialsSecretRef": {"name": "keys", "secretAccessKeyKey": "secret"},
}
SECRETS = {"ca": {"ca.crt": b"PEM"}, "keys": {"accessKeyId": b"key\n", "secret": b"hunter2\r\n"}}


def test_all_of_it_is_in_the_connection_and_no_secret_in_its_text() -> None:
    found = resolve_s3(S3Storage.model_validate(PLACE), SECRETS.get)
    assert found == S3Connection("lake", "db/wal", "eu-central-1", "https://s3.example", "PEM", "key", "hunter2")
    assert "hunter2" not in repr(found)
    assert "key" not in repr(found)


def test_without_a_reference_the_pods_identity_and_the_regions_address_count() -> None:
    found = resolve_s3(S3Storage.model_validate({"bucket": "lake"}), SECRETS.get)
    assert found == S3Connection("lake", "", "us-east-1")


@pytest.mark.parametrize(
    ("secrets", "sentence"),
    [
        ({}, "Secret ca does not exist"),
        ({"ca": {}}, "Secret ca has no key ca.crt"),
        ({"ca": SECRETS["ca"]}, "Secret keys does not exist"),
        ({**SECRETS, "keys": {"accessKeyId": b""}}, "Secret keys has no key secret"),
        ({**SECRETS, "keys": {"secret": b""}}, "Secret keys has no key accessKeyId"),
        ({**SECRETS, "keys": {"secret": b"\xff", "accessKeyId": b""}}, "key secret of Secret keys is no UTF-8 text"),
    ],
)
def test_what_is_missing_is_named(secrets: Mapping[str, Mapping[str, bytes]], sentence: str) -> None:
    assert resolve_s3(S3Storage.model_validate(PLACE), secrets.get) == NoStore(sentence)


def test_a_secret_that_may_not_be_read_says_where_to_allow_it() -> None:
    def read(name: str) -> Mapping[str, bytes]:
        raise Forbidden(name)

    found = resolve_s3(S3Storage.model_validate(PLACE), read)
    assert found == NoStore("the operator may not read Secret ca: name it in the chart's value secrets.names")
