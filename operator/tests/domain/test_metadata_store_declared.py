"""What is declared of the metadata store, and what it comes to with its Secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from seawall.api.v1alpha1.data_plane import GreptimeDB
from seawall.domain.dataplane.connection import (
    ClientTLS,
    DataPlaneConnection,
    EtcdConnection,
    MySQLConnection,
    NoDataPlane,
    NotReached,
    PostgresConnection,
    User,
)
from seawall.observe.connections import resolve_data_plane
from seawall.observe.declared_database import declared_database

SECRETS = {
    "user": {"username": b"wal", "password": b"secret"},
    "ca": {"ca.crt": b"CA"},
    "client": {"tls.crt": b"CERT", "tls.key": b"KEY"},
}
SQL: dict[str, Any] = {
    "hosts": ["pg-0:5432", "pg-1:5433"],
    "database": "metadata",
    "auth": {"credentialsSecretRef": {"name": "user"}},
    "tls": {"caSecretRef": {"name": "ca"}, "clientCertSecretRef": {"name": "client"}},
}


def declared(store: Mapping[str, Any]) -> GreptimeDB:
    urls = {"metasrv": "http://metasrv:4000", "frontend": "http://frontend:4000"}
    return GreptimeDB.model_validate({"version": "1.1", **urls, "metadataStore": store})


def resolved(store: Mapping[str, Any], secrets: Mapping[str, Mapping[str, bytes]] = SECRETS) -> object:
    found = resolve_data_plane(declared_database(declared(store)), secrets.get)
    return found.store if isinstance(found, DataPlaneConnection) else found


@pytest.mark.parametrize(("store", "kind"), [("postgresql", PostgresConnection), ("mysql", MySQLConnection)])
def test_a_store_of_sql_is_reached_by_what_its_secrets_say(
    store: str, kind: type[PostgresConnection | MySQLConnection]
) -> None:
    assert resolved({store: SQL}) == kind(
        hosts=(("pg-0", 5432), ("pg-1", 5433)),
        database="metadata",
        user=User("wal", "secret"),
        tls=ClientTLS("CA", "CERT", "KEY"),
    )


def test_schema_table_and_prefix_are_greptimedbs() -> None:
    found = resolved({"postgresql": {**SQL, "schemaName": "s", "tableName": "t", "prefix": "p/"}})
    assert isinstance(found, PostgresConnection)
    assert (found.table_name, found.prefix) == ('"s"."t"', "p/")
    other = resolved({"mysql": {**SQL, "tableName": "t", "prefix": "p/"}})
    assert isinstance(other, MySQLConnection)
    assert (other.table_name, other.prefix) == ("`metadata`.`t`", "p/")
    with pytest.raises(ValidationError, match="schemaName"):
        declared({"mysql": {**SQL, "schemaName": "s"}})


def test_no_secret_is_shown() -> None:
    assert repr(resolved({"postgresql": SQL})) == "PostgresConnection(pg-0:5432,pg-1:5433/metadata)"
    assert repr(resolved({"mysql": SQL})) == "MySQLConnection(pg-0:5432,pg-1:5433/metadata)"


def test_a_missing_secret_is_told() -> None:
    for missing in SECRETS:
        left = {name: values for name, values in SECRETS.items() if name != missing}
        problem = NoDataPlane(NotReached.SECRET_MISSING, f"Secret {missing} does not exist")
        assert resolved({"postgresql": SQL}, left) == problem


def test_etcd_is_as_it_was() -> None:
    assert resolved({"etcd": {"endpoints": ["http://etcd:2379/"]}}) == EtcdConnection(("http://etcd:2379",))


@pytest.mark.parametrize(
    "store",
    [
        {},
        {"etcd": {"endpoints": ["http://etcd:2379"]}, "postgresql": SQL},
        {"postgresql": SQL, "mysql": SQL},
        {"etcd": {"endpoints": ["http://etcd:2379"]}, "postgresql": SQL, "mysql": SQL},
    ],
)
def test_there_is_one_store(store: Mapping[str, Any]) -> None:
    with pytest.raises(ValidationError, match="exactly one of etcd, postgresql and mysql must be set"):
        declared(store)


def test_a_password_without_tls_must_be_wanted() -> None:
    plain = {name: value for name, value in SQL.items() if name != "tls"}
    with pytest.raises(ValidationError, match=r"set tls, or auth\.insecure: true"):
        declared({"postgresql": plain})
    found = resolved({"postgresql": {**plain, "auth": {**plain["auth"], "insecure": True}}})
    assert isinstance(found, PostgresConnection)
    assert found.tls is None


@pytest.mark.parametrize("name", ['a"b', "a b", "", "a;b", "1a", "x" * 64])
def test_names_need_no_escape(name: str) -> None:
    with pytest.raises(ValidationError):
        declared({"postgresql": {**SQL, "tableName": name}})
    with pytest.raises(ValidationError):
        declared({"mysql": {**SQL, "database": name}})
