"""Purges of a database that serves the contract over HTTP: by the adapter, and what the wire says beside the ports."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from seawall.adapters.http_database import reading
from seawall.observe.opened_cluster import ClusterOpener
from tests.fakes.dataplane import FakeMetadataStore
from tests.purge.test_purge_by_contract import markers
from tests.purge.test_purge_run import FULL, NOTHING, skipped
from tests.support.contract_facade import Ask, Served, served
from tests.support.contract_mistakes import changing
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.contract_world import ALL, ServedWorld
from tests.worlds.purge_world import Calls


def test_by_markers_it_announces_and_deletes() -> None:
    world = ServedWorld(capabilities=ALL)
    world.start_run()
    with world.serving():
        assert skipped(world.settle()) == {}
    assert world.log_starts() == FULL
    assert world.store.head().claims == {"wal": world.cluster().metadata.uid}
    assert markers(world) != {0}


def answers_changes(world: ServedWorld, copy: FakeMetadataStore) -> Ask:
    """The Service leads to a copy of the database, too, which is asked what is to be written into metadata."""
    original, other = served(world.facade()), served(world.facade(copy))

    def ask(method: str, path: str, body: bytes) -> Served:
        return (other if path in {"/claims", "/markers"} else original)(method, path, body)

    return ask


@pytest.mark.parametrize("claimed", [True, False])
def test_in_a_copy_that_the_url_leads_to_no_marker_moves_and_nothing_is_claimed(*, claimed: bool) -> None:
    world = ServedWorld(capabilities=ALL)
    if claimed:
        world.store.put_claim("wal", world.cluster().metadata.uid)
    copy, calls = world.store.copied(), Calls(world.check)
    before = copy.head()
    world.ask = answers_changes(world, copy)
    world.start_run()
    with world.serving():
        world.settle(world.process(calls), ticks=60)
    assert ("advance_markers" if claimed else "claim") in calls.names
    assert copy.head() == before
    assert (world.log_starts(), markers(world)) == (NOTHING, {0})


@pytest.mark.parametrize("by_route", [True, False])
def test_checkpoints_take_no_evidence_away_where_routes_have_revisions(*, by_route: bool) -> None:
    """At each observation every region has another checkpoint; its leader is who it was."""
    world = ServedWorld()
    if not by_route:
        world.ask = changing(world.facade(), "/metadata", without_revisions_of_routes)
    calls = Calls(world.check)

    def checkpoint(name: str) -> None:
        if name == "snapshot":
            for topic, region in world.store.snapshot().region_keys:
                world.store.put_checkpoint(topic, region, world.data_plane.regions[region].flushed)

    calls.before = checkpoint
    world.start_run()
    with world.serving():
        world.settle(world.process(calls), ticks=150)
    assert world.log_starts() == (FULL if by_route else NOTHING)


def without_revisions_of_routes(found: dict[str, list[dict[str, object]]]) -> None:
    for region in found["regions"]:
        del region["routeRevision"]


def test_each_guard_is_missed() -> None:
    def any_route() -> None:
        test_checkpoints_take_no_evidence_away_where_routes_have_revisions(by_route=True)

    def nobody_is_meant() -> Callable[[pytest.MonkeyPatch], None]:
        return rewritten(ClusterOpener, "_connect", "Pin.of(cluster.status.data_plane).identity", "None")

    by_region = rewritten(reading, "_route", "if region.route_revision is None", "if True")
    mutants = (
        (nobody_is_meant(), test_by_markers_it_announces_and_deletes),
        (by_region, any_route),
    )
    assert find_survivors(mutants) == []
