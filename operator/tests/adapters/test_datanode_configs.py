"""Datanodes are asked what they run with: each process once, a bounded number at a time, and silent ones seldom."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from seawall.adapters.greptimedb.datanode_settings import AT_MOST, MAX_BYTES, DatanodeConfigs
from seawall.adapters.greptimedb.settings import read_datanode_settings, read_settings, read_size
from seawall.adapters.http import Answer, Http
from seawall.adapters.times import DATANODE_ANSWER_SECONDS, DATANODE_SILENT_SECONDS
from seawall.domain.dataplane.reports import DatanodeReport
from seawall.domain.dataplane.wal_settings import DatanodeSettings

TOML = b"""
node_id = 3
[http]
addr = "0.0.0.0:4000"
[wal]
provider = "kafka"
broker_endpoints = ["kafka:9092"]
max_batch_bytes = "1MiB"
overwrite_entry_start_id = true
auto_prune_interval = "30m"
[wal.sasl]
type = "SCRAM-SHA-512"
username = "greptimedb"
password = "hidden"
"""
KNOWN = DatanodeSettings("kafka", 2**20, overwrite_entry_start_id=True)


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ('heartbeat_interval = "3s"', 3.0),
        ('heartbeat_interval = "1m 5s"', 65.0),
        ('heartbeat_interval = "often"', None),
        ("heartbeat_interval = 3", None),
        ("", None),
    ],
)
def test_how_often_a_metasrv_wants_beats_is_read_and_stops_nobody(line: str, seconds: float | None) -> None:
    found = read_settings(f'{line}\n[wal]\nprovider = "kafka"\n'.encode())
    assert (found.provider, found.heartbeat_seconds) == ("kafka", seconds)


def test_a_metasrv_says_whether_dropped_tables_may_come_back() -> None:
    wal = '[wal]\nprovider = "kafka"\n'
    assert not read_settings(wal.encode()).soft_drop
    assert not read_settings(f"{wal}[gc]\nenable = true\n".encode()).soft_drop
    assert read_settings(f"{wal}[gc.experimental_soft_drop]\nenable = true\nretention = '7days'\n".encode()).soft_drop
    with pytest.raises(ValueError, match="enable"):
        read_settings(f'{wal}[gc.experimental_soft_drop]\nenable = "perhaps"\n'.encode())


class Server(ThreadingHTTPServer):
    """Whose queue is long enough for all that come at once."""

    request_queue_size = 128


class Datanode:
    """Answers GET /config with this body."""

    def __init__(self, body: bytes) -> None:
        self.body, self.asked, self.delay = body, 0, 0.0
        self.lock = threading.Lock()
        node = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                with node.lock:
                    node.asked += 1
                time.sleep(node.delay)
                self.send_response(200 if self.path == "/config" else 404)
                self.send_header("Content-Length", str(len(node.body)))
                self.end_headers()
                try:
                    self.wfile.write(node.body)
                except OSError:  # who asked went away
                    return

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]


@contextmanager
def served(body: bytes = TOML) -> Iterator[Datanode]:
    datanode = Datanode(body)
    thread = threading.Thread(target=datanode.server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield datanode
    finally:
        datanode.server.shutdown()
        datanode.server.server_close()
        thread.join()


@contextmanager
def configs(datanode: Datanode, now: list[float]) -> Iterator[DatanodeConfigs]:
    made = DatanodeConfigs(datanode.port, seconds=lambda: now[0])
    try:
        yield made
    finally:
        made.close()


def report(datanode_id: int, address: str = "127.0.0.1:3001", epoch: int = 1) -> DatanodeReport:
    return DatanodeReport(datanode_id, address, epoch, datetime.now(UTC), ())


def test_a_process_is_asked_once_at_the_host_that_it_reports_and_the_declared_port() -> None:
    with served() as datanode, configs(datanode, [0.0]) as asked:
        for _ in range(3):
            assert asked.of([report(3)]) == {3: KNOWN}
        assert datanode.asked == 1
        datanode.body = TOML.replace(b"true", b"false")
        assert asked.of([report(3)]) == {3: KNOWN}, "it does not change while the process runs"
        assert asked.of([report(3, epoch=2)]) == {3: replace(KNOWN, overwrite_entry_start_id=False)}
        assert asked.of([]) == {}


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[wal]\nprovider = 3", b"\xff", b"#" * (MAX_BYTES + 1)], ids=lambda body: repr(body[:9])
)
def test_one_whose_answer_makes_no_sense_is_left_out_and_asked_again_later(body: bytes) -> None:
    now = [0.0]
    with served(body) as datanode, configs(datanode, now) as asked:
        assert asked.of([report(3)]) == {}
        datanode.body = TOML
        assert asked.of([report(3)]) == {}, "not at once"
        now[0] += DATANODE_SILENT_SECONDS
        assert asked.of([report(3)]) == {3: KNOWN}


@pytest.mark.parametrize("address", ["127.0.0.1/admin?:3001", "a b:1", "", "user@127.0.0.1:3001", "no.such.host:1"])
def test_an_address_that_leads_elsewhere_or_nowhere_is_left_out(address: str) -> None:
    with served() as datanode, configs(datanode, [0.0]) as asked:
        assert asked.of([report(3, address), report(4)]) == {4: KNOWN}
        assert datanode.asked == 1


class AtOnce:
    """Counts the requests that the client has open at the same time.

    A server cannot: on a busy machine it still works on requests that the client gave up.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = self.most = 0
        lock, get = threading.Lock(), Http.get

        def counted(http: Http, url: str, *, seconds: float) -> Answer:
            with lock:
                self.now += 1
                self.most = max(self.most, self.now)
            try:
                return get(http, url, seconds=seconds)
            finally:
                with lock:
                    self.now -= 1

        monkeypatch.setattr(Http, "get", counted)


def test_a_thousand_datanodes_are_asked_a_few_at_a_time_until_all_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that answers too late, as on a busy machine, is asked again."""
    clock, at_once = [0.0], AtOnce(monkeypatch)
    with served() as datanode, configs(datanode, clock) as asked:
        datanode.delay = 0.01
        reports, calls = [report(number) for number in range(1000)], 1
        while len(asked.of(reports)) < len(reports):
            assert datanode.asked <= calls * AT_MOST
            calls, clock[0] = calls + 1, clock[0] + DATANODE_SILENT_SECONDS
        assert datanode.asked >= 1000
        assert calls >= 1000 / AT_MOST
        assert 1 < at_once.most <= 16


def test_silent_ones_hold_a_call_for_two_deadlines_and_hide_no_other() -> None:
    with served() as datanode, configs(datanode, [0.0]) as asked:
        datanode.delay = 3 * DATANODE_ANSWER_SECONDS
        silent = [report(number) for number in range(200)]
        begun = time.monotonic()
        assert asked.of(silent) == {}
        assert time.monotonic() - begun < 2 * DATANODE_ANSWER_SECONDS + 1
        assert datanode.asked == AT_MOST
        datanode.delay = 0.0
        found = asked.of(silent)
        assert set(found) == set(range(AT_MOST, 2 * AT_MOST)), "those that were not asked yet come first"


def test_sizes_are_as_greptimedb_prints_them() -> None:
    sizes: dict[str | int, int] = {"1MiB": 2**20, "1MB": 2**20, "512KiB": 2**19, "2GiB": 2**31, 1_000_001: 1_000_001}
    assert {size: read_size(size) for size in sizes} == sizes
    assert read_datanode_settings(b'[wal]\nprovider = "noop"') == DatanodeSettings("noop")
    with pytest.raises(ValueError, match="no size"):
        read_size("many")
