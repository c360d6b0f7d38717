"""A deadline for the whole of an HTTP request: a socket's own timeout counts anew with every byte, of a header too.

When it is over, the connection is cut, and whoever waits for a byte of it is told at once.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from urllib3 import HTTPConnectionPool, HTTPResponse, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import TimeoutError as HTTPTimeoutError


class _Guard:
    """The connection of one request, by a handle of its own: it may be closed meanwhile, and its number another's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._handle: socket.socket | None = None
        self.is_late = False

    def watch(self, connected: socket.socket) -> None:
        """Cuts this connection when the time is over."""
        with self._lock:
            self._close()
            self._handle = socket.socket(fileno=os.dup(connected.fileno()))
            if self.is_late:
                self._cut()

    def end(self) -> None:
        """The time is over."""
        with self._lock:
            self.is_late = True
            self._cut()

    def close(self) -> None:
        """The request is over."""
        with self._lock:
            self._close()

    def _cut(self) -> None:
        if self._handle is not None:
            with suppress(OSError):
                self._handle.shutdown(socket.SHUT_RDWR)

    def _close(self) -> None:
        if self._handle is not None:
            self._handle.close()
            self._handle = None


_guard: ContextVar[_Guard | None] = ContextVar("guard of the request that this thread makes", default=None)


class _Plain(HTTPConnection):
    """Is watched once a request was sent: to connect and to shake hands has a deadline already."""

    def getresponse(self) -> HTTPResponse:  # type: ignore[override]  # as urllib3's own
        guard = _guard.get()
        if guard is not None and self.sock is not None:
            guard.watch(self.sock)
        return super().getresponse()


class _Encrypted(_Plain, HTTPSConnection):
    """The same by TLS."""


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _Plain


class _EncryptedPool(HTTPSConnectionPool):
    ConnectionCls = _Encrypted


def cuttable(pools: PoolManager) -> PoolManager:
    """The same pools, whose connections `deadline` cuts."""
    pools.pool_classes_by_scheme = {"http": _PlainPool, "https": _EncryptedPool}
    return pools


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Of the request that is made in it.

    Raises:
        HTTPTimeoutError: it was not over by then. A body without a length that was cut looks like a whole one.
    """
    guard = _Guard()
    timer = threading.Timer(seconds, guard.end)
    timer.daemon = True
    token = _guard.set(guard)
    timer.start()
    try:
        yield
    except Exception as error:
        if guard.is_late:
            raise HTTPTimeoutError from error
        raise
    finally:
        timer.cancel()
        _guard.reset(token)
        guard.close()
    if guard.is_late:
        raise HTTPTimeoutError
