"""Markers only rise: one that is lower than this process has read is of an older copy of the metadata."""

from __future__ import annotations

from dataclasses import replace

from seawall.controllers.ledger import LedgerWatch
from seawall.domain.ledger import assess, identities
from seawall.domain.ledger.reasons import Reason
from tests.ledger.test_ledger_watch import look, until, watch
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.purge_world import TOPICS, World


def restored() -> tuple[World, LedgerWatch]:
    """An older copy whose revision was raised beyond all that there were, as etcd's `--bump-revision` does."""
    world = World(auto_prune="Logical")
    watching = watch(world)
    for region in world.data_plane.regions:
        world.flush(region)
    put_markers(world, 20)
    look(world, watching, times=3)
    copy = world.store._now
    put_markers(world, 30)
    assert look(world, watching, times=3).damaged() == ()
    world.store._now = replace(copy, revision=10**9)
    world.markers.clear()  # whoever restored it lowered them
    return world, watching


def put_markers(world: World, marker: int) -> None:
    for topic in TOPICS:
        world.store.put_topic(topic, marker)


def test_a_marker_that_went_back_stops_everything_until_a_person_says_that_it_is_right() -> None:
    world, watching = restored()
    page = look(world, watching, times=2)
    assert {line.reason for line in page.lines} == {Reason.FENCE_BROKEN}
    assert "the pruned marker of wal_0 went back from 30 to 20" in page.lines[0].message
    assert {record.broken for record in world.records().values()} == {True}
    world.annotate(readopt=until(world, 2))
    assert look(world, watching, times=3).damaged() == ()
    put_markers(world, 25)
    assert look(world, watching, times=3).damaged() == ()


def test_a_marker_that_is_gone_for_a_moment_has_not_gone_back() -> None:
    world, watching = restored()
    world.store._now = replace(world.store._now, topics={})
    look(world, watching, times=2)
    put_markers(world, 30)
    assert look(world, watching, times=3).damaged() == ()


def test_the_guards_are_missed() -> None:
    story = test_a_marker_that_went_back_stops_everything_until_a_person_says_that_it_is_right
    mutants = (
        rewritten(identities, "identify", "fallen is not None", "False"),
        rewritten(identities, "remembered_markers", " if name not in adopted", "", assess),
    )
    assert find_survivors([(mutant, story) for mutant in mutants]) == []
