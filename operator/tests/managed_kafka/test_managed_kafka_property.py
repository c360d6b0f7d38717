"""Whatever happens in whatever order: no record that is on a disk is truncated (K4), no template changes (K7).

The world checks both after each change, and that no directory id is on two disks.
"""

from __future__ import annotations

import copy

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.managed_kafka.test_managed_kafka_adversary import ENDS, MOVES, Move, a_broker_is_away, no_quorum
from tests.support.moves import of
from tests.worlds.managed_world import WAL, ManagedWorld

BROUGHT_UP = ManagedWorld().bring_up()
TICKS = 12
DANGEROUS = (of("lose_disk", 2), of("empty_disk", 2), a_broker_is_away, of("lose_record", "wal-kafka-identity")) * 4
"""Drawn more often: what loses records if somebody formats then."""


@settings(max_examples=30, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(
    st.booleans(),
    st.lists(st.tuples(st.sampled_from((*MOVES, *DANGEROUS)), st.integers(0, TICKS)), min_size=1, max_size=6),
)
def test_no_order_of_what_happens_loses_what_is_on_a_disk(begins_new: bool, story: list[tuple[Move, int]]) -> None:  # noqa: FBT001 - drawn
    tell(begins_new, story)


@pytest.mark.parametrize("goes", ["lose_disk", "empty_disk"])
def test_a_disk_that_goes_while_its_token_is_still_there_takes_no_records_along(goes: str) -> None:
    """Found by the test above: there were topics already, and it came back as an empty leader."""
    story = [(no_quorum, 1), (of("forget_status"), 1), (of("lose_disk", 101), 1), (of("forget_status"), 7)]
    tell(True, [*story, (of(goes, 2), 0), (a_broker_is_away, 2)])
    tell(True, [(of("kill", 102), 11), (of(goes, 2), 0), (a_broker_is_away, 10)])
    tell(False, [(of(goes, 2), 0), (a_broker_is_away, 2)])


def tell(begins_new: bool, story: list[tuple[Move, int]]) -> ManagedWorld:  # noqa: FBT001 - drawn
    """Lives it, and judges the end."""
    world = ManagedWorld() if begins_new else copy.deepcopy(BROUGHT_UP)
    process = world.process()
    for move, ticks in story:
        move(world)
        for _ in range(ticks):
            if process.tick(WAL).after != 0:
                world.go_on()
    world.held.clear()
    world.scale_back()
    world.live()
    condition = world.condition()
    assert condition is not None
    assert condition[1] in ENDS, condition
    return world
