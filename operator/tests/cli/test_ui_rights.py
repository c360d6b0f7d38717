"""Who sees what on the page of `seawall ui`: each kind, each WALCluster, as the person may read it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from seawall.api.meta import Key
from seawall.api.pages import PERSON_HEADER
from seawall.domain.overview.snapshot import Leader
from seawall.handlers.access import Gate
from seawall.handlers.ui.reading import Reading
from seawall.handlers.ui.routes import add_ui
from seawall.ports import Access
from tests.cli.status_stories import NAMESPACE, STORIES, WAL, api_server
from tests.fakes.access import FakeAccessReviews
from tests.support.clock import Time

CLUSTER, OTHER = f"/ui/walclusters/{WAL.namespace}/{WAL.name}", "/ui/walclusters/secret/plans"
GET_WAL = Access("get", "walclusters", NAMESPACE, WAL.name)
HOLD = "backup of the night"
"""What a WALHold of the story says."""


def look(may: Sequence[Access], *paths: str) -> list[tuple[int, str]]:
    """Status and text of what Ada gets to see of the story's WALCluster, and of one in another namespace."""
    kube = api_server(STORIES["moving"])
    spec = {"kafka": {"external": {"bootstrapServers": ["kafka:9092"]}}, "topics": {"prefix": "wal", "count": 4}}
    kube.apply(Key("secret", "plans"), spec)

    async def ask() -> list[tuple[int, str]]:
        app = web.Application()
        reading = Reading(kube, lambda _: None, lambda: Leader("seawall/seawall"), Time())
        add_ui(app, reading, Gate(FakeAccessReviews(ada=may), None))
        async with TestClient(TestServer(app)) as client:
            found = [await client.get(path, headers={PERSON_HEADER: "Bearer ada"}) for path in paths]
            return [(answer.status, await answer.text()) for answer in found]

    return asyncio.run(ask())


def test_who_may_get_one_sees_one_and_of_it_what_they_may_list() -> None:
    (index, one, other) = look([GET_WAL], "/ui/", CLUSTER, OTHER)
    assert (index[0], "db/wal" in index[1], "secret/plans" in index[1]) == (200, True, False)
    assert (one[0], "walholds could not be read: you may not list walholds" in one[1], HOLD in one[1]) == (
        200,
        True,
        False,
    )
    assert other[0] == 404
    assert "secret/plans, or you may not see it" in other[1]


def test_who_may_list_holds_sees_them() -> None:
    ((status, text),) = look([GET_WAL, Access("list", "walholds", NAMESPACE)], CLUSTER)
    assert (status, HOLD in text, "walholds could not be read" in text) == (200, True, False)
    assert "walpurges could not be read" in text


def test_who_may_list_a_namespace_sees_its_walclusters() -> None:
    ((_, text),) = look([Access("list", "walclusters", "secret")], "/ui/")
    assert ("db/wal" in text, "secret/plans" in text) == (False, True)
    ((_, text),) = look([Access("list", "walclusters", "")], "/ui/")
    assert ("db/wal" in text, "secret/plans" in text) == (True, True)
    ((_, text),) = look([], "/ui/")
    assert "no WALCluster that you may see" in text
