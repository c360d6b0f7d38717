"""Sockets of kafka-python that are closed with their question.

It leaves open whatever could not connect, could not agree on TLS, or was still about to when its loop ended: until the
garbage collector comes by.
"""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass
from typing import Any

from kafka.net.inet import KafkaNetSocket
from kafka.net.selector import NetworkSelector

KEEPING = "keeping://"
"""As `proxy_url`, the library's way to have sockets made by somebody else: connections are direct all the same."""


class KeepingSelector(NetworkSelector):  # type: ignore[misc]  # kafka-python is not typed
    """An event loop that closes at its end every socket it ever knew."""

    def __init__(self, **config: Any) -> None:
        super().__init__(**config)
        self._sockets: set[socket.socket] = set()

    def keep(self, one: socket.socket) -> None:
        """Closes it with the loop; closing twice does no harm."""
        self._sockets.add(one)

    def close(self) -> None:
        """Ends all tasks and closes all sockets."""
        super().close()
        for each in self._sockets:
            each.close()


@dataclass(frozen=True, slots=True)
class KeepingTls:
    """What the library asks a TLS context for; the loop keeps the sockets, since a handshake may fail at once."""

    context: ssl.SSLContext
    loop: KeepingSelector

    def wrap_socket(self, sock: socket.socket, **options: Any) -> ssl.SSLSocket:
        """TLS over a connection: a socket in the place of the given one."""
        wrapped = self.context.wrap_socket(sock, **options)
        self.loop.keep(wrapped)
        return wrapped


class _KeptSockets(KafkaNetSocket):  # type: ignore[misc]  # kafka-python is not typed; it registers the class by its scheme
    """Direct connections whose sockets the loop keeps, also those that are refused at once."""

    SCHEMES = (KEEPING.split(":", maxsplit=1)[0],)

    async def sock_connect(self, net: KeepingSelector, sock: socket.socket, *args: Any, **kwargs: Any) -> Any:
        net.keep(sock)
        return await super().sock_connect(net, sock, *args, **kwargs)
