"""What kafka-python leaves open when a question ends, on real sockets."""

from __future__ import annotations

import gc
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from threading import Thread

import pytest

from seawall.adapters.kafka.raw import Silence, connect
from seawall.domain.kafka import KafkaConnection
from seawall_e2e.loopback.processes import free_ports

SECONDS = 0.3


@pytest.fixture
def full() -> Iterator[str]:
    """An address whose backlog is full: connections to it neither succeed nor fail."""
    with ExitStack() as held:
        listener = held.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        while True:
            waiting = held.enter_context(socket.socket())
            waiting.settimeout(SECONDS)
            try:
                waiting.connect(listener.getsockname())
            except TimeoutError:
                break
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def refused() -> str:
    """An address where nobody listens."""
    return f"127.0.0.1:{free_ports(1)[0]}"


@pytest.fixture
def silent() -> Iterator[str]:
    """An address that accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def nonsense() -> Iterator[str]:
    """An address that says at once what is neither Kafka's protocol nor TLS: a handshake fails before it waits."""
    with socket.create_server(("127.0.0.1", 0)) as listener, ExitStack() as held:

        def talk() -> None:
            with suppress(OSError):
                while True:
                    held.enter_context(listener.accept()[0]).sendall(b"nonsense\r\n")

        talker = Thread(target=talk)
        talker.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        talker.join()


@pytest.mark.integration
@pytest.mark.parametrize("tls", [False, True], ids=["plaintext", "tls"])
@pytest.mark.parametrize("address", ["full", "refused", "silent", "nonsense"])
def test_a_question_that_nobody_answers_leaves_no_socket_open(
    address: str,
    tls: bool,  # noqa: FBT001
    request: pytest.FixtureRequest,
) -> None:
    """Pytest makes an error of what the collector has to close."""
    server = request.getfixturevalue(address)
    assert isinstance(connect(KafkaConnection((server,), tls=tls), SECONDS), Silence)
    gc.collect()
