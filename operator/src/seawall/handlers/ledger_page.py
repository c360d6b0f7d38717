"""`/ledger/<namespace>/<name>`: the newest look at a ledger, for `seawall ledger`. Only the leader has one."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web

from seawall.api.meta import Key
from seawall.domain.ledger.looked import CannotLook
from seawall.domain.ledger.page import LedgerPage

Latest = Callable[[Key], LedgerPage | CannotLook | None]


def add_ledger_page(app: web.Application, latest: Latest) -> None:
    """Serves the page: topic names and offsets, no records."""

    async def answer(request: web.Request) -> web.Response:
        page = latest(Key(request.match_info["namespace"], request.match_info["name"]))
        if page is None:
            raise web.HTTPNotFound(text="no look at this WALCluster's ledger has ended yet, or this is not the leader")
        if isinstance(page, CannotLook):
            return web.json_response({"cannotLook": page.why.value, "message": page.message})
        return web.json_response(page.to_json())

    app.router.add_get("/ledger/{namespace}/{name}", answer)
