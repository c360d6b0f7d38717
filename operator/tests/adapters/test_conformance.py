"""The conformance finds what a server does wrong, mistake by mistake; a server without any passes all of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from seawall.adapters.conformance.examine import CHECKS, Finding, Result, examine
from seawall.adapters.conformance.reading import followers_report, metadata_stay, one_database
from seawall.adapters.conformance.server import Broken, Server, Skipped
from seawall.adapters.conformance.writing import flush_flushes
from seawall.adapters.http_database import wire
from seawall.adapters.http_database.changes import FLUSHES_AT_ONCE
from seawall.domain.dataplane.connection import HTTPConnection
from tests.fakes.dataplane import FakeDataPlane, FakeMetadataStore, FakeRegion
from tests.support.contract_facade import Ask, Facade, Served, served, serving
from tests.support.contract_mistakes import (
    MISTAKES,
    OF_FOLLOWERS,
    OF_MARKERS,
    OF_OTHER_DATABASES,
    OF_REVISIONS,
    OF_ROUTES,
    Mistake,
    changing,
    has_a_head_that_lags,
    has_metadata_that_lag,
)

Make = Callable[[Facade], Ask]
FOLLOWED = 1024 << 32


def database() -> Facade:
    """With two topics; every region has flushed something, one has more in memory, and one has a standby."""
    store, fake = FakeMetadataStore(), FakeDataPlane()
    store.database = fake
    for number, topic in enumerate(("wal_0", "wal_1")):
        store.put_topic(topic, 2)
        for index in range(2):
            region = (1024 + number) << 32 | index
            fake.regions[region] = FakeRegion(index, flushed=7, last=9, memtable_bytes=64 * index)
            store.put_region(topic, region, leader=index, checkpoint=3)
    fake.followers[FOLLOWED, 1] = 5
    store.put_followers(FOLLOWED, 1)
    return Facade(fake, store, fake, "fake")


@contextmanager
def examiner(ask: Ask, *, may_write: bool) -> Iterator[Server]:
    """Who asks what is served so, and waits for nothing."""
    with serving(ask) as url:
        server = Server(HTTPConnection(url), may_write=may_write, pause=lambda _: None)
        yield server
        server.close()


def examined(ask: Ask, *, may_write: bool = True) -> list[Finding]:
    with examiner(ask, may_write=may_write) as server:
        return list(examine(server))


def results(found: list[Finding]) -> dict[str, Result]:
    return {each.check: each.result for each in found}


def test_a_server_that_keeps_the_contract_passes_all_of_it() -> None:
    found = examined(served(database()))
    assert [each for each in found if each.result is not Result.PASSED] == []
    assert len(found) == len(CHECKS)


def test_nothing_is_tried_that_nobody_allowed() -> None:
    facade = database()
    before = facade.store.head(), facade.data_plane.reports()[1].regions[0].data
    found = results(examined(served(facade), may_write=False))
    assert sum(result is Result.SKIPPED for result in found.values()) == 5
    assert (facade.store.head(), facade.data_plane.reports()[1].regions[0].data) == before


def test_what_is_not_declared_is_skipped_and_must_not_be_there() -> None:
    capabilities = wire.Capability(markers=False, durable_starts=True, flush=False, maintenance=False)
    found = examined(served(replace(database(), capabilities=capabilities)))
    assert {each.detail for each in found if each.result is Result.SKIPPED} == {
        f"the server declares no {name}" for name in ("markers", "flush", "maintenance")
    }
    assert not [each for each in found if each.result is Result.BROKEN]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.__name__)
def test_each_mistake_is_found(mistake: Mistake) -> None:
    found = examined(mistake(database()))
    assert [each.detail for each in found if each.result is Result.BROKEN], results(found)


@pytest.mark.parametrize("mistake", OF_FOLLOWERS, ids=lambda mistake: mistake.__name__)
def test_mistakes_with_followers_are_found_as_such(mistake: Mistake) -> None:
    assert results(examined(mistake(database())))["followers report"] is Result.BROKEN


@pytest.mark.parametrize("mistake", [has_a_head_that_lags, has_metadata_that_lag])
def test_a_revision_that_falls_is_found_as_such(mistake: Mistake) -> None:
    """Seawall takes no answer of a lower revision than it has read before."""
    assert results(examined(mistake(database())))["head is not behind"] is Result.BROKEN


@pytest.mark.parametrize("mistake", OF_ROUTES, ids=lambda mistake: mistake.__name__)
def test_a_region_that_moves_at_the_same_revision_is_found_as_such(mistake: Mistake) -> None:
    assert results(examined(mistake(database())))["routes have revisions"] is Result.BROKEN


@pytest.mark.parametrize("mistake", OF_REVISIONS, ids=lambda mistake: mistake.__name__)
def test_metadata_that_change_at_the_same_revision_are_found_as_such(mistake: Mistake) -> None:
    """To Seawall, metadata that lack what they had at this revision are no answer."""
    assert results(examined(mistake(database())))["metadata stay"] is Result.BROKEN


def test_metadata_in_another_order_are_the_same() -> None:
    def turned(found: Any) -> None:
        for name in ("regions", "topics", "nodes"):
            found[name] = found[name][:: -1 if next(asked) % 2 else 1]

    asked = count()
    with examiner(changing(database(), "/metadata", turned), may_write=False) as server:
        metadata_stay(server)


def test_metadata_that_change_with_their_revision_cannot_be_compared() -> None:
    def changed(found: Any) -> None:
        found["revision"] = found["topics"][0]["marker"] = next(asked)

    asked = count(100)
    with (
        examiner(changing(database(), "/metadata", changed), may_write=False) as server,
        pytest.raises(Skipped, match="changed each time"),
    ):
        metadata_stay(server)


@pytest.mark.parametrize(("mistake", "check"), OF_OTHER_DATABASES)
def test_a_change_for_another_database_is_found_as_such(mistake: Mistake, check: str) -> None:
    assert results(examined(mistake(database())))[check] is Result.BROKEN


@pytest.mark.parametrize("mistake", OF_MARKERS, ids=lambda mistake: mistake.__name__)
def test_a_topic_with_regions_and_without_a_marker_is_found_as_such(mistake: Mistake) -> None:
    """Nothing would ever be deleted from it, and nobody would learn why."""
    assert results(examined(mistake(database())))["markers are known"] is Result.BROKEN


def test_a_topic_that_nobody_uses_needs_no_marker() -> None:
    facade = database()
    assert isinstance(facade.store, FakeMetadataStore)
    facade.store.put_topic("wal_2", None)
    assert results(examined(served(facade)))["markers are known"] is Result.PASSED


def test_a_database_of_many_regions_is_flushed_in_parts_as_seawall_does() -> None:
    facade, sizes = database(), list[int]()
    assert isinstance(facade.data_plane, FakeDataPlane)
    for index in range(1_001):
        facade.data_plane.regions[2048 << 32 | index] = FakeRegion(0, flushed=7, last=9, memtable_bytes=64)
    ask = served(facade)

    def counted(method: str, at: str, body: bytes) -> Served:
        if at == "/flush":
            sizes.append(len(json.loads(body)["regions"]))
        return ask(method, at, body)

    with examiner(counted, may_write=True) as server:
        flush_flushes(server)
    assert sum(sizes[1:]) == 1_001 + 4 + 1, "all, and one that there is not"
    assert max(sizes) == FLUSHES_AT_ONCE
    assert not any(region.memtable_bytes for region in facade.data_plane.regions.values())


def test_two_answers_that_disagree_once_are_of_two_moments() -> None:
    """A follower opens anew, or a region moves, between the metadata and the reports: both are asked again."""
    asked = count(1)

    def is_away(found: Any) -> None:
        is_there = next(asked) % 4 == 0
        for node in found["nodes"]:
            node["regions"] = [each for each in node["regions"] if is_there or each["state"] != "Follower"]

    found = results(examined(changing(database(), "/reports", is_away)))
    assert found["followers report"] is Result.PASSED
    assert next(asked) > 4


def test_a_node_that_starts_elsewhere_between_two_answers_is_the_same_database() -> None:
    asked = count(1)

    def is_elsewhere_once(found: Any) -> None:
        if next(asked) == 1:
            found["nodes"][0]["address"] = "10.0.0.9:4001"

    with examiner(changing(database(), "/metadata", is_elsewhere_once), may_write=False) as server:
        one_database(server)
    assert next(asked) == 3


def test_an_answer_that_is_wrong_by_itself_is_not_asked_again() -> None:
    asked = count(1)

    def is_twice_once(found: Any) -> None:
        if next(asked) == 1:
            region = next(each for each in found["regions"] if each["followers"])
            region["followers"] *= 2

    with (
        examiner(changing(database(), "/metadata", is_twice_once), may_write=False) as server,
        pytest.raises(Broken, match="has a follower twice"),
    ):
        followers_report(server)


def test_without_followers_there_is_nothing_to_examine() -> None:
    facade = database()
    assert isinstance(facade.store, FakeMetadataStore)
    facade.store.put_followers(FOLLOWED)
    assert results(examined(served(facade)))["followers report"] is Result.SKIPPED


def test_there_are_more_than_ten_mistakes() -> None:
    assert len(MISTAKES) > 10
