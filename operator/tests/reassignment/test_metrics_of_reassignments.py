"""What Prometheus reads of a reassignment while it goes on, and when it is over."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest

from seawall.handlers.metrics.reassignment import ReassignmentTelemetry
from tests.worlds.reassignment_world import WAL, World


def reported(world: World) -> list[str]:
    """The series of what the controller measured last."""
    registry = CollectorRegistry()
    run, throttled = world.meters.reassignments[WAL]
    ReassignmentTelemetry(registry).measure_reassignment(WAL, run, throttled)
    lines = generate_latest(registry).decode().splitlines()
    return [line.replace('{name="wal",namespace="db"', "{") for line in lines if not line.startswith("#")]


def test_a_run_has_numbers_while_it_goes_on_and_none_when_it_is_over() -> None:
    world = World(pace=0)
    world.declare(replicationFactor=3)
    world.rounds(6)
    begun = [line for line in reported(world) if "progress_timestamp" not in line]
    assert begun == [
        'seawall_reassignment_partitions{,progress="Done"} 0.0',
        'seawall_reassignment_partitions{,progress="InFlight"} 2.0',
        'seawall_reassignment_partitions{,progress="Failed"} 0.0',
        'seawall_reassignment_partitions{,progress="LeftAlone"} 0.0',
        'seawall_reassignment_partitions{,progress="Waiting"} 4.0',
        "seawall_reassignment_bytes_left{} 120000.0",
        "seawall_throttled_topics{} 2.0",
    ]
    assert any("progress_timestamp" in line for line in reported(world))
    world.pace = 2
    world.settle()
    world.time.time = world.time.time.replace(minute=3)
    world.rounds(1)
    assert reported(world) == [], "while nothing is moved, Kafka is not asked all the time"
    world.time.time = world.time.time.replace(minute=10)
    world.rounds(1)
    assert reported(world) == ["seawall_throttled_topics{} 0.0"]


def test_a_run_that_asks_a_person_does_not_hang() -> None:
    world = World()
    world.declare({"approval": "Manual"}, replicationFactor=3)
    world.rounds(6)
    assert world.stage() == "AwaitingApproval"
    assert not any("progress_timestamp" in line for line in reported(world))
