"""Where a database keeps its metadata: etcd, PostgreSQL or MySQL."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, StrictBool

from seawall.api.meta import APIModel, Rule
from seawall.api.text import PORT
from seawall.api.v1alpha1.kafka_access import Endpoint
from seawall.api.v1alpha1.secret_refs import ClientCertSecretRef, CredentialsSecretRef, SecretKeyRef

URL = Annotated[
    str,
    Field(min_length=8, max_length=300, pattern=rf"^https?://([-._a-zA-Z0-9]+|\[[0-9a-fA-F:.]+\])(:{PORT})?/?$"),
]
"""scheme://host:port. No path, and no user name or password: those belong into a Secret."""
SwitchURL = Annotated[
    str,
    Field(
        min_length=8,
        max_length=320,
        pattern=rf"^https?://([-._a-zA-Z0-9]+|\[[0-9a-fA-F:.]+\])(:{PORT})?/?(/seawall/v1)?$",
    ),
]
"""The same, or where a database of `http` serves its contract."""


Prefix = Annotated[str, Field(max_length=256, pattern=r"^[!-~]*$")]
SQLName = Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[A-Za-z_][A-Za-z0-9_$-]*$")]
"""Of a database, a schema or a table: letter for letter, and never in need of an escape within quotes."""


class EtcdTLS(APIModel):
    """TLS to etcd. PEM material is read from Secrets again at every reconciliation."""

    ca_secret_ref: SecretKeyRef | None = None
    """CA certificates (PEM) that sign etcd's certificates; absent means the system's trust store."""
    client_cert_secret_ref: ClientCertSecretRef | None = None
    """Client certificate for mutual TLS; absent means none. It does not replace `auth`: etcd's JSON gateway ignores
    the common name of certificates."""


class EtcdAuth(APIModel):
    """A user of etcd. Reading the keys below the prefix is enough for everything but purging in mode B."""

    credentials_secret_ref: CredentialsSecretRef
    """Where the user name and password are."""
    insecure: StrictBool = False
    """Allows a password without TLS, which sends it in clear text over the network."""


def _all_https(etcd: Etcd) -> bool:
    return all(endpoint.startswith("https://") for endpoint in etcd.endpoints)


class Etcd(APIModel):
    """etcd 3.4 or newer, by its JSON gateway."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.endpoints.all(e, e.startsWith('https://')) || self.endpoints.all(e, e.startsWith('http://'))",
            "endpoints must be all https:// or all http://",
            lambda etcd: _all_https(etcd) or all(each.startswith("http://") for each in etcd.endpoints),
        ),
        Rule(
            "!has(self.tls) || self.endpoints.all(e, e.startsWith('https://'))",
            "tls needs https:// endpoints",
            lambda etcd: etcd.tls is None or _all_https(etcd),
        ),
        Rule(
            "!has(self.auth) || self.auth.insecure || self.endpoints.all(e, e.startsWith('https://'))",
            "auth without TLS sends the password in clear text: use https:// endpoints, or auth.insecure: true",
            lambda etcd: etcd.auth is None or etcd.auth.insecure or _all_https(etcd),
        ),
    )

    endpoints: Annotated[tuple[URL, ...], Field(min_length=1, max_length=16)]
    """URLs (http://host:2379) of the members; they are tried in turn."""
    prefix: Prefix = ""
    """GreptimeDB's store_key_prefix, as it is: no separator is added."""
    tls: EtcdTLS | None = None
    """TLS to https:// endpoints; absent means the system's trust store."""
    auth: EtcdAuth | None = None
    """User name and password; absent means none."""


class SQLTLS(APIModel):
    """TLS to PostgreSQL or MySQL. PEM material is read from Secrets again at every reconciliation."""

    ca_secret_ref: SecretKeyRef | None = None
    """CA certificates (PEM) that sign the server's certificate, which must fit the host; absent means the system's
    trust store."""
    client_cert_secret_ref: ClientCertSecretRef | None = None
    """Client certificate, where `pg_hba.conf` or the MySQL user (`REQUIRE X509`) wants one; absent means none."""


class SQLAuth(APIModel):
    """A user of PostgreSQL or MySQL. Mode B writes, the others only read: docs/purging.md has the grants."""

    credentials_secret_ref: CredentialsSecretRef
    """Where the user name and password are; the password may be empty where the server wants none."""
    insecure: StrictBool = False
    """Allows a password without `tls`: whoever is on the network can read it, or pass for the server."""


class SQLStore(APIModel):
    """A table of keys in a server of SQL."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.tls) || self.auth.insecure",
            "a password without TLS can be read on the network: set tls, or auth.insecure: true",
            lambda store: store.tls is not None or store.auth.insecure,
        ),
    )

    hosts: Annotated[tuple[Endpoint, ...], Field(min_length=1, max_length=16)]
    """Addresses (host:port) of primary and standbys, or of the service of the primary; they are tried in turn, and
    only the primary is used."""
    database: SQLName
    """The database that the metasrv connects to."""
    table_name: SQLName = "greptime_metakv"
    """GreptimeDB's `meta_table_name`."""
    prefix: Prefix = ""
    """GreptimeDB's store_key_prefix, as it is: no separator is added."""
    tls: SQLTLS | None = None
    """TLS; absent means that no certificate is asked for."""
    auth: SQLAuth
    """User name and password."""


class PostgreSQL(SQLStore):
    """PostgreSQL 13 or newer: its primary, never a standby, which may lag."""

    schema_name: SQLName | None = None
    """GreptimeDB's `meta_schema_name`; absent means the user's search path, as for the metasrv."""


class MySQL(SQLStore):
    """MySQL 8.0.30 or newer: its primary, never a replica, which may lag."""


class MetadataStore(APIModel):
    """Where the database keeps its metadata."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "[has(self.etcd), has(self.postgresql), has(self.mysql)].filter(each, each).size() == 1",
            "exactly one of etcd, postgresql and mysql must be set",
            lambda store: sum(each is not None for each in (store.etcd, store.postgresql, store.mysql)) == 1,
        ),
    )

    etcd: Etcd | None = None
    """An etcd cluster (GreptimeDB's `etcd_store`)."""
    postgresql: PostgreSQL | None = None
    """A table of PostgreSQL (GreptimeDB's `postgres_store`)."""
    mysql: MySQL | None = None
    """A table of MySQL (GreptimeDB's `mysql_store`)."""
