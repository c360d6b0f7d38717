"""`/healthz`, `/readyz` and `/metrics`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import web


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
