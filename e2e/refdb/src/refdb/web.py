"""HTTP, both ways: servers whose handlers are plain functions in threads, and a client for the other roles."""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import urllib3
from aiohttp import web

from refdb.errors import DatabaseError, StatusCode, Unavailable, invalid

LOG = logging.getLogger("refdb.web")
NOTE = "refdb is a test database: do not keep data in it"
MAX_BODY = 64 * 2**20
THREADS = 64

Handler = Callable[..., Any]
"""Takes what a request says by name: numbers in its path, texts of its query and form, members of its JSON body."""


class Text(str):
    """An answer that is no JSON."""

    __slots__ = ()


def application(routes: Mapping[str, Handler]) -> web.Application:
    """Routes are written as `POST /path/{name}`. Answers are JSON, errors are GreptimeDB's."""
    # asyncio's own pool has six threads on two cores: so few calls that wait would stop heartbeats, and all leases.
    app, pool = web.Application(client_max_size=MAX_BODY), ThreadPoolExecutor(THREADS)
    for route, handler in {"GET /health": _health, "GET /v1/health": _health, **routes}.items():
        method, path = route.split()
        app.router.add_route(method, path, _served(handler, pool))
    return app


def serve(app: web.Application, address: str) -> None:
    """Listens until the process ends."""
    host, port = address.rsplit(":", 1)
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)
    web.run_app(app, host=host, port=int(port), print=None, shutdown_timeout=1, reuse_address=True)


class Client:
    """Asks other roles. What does not answer is `Unavailable`; what refuses, refuses here with the same code."""

    def __init__(self, timeout: float = 30.0) -> None:
        self._pool, self._timeout = urllib3.PoolManager(maxsize=THREADS, retries=False), timeout

    def post(self, address: str, path: str, timeout: float | None = None, **body: Any) -> Any:
        """Sends JSON and returns the answer's."""
        limits = urllib3.Timeout(connect=2, read=timeout or self._timeout)
        try:
            answer = self._pool.request("POST", f"http://{address}{path}", json=body, timeout=limits)
            data = answer.json()
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise Unavailable(f"{address} does not answer ({type(error).__name__})") from None
        if answer.status != 200:  # noqa: PLR2004 - OK
            raise DatabaseError(StatusCode(data["code"]), str(data["error"]))
        return data


def _health(**_: str) -> Any:
    return {"note": NOTE}


def _served(handler: Handler, pool: ThreadPoolExecutor) -> Callable[[web.Request], Any]:
    async def serve_request(request: web.Request) -> web.Response:
        started = time.monotonic()
        try:
            call = functools.partial(handler, **await _arguments(request))
            found = await asyncio.get_running_loop().run_in_executor(pool, call)
            return web.Response(text=found) if isinstance(found, Text) else web.json_response(found)
        except DatabaseError as error:
            code, message = error.code, str(error)
        except Exception as error:
            LOG.exception("%s %s", request.method, request.path)
            code, message = StatusCode.INTERNAL, f"{type(error).__name__}: {error}"
        took = int((time.monotonic() - started) * 1000)
        body = {"code": int(code), "error": message, "execution_time_ms": took}
        return web.json_response(body, status=500 if code is StatusCode.INTERNAL else 400)

    return serve_request


async def _arguments(request: web.Request) -> dict[str, Any]:
    try:
        arguments: dict[str, Any] = {**request.query, **{name: int(text) for name, text in request.match_info.items()}}
        if request.content_type == "application/x-www-form-urlencoded":
            return arguments | dict(await request.post())
        return arguments | (await request.json() if request.can_read_body else {})
    except (TypeError, ValueError) as error:
        raise invalid(f"the request cannot be read: {error}") from None
