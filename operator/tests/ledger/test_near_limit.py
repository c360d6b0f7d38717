"""A database that grows towards what can be read of it is told of before the limit is hit."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from seawall.adapters.greptimedb import interfaces
from seawall.adapters.greptimedb.interfaces import GreptimeDB
from seawall.adapters.http_database.client import Client
from seawall.adapters.http_database.database import HTTPDataPlane, HTTPMetadataStore
from seawall.api.meta import Condition, ConditionType
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.cluster.decide import decide
from seawall.domain.conditions import find_condition
from seawall.domain.dataplane.connection import HTTPConnection
from seawall.domain.dataplane.view import DataPlaneView, RunningWAL, view_data_plane
from seawall.domain.decision import settle
from seawall.domain.step import Record
from tests.contract.test_data_plane_contract import before_fake
from tests.domain.builders import NOW, PINNED, make_cluster, make_spec
from tests.domain.test_data_plane import REFUSED, SILENT, SPEC, VIEW, recorded
from tests.ledger.test_metrics import Metrics, watching
from tests.support.contract_facade import Served, served, serving
from tests.worlds.purge_world import WAL, World

RATIO = "seawall_database_answer_used_ratio"
NEAR = replace(VIEW, near_limit=85)


def condition(cluster: WALCluster) -> Condition | None:
    return find_condition(cluster.status.conditions, ConditionType.NEAR_LIMIT)


def step_of(cluster: WALCluster, data_plane: Any) -> tuple[WALCluster, list[str]]:
    """The WALCluster as one tick leaves it, and the reasons of its events."""
    step = settle(cluster, decide(cluster, recorded(data_plane)))
    if not isinstance(step, Record):
        return cluster, []
    return replace(cluster, status=step.status), [event.reason for event in step.events]


@pytest.fixture
def before() -> WALCluster:
    found, _ = step_of(make_cluster(SPEC, PINNED), VIEW)
    return found


def test_nothing_is_said_of_a_limit_that_is_far(before: WALCluster) -> None:
    assert condition(before) is None


def test_it_is_said_once_stands_while_nobody_answers_and_goes(before: WALCluster) -> None:
    near, events = step_of(before, NEAR)
    found = condition(near)
    assert found is not None
    assert (found.status, found.reason) == ("True", "LargeAnswer")
    assert found.message.startswith("the metasrv's answer about 6 regions takes 85 % of what Seawall reads of one")
    assert events == ["LargeAnswer"]
    for other in (NEAR, SILENT, REFUSED, None):
        after, events = step_of(near, other)
        assert condition(after) == found
        assert "LargeAnswer" not in events
    assert condition(step_of(near, VIEW)[0]) is None


@pytest.mark.parametrize(("used", "percent"), [(0.01, None), (0.79, None), (0.8, 80), (0.849, 80), (0.999, 95)])
def test_from_four_fifths_on_the_share_is_in_the_view_in_steps(used: float, percent: int | None) -> None:
    world, metrics = World(), Metrics()
    world.data_plane.answer_used = used
    watch = watching(world, metrics)
    cluster = world.kube.get(WALCluster, WAL)
    assert cluster is not None
    watch.observe(cluster)
    view = watch.latest_database(cluster)
    assert isinstance(view, DataPlaneView)
    assert view.near_limit == percent
    assert metrics.value(RATIO) == used


def test_an_answer_that_grows_by_bytes_wakes_nobody_and_silence_has_no_number() -> None:
    world, metrics, woken = World(), Metrics(), list[Any]()
    watch = replace(watching(world, metrics), wake=woken.append)
    cluster = world.kube.get(WALCluster, WAL)
    assert cluster is not None
    watch.observe(cluster)
    woken.clear()
    world.data_plane.answer_used = 0.02
    watch.observe(cluster)
    assert woken == []
    assert metrics.value(RATIO) == 0.02
    world.data_plane.answer_used = 0.9
    watch.observe(cluster)
    assert woken == [WAL]
    world.data_plane.is_silent = True
    watch.observe(cluster)
    assert metrics.value(RATIO) is None
    world.data_plane.is_silent = False
    watch.observe(cluster)
    watch.forget(WAL)
    assert metrics.series(RATIO) == 0


BODY = b'[[{"timestamp_millis":1,"id":7,"addr":"a:1","node_epoch":1,"region_stats":[]}]]'


@pytest.fixture
def metasrv() -> Iterator[str]:
    class Metasrv(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(BODY)))
            self.end_headers()
            self.wfile.write(BODY)

        def log_message(self, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Metasrv) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_the_adapter_measures_the_answer_that_it_reads(metasrv: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interfaces, "MAX_BYTES", 2 * len(BODY))
    (report,) = GreptimeDB(metasrv, metasrv).reports()
    assert report.answer_used == 0.5


@pytest.mark.parametrize(("reports", "metadata", "percent"), [(60, 90, 90), (90, 60, 90), (60, 79, None)])
def test_the_longer_of_two_answers_of_any_database_counts(reports: int, metadata: int, percent: int | None) -> None:
    """Its metadata are the longer answer, and were beyond the limit while the reports were far from it."""
    lengths, most = {"/reports": reports * 100, "/metadata": metadata * 100}, 10_000
    facade, _ = before_fake()
    ask = served(facade)

    def padded(method: str, at: str, body: bytes) -> Served:
        status, kind, found = ask(method, at, body)
        return status, kind, json.dumps(found).encode().ljust(lengths.get(at, 0))

    with serving(padded) as url:
        client = Client(HTTPConnection(url), max_bytes=most)
        found, snapshot = HTTPDataPlane(client).reports(), HTTPMetadataStore(client).snapshot()
        client.close()
    view = view_data_plane(found, snapshot, (), RunningWAL(), NOW)
    assert (view.near_limit, view.answer_used) == (percent, max(reports, metadata) / 100)
    near, _ = step_of(make_cluster(make_spec(dataPlane={"http": {"url": "http://queue"}}), PINNED), view)
    assert (condition(near) is not None) is (percent is not None)
