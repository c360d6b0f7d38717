"""The data plane: the database that writes the WAL, and how to reach it."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field, StrictBool

from seawall.api.duration import Duration, duration_rule
from seawall.api.meta import APIModel, Name, Rule
from seawall.api.quantity import MI, Bytes, bytes_rule
from seawall.api.v1alpha1.http_database import HTTPDatabase
from seawall.api.v1alpha1.metadata_store import URL, MetadataStore
from seawall.api.v1alpha1.secret_refs import ClientCertSecretRef, CredentialsSecretRef, SecretKeyRef
from seawall.api.v1alpha1.topic_pool import TopicsSpec


class WALConfig(APIModel):
    """The database's `[wal]` configuration, rendered into a ConfigMap."""

    RULES: ClassVar[tuple[Rule, ...]] = (bytes_rule("maxBatchBytes"),)

    config_map_name: Name
    """ConfigMap to write: keys metasrv.toml, datanode.toml and standalone.toml."""
    max_batch_bytes: Bytes | None = None
    """Largest batch that the database writes (max_batch_bytes). Default: maxMessageBytes, at most 1Mi."""

    def batch_bytes(self, topics: TopicsSpec) -> int:
        """The max_batch_bytes that is rendered."""
        return self.max_batch_bytes or min(topics.max_message_bytes, MI)


def _is_https(url: str | None) -> bool:
    return url is not None and url.startswith("https://")


class GreptimeTLS(APIModel):
    """TLS to GreptimeDB's HTTP ports. PEM material is read from Secrets again at every reconciliation.

    It is that of a proxy before them: GreptimeDB 0.16 to 1.2 serves HTTP without.
    """

    ca_secret_ref: SecretKeyRef | None = None
    """CA certificates (PEM), of one CA or several, that sign the certificates of both URLs; absent means the system's
    trust store."""
    client_cert_secret_ref: ClientCertSecretRef | None = None
    """Client certificate for mutual TLS; absent means none. It is the one way to prove to a metasrv who asks."""


class FrontendAuth(APIModel):
    """A user of the frontend (GreptimeDB's user provider), sent as HTTP Basic authentication."""

    credentials_secret_ref: CredentialsSecretRef
    """Where the user name and password are. The user must be allowed to read and write (`ReadWrite`, the default of
    GreptimeDB): a flush counts as a write."""
    insecure: StrictBool = False
    """Allows a password without TLS, which sends it in clear text over the network."""


class AutoPrune(StrEnum):
    """What the metasrv's `[wal]` says about pruning: it decides who moves the pruned marker, and who deletes."""

    PHYSICAL = "Physical"
    """The metasrv deletes records itself, as it does unless told otherwise: Seawall reports and deletes nothing."""
    LOGICAL = "Logical"
    """`auto_prune_logical_delete = true`: the metasrv moves the marker and Seawall deletes. Recommended."""
    DISABLED = "Disabled"
    """`auto_prune_interval = "0s"`: Seawall moves the marker and deletes."""

    @property
    def prunes(self) -> bool:
        """Whether the metasrv moves the marker."""
        return self is not AutoPrune.DISABLED

    @property
    def is_logical(self) -> bool:
        """Whether it moves the marker, and deletes nothing."""
        return self is AutoPrune.LOGICAL


class GreptimeDBClusterRef(APIModel):
    """A GreptimeDBCluster of greptimedb-operator in the WALCluster's namespace."""

    name: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
    """Name of the GreptimeDBCluster."""


class GreptimeDB(APIModel):
    """A GreptimeDB cluster whose WAL is in these topics: by its addresses, or by its GreptimeDBCluster."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.clusterRef) || (has(self.version) && has(self.metasrv) && has(self.frontend)"
            " && has(self.metadataStore))",
            "greptimedb needs clusterRef, or all of version, metasrv, frontend and metadataStore",
            lambda greptimedb: (
                greptimedb.cluster_ref is not None
                or None not in (greptimedb.version, greptimedb.metasrv, greptimedb.frontend, greptimedb.metadata_store)
            ),
        ),
        Rule(
            "!has(self.clusterRef) || (!has(self.metasrv) && !has(self.frontend))",
            "clusterRef finds metasrv and frontend by itself: leave the addresses out, or leave clusterRef out",
            lambda greptimedb: (
                greptimedb.cluster_ref is None or (greptimedb.metasrv is None and greptimedb.frontend is None)
            ),
        ),
        Rule(
            "!has(self.version) || int(self.version.split('.')[0]) >= 1 || int(self.version.split('.')[1]) >= 16",
            "GreptimeDB has the admin interface that Seawall needs since 0.16",
            lambda greptimedb: greptimedb.version is None or tuple(map(int, greptimedb.version.split("."))) >= (0, 16),
        ),
        Rule(
            "!has(self.tls) || (has(self.metasrv) && self.metasrv.startsWith('https://'))"
            " || (has(self.frontend) && self.frontend.startsWith('https://'))",
            "tls needs an https:// URL, of the metasrv or of the frontend",
            lambda greptimedb: (
                greptimedb.tls is None or _is_https(greptimedb.metasrv) or _is_https(greptimedb.frontend)
            ),
        ),
        Rule(
            "!has(self.auth) || self.auth.insecure || (has(self.frontend) && self.frontend.startsWith('https://'))",
            "auth without TLS sends the password in clear text: use an https:// URL of the frontend, or"
            " auth.insecure: true",
            lambda greptimedb: greptimedb.auth is None or greptimedb.auth.insecure or _is_https(greptimedb.frontend),
        ),
    )

    cluster_ref: GreptimeDBClusterRef | None = None
    """The GreptimeDBCluster whose database it is: metasrv, frontend, an etcd without TLS and users, the version and the
    StatefulSets of the datanodes are found there at every reconciliation; absent: they are declared here."""
    version: Annotated[str, Field(min_length=3, max_length=5, pattern=r"^[0-9]{1,2}\.[0-9]{1,2}$")] | None = None
    """Major and minor version, as in "1.1": what a region reads when it opens differs between them. Absent: what the
    tag of the GreptimeDBCluster's image says."""
    metasrv: URL | None = None
    """URL of the metasrv's HTTP port (http://host:4000). It knows no users: who reaches it may turn on maintenance.
    Absent: `clusterRef` finds it."""
    frontend: URL | None = None
    """URL of the frontend's HTTP port (http://host:4000). Absent: `clusterRef` finds it."""
    datanode_http_port: Annotated[int, Field(strict=True, ge=1, le=65_535)] = 4000
    """HTTP port of the datanodes, at the host that each of them reports to the metasrv: what they run with is read
    there, to tell people where it differs. One that does not answer there is no obstacle.
    With `clusterRef` it is found, and this one is not looked at."""
    tls: GreptimeTLS | None = None
    """TLS to those of the two URLs that are https://; absent means the system's trust store."""
    auth: FrontendAuth | None = None
    """User name and password for the frontend, and never sent to the metasrv; absent means none."""
    metadata_store: MetadataStore | None = None
    """Where the metasrv keeps its metadata. Absent: the etcd that the GreptimeDBCluster names; one with TLS or users,
    and PostgreSQL, are declared here beside `clusterRef`."""
    auto_prune: AutoPrune = AutoPrune.PHYSICAL
    """What the metasrv's `[wal]` says. `Logical`: `auto_prune_logical_delete = true`, it moves the pruned marker and
    Seawall deletes. `Disabled`: `auto_prune_interval = "0s"`, Seawall does both. `Physical`, GreptimeDB's own default:
    it deletes by itself, and Seawall only reports, because two pruners are refused."""

    @property
    def addresses(self) -> object:
        """Where it is: at another place it may be another database."""
        return self.metasrv, self.frontend, self.tls, self.auth, self.metadata_store, self.datanode_http_port


class StatefulSetRef(APIModel):
    """A StatefulSet in the WALCluster's namespace."""

    name: Name
    """Name of the StatefulSet."""


class Datanodes(APIModel):
    """The pods of the database that write and replay the WAL."""

    stateful_set_ref: StatefulSetRef
    """The StatefulSet whose pods are the datanodes, one each. `updateStrategy: OnDelete` is recommended."""


class RestartSpec(APIModel):
    """How datanodes are restarted: one at a time, when the WAL is safe and can be replayed."""

    RULES: ClassVar[tuple[Rule, ...]] = (duration_rule("replayBudget"),)

    on_config_change: StrictBool = True
    """Whether a changed `[wal]` configuration (datanode.toml) restarts the datanodes."""
    replay_budget: Annotated[Duration, Field(json_schema_extra={"default": "10m"})] = timedelta(minutes=10)
    """A datanode whose replay would take longer is not restarted. A restart that takes longer is Stalled."""
    flush_first: StrictBool = True
    """Whether regions are flushed before each restart. When false: only if the replay would exceed the budget."""


class DataPlane(APIModel):
    """The database that writes the WAL."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.greptimedb) || has(self.http) || has(self.walConfig)",
            "dataPlane needs greptimedb, http or walConfig",
            lambda plane: plane.database is not None or plane.wal_config is not None,
        ),
        Rule(
            "!has(self.greptimedb) || !has(self.http)",
            "dataPlane names one database: greptimedb, or http for every other one",
            lambda plane: plane.greptimedb is None or plane.http is None,
        ),
        Rule(
            "!has(self.http) || !has(self.walConfig)",
            "walConfig is the configuration of a GreptimeDB: leave it out beside http",
            lambda plane: plane.http is None or plane.wal_config is None,
        ),
        Rule(
            "!has(self.datanodes) || has(self.greptimedb) || has(self.http)",
            "datanodes needs greptimedb or http, which says what a restart would replay",
            lambda plane: plane.datanodes is None or plane.database is not None,
        ),
        Rule(
            "!has(self.datanodes) || !has(self.greptimedb) || !has(self.greptimedb.clusterRef)",
            "greptimedb.clusterRef finds the datanodes by itself: leave datanodes out",
            lambda plane: plane.datanodes is None or plane.cluster_ref is None,
        ),
        Rule(
            "!has(self.restart) || has(self.datanodes) || (has(self.greptimedb) && has(self.greptimedb.clusterRef))",
            "restart needs datanodes: it is about their pods",
            lambda plane: plane.restart is None or plane.names_datanodes,
        ),
    )

    greptimedb: GreptimeDB | None = None
    """The database to look at: its regions, and what of the WAL they need."""
    http: HTTPDatabase | None = None
    """Any other database, which serves Seawall's contract over HTTP (docs/any-database.md)."""
    wal_config: WALConfig | None = None
    """Renders the database's WAL configuration."""
    datanodes: Datanodes | None = None
    """The pods to watch and to restart; absent: those of `greptimedb.clusterRef`, and without that Seawall restarts
    nobody."""
    restart: RestartSpec | None = None
    """How they are restarted; absent: with the defaults."""

    @property
    def database(self) -> GreptimeDB | HTTPDatabase | None:
        """The database to look at, if any."""
        return self.greptimedb if self.greptimedb is not None else self.http

    @property
    def cluster_ref(self) -> GreptimeDBClusterRef | None:
        """The GreptimeDBCluster that is named, if any."""
        return None if self.greptimedb is None else self.greptimedb.cluster_ref

    @property
    def names_datanodes(self) -> bool:
        """Whether there are pods to watch and to restart."""
        return self.datanodes is not None or self.cluster_ref is not None
