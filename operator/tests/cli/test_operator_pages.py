"""The pages of the operator: for whoever has the key that is on its Lease, one plan at a time, and no look waits."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from seawall.controllers.preview import PurgePreview
from seawall.domain.ledger.observation import Observation
from seawall.domain.purge.preview import PlannedRun
from seawall.handlers.pages import add_ledger_page, add_plan_page, add_reassignment_page, build_app
from tests.worlds.purge_world import WAL, Calls, World


def test_whoever_has_no_key_is_not_answered_and_nothing_is_looked_at() -> None:
    observer: list[object] = []

    async def ask() -> list[int]:
        app = web.Application()
        add_ledger_page(app, observer.append, "right")
        add_plan_page(app, lambda *asked: observer.append(asked), "right")
        add_reassignment_page(app, observer.append, "right")
        pages = [
            f"/{page}/db/wal{query}" for page in ("ledger", "plan", "reassignment") for query in ("", "?key=wrong")
        ]
        async with TestClient(TestServer(app)) as client:
            return [(await client.get(page)).status for page in pages]

    assert asyncio.run(ask()) == [403] * 6
    assert observer == []


def test_metrics_and_probes_need_no_key() -> None:
    async def ask() -> list[int]:
        app = build_app(lambda: None, lambda: None, lambda: b"")
        add_plan_page(app, lambda *_: None, "right")
        async with TestClient(TestServer(app)) as client:
            return [(await client.get(page)).status for page in ("/metrics", "/healthz", "/readyz")]

    assert asyncio.run(ask()) == [200] * 3


def test_who_asks_while_a_plan_is_made_is_told_to_come_again() -> None:
    is_asked, may_end = threading.Event(), threading.Event()

    def plan_of(*_: object) -> None:
        is_asked.set()
        assert may_end.wait(60)

    async def ask() -> tuple[int, str, int]:
        app = web.Application()
        add_plan_page(app, plan_of, "right")
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
