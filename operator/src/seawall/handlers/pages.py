"""What is served: `/healthz`, `/readyz`, `/metrics`, and the pages of `seawall ledger`, `purge --dry-run`, `plan`.

Topic names and offsets, no records. Only the leader looks, so only the leader has answers.

They share a port with probes and metrics, which every pod may reach, and come by the API server's proxy, which does not
say who asks. So each process has a key, which the leader writes into its Lease: whoever may read the Lease is answered.
"""

from __future__ import annotations

import asyncio
import hmac
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


def build_app(
    is_healthy: Callable[[], str | None], is_ready: Callable[[], str | None], metrics: Callable[[], bytes]
) -> web.Application:
    """The HTTP application. The two checks return None when all is well, else what is wrong."""

    async def metrics_page(_: web.Request) -> web.Response:
        headers = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
        return web.Response(body=metrics(), headers=headers)

    app = web.Application()
    app.router.add_get("/healthz", _probe(is_healthy))
    app.router.add_get("/readyz", _probe(is_ready))
    app.router.add_get("/metrics", metrics_page)
    return app


def _probe(check: Callable[[], str | None]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(_: web.Request) -> web.Response:
        problem = check()
        return web.Response(text=problem or "ok", status=503 if problem else 200)

    return answer


Latest = Callable[[Key], LedgerPage | Unavailable | None]
Plan = Callable[[Key, Sequence[str]], PlannedRun | Unavailable | None]
PlanMoves = Callable[[Key], PlannedReassignment | None]


def add_ledger_page(app: web.Application, latest: Latest, key: str) -> None:
    """Serves the newest look at a ledger to whoever has the key."""

    async def answer(request: web.Request) -> web.Response:
        _require_key(request, key)
        return _answer(latest(_key(request)))

    app.router.add_get("/ledger/{namespace}/{name}", answer)


def add_plan_page(app: web.Application, plan: Plan, key: str) -> None:
    """Serves what a run would do; one look at a time: who comes meanwhile is told to come again."""
    one_at_a_time = asyncio.Lock()

    async def answer(request: web.Request) -> web.Response:
        _require_key(request, key)
        _require_free(one_at_a_time)
        async with one_at_a_time:
            return await _observed(partial(plan, _key(request), request.query.getall("topic", [])))

    app.router.add_get("/plan/{namespace}/{name}", answer)


def add_reassignment_page(app: web.Application, plan: PlanMoves, key: str) -> None:
    """Serves what a reassignment moves, or would move; one look at a time, too."""
    one_at_a_time = asyncio.Lock()

    async def answer(request: web.Request) -> web.Response:
        _require_key(request, key)
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


def _require_key(request: web.Request, key: str) -> None:
    if not hmac.compare_digest(request.query.get("key", "").encode(), key.encode()):
        raise web.HTTPForbidden(
            text="not this process's key: the command reads it from the leader's Lease; is it as new as the operator?"
        )


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
