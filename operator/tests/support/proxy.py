"""A TCP proxy whose connections can die silently: open on both sides, and nothing comes through any more."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

CHUNK = 65536


@dataclass
class _Connection:
    near: socket.socket
    far: socket.socket
    is_frozen: threading.Event = field(default_factory=threading.Event)

    def pump(self, source: socket.socket, sink: socket.socket) -> None:
        """Copies until one side closes; when frozen it swallows what comes, and closes nothing."""
        with contextlib.suppress(OSError):
            while data := source.recv(CHUNK):
                if not self.is_frozen.is_set():
                    sink.sendall(data)
            if not self.is_frozen.is_set():
                sink.shutdown(socket.SHUT_WR)


class FreezableProxy:
    """Listens on loopback and forwards to `port` there."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._connections: list[_Connection] = []
        self.port = int(self._listener.getsockname()[1])

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        for connection in self._connections:
            connection.near.close()
            connection.far.close()

    def freeze(self) -> int:
        """Freezes every connection there is; new ones work. Returns how many there were."""
        for connection in self._connections:
            connection.is_frozen.set()
        return len(self._connections)

    def kubeconfig(self, original: Path, folder: Path) -> Path:
        """The same kubeconfig, by way of the proxy."""
        path = folder / "proxied.kubeconfig"
        text = re.sub(r"https://127\.0\.0\.1:\d+", f"https://127.0.0.1:{self.port}", original.read_text())
        path.write_text(text)
        return path

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                connection = _Connection(near, socket.create_connection(("127.0.0.1", self._target)))
                self._connections.append(connection)
                for pair in ((connection.near, connection.far), (connection.far, connection.near)):
                    threading.Thread(target=connection.pump, args=pair, daemon=True).start()
