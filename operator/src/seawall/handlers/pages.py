"""What is served on three ports: `/healthz` and `/readyz` for the kubelet, `/metrics`, and pages for people.

Pages have names of topics and offsets, no records. Only the leader looks, so only the leader has answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from aiohttp import web

from seawall.api.meta import Key
from seawall.domain.errors import Refused, SeawallError
from seawall.domain.ledger.observation import Unavailable
from seawall.domain.ledger.page import LedgerPage
from seawall.domain.purge.preview import PlannedRun
from seawall.domain.reassignment.preview import PlannedReassignment
from seawall.domain.times import LEDGER_PAGE_RETRY_SECONDS
from seawall.handlers.access import Gate
from seawall.handlers.ui.reading import Reading
from seawall.handlers.ui.routes import add_ui


def build_probes(is_healthy: Callable[[], str | None], is_ready: Callable[[], str | None]) -> web.Application:
    """What the kubelet asks, who shows nobody's token. The checks return None when all is well, else what is wrong."""
    app = web.Application()
    app.router.add_get("/healthz", _probe(is_healthy))
    app.router.add_get("/readyz", _probe(is_ready))
    return app


Metrics = Callable[[], bytes]


def build_metrics(metrics: Metrics, gate: Gate | None) -> web.Application:
    """What Prometheus asks. Without a gate it is for whoever reaches the port."""
    app = web.Application()
    add_metrics_page(app, metrics, gate)
    return app


def add_metrics_page(app: web.Application, metrics: Metrics, gate: Gate | None) -> None:
    """Serves metrics to whoever may get `/metrics`."""

    async def answer(request: web.Request) -> web.Response:
        if gate is not None:
            await gate.require_metrics(request)
        headers = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
        return web.Response(body=metrics(), headers=headers)

    app.router.add_get("/metrics", answer)


def _probe(check: Callable[[], str | None]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(_: web.Request) -> web.Response:
        problem = check()
        return web.Response(text=problem or "ok", status=503 if problem else 200)

    return answer


Latest = Callable[[Key], LedgerPage | Unavailable | None]
Plan = Callable[[Key, Sequence[str]], PlannedRun | Unavailable | None]
PlanMoves = Callable[[Key], PlannedReassignment | None]


def build_pages(gate: Gate, reading: Reading, plan: Plan, moves: PlanMoves, metrics: Metrics) -> web.Application:
    """All that is served to people."""
    app = web.Application()
    add_metrics_page(app, metrics, gate)
    add_ledger_page(app, reading.latest, gate)
    add_plan_page(app, plan, gate)
    add_reassignment_page(app, moves, gate)
    add_ui(app, reading, gate)
    return app


def add_ledger_page(app: web.Application, latest: Latest, gate: Gate) -> None:
    """Serves the newest look at a ledger to whoever may read the WALCluster."""

    async def answer(request: web.Request) -> web.Response:
        await gate.require(request, _key(request))
        return _answer(latest(_key(request)))

    app.router.add_get("/ledger/{namespace}/{name}", answer)


def add_plan_page(app: web.Application, plan: Plan, gate: Gate) -> None:
    """Serves what a run would do; one look at a time: who comes meanwhile is told to come again."""
    one_at_a_time = asyncio.Lock()

    async def answer(request: web.Request) -> web.Response:
        await gate.require(request, _key(request))
        _require_free(one_at_a_time)
        async with one_at_a_time:
            return await _observed(partial(plan, _key(request), request.query.getall("topic", [])))

    app.router.add_get("/plan/{namespace}/{name}", answer)


def add_reassignment_page(app: web.Application, plan: PlanMoves, gate: Gate) -> None:
    """Serves what a reassignment moves, or would move; one look at a time, too."""
    one_at_a_time = asyncio.Lock()

    async def answer(request: web.Request) -> web.Response:
        await gate.require(request, _key(request))
        _require_free(one_at_a_time)
        async with one_at_a_time:
            return await _observed(partial(plan, _key(request)))

    app.router.add_get("/reassignment/{namespace}/{name}", answer)


async def _observed(observe: Callable[[], PlannedRun | PlannedReassignment | Unavailable | None]) -> web.Response:
    """What a look that blocks came to."""
    try:
        return _answer(await asyncio.to_thread(observe))
    except Refused as error:
        raise web.HTTPBadRequest(text=str(error)) from error
    except SeawallError as error:
        raise web.HTTPServiceUnavailable(text=str(error)) from error


def _require_free(one_at_a_time: asyncio.Lock) -> None:
    """A queue of looks would load Kafka and the database for as long as people are impatient."""
    if one_at_a_time.locked():
        raise web.HTTPServiceUnavailable(
            text=f"another plan is being made: try again in {LEDGER_PAGE_RETRY_SECONDS} s",
            headers={"Retry-After": str(LEDGER_PAGE_RETRY_SECONDS)},
        )


def _key(request: web.Request) -> Key:
    return Key(request.match_info["namespace"], request.match_info["name"])


def _answer(found: LedgerPage | PlannedRun | PlannedReassignment | Unavailable | None) -> web.Response:
    if found is None:
        raise web.HTTPNotFound(
            text="no such WALCluster, no look at its ledger has ended yet, or this is not the leader"
        )
    if isinstance(found, Unavailable):
        return web.json_response({"cannotLook": found.why.value, "message": found.message})
    return web.json_response(found.to_json())
