"""What may happen to any managed Kafka right before a call of its operator."""

from __future__ import annotations

from tests.worlds.managed_world import WAL, ManagedWorld


def all_is_applied_again(world: ManagedWorld) -> None:
    """Its objects go with their CRDs, and are applied again."""
    world.delete_and_apply()


def status_goes(world: ManagedWorld) -> None:
    """Somebody empties the status."""
    world.forget_status()


def another_operator_acts(world: ManagedWorld) -> None:
    """A leader that slept: what this one decides now is old by the time it acts."""
    processes = world.processes()
    for _ in range(25):
        for process in processes:
            process.tick(WAL)
        world.go_on()
