"""Looks at data planes in the background."""

from __future__ import annotations

import socket
import threading
import uuid
from collections.abc import Iterator
from dataclasses import replace

import pytest

from seawall.adapters.clock import SystemClock
from seawall.adapters.dataplane.looks import BackgroundLooks, look
from seawall.adapters.server_dates import ServerDates
from seawall.api.meta import Key
from seawall.domain.dataplane.connection import DataPlaneConnection, EtcdConnection, NoDataPlane, NotReached
from seawall.domain.dataplane.view import DataPlaneView
from seawall_e2e.waiting import wait_until
from tests.fakes.dataplane import FakeDataPlane, FakeMetadataStore, FakeRegion

NOBODY = "http://127.0.0.1:1"
NOWHERE = DataPlaneConnection(NOBODY, NOBODY, EtcdConnection((NOBODY,)))
LONG = 3600.0
CLOCK = SystemClock(ServerDates())


class Woken:
    """Counts who was woken."""

    def __init__(self) -> None:
        self.keys: list[Key] = []

    def __call__(self, key: Key) -> None:
        self.keys.append(key)


@pytest.fixture
def key() -> Key:
    """An object of the test's own: threads are named after it."""
    return Key("default", uuid.uuid4().hex)


def running(key: Key) -> int:
    """How many looks are under way."""
    return sum(thread.name == f"look {key}" for thread in threading.enumerate())


def wait_idle(key: Key) -> None:
    wait_until(lambda: not running(key), "the look has ended")


def wait_found(looks: BackgroundLooks, key: Key, connection: DataPlaneConnection = NOWHERE) -> NoDataPlane:
    wait_until(lambda: looks.latest(key, connection), "a look has ended")
    found = looks.latest(key, connection)
    assert isinstance(found, NoDataPlane)
    return found


def test_a_look_sees_the_database_and_its_metadata() -> None:
    store, region = FakeMetadataStore(), 1024 << 32 | 1
    store.put_topic("t_0", 0)
    store.put_region("t_0", region, 0, None)
    data_plane = FakeDataPlane(regions={region: FakeRegion(0, 0, 0)})
    assert look(data_plane, store, CLOCK) == DataPlaneView(
        datanodes=3,
        reporting=3,
        regions=1,
        topics_in_use=1,
        store_id=store.snapshot().store_id,
        claims={},
        version="1.1.0",
    )


def test_all_that_is_silent_is_told_the_metasrv_first() -> None:
    store = FakeMetadataStore()
    store.is_silent = True
    found = look(FakeDataPlane(is_silent=True), store, CLOCK)
    assert found == NoDataPlane(NotReached.METASRV_UNREACHABLE, "; ".join(["it does not answer"] * 3))
    assert look(FakeDataPlane(), store, CLOCK) == NoDataPlane(
        NotReached.METADATA_STORE_UNREACHABLE, "it does not answer"
    )


def test_nothing_is_known_before_the_first_look_ends_and_then_the_object_is_woken(key: Key) -> None:
    woken = Woken()
    looks = BackgroundLooks(CLOCK, woken, seconds=LONG)
    assert looks.latest(key, NOWHERE) is None
    wait_until(lambda: woken.keys == [key], "the object is woken")
    found = wait_found(looks, key)
    assert found.why is NotReached.METASRV_UNREACHABLE
    assert [found.message.count(part) for part in ("the metasrv at", "etcd at", "the frontend at")] == [1, 1, 1]


def test_a_look_is_good_for_a_while(key: Key) -> None:
    looks = BackgroundLooks(CLOCK, Woken(), seconds=LONG)
    wait_found(looks, key)
    wait_idle(key)
    looks.latest(key, NOWHERE)
    assert running(key) == 0


def test_a_look_that_finds_the_same_wakes_nobody(key: Key) -> None:
    woken = Woken()
    looks = BackgroundLooks(CLOCK, woken, seconds=0.0)
    wait_found(looks, key)
    for _ in range(5):
        wait_idle(key)
        looks.latest(key, NOWHERE)
    assert woken.keys == [key]


def test_another_connection_is_looked_at_anew(key: Key) -> None:
    looks = BackgroundLooks(CLOCK, Woken(), seconds=LONG)
    wait_found(looks, key)
    other = replace(NOWHERE, metasrv="http://127.0.0.1:2")
    assert looks.latest(key, other) is None
    assert "127.0.0.1:2" in wait_found(looks, key, other).message


def test_a_secret_that_makes_no_sense_is_told(key: Key) -> None:
    etcd = EtcdConnection(("https://127.0.0.1:1",), ca_pem="no PEM")
    looks = BackgroundLooks(CLOCK, Woken(), seconds=LONG)
    assert wait_found(looks, key, replace(NOWHERE, etcd=etcd)).why is NotReached.TLS_FAILED


@pytest.fixture
def hanging() -> Iterator[socket.socket]:
    """A server that takes connections and never answers; closed, it refuses them, those that wait too."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def connection_to(server: socket.socket) -> DataPlaneConnection:
    url = f"http://127.0.0.1:{server.getsockname()[1]}"
    return DataPlaneConnection(url, url, EtcdConnection((url,)))


def test_nobody_waits_for_a_database_that_hangs_and_one_look_at_a_time_runs(key: Key, hanging: socket.socket) -> None:
    looks = BackgroundLooks(CLOCK, Woken(), seconds=0.0)
    stuck = connection_to(hanging)
    assert [looks.latest(key, stuck) for _ in range(50)] == [None] * 50
    assert running(key) == 1


def test_a_forgotten_object_is_not_woken(key: Key, hanging: socket.socket) -> None:
    woken = Woken()
    looks = BackgroundLooks(CLOCK, woken, seconds=LONG)
    looks.latest(key, connection_to(hanging))
    looks.forget(key)
    # Only now the look may end: one that ends before is news of an object that is still known.
    hanging.close()
    wait_idle(key)
    assert not woken.keys
