"""The browser, and a server with the pages of stories."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from aiohttp import web
from playwright.sync_api import Browser

from tests.support.browser import headless_chromium


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One for all tests of a file."""
    with headless_chromium() as browser:
        yield browser


@contextmanager
def served(app: web.Application) -> Iterator[str]:
    """Serves an application from a thread of its own; gives its address."""
    ready, stop = threading.Event(), asyncio.Event()
    told: dict[str, Any] = {}

    async def serve() -> None:
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        told["address"], told["loop"] = f"http://127.0.0.1:{runner.addresses[0][1]}/", asyncio.get_running_loop()
        ready.set()
        await stop.wait()
        await runner.cleanup()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(30)
    try:
        yield told["address"]
    finally:
        told["loop"].call_soon_threadsafe(stop.set)
        thread.join(30)


Serve = Callable[[web.Application], str]
