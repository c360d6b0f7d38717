"""A person stopped something, and the annotation is gone: that is told, because from then on all goes on."""

from __future__ import annotations

from typing import Any

import pytest

from seawall.domain.cluster import decide, stops
from seawall.domain.cluster import status as status_module
from seawall.domain.step import Event
from tests.cluster.test_topic_deletion import controller, live
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.purge_world import CLUSTER, WAL, World

STOP, PAUSED = "seawall.dev/stop-deletes", "seawall.dev/paused"


def stopped(*annotations: str, spec: dict[str, Any] = CLUSTER) -> World:
    """A WALCluster that was ready, and on which a person has set these since."""
    world = World()
    world.kube.apply(WAL, spec)
    live(world, ticks=6)
    annotate(world, *annotations, spec=spec)
    live(world, ticks=3)
    assert not told(world), "that they are set is no news"
    return world


def annotate(world: World, *annotations: str, spec: dict[str, Any] = CLUSTER) -> None:
    world.kube.apply(WAL, spec, annotations=dict.fromkeys(annotations, "true"))


def told(world: World) -> list[Event]:
    return [event for event in world.kube.events if event.reason == "StopRemoved"]


def the_only(events: list[Event]) -> Event:
    assert len(events) == 1
    return events[0]


@pytest.mark.parametrize("annotation", [STOP, PAUSED])
def test_a_stop_that_is_gone_is_told_once(annotation: str) -> None:
    world = stopped(annotation)
    assert world.cluster().status.stops == (annotation,)
    annotate(world)
    live(world, ticks=6)
    event = the_only(told(world))
    assert event.type == "Warning"
    assert event.message.startswith(f"{annotation} is not set any more, and what it stopped goes on")
    assert world.cluster().status.stops == ()


def test_another_operator_tells_it_and_kafka_need_not_answer() -> None:
    world = stopped(STOP, PAUSED)
    world.kafka.offline |= set(world.kafka.brokers)
    annotate(world, PAUSED)
    live(world, controller(world), ticks=3)
    event = the_only(told(world))
    assert event.message.startswith(f"{STOP} is not set any more")
    assert world.cluster().status.stops == (PAUSED,)


def test_both_are_told_at_once() -> None:
    world = stopped(STOP, PAUSED)
    annotate(world)
    live(world, ticks=3)
    event = the_only(told(world))
    assert event.message.startswith(f"{PAUSED} and {STOP} is not set any more")


def test_an_invalid_spec_hides_it_from_nobody() -> None:
    broken = {**CLUSTER, "topics": {**CLUSTER["topics"], "count": 0}}
    world = stopped(STOP)
    annotate(world, spec=broken)
    live(world, ticks=3)
    assert len(told(world)) == 1


def test_a_pause_that_says_no_stops_nothing() -> None:
    world = stopped()
    world.kube.apply(WAL, CLUSTER, annotations={PAUSED: "false"})
    live(world, ticks=3)
    annotate(world)
    live(world, ticks=3)
    assert not told(world)
    assert world.cluster().status.stops == ()


def test_what_tells_of_a_stop_is_needed() -> None:
    def told_once() -> None:
        test_a_stop_that_is_gone_is_told_once(STOP)

    mutants: tuple[Mutant, ...] = (
        (rewritten(status_module, "status_of", "stops=stops_of(case.cluster),", "", decide), told_once),
        (
            rewritten(status_module, "status_without_pool", "stops=stops_of(cluster),", "stops=cluster.status.stops,"),
            test_another_operator_tells_it_and_kafka_need_not_answer,
        ),
        (rewritten(stops, "stop_event", "if not gone:", "if gone:", status_module), told_once),
        (
            rewritten(
                stops, "stops_of", "metadata.is_paused", "PAUSED_ANNOTATION in metadata.annotations", status_module
            ),
            test_a_pause_that_says_no_stops_nothing,
        ),
    )
    assert find_survivors(mutants) == []
