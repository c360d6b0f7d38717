"""Of two served namespaces one answers 403: a WALCluster there may own these topics, or move replicas."""

from __future__ import annotations

import pytest

from seawall.observe import opened_cluster
from tests.worlds.reassignment_world import World

ROUNDS = 20
WHY = "the WALClusters of namespace away cannot be read, and one of them may own these topics"


def wait_in_line() -> World:
    """A run is planned, and would begin."""
    world = World()
    world.declare(replicationFactor=3)
    world.settle(until=lambda: world.stage() == "Pending")
    return world


def test_a_run_waits_and_says_why_until_all_are_read() -> None:
    world = wait_in_line()
    world.kube.unreadable = ("away",)
    world.rounds(ROUNDS)
    assert (world.stage(), world.run().message) == ("Pending", WHY)
    assert world.factors() == {1}
    world.kube.unreadable = ()
    world.settle()
    assert (world.stage(), world.factors()) == ("Completed", {3})


def test_it_is_that_nobody_knows_the_owner_which_holds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opened_cluster, "why_owner_unknown", lambda _: None)
    world = wait_in_line()
    world.kube.unreadable = ("away",)
    world.rounds(ROUNDS)
    assert world.stage() != "Pending"
