"""Where the page is served: below `/ui/`, to people who show who they are."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

from seawall.api.meta import Key
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.overview.browser import HEADERS
from seawall.handlers.access import Gate
from seawall.handlers.ui import render
from seawall.handlers.ui.reading import Reading

NUMBER = re.compile(r"[0-9]{1,6}")
"""Of a page of topics."""
Answer = Callable[[web.Request], Awaitable[web.Response]]


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages, from what a person may read."""

    reading: Reading
    gate: Gate

    async def index(self, request: web.Request) -> web.Response:
        """All WALClusters."""
        found = await asyncio.to_thread(self.reading.clusters, self.gate.identify(request))
        return _html(render.index(found, self.reading.clock.now()))

    async def cluster(self, request: web.Request) -> web.Response:
        """One of them."""
        key = Key(request.match_info["namespace"], request.match_info["name"])
        snapshot = await asyncio.to_thread(self.reading.cluster, self.gate.identify(request), key)
        if snapshot is None:
            raise web.HTTPNotFound(text=f"There is no WALCluster {key}, or you may not see it.")
        glob, number = request.query.get("topic", ""), request.query.get("page", "")
        page = int(number) if NUMBER.fullmatch(number) else 1
        return _html(await asyncio.to_thread(render.cluster, snapshot, self.reading.latest(key), glob, page))

    async def reason(self, request: web.Request) -> web.Response:
        """What to do about a reason."""
        await self.gate.require_known(request)
        word = request.match_info["word"]
        found = render.reason(word, self.reading.clock.now())
        if found is None:
            raise web.HTTPNotFound(text=f"{word} is no reason, state or condition of Seawall's.")
        return _html(found)

    def with_problems(self, page: Answer, root: str) -> Answer:
        """The same, with what is wrong as a page."""

        async def answer(request: web.Request) -> web.Response:
            try:
                return await page(request)
            except web.HTTPException as error:
                status, sentence = error.status, error.text or error.reason
            except Refused as error:
                status, sentence = 403, str(error)
            except OutsideUnavailable as error:
                status, sentence = 503, str(error)
            return _html(render.problem(sentence, root, self.reading.clock.now()), status)

        return answer


def add_ui(app: web.Application, reading: Reading, gate: Gate) -> None:
    """Serves the pages."""
    pages = Pages(reading, gate)
    app.router.add_get("/ui/", pages.with_problems(pages.index, "./"))
    app.router.add_get("/ui/style.css", _style)
    app.router.add_get("/ui/walclusters/{namespace}/{name}", pages.with_problems(pages.cluster, "../../"))
    app.router.add_get("/ui/reasons/{word}", pages.with_problems(pages.reason, "../"))


async def _style(_: web.Request) -> web.Response:
    return web.Response(text=render.style(), content_type="text/css", headers=HEADERS)


def _html(text: str, status: int = 200) -> web.Response:
    return web.Response(text=text, status=status, content_type="text/html", charset="utf-8", headers=HEADERS)
