"""A right to read the objects of a managed Kafka is taken away: the condition says so, and nothing is done."""

from __future__ import annotations

from typing import Any

import pytest

from seawall.controllers import managed_kafka
from seawall.domain.errors import Forbidden
from seawall.domain.times import REFUSED_SECONDS
from seawall.reconciler import Outcome
from tests.worlds.managed_world import WAL, ManagedWorld

SENTENCE = "listing /api/v1/namespaces/db/pods: 403 pods is forbidden"


@pytest.fixture
def world() -> ManagedWorld:
    return ManagedWorld().bring_up()


def forbidden(*_: Any) -> None:
    raise Forbidden(SENTENCE)


@pytest.mark.parametrize("what", ["find", "read_certificates"])
def test_what_may_not_be_read_is_told_and_nothing_is_done(what: str, world: ManagedWorld) -> None:
    process = world.process()
    world.kube.events.clear()
    world.lose_volume(0)  # which is made anew when it may be read
    made = dict(world.objects.meta)
    with pytest.MonkeyPatch.context() as taken:
        taken.setattr(world.objects if what == "find" else managed_kafka, what, forbidden)
        ticked = [process.tick(WAL) for _ in range(4)]
    assert world.condition() == ("False", "ChangeRefused", SENTENCE)
    assert [each.outcome for each in ticked] == [Outcome.RECORDED, *[Outcome.WAITING] * 3]
    assert {each.after for each in ticked} == {REFUSED_SECONDS}
    assert world.objects.meta == made
    assert sum(SENTENCE in event.message for event in world.kube.events) == 1
    world.live(until=lambda: world.says("AllOnline") and not world.tokens())
