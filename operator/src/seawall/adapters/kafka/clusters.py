"""The port `KafkaClusters`: objects with equal connections share one."""

from __future__ import annotations

import threading
from collections import Counter

from seawall.adapters.kafka.admin import REQUEST_TIMEOUT, VIEW_TIMEOUT, ConfluentKafkaAdmin
from seawall.adapters.kafka.logs import ConfluentKafkaLogs
from seawall.adapters.kafka.reassigner import RawReassigner
from seawall.adapters.kafka.users import ConfluentKafkaUsers
from seawall.api.meta import Key
from seawall.domain.kafka import KafkaConnection


class ConfluentKafkaClusters:
    """One client for each different connection, until no object uses it; each costs memory, threads and sockets.

    Ticks of different objects run in different threads. Only who brings the same password uses the same client.
    """

    def __init__(self, *, view_timeout: float = VIEW_TIMEOUT, request_timeout: float = REQUEST_TIMEOUT) -> None:
        self._view_timeout = view_timeout
        self._request_timeout = request_timeout
        self._lock = threading.Lock()
        self._used: dict[Key, KafkaConnection] = {}
        self._users = Counter[KafkaConnection]()
        self._admins: dict[KafkaConnection, ConfluentKafkaAdmin] = {}

    def connect(self, key: Key, connection: KafkaConnection) -> ConfluentKafkaAdmin:
        """The connection for the object `key`; nothing is sent before its first call."""
        with self._lock:
            before = self._used.get(key)
            unused = None
            if before != connection:
                self._used[key] = connection
                self._users[connection] += 1
                unused = self._take_unused(before)
            if connection not in self._admins:
                self._admins[connection] = ConfluentKafkaAdmin(
                    connection, view_timeout=self._view_timeout, request_timeout=self._request_timeout
                )
            admin = self._admins[connection]
        if unused is not None:
            unused.close()
        return admin

    def logs(self, key: Key, connection: KafkaConnection) -> ConfluentKafkaLogs:
        """The logs of the cluster that `connect` gives."""
        return self.connect(key, connection).logs

    def reassigner(self, key: Key, connection: KafkaConnection) -> RawReassigner:
        """The partitions of the cluster that `connect` gives."""
        return self.connect(key, connection).reassigner

    def users(self, key: Key, connection: KafkaConnection) -> ConfluentKafkaUsers:
        """The users of the cluster that `connect` gives."""
        return self.connect(key, connection).users

    def forget(self, key: Key) -> None:
        """Closes the connection of an object that is gone, unless others use it."""
        with self._lock:
            unused = self._take_unused(self._used.pop(key, None))
        if unused is not None:
            unused.close()

    def _take_unused(self, connection: KafkaConnection | None) -> ConfluentKafkaAdmin | None:
        """The client that one object less uses, if it was the last."""
        if connection is None:
            return None
        self._users[connection] -= 1
        if self._users[connection]:
            return None
        del self._users[connection]
        return self._admins.pop(connection)
