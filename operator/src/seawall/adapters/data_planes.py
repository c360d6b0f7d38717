"""The port `DataPlanes`: GreptimeDB's own interfaces, or the contract that any other database serves."""

from __future__ import annotations

from seawall.adapters.greptimedb.clients import GreptimeDataPlanes
from seawall.adapters.http_database.clients import HTTPDataPlanes
from seawall.api.meta import Key
from seawall.domain.dataplane.connection import ClientTLS, DatabaseConnection, HTTPConnection, User, url_of_contract
from seawall.ports import DataPlaneParts, MaintenanceSwitch


class AllDataPlanes:
    """Clients of databases of all kinds; they are safe to use from many threads."""

    def __init__(self) -> None:
        self._greptimedb, self._http = GreptimeDataPlanes(), HTTPDataPlanes()

    def connect(self, key: Key, connection: DatabaseConnection) -> DataPlaneParts:
        """The clients of one object's database; nothing is connected yet.

        Raises:
            PartRefused: a certificate, key or user name makes no sense.
        """
        if isinstance(connection, HTTPConnection):
            return self._http.connect(key, connection)
        return self._greptimedb.connect(key, connection)

    def maintenance_of(
        self, key: Key, metasrv: str, tls: ClientTLS, user: User | None = None, database: str | None = None
    ) -> MaintenanceSwitch:
        """The switch at this address: that of the contract has a path, and a metasrv's has none.

        Raises:
            PartRefused: a certificate, key or user name makes no sense.
        """
        url = url_of_contract(metasrv)
        if url is not None:
            return self._http.maintenance_of(key, HTTPConnection(url, tls, user, database))
        return self._greptimedb.maintenance_of(key, metasrv, tls)

    def forget(self, key: Key) -> None:
        """Drops the clients of an object."""
        self._greptimedb.forget(key)
        self._http.forget(key)
