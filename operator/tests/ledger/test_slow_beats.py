"""Datanodes that beat rarely: reports are old although everybody is well, and it is told why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seawall.domain.ledger.observation import Observation
from seawall.domain.ledger.page import build_page
from seawall.domain.ledger.reasons import Reason
from tests.fakes.dataplane import settings
from tests.worlds.purge_world import World

SLOW = (
    "Found: the metasrv's heartbeat_interval is {0}s and it stores each third report, so one is up to {1}s old, "
    "and staleAfter is 60s: raise it, or lower the interval."
)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(None, None), (3.0, None), (19.9, None), (20.0, SLOW.format(20, 60)), (90.0, SLOW.format(90, 270))],
)
def test_a_topic_that_is_stale_by_the_interval_says_so(seconds: float | None, said: str | None) -> None:
    world = World()
    world.data_plane.wal = replace(settings(), heartbeat_seconds=seconds)
    found = world.observer().observe(world.cluster())
    assert isinstance(found, Observation)
    lines = build_page(found).lines
    assert {line.reason for line in lines} == {Reason.REGION_STALE}, "no report was seen to advance yet"
    for line in lines:
        assert line.message.endswith(said) if said else "Found" not in line.message
