"""What the contract tests of ObjectStores run on: a server with one bucket, in memory or of its own process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from seawall.adapters.object_stores import S3Stores
from seawall.domain.object_store import S3Connection
from seawall.ports import ObjectStores
from seawall_e2e.loopback.s3 import S3Process
from tests.fakes.object_store import FakeObjectStores

BUCKET = "lake"


class StoreBed(Protocol):
    """A server, and how to reach it."""

    @property
    def stores(self) -> ObjectStores: ...

    @property
    def connection(self) -> S3Connection:
        """To the bucket, as who may do all, below prefix `db`."""
        ...

    @property
    def nowhere(self) -> S3Connection:
        """The same, where nobody listens."""
        ...

    def put(self, objects: Mapping[str, bytes]) -> None:
        """Somebody writes objects, by their paths from the root of the bucket."""
        ...

    def silence(self) -> AbstractContextManager[None]:
        """Meanwhile it does not answer."""
        ...


@dataclass
class FakeStoreBed:
    """In memory."""

    stores: FakeObjectStores = field(default_factory=lambda: FakeObjectStores({BUCKET: {}}, {"key": "hunter2"}))
    connection: S3Connection = field(
        default_factory=lambda: S3Connection(BUCKET, "db", "us-east-1", None, None, "key", "hunter2")
    )

    @property
    def nowhere(self) -> S3Connection:
        self.stores.is_silent = True
        return self.connection

    def put(self, objects: Mapping[str, bytes]) -> None:
        self.stores.objects[BUCKET].update(objects)

    @contextmanager
    def silence(self) -> Iterator[None]:
        self.stores.is_silent = True
        yield
        self.stores.is_silent = False


@dataclass
class RealStoreBed:
    """Versitygw, whose buckets are folders."""

    server: S3Process
    bucket: str
    folder: Path
    stores: S3Stores = field(default_factory=lambda: S3Stores(seconds=2))

    @property
    def connection(self) -> S3Connection:
        server = self.server
        return S3Connection(
            self.bucket, "db", server.region, server.endpoint, None, server.access_key_id, server.secret_access_key
        )

    @property
    def nowhere(self) -> S3Connection:
        return replace(self.connection, endpoint="http://127.0.0.1:1")

    def put(self, objects: Mapping[str, bytes]) -> None:
        for path, content in objects.items():
            file = self.folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)

    @contextmanager
    def silence(self) -> Iterator[None]:
        self.server.pause()
        try:
            yield
        finally:
            self.server.resume()
