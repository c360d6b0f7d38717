"""Buckets in memory: they pass the contract of ObjectStores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from seawall.api.meta import Key
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.object_store import MAX_OBJECT_BYTES, PAGE, S3Connection


@dataclass
class FakeObjectStores:
    """One server with buckets, whatever address a connection has.

    Attributes:
        objects: by bucket and by path from its root, prefix and all.
        secrets: the secret access key of each access key id; who has none at all is let in.
        is_silent: nothing answers.
        refuses: what it says to all that is asked, a code and its message; empty: it answers.
        connections: of each object of the API.
    """

    objects: dict[str, dict[str, bytes]] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    is_silent: bool = False
    refuses: str = ""
    connections: dict[Key, FakeObjectStore] = field(default_factory=dict)

    def connect(self, key: Key, connection: S3Connection) -> FakeObjectStore:
        """A bucket of it."""
        if connection.ca_pem is not None and "-----BEGIN CERTIFICATE" not in connection.ca_pem:
            raise Refused(f"bucket {connection.bucket}: the CA certificate is no PEM text")
        kept = self.connections.get(key)
        if kept is None or kept.connection != connection:
            kept = self.connections[key] = FakeObjectStore(self, connection)
        return kept

    def forget(self, key: Key) -> None:
        """Drops one."""
        self.connections.pop(key, None)

    def admit(self, connection: S3Connection) -> Mapping[str, bytes]:
        """The objects of a bucket.

        Raises:
            Refused, OutsideUnavailable: as it is set.
        """
        if self.is_silent:
            raise OutsideUnavailable(f"bucket {connection.bucket}: the store does not answer")
        said, user = self.refuses, connection.access_key_id
        if not said and user is not None:
            if user not in self.secrets:
                said = "InvalidAccessKeyId (there is no such key)"
            elif self.secrets[user] != connection.secret_access_key:
                said = "SignatureDoesNotMatch (another key signed)"
        if not said and connection.bucket not in self.objects:
            said = "NoSuchBucket (there is none)"
        if said:
            raise Refused(f"bucket {connection.bucket}: {said}")
        return self.objects[connection.bucket]


@dataclass(frozen=True, slots=True, eq=False)
class FakeObjectStore:
    """A bucket below a prefix."""

    server: FakeObjectStores
    connection: S3Connection

    def names(self, folder: str, after: str = "") -> Sequence[str]:
        """What is in a folder."""
        root = self._path(f"{folder}/" if folder else "")
        below = (path.removeprefix(root) for path in self.server.admit(self.connection) if path.startswith(root))
        return tuple(sorted(name for name in below if name > after and "/" not in name)[:PAGE])

    def get(self, path: str) -> bytes | None:
        """One object."""
        found = self.server.admit(self.connection).get(self._path(path))
        if found is not None and len(found) > MAX_OBJECT_BYTES:
            raise Refused(f"bucket {self.connection.bucket}: {path} has {len(found)} bytes, too many")
        return found

    def _path(self, path: str) -> str:
        return f"{self.connection.prefix}/{path}" if self.connection.prefix else path
