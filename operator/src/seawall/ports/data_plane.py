"""The database that writes the WAL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.dataplane.connection import ClientTLS, DatabaseConnection, NoDataPlane, User
from seawall.domain.dataplane.flush import FlushFailure
from seawall.domain.dataplane.identity import Node
from seawall.domain.dataplane.metadata import MarkerMove, MetadataSnapshot, StoredMaintenance, StoreHead, TableNames
from seawall.domain.dataplane.reports import DatanodeReport
from seawall.domain.dataplane.view import DataPlaneView
from seawall.domain.dataplane.wal_settings import DatanodeSettings, WALSettings
from seawall.domain.ledger.observation import Unavailable
from seawall.domain.ledger.page import LedgerPage


class DataPlane(Protocol):
    """The database that writes the WAL."""

    def reports(self) -> Sequence[DatanodeReport]:
        """The newest report of every datanode, of dead ones too: how old each is, it says itself.

        Raises:
            PartUnavailable: the metasrv did not answer.
            PartRefused: what answered is no metasrv, or its answer makes no sense.
        """
        ...

    def nodes(self) -> Sequence[Node]:
        """The processes of the database with their versions, as the frontend lists them; dead ones for a while, too.

        Raises:
            PartUnavailable: the frontend did not answer.
            PartRefused: what answered is no frontend, or it does not let us in.
        """
        ...

    def wal_settings(self) -> WALSettings:
        """`[wal]` of the metasrv that answers, as it runs: of several, one, which need not be their leader.

        Raises:
            PartUnavailable: the metasrv did not answer.
            PartRefused: what answered is no metasrv, or it does not say.
        """
        ...

    def datanode_settings(self, reports: Sequence[DatanodeReport]) -> Mapping[int, DatanodeSettings]:
        """`[wal]` of the datanodes of these reports, as they run; those that do not say are left out.

        It takes a few seconds at most, however many there are: what a process said once is not asked again, and of many
        that are new or silent some are asked the next time.
        """
        ...

    def flush_regions(self, region_ids: Sequence[int]) -> Mapping[int, FlushFailure]:
        """Asks for flushes, a few at a time, and waits for each; returns those that were not flushed.

        A flush of an empty memtable is no failure, and moves no flushed entry id.

        Raises:
            PartUnavailable: the frontend did not answer for one; it and others may have been flushed.
            PartRefused: what answered is no frontend, or it does not let us in.
        """
        ...


class MaintenanceSwitch(Protocol):
    """The maintenance of the database at one metasrv's address, which may be no more in any spec."""

    def set_maintenance(self, *, enabled: bool) -> None:
        """Enters or leaves maintenance: no failover and no balancing while it lasts. It is one switch for all.

        Raises:
            PartUnavailable: the metasrv did not answer; it may have happened.
            PartRefused: it said no.
        """
        ...

    def in_maintenance(self) -> bool:
        """Whether maintenance is on, by whomever.

        Raises:
            PartUnavailable: the metasrv did not answer.
            PartRefused: what answered is no metasrv.
        """
        ...


class MetadataStore(Protocol):
    """Where the database keeps its metadata."""

    def head(self) -> StoreHead:
        """Which store this is, its newest revision, and who has claimed what: two small reads.

        Raises:
            PartUnavailable: it did not answer.
            PartRefused: it does not let us in.
        """
        ...

    def maintenance(self) -> StoredMaintenance:
        """Which store this is, and whether its database is in maintenance: some small reads.

        Raises:
            PartUnavailable: it did not answer.
            PartRefused: it does not let us in.
        """
        ...

    def snapshot(self) -> MetadataSnapshot:
        """Everything at one revision, read whole or not at all.

        Raises:
            PartUnavailable: it did not answer, or the revision was compacted while it was read.
            PartRefused: it does not let us in, a page is truncated, or a key or value makes no sense.
        """
        ...

    def begin_anew(self) -> bool:
        """Forgets what snapshots of before said, if it is remembered: a person says that the database is right now.

        Returns:
            Whether snapshots were refused because the metadata had gone back.
        """
        ...

    def table_names(self) -> TableNames:
        """The names of all tables, by their ids, at one revision.

        Raises:
            PartUnavailable: it did not answer, or the revision was compacted while it was read.
            PartRefused: it does not let us in, a page is truncated, or a key or value makes no sense.
        """
        ...

    def claim(self, prefix: str, owner: str, before: str | None) -> bool:
        """Writes who announces the markers of topics with a prefix, if the claim is still as it was read.

        Args:
            prefix: of the topics.
            owner: the UID of the WALCluster.
            before: the claim as it was read; None: there was none.

        Returns:
            Whether it was written. Without an answer nobody knows: read it again.

        Raises:
            PartUnavailable: no answer; it may have happened.
            PartRefused: it does not let us in or write.
        """
        ...

    def advance_markers(self, moves: Sequence[MarkerMove], prefix: str, owner: str) -> Mapping[str, str]:
        """Moves pruned markers up, each in one transaction with its three comparisons; a transaction may hold several.

        The marker is as it was `recorded`, nothing under the topic's region keys is newer than `revision`, at which the
        decision's snapshot was read, and `owner` has claimed the topics with the prefix.

        Returns:
            By topic why its marker did not move: a comparison failed. Read again and decide again.

        Raises:
            PartUnavailable: no answer; any may have moved. Doing it again is harmless: the comparisons fail.
            PartRefused: it does not let us in or write.
        """
        ...


@dataclass(frozen=True, slots=True)
class DataPlaneParts:
    """The parts of one database."""

    data_plane: DataPlane
    metadata_store: MetadataStore


class DataPlanes(Protocol):
    """Connections to databases, kept while what they were made from stays the same."""

    def connect(self, key: Key, connection: DatabaseConnection) -> DataPlaneParts:
        """The parts of the object `key`'s database; nothing is sent yet.

        Of those that serve the contract another one than `connection.database`, which may answer there, changes nothing
        that it is asked to.

        Raises:
            PartRefused: a certificate, key or user name makes no sense.
        """
        ...

    def maintenance_of(
        self, key: Key, metasrv: str, tls: ClientTLS, user: User | None = None, database: str | None = None
    ) -> MaintenanceSwitch:
        """The maintenance of the database at this metasrv's URL, on behalf of the object `key`; nothing is sent yet.

        The address of a database that serves the contract is that of `contract_address`, and only it knows users, and
        which `database` is meant: any other one that answers there neither turns its switch nor says how it is.

        Raises:
            PartRefused: a certificate, key or user name makes no sense.
        """
        ...

    def forget(self, key: Key) -> None:
        """Drops the connections of an object that is gone."""
        ...


class Ledgers(Protocol):
    """The newest looks at ledgers and their databases. A WALCluster is woken when there is news of it."""

    def latest(self, key: Key, uid: str | None = None) -> LedgerPage | Unavailable | None:
        """What the newest look at the ledger of the object `key` found; None: there was none yet.

        Args:
            key: of a WALCluster.
            uid: its uid: of a former one of that name nothing is said. None: of whichever was looked at last.
        """
        ...

    def latest_database(self, cluster: WALCluster) -> DataPlaneView | NoDataPlane | None:
        """What the newest look found of the database; None: nobody has looked yet at these addresses."""
        ...
