"""`/ledger/<namespace>/<name>` and `/plan/<namespace>/<name>`: for `seawall ledger` and `seawall purge --dry-run`.

Topic names and offsets, no records. Only the leader looks, so only the leader has answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from aiohttp import web

from seawall.api.meta import Key
from seawall.domain.errors import Refused, SeawallError
from seawall.domain.ledger.looked import CannotLook
from seawall.domain.ledger.page import LedgerPage
from seawall.domain.purge.preview import PlannedRun

Latest = Callable[[Key], LedgerPage | CannotLook | None]
Plan = Callable[[Key, Sequence[str]], PlannedRun | CannotLook | None]


def add_ledger_page(app: web.Application, latest: Latest) -> None:
    """Serves the newest look at a ledger."""

    async def answer(request: web.Request) -> web.Response:
        return _answer(latest(_key(request)))

    app.router.add_get("/ledger/{namespace}/{name}", answer)


def add_plan_page(app: web.Application, plan: Plan) -> None:
    """Serves what a run would do; one look at a time, however many ask."""
    one_at_a_time = asyncio.Lock()

    async def answer(request: web.Request) -> web.Response:
        async with one_at_a_time:
            try:
                return _answer(await asyncio.to_thread(plan, _key(request), request.query.getall("topic", [])))
            except Refused as error:
                raise web.HTTPBadRequest(text=str(error)) from error
            except SeawallError as error:
                raise web.HTTPServiceUnavailable(text=str(error)) from error

    app.router.add_get("/plan/{namespace}/{name}", answer)


def _key(request: web.Request) -> Key:
    return Key(request.match_info["namespace"], request.match_info["name"])


def _answer(found: LedgerPage | PlannedRun | CannotLook | None) -> web.Response:
    if found is None:
        raise web.HTTPNotFound(text="no look at this WALCluster's ledger has ended yet, or this is not the leader")
    if isinstance(found, CannotLook):
        return web.json_response({"cannotLook": found.why.value, "message": found.message})
    return web.json_response(found.to_json())
