"""The port `DataPlanes`: one set of clients for each object, made anew when its connection changes.

The clients of before close what they keep open: a connection was let in by a certificate or a user that may be revoked.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from seawall.adapters.greptimedb.etcd import Etcd
from seawall.adapters.greptimedb.interfaces import GreptimeDB, GreptimeMaintenance
from seawall.adapters.greptimedb.keys import KeyStore
from seawall.adapters.greptimedb.metadata import GreptimeMetadata
from seawall.api.meta import Key
from seawall.domain.dataplane.connection import (
    ClientTLS,
    DataPlaneConnection,
    EtcdConnection,
    MySQLConnection,
    PostgresConnection,
    StoreConnection,
)
from seawall.ports import DataPlaneParts, MaintenanceSwitch


class GreptimeDataPlanes:
    """Clients of GreptimeDB clusters; they are safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[Key, _Database] = {}
        self._switches: dict[Key, _Switch] = {}

    def connect(self, key: Key, connection: DataPlaneConnection) -> DataPlaneParts:
        """The clients of one object's database; nothing is connected yet.

        Raises:
            PartRefused: a certificate, key or user name makes no sense.
        """
        with self._lock:
            held = self._open.get(key)
            if held is None or held.connection != connection:
                _close(self._open.pop(key, None))
                held = self._open[key] = _Database.of(connection)
            return held.parts

    def maintenance_of(self, key: Key, metasrv: str, tls: ClientTLS) -> MaintenanceSwitch:
        """The switch at this address; one object has one at a time.

        Raises:
            PartRefused: a certificate or key makes no sense.
        """
        with self._lock:
            held = self._switches.get(key)
            if held is None or (held.metasrv, held.tls) != (metasrv, tls):
                _close(self._switches.pop(key, None))
                held = self._switches[key] = _Switch(metasrv, tls, GreptimeMaintenance(metasrv, tls))
            return held.switch

    def forget(self, key: Key) -> None:
        """Drops the clients of an object."""
        with self._lock:
            _close(self._open.pop(key, None))
            _close(self._switches.pop(key, None))


def key_store(connection: StoreConnection) -> KeyStore:
    """The store that a connection leads to; nothing is connected yet.

    The libraries of SQL are imported when the first such store is met: most operators have none.

    Raises:
        PartRefused: a certificate or key makes no sense.
    """
    match connection:
        case EtcdConnection():
            return Etcd(connection)
        case PostgresConnection():
            from seawall.adapters.greptimedb.postgresql import PostgreSQL  # noqa: PLC0415 - as above

            return PostgreSQL(connection)
        case MySQLConnection():
            from seawall.adapters.greptimedb.mysql import MySQL  # noqa: PLC0415 - as above

            return MySQL(connection)


@dataclass(frozen=True, slots=True)
class _Database:
    """The clients that one connection led to."""

    connection: DataPlaneConnection
    database: GreptimeDB
    store: KeyStore
    parts: DataPlaneParts

    @classmethod
    def of(cls, connection: DataPlaneConnection) -> _Database:
        store = key_store(connection.store)
        database = GreptimeDB(
            connection.metasrv,
            connection.frontend,
            connection.tls,
            connection.user,
            datanode_http_port=connection.datanode_http_port,
        )
        return cls(connection, database, store, DataPlaneParts(database, GreptimeMetadata(store)))

    def close(self) -> None:
        self.database.close()
        self.store.close()


@dataclass(frozen=True, slots=True)
class _Switch:
    """The client of one metasrv."""

    metasrv: str
    tls: ClientTLS
    switch: GreptimeMaintenance

    def close(self) -> None:
        self.switch.close()


def _close(held: _Database | _Switch | None) -> None:
    if held is not None:
        held.close()
