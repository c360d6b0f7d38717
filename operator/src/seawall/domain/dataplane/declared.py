"""The database that a WALCluster declares: its addresses, and its StatefulSets where another operator makes them."""

from __future__ import annotations

from dataclasses import dataclass

from seawall.api.v1alpha1.data_plane import AutoPrune, FrontendAuth, GreptimeTLS
from seawall.api.v1alpha1.metadata_store import MetadataStore


@dataclass(frozen=True, slots=True)
class DatanodeSet:
    """The datanodes of one StatefulSet.

    Attributes:
        stateful_set: its name.
        where: the field of the object that describes them.
        replicas: how many there are.
        partition: `rollingUpdate.partition`: an edit of that object restarts pods from this ordinal on.
        config: their TOML.
        http_port: where they serve HTTP.
    """

    stateful_set: str
    where: str
    replicas: int
    partition: int
    config: str = ""
    http_port: int = 4000

    @property
    def keeps_all(self) -> bool:
        """Whether an edit restarts none of them by itself."""
        return self.partition >= self.replicas


@dataclass(frozen=True, slots=True)
class Database:
    """A database of several parts, as it is declared, or as the object says that describes it: nothing is to be found.

    Attributes:
        cluster: the name of that object, where one is named by `clusterRef`.
        datanodes: as it has them.
    """

    version: str
    metasrv: str
    frontend: str
    metadata_store: MetadataStore
    auto_prune: AutoPrune
    tls: GreptimeTLS | None = None
    auth: FrontendAuth | None = None
    datanode_http_port: int = 4000
    cluster: str | None = None
    datanodes: tuple[DatanodeSet, ...] = ()
