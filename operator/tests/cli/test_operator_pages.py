"""The pages of the operator: for people who may read what is on them, one plan at a time, and no look waits."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from seawall.adapters.kube.api import KubeApi
from seawall.api.meta import Key
from seawall.api.pages import PERSON_HEADER
from seawall.controllers.preview import PurgePreview
from seawall.domain.ledger.observation import Observation
from seawall.domain.overview.snapshot import Leader
from seawall.domain.purge.preview import PlannedRun
from seawall.domain.times import METRICS_ACCESS_SILENT_SECONDS, PAGE_ACCESS_SECONDS
from seawall.handlers.access import METRICS, Gate
from seawall.handlers.pages import (
    add_ledger_page,
    add_plan_page,
    add_reassignment_page,
    build_metrics,
    build_pages,
    build_probes,
)
from seawall.handlers.ui.reading import Reading
from seawall.ports import Access, PathAccess
from tests.fakes.access import FakeAccessReviews
from tests.fakes.kube import FakeKube
from tests.support.clock import Time
from tests.worlds.purge_world import WAL, Calls, World

MINE = Access("get", "walclusters", "db", "wal")
Shown = Mapping[str, str]
BY_HEADER: Shown = {PERSON_HEADER: "Bearer ada"}


def statuses(gate: Gate, *asked: tuple[str, Shown], found: Callable[[Key], None] = lambda _: None) -> list[int]:
    """What each page answers to a path's end and headers: 404 to who is let in, as there is no WALCluster."""

    async def ask() -> list[int]:
        app = web.Application()
        add_ledger_page(app, found, gate)
        add_plan_page(app, lambda cluster, _: found(cluster), gate)
        add_reassignment_page(app, found, gate)
        async with TestClient(TestServer(app)) as client:
            return [
                (await client.get(f"/{page}{end}", headers=headers)).status
                for end, headers in asked
                for page in ("ledger", "plan", "reassignment")
            ]

    return asyncio.run(ask())


def test_who_shows_neither_token_nor_key_is_not_answered() -> None:
    looked: list[Key] = []
    gate = Gate(FakeAccessReviews(ada=[MINE]), "right")
    asked = [
        ("/db/wal", {}),
        ("/db/wal?key=wrong", {}),
        ("/db/wal?key=", {}),
        ("/db/wal", {PERSON_HEADER: "Bearer bob"}),
        ("/db/wal", {PERSON_HEADER: "Bearer "}),
        ("/db/wal", {PERSON_HEADER: "ada"}),
        ("/db/other", BY_HEADER),
        ("/other/wal", BY_HEADER),
    ]
    assert statuses(gate, *asked, found=looked.append) == [403] * 3 * len(asked)
    assert looked == []


def test_a_token_decides_and_a_key_does_not_help_it() -> None:
    gate = Gate(FakeAccessReviews(ada=[MINE]), "right")
    asked = [
        ("/db/wal", BY_HEADER),
        ("/db/wal", {"Authorization": "Bearer ada"}),
        ("/db/other?key=right", BY_HEADER),
        ("/db/other?key=right", {}),
    ]
    assert statuses(gate, *asked) == [404] * 6 + [403] * 3 + [404] * 3


def test_an_operator_may_take_no_key() -> None:
    gate = Gate(FakeAccessReviews(ada=[MINE]), None)
    assert (
        statuses(gate, ("/db/wal?key=", {}), ("/db/wal?key=None", {}), ("/db/wal", BY_HEADER)) == [403] * 6 + [404] * 3
    )


def test_no_page_is_served_to_nobody() -> None:
    """Whatever is added later, too: others have lost a check on one of many paths (Argo Workflows, CVE-2024-53862)."""
    looked: list[object] = []

    def look(*asked: object) -> None:
        looked.append(asked)

    def metrics() -> bytes:
        look()
        return b""

    reading = Reading(FakeKube(), look, lambda: Leader("seawall/seawall"), Time())
    app = build_pages(Gate(FakeAccessReviews(ada=[MINE]), "right"), reading, look, look, metrics)
    paths = {route.resource.canonical for route in app.router.routes() if route.resource is not None}
    paths = {re.sub(r"{\w+}", "wal", path) for path in paths} - {"/ui/style.css"}

    async def ask() -> dict[str, list[int]]:
        async with TestClient(TestServer(app)) as client:
            return {
                path: [
                    (await client.get(path, headers=headers)).status
                    for headers in ({}, {PERSON_HEADER: "Bearer bob"}, {"Authorization": "Bearer bob"})
                ]
                for path in paths
            }

    assert asyncio.run(ask()) == dict.fromkeys(paths, [403] * 3)
    assert len(paths) == 7
    assert looked == []


def test_an_answer_counts_for_a_while_and_no_longer() -> None:
    now, reviews = [0.0], FakeAccessReviews(ada=[MINE])
    gate = Gate(reviews, None, lambda: now[0])
    for time, times in ((0.0, 1), (PAGE_ACCESS_SECONDS - 1, 1), (PAGE_ACCESS_SECONDS, 2)):
        now[0] = time
        assert statuses(gate, ("/db/wal", BY_HEADER)) == [404] * 3
        assert reviews.asked == times


def test_an_api_server_that_is_silent_is_no_refusal() -> None:
    reviews = FakeAccessReviews(ada=[MINE])
    reviews.is_silent = True
    assert statuses(Gate(reviews, "right"), ("/db/wal", BY_HEADER)) == [503] * 3


def test_a_token_goes_to_pods_by_tls_only(tmp_path: Path) -> None:
    kubeconfig = {
        "current-context": "one",
        "contexts": [{"name": "one", "context": {"cluster": "one", "user": "ada"}}],
        "clusters": [{"name": "one", "cluster": {"server": "http://127.0.0.1:9"}}],
        "users": [{"name": "ada", "user": {"token": "secret"}}],
    }
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(kubeconfig))
    pods, page = "/api/v1/namespaces/seawall/pods", "proxy/ledger/db/wal"

    def shown(path_of_it: str, *, shows: bool) -> Shown:
        return KubeApi(1, kubeconfig=str(path), shows_token=shows).shown_to_pods(path_of_it)

    assert shown(f"{pods}/https:seawall-0:8443/{page}", shows=True) == {PERSON_HEADER: "Bearer secret"}
    assert shown(f"{pods}/seawall-0:8080/proxy/metrics", shows=True) == {}
    assert shown("/version", shows=True) == {}
    assert shown(f"{pods}/https:seawall-0:8443/{page}", shows=False) == {}


def test_probes_need_no_token_and_each_has_a_port_of_its_own() -> None:
    async def ask(app: web.Application) -> list[int]:
        async with TestClient(TestServer(app)) as client:
            return [(await client.get(page)).status for page in ("/metrics", "/healthz", "/readyz")]

    assert asyncio.run(ask(build_metrics(lambda: b"", None))) == [200, 404, 404]
    assert asyncio.run(ask(build_metrics(lambda: b"", Gate(FakeAccessReviews(), None)))) == [403, 404, 404]
    assert asyncio.run(ask(build_probes(lambda: None, lambda: None))) == [404, 200, 200]
    assert asyncio.run(ask(build_probes(lambda: "stuck", lambda: "no CRD"))) == [404, 503, 503]


def scrape(gate: Gate, *shown: Shown) -> list[int]:
    """What each of those who show something is answered, one after another."""

    async def ask() -> list[int]:
        async with TestClient(TestServer(build_metrics(lambda: b"seawall_leader 1", gate))) as client:
            return [(await client.get("/metrics", headers=each)).status for each in shown]

    return asyncio.run(ask())


PROMETHEUS: Shown = {"Authorization": "Bearer prometheus"}


def test_metrics_are_for_who_may_get_them() -> None:
    reviews = FakeAccessReviews(prometheus=[METRICS], ada=[MINE], other=[PathAccess("get", "/")])
    others: list[Shown] = [{}, BY_HEADER, {"Authorization": "Bearer other"}, {"Authorization": "Bearer nobody"}]
    assert scrape(Gate(reviews, None), PROMETHEUS, *others) == [200, 403, 403, 403, 403]


def test_who_may_read_metrics_can_read_that_the_api_server_is_away() -> None:
    now, reviews = [0.0], FakeAccessReviews(prometheus=[METRICS, MINE], ada=[MINE])
    gate = Gate(reviews, None, lambda: now[0])
    assert scrape(gate, PROMETHEUS, BY_HEADER) == [200, 403]
    assert statuses(gate, ("/db/wal", PROMETHEUS)) == [404] * 3, "they may read a page, too"
    reviews.is_silent = True
    now[0] = PAGE_ACCESS_SECONDS
    assert scrape(gate, PROMETHEUS, BY_HEADER, {"Authorization": "Bearer new"}) == [200, 403, 503]
    assert statuses(gate, ("/db/wal", PROMETHEUS)) == [503] * 3, "pages tell nothing of an API server"
    now[0] = METRICS_ACCESS_SILENT_SECONDS
    assert scrape(gate, PROMETHEUS) == [503]
    reviews.is_silent = False
    assert scrape(gate, PROMETHEUS) == [200]


def test_who_asks_while_a_plan_is_made_is_told_to_come_again() -> None:
    is_asked, may_end = threading.Event(), threading.Event()

    def plan_of(*_: object) -> None:
        is_asked.set()
        assert may_end.wait(60)

    async def ask() -> tuple[int, str, int]:
        app = web.Application()
        add_plan_page(app, plan_of, Gate(FakeAccessReviews(), "right"))
        async with TestClient(TestServer(app)) as client:
            first = asyncio.create_task(client.get("/plan/db/wal?key=right"))
            await asyncio.to_thread(is_asked.wait, 60)
            second = await client.get("/plan/db/other?key=right")
            may_end.set()
            return second.status, second.headers["Retry-After"], (await first).status

    assert asyncio.run(ask()) == (503, "5", 404)


def test_looks_do_not_wait_for_a_plan() -> None:
    """Found by an attack: whoever asks for plans all the time stopped purges and grants of holds."""
    world = World()
    observation: list[object] = []
    calls = Calls(world.check)
    observer = world.observer(calls)
    observer.observe(world.cluster())

    def look_beside(name: str) -> None:
        if name == "describe_offsets" and not observation:
            observation.append(None)
            pool = ThreadPoolExecutor(1)
            beside = pool.submit(observer.observe, world.cluster())
            pool.shutdown(wait=False)
            observation.append(beside.result(timeout=20))

    calls.before = look_beside
    assert isinstance(PurgePreview(world.kube, observer, world.time).plan(WAL, ()), PlannedRun)
    assert isinstance(observation[1], Observation)
