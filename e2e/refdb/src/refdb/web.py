"""HTTP, both ways: servers whose handlers are plain functions in threads, and a client for the other roles."""

from __future__ import annotations

import asyncio
import functools
import logging
import ssl
import time
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
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


Guard = Callable[[str | None], Any]
"""Takes the Authorization header of a request; who it is goes to the handler as `user`."""
GUARDED, PUBLIC = "/v1/", "/v1/health"
"""Of GreptimeDB's paths only those under /v1/ want a user, but for the health."""


class Text(str):
    """An answer that is no JSON."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class TlsPort:
    """Where to listen with TLS as well: GreptimeDB has none for HTTP, so this stands for a proxy before it.

    Attributes:
        address: host:port.
        cert: file of a certificate chain, PEM.
        key: file of its private key, PEM.
        client_ca: file of the CA whose certificates clients must show; "" asks for none.
    """

    address: str
    cert: str
    key: str
    client_ca: str = ""

    def context(self) -> ssl.SSLContext:
        """The server's side."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            context.load_cert_chain(self.cert, self.key)
            if self.client_ca:
                context.load_verify_locations(self.client_ca)
                context.verify_mode = ssl.CERT_REQUIRED
        except OSError as error:
            raise invalid(f"--https: {error}") from None
        return context


def application(routes: Mapping[str, Handler], guard: Guard | None = None) -> web.Application:
    """Routes are written as `POST /path/{name}`. Answers are JSON, errors are GreptimeDB's."""
    # asyncio's own pool has six threads on two cores: so few calls that wait would stop heartbeats, and all leases.
    app, pool = web.Application(client_max_size=MAX_BODY), ThreadPoolExecutor(THREADS)
    for route, handler in {"GET /health": _health, "GET /v1/health": _health, **routes}.items():
        method, path = route.split()
        app.router.add_route(method, path, _served(handler, pool, guard))
    return app


def serve(app: web.Application, address: str, tls: TlsPort | None = None, also: str = "") -> None:
    """Listens until the process ends, at one address or two, and with TLS beside them."""
    host, port = address.rsplit(":", 1)
    if tls is not None:
        app.cleanup_ctx.append(_beside(tls.address, tls.context))
    if also:
        app.cleanup_ctx.append(_beside(also, lambda: None))
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)
    web.run_app(app, host=host, port=int(port), print=None, shutdown_timeout=1, reuse_address=True)


def _beside(
    address: str, context: Callable[[], ssl.SSLContext | None]
) -> Callable[[web.Application], AsyncIterator[None]]:
    """The same routes at a second port."""

    async def listen(app: web.Application) -> AsyncIterator[None]:
        twin = web.Application(client_max_size=MAX_BODY)
        for route in app.router.routes():
            if route.resource is not None:
                twin.router.add_route(route.method, route.resource.canonical, route.handler)
        runner = web.AppRunner(twin, access_log=None)
        await runner.setup()
        host, port = address.rsplit(":", 1)
        await web.TCPSite(runner, host, int(port), ssl_context=context(), reuse_address=True).start()
        yield
        await runner.cleanup()

    return listen


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


def _served(handler: Handler, pool: ThreadPoolExecutor, guard: Guard | None) -> Callable[[web.Request], Any]:
    async def serve_request(request: web.Request) -> web.Response:
        started = time.monotonic()
        try:
            user = {} if guard is None or not _wants_user(request.path) else {"user": guard(_authorization(request))}
            call = functools.partial(handler, **{**await _arguments(request), **user})
            found = await asyncio.get_running_loop().run_in_executor(pool, call)
            return web.Response(text=found) if isinstance(found, Text) else web.json_response(found)
        except DatabaseError as error:
            code, message = error.code, str(error)
        except Exception as error:
            LOG.exception("%s %s", request.method, request.path)
            code, message = StatusCode.INTERNAL, f"{type(error).__name__}: {error}"
        took = int((time.monotonic() - started) * 1000)
        body = {"code": int(code), "error": message, "execution_time_ms": took}
        return web.json_response(body, status=code.http_status)

    return serve_request


def _wants_user(path: str) -> bool:
    return path.startswith(GUARDED) and not path.startswith(PUBLIC)


def _authorization(request: web.Request) -> str | None:
    """GreptimeDB's own header counts first."""
    return request.headers.get("x-greptime-auth", request.headers.get("Authorization"))


async def _arguments(request: web.Request) -> dict[str, Any]:
    try:
        arguments: dict[str, Any] = {**request.query, **{name: int(text) for name, text in request.match_info.items()}}
        if request.content_type == "application/x-www-form-urlencoded":
            return arguments | dict(await request.post())
        return arguments | (await request.json() if request.can_read_body else {})
    except (TypeError, ValueError) as error:
        raise invalid(f"the request cannot be read: {error}") from None
