"""The port `DataPlanes`: one set of clients for each object, made anew when its connection changes."""

from __future__ import annotations

import threading

from seawall.adapters.greptimedb.etcd import Etcd
from seawall.adapters.greptimedb.interfaces import GreptimeDB, GreptimeMaintenance
from seawall.adapters.greptimedb.keys import KeyStore
from seawall.adapters.greptimedb.metadata import GreptimeMetadata
from seawall.adapters.greptimedb.postgresql import PostgreSQL
from seawall.api.meta import Key
from seawall.domain.dataplane.connection import DataPlaneConnection, EtcdConnection, PostgresConnection
from seawall.ports import DataPlaneParts, MaintenanceSwitch


class GreptimeDataPlanes:
    """Clients of GreptimeDB clusters; they are safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[Key, tuple[DataPlaneConnection, DataPlaneParts]] = {}
        self._switches: dict[Key, tuple[str, MaintenanceSwitch]] = {}

    def connect(self, key: Key, connection: DataPlaneConnection) -> DataPlaneParts:
        """The clients of one object's database; nothing is connected yet.

        Raises:
            PartRefused: a certificate or key makes no sense.
        """
        with self._lock:
            held = self._open.get(key)
            if held is None or held[0] != connection:
                database = GreptimeDB(connection.metasrv, connection.frontend)
                metadata = GreptimeMetadata(key_store(connection.store))
                held = self._open[key] = connection, DataPlaneParts(database, metadata)
            return held[1]

    def maintenance_of(self, key: Key, metasrv: str) -> MaintenanceSwitch:
        """The switch at this address; one object has one at a time."""
        with self._lock:
            held = self._switches.get(key)
            if held is None or held[0] != metasrv:
                held = self._switches[key] = metasrv, GreptimeMaintenance(metasrv)
            return held[1]

    def forget(self, key: Key) -> None:
        """Drops the clients of an object."""
        with self._lock:
            self._open.pop(key, None)
            self._switches.pop(key, None)


def key_store(connection: EtcdConnection | PostgresConnection) -> KeyStore:
    """The store that a connection leads to; nothing is connected yet.

    Raises:
        PartRefused: a certificate or key makes no sense.
    """
    match connection:
        case EtcdConnection():
            return Etcd(connection)
        case PostgresConnection():
            return PostgreSQL(connection)
