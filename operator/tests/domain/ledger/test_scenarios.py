"""Stories in the simulated world: each is an interleaving that would lose data, or block for ever, without one rule."""

from __future__ import annotations

import pytest

from seawall.domain.ledger.mode import Mode
from tests.domain.ledger.simulation.world import World

MODES = [Mode.A, Mode.B, Mode.C]


def grown(mode: Mode, regions: int = 2, rows: int = 10) -> World:
    """A world in which each region has written and flushed, and the operators know it."""
    world = World(mode)
    for number in range(regions):
        world.database.create(number, "wal_0", number % 2, 1, world.logs["wal_0"].high_watermark - 1)
    world.beat(2)
    for _ in range(rows):
        for number in range(regions):
            assert world.database.write(number, 0) is not None
    return world


@pytest.mark.parametrize("mode", MODES)
def test_a_topic_shrinks_when_its_regions_have_flushed(mode: Mode) -> None:
    world = grown(mode)
    for number in range(2):
        world.database.flush(number)
    for _ in range(60):
        world.beat()
        world.database.prune_by_itself("wal_0") if mode is Mode.A else None
    assert world.logs["wal_0"].log_start >= 19
    world.restart_everything()
