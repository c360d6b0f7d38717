"""One client for each object, made anew when its connection changes."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from seawall.adapters.http_database.client import Client
from seawall.adapters.http_database.database import HTTPDataPlane, HTTPMaintenance, HTTPMetadataStore
from seawall.adapters.http_database.known_regions import KnownRegions
from seawall.api.meta import Key
from seawall.domain.dataplane.connection import HTTPConnection
from seawall.ports import DataPlaneParts, MaintenanceSwitch


class HTTPDataPlanes:
    """Clients of databases that serve the contract; they are safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[Key, _Held] = {}
        self._switches: dict[Key, _Held] = {}

    def connect(self, key: Key, connection: HTTPConnection) -> DataPlaneParts:
        """The clients of one object's database; nothing is connected yet.

        Raises:
            PartRefused: a certificate, key or user name makes no sense.
        """
        held = self._held(self._open, key, connection)
        return DataPlaneParts(HTTPDataPlane(held.client), HTTPMetadataStore(held.client, held.known))

    def maintenance_of(self, key: Key, connection: HTTPConnection) -> MaintenanceSwitch:
        """The switch at this address; one object has one at a time.

        Raises:
            PartRefused: a certificate, key or user name makes no sense.
        """
        return HTTPMaintenance(self._held(self._switches, key, connection).client)

    def forget(self, key: Key) -> None:
        """Drops the clients of an object."""
        with self._lock:
            for held in (self._open.pop(key, None), self._switches.pop(key, None)):
                if held is not None:
                    held.client.close()

    def _held(self, held: dict[Key, _Held], key: Key, connection: HTTPConnection) -> _Held:
        with self._lock:
            found = held.get(key)
            if found is None or found.connection != connection:
                if found is not None:
                    held.pop(key).client.close()
                known = KnownRegions() if found is None else found.known
                found = held[key] = _Held(connection, Client(connection), known)
            return found


@dataclass(frozen=True, slots=True)
class _Held:
    """A client, what it was made from, and what was read last, which stays when the connection changes."""

    connection: HTTPConnection
    client: Client
    known: KnownRegions
