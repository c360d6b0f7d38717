"""What Prometheus reads of datanodes while they serve, restart, and do not come back."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest

from seawall.api.v1alpha1.rollout import RollStage
from seawall.handlers.metrics.rollout import RestartTelemetry
from tests.worlds.restart_world import WAL, World


def reported(world: World) -> list[str]:
    """The series of what the controller measured last."""
    registry = CollectorRegistry()
    RestartTelemetry(registry).measure_restart(WAL, *world.meters.restarts[WAL])
    lines = generate_latest(registry).decode().splitlines()
    found = [line.replace('name="wal",namespace="db"', "") for line in lines if not line.startswith("#")]
    return sorted(found)


def test_a_roll_has_a_stage_while_it_goes_on_and_datanodes_are_counted_by_how_they_are() -> None:
    world = World()
    world.settle()
    assert reported(world) == ['seawall_datanodes{health="Serving",} 3.0']
    world.annotate(restart="monday")
    world.settle(until=lambda: 'seawall_datanodes{health="Restarting",} 1.0' in reported(world))
    assert reported(world)[1:] == [
        'seawall_datanodes{health="Serving",} 2.0',
        'seawall_restart_stage{,stage="Replaying"} 1.0',
    ]
    world.settle()
    assert reported(world) == ['seawall_datanodes{health="Serving",} 3.0']
    world.crashing |= {0, 1, 2}
    world.annotate(restart="tuesday")
    world.settle(until=lambda: world.restart().stage is RollStage.STALLED)
    world.process().tick(WAL)
    assert 'seawall_restart_stage{,stage="Stalled"} 1.0' in reported(world)
    assert 'seawall_datanodes{health="OffsetOutOfRange",} 1.0' in reported(world)


def test_a_wal_cluster_that_names_no_datanodes_has_no_series() -> None:
    world = World()
    world.settle()
    world.apply(datanodes=None)
    world.settle()
    assert world.meters.restarts == {}
