"""An S3 server behind a proxy that answers what is put instead, as a store does that is full, or overloaded."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Mapping
from typing import Any, Self
from urllib.parse import urlsplit

from backups import Bed

CHUNK = 65_536
FULL = "507 Insufficient Storage", "XStorageFull", "the store has no room left"
BUSY = "503 Service Unavailable", "SlowDown", "Please reduce your request rate."
UNKNOWN = "501 Not Implemented", "NotImplemented", "A header you provided implies functionality that is not implemented"
"""Status, code and sentence."""


class PickyStore:
    """Forwards all that comes to the store of a bed, but answers so many of the next PUTs of objects itself.

    Attributes:
        left: how many.
        only: those that have this header, in small letters; empty: all.
        answered: how many were.
    """

    def __init__(self, bed: Bed) -> None:
        self._bed, self._real = bed, bed.storage["s3"]
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.left = self.answered = 0
        self._answer = self.only = b""

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        self._bed.storage = self._storage(f"http://127.0.0.1:{self._listener.getsockname()[1]}")
        return self

    def __exit__(self, *_: object) -> None:
        self._bed.storage = self._storage(self._real["endpoint"])
        for each in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def answer(self, trouble: tuple[str, str, str], times: int) -> None:
        """What is said to so many PUTs from now on."""
        status, code, sentence = trouble
        body = f"<Error><Code>{code}</Code><Message>{sentence}</Message></Error>".encode()
        head = f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        self._answer, self.left, self.answered = head.encode() + body, times, 0

    def _storage(self, endpoint: str) -> Mapping[str, Any]:
        return {"s3": {**self._real, "endpoint": endpoint}}

    def _accept(self) -> None:
        target = urlsplit(self._real["endpoint"])
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection((target.hostname or "", target.port or 0))
                self._open += [near, far]
                threading.Thread(target=self._ask, args=(near, far), daemon=True).start()
                threading.Thread(target=_copy, args=(far, near), daemon=True).start()

    def _ask(self, near: socket.socket, far: socket.socket) -> None:
        """A client sends no request before the one before it is answered: each begins what is received."""
        with contextlib.suppress(OSError):
            while data := near.recv(CHUNK):
                if self.left > 0 and data.startswith(b"PUT ") and self.only in data.lower():
                    self.left, self.answered = self.left - 1, self.answered + 1
                    near.sendall(self._answer)
                    while near.recv(CHUNK):  # a close before all is read would take the answer back
                        pass
                    return
                far.sendall(data)
            far.shutdown(socket.SHUT_WR)


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(CHUNK):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
