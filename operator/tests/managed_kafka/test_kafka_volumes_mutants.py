"""The guards of growing volumes are taken away one by one: each story must then end badly. Prints the kills."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from seawall.controllers import kafka_volumes as controller
from seawall.controllers.controller import Controller
from seawall.controllers.kafka_volumes import KafkaVolumesController
from seawall.domain.kafka_volumes import decide
from seawall.domain.managed_kafka import objects
from tests.managed_kafka import test_kafka_volumes as stories
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.kafka_volumes_world import VolumesWorld

Patch = pytest.MonkeyPatch


def of(story: Callable[[VolumesWorld], object]) -> Callable[[], None]:
    """The story, in a world that was brought up."""

    def tell() -> None:
        story(stories.brought_up())

    return tell


def nobody_asks_again(patch: Patch) -> None:
    """What was decided is done, however old it is."""
    patch.setattr(Controller, "_ask_again", lambda *_: None)


def growth_waits_for_kafka(patch: Patch) -> None:
    """As a restart does."""
    honest = KafkaVolumesController.observe

    def observe(self: KafkaVolumesController, obj: Any) -> Any:
        found = honest(self, obj)
        is_well = any(each.type == "KafkaNodesHealthy" and each.status == "True" for each in obj.status.conditions)
        return found if is_well else decide.VolumesObserved(found.time, "Kafka does not answer")

    patch.setattr(KafkaVolumesController, "observe", observe)


LARGER = of(stories.test_one_that_is_larger_than_declared_is_left_alone_and_told)
TOLD = of(stories.test_it_is_told_until_volumes_have_what_their_claims_ask_for)
SMALLER = "(each.has.capacity or 0) < each.declared"
MUTANTS: tuple[Mutant, ...] = (
    (
        rewritten(decide, "_actions", "each.has.requested < each.declared", "each.has.requested != each.declared"),
        LARGER,
    ),
    (rewritten(decide, "_verdict", "each.has.requested > each.declared", "False"), LARGER),
    (
        rewritten(decide, "_actions", "each.has.capacity is not None and ", ""),
        of(stories.test_a_claim_that_is_not_bound_is_left_alone),
    ),
    (
        rewritten(decide, "_sized", "record.volume != volume.uid", "False"),
        of(stories.test_a_claim_that_the_identity_does_not_know_is_left_alone),
    ),
    (
        rewritten(decide, "_sized", " and not node.is_leaving", ""),
        of(stories.test_a_node_that_leaves_needs_no_more),
    ),
    (rewritten(decide, "_verdict", SMALLER, "each.has.requested < each.declared"), TOLD),
    (rewritten(decide, "_verdict", "if each.has.waits_for_pod", "if False"), TOLD),
    (rewritten(decide, "_verdict", "if each.has.trouble", "if False"), TOLD),
    (
        rewritten(decide, "decide", "done = () if is_paused else actions", "done = actions", controller),
        of(stories.test_a_pause_stops_it_and_says_so),
    ),
    (
        rewritten(KafkaVolumesController, "observe", "if found.identity is None:", "if False:"),
        of(stories.test_where_it_is_not_clear_which_kafka_it_is_no_volume_is_touched),
    ),
    (
        rewritten(objects, "_hash_of", 'exclude={"storage", "replicas"}', 'exclude={"replicas"}'),
        of(stories.test_what_a_node_is_made_of_has_no_size_of_its_volume),
    ),
    (growth_waits_for_kafka, of(stories.test_a_broker_that_is_down_because_it_is_full_is_mended_by_a_larger_volume)),
    (nobody_asks_again, of(stories.test_what_is_not_declared_any_more_is_not_done)),
)


@pytest.mark.timeout(300)
def test_each_guard_is_missed_by_a_story() -> None:
    assert not find_survivors(MUTANTS)
