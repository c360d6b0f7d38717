"""Servers of SQL that do not answer as they should, and what is said of them."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

from seawall.adapters.greptimedb.clients import key_store
from seawall.adapters.greptimedb.metadata import GreptimeMetadata
from seawall.domain.dataplane.connection import (
    MySQLConnection,
    NotReached,
    PartRefused,
    PartUnavailable,
    PostgresConnection,
)
from seawall.domain.dataplane.metadata import MetadataSnapshot
from seawall_e2e.loopback.sql_server import SqlServer

SQLConnectionT = TypeVar("SQLConnectionT", PostgresConnection, MySQLConnection)


def as_user(connection: SQLConnectionT, **change: str) -> SQLConnectionT:
    return replace(connection, user=replace(connection.user, **change))


def with_tls(connection: SQLConnectionT, **change: str | None) -> SQLConnectionT:
    assert connection.tls is not None
    return replace(connection, tls=replace(connection.tls, **change))


def trouble_with(connection: SQLConnectionT) -> PartRefused | PartUnavailable:
    try:
        with key_store(connection).view():
            pass
    except (PartRefused, PartUnavailable) as trouble:
        return trouble
    raise AssertionError(f"{connection} answers")


def said(connection: SQLConnectionT, why: NotReached) -> str:
    """The sentence of a refusal, which stays the same."""
    sentences = set()
    for _ in range(2):
        trouble = trouble_with(connection)
        assert trouble.why is why, trouble
        host, port = connection.hosts[0]
        sentences.add(str(trouble).replace(f"{host}:{port}", "HOST"))
    (sentence,) = sentences
    return sentence


@contextmanager
def server(answer: bytes, *, pause: float = 0, times: int = 1) -> Iterator[int]:
    """Answers every connection with the same bytes, some times, and keeps it open for as long as there are pauses."""

    def serve(listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                try:
                    for _ in range(times):
                        connection.sendall(answer)
                        time.sleep(pause)
                except OSError:
                    continue

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening,), daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def marked(store: GreptimeMetadata, server: SqlServer, prefix: str) -> MetadataSnapshot:
    """A topic `t` with a marker of 0 and one region, which `me` has claimed."""
    server.put(f"{prefix}__topic_name/kafka/t", '{"pruned_entry_id":0}')
    server.put(f"{prefix}__topic_region/t/1", "")
    assert store.claim("wal", "me", None)
    return store.snapshot()
