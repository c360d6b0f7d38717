"""A TCP proxy for one Kafka broker that counts the requests that come through, by their api key."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable
from typing import Self

LIST_OFFSETS, METADATA, DELETE_RECORDS, OFFSET_FOR_LEADER_EPOCH, DESCRIBE_LOG_DIRS = 2, 3, 21, 23, 35
"""Api keys."""
LOG_REQUESTS = (LIST_OFFSETS, DELETE_RECORDS, OFFSET_FOR_LEADER_EPOCH, DESCRIBE_LOG_DIRS)
_HEAD = struct.Struct(">ih")
"""Every request begins with its length and its api key."""


class CountingProxy:
    """Listens on loopback from the beginning, and forwards once it knows the broker's port.

    Attributes:
        port: where it listens.
        target: the broker's port.
        requests: how many of each api key went to the broker.
    """

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.target = 0
        self.requests: Counter[int] = Counter()
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads from it
            each.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self._sockets.append(near)
                far = socket.create_connection(("127.0.0.1", self.target))
                self._sockets.append(far)
                self._start(self._count, near, far)
                self._start(self._copy, far, near)

    def _start(self, run: Callable[..., None], *sockets: socket.socket) -> None:
        thread = threading.Thread(target=run, args=sockets, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _count(self, near: socket.socket, far: socket.socket) -> None:
        with contextlib.suppress(OSError), near.makefile("rb") as stream:
            while head := stream.read(_HEAD.size):
                length, api_key = _HEAD.unpack(head)
                self.requests[api_key] += 1
                far.sendall(head + stream.read(length - 2))
            far.shutdown(socket.SHUT_WR)

    def _copy(self, far: socket.socket, near: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := far.recv(65536):
                near.sendall(data)
            near.shutdown(socket.SHUT_WR)
