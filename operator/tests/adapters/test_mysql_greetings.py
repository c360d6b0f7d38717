"""A server that greets almost as MySQL does is told in a sentence: the client library checks few of its bytes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from seawall.adapters.greptimedb.mysql import MySQL
from seawall.domain.dataplane.connection import MySQLConnection, NotReached, PartRefused, User

START = b"\x0a8.0.36\0" + bytes(4) + b"8 bytes!" + b"\0"


@contextmanager
def greeting(said: bytes) -> Iterator[int]:
    """The port of a server that says so, once."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def greet() -> None:
            with listening.accept()[0] as connected:
                connected.sendall(len(said).to_bytes(3, "little") + b"\0" + said)
                connected.recv(1)

        threading.Thread(target=greet, daemon=True).start()
        yield listening.getsockname()[1]


@pytest.mark.parametrize("said", [START, START + b"\0\0", START + b"\0\0!\2", b"\x0a", b""])
def test_a_greeting_that_ends_early_is_no_mysql(said: bytes) -> None:
    with greeting(said) as port:
        store = MySQL(MySQLConnection((("127.0.0.1", port),), "greptime", User("seawall", "secret")))
        with pytest.raises(PartRefused, match="does not speak MySQL's protocol") as refused, store.view():
            pass
    assert refused.value.why is NotReached.UNEXPECTED_ANSWER
