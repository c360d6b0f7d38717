"""An object store that is one canned answer: what real ones say seldom, or only when they are ill."""

from __future__ import annotations

import socket
import threading
from typing import Self

from seawall.domain.object_store import S3Connection


def error_of(status: str, code: str, message: str) -> bytes:
    """How S3 says no."""
    return http(status, f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode())


def http(status: str, body: bytes = b"", length: int | None = None) -> bytes:
    """An answer whose header may promise more than comes."""
    size = len(body) if length is None else length
    return f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {size}\r\n\r\n".encode() + body


class CannedStore:
    """Answers each connection's first request with the same bytes; None: it never answers.

    Attributes:
        heard: the requests, as they came.
    """

    def __init__(self, answer: bytes | None) -> None:
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.endpoint = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.heard: list[str] = []

    def connection(self, *, key: tuple[str, str] | None = ("key", "hunter2")) -> S3Connection:
        """To bucket `lake` of it."""
        return S3Connection("lake", "db", "us-east-1", self.endpoint, None, *(key or (None, None)))

    def __enter__(self) -> Self:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in self._open:
            each.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.heard.append(connection.recv(65_536).decode())
            if self._answer is None:
                self._open.append(connection)
                continue
            connection.sendall(self._answer)
            connection.close()
