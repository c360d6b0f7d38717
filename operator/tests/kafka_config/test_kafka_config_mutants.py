"""The guards of configs are taken away one by one: each story must then end badly. Prints the kills."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest

from seawall.api.v1alpha1 import managed_kafka
from seawall.controllers import kafka_config
from seawall.controllers.kafka_config import KafkaConfigController
from seawall.domain.kafka_config import decide
from seawall.observe import managed_kafka as managed
from tests.kafka_config import test_kafka_config as stories
from tests.kafka_config import test_kafka_config_crash as lives
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.kafka_config_world import KafkaConfigWorld
from tests.worlds.managed_world import CHANGES
from tests.worlds.purge_world import Calls


def of_a_world(story: Callable[[KafkaConfigWorld], object]) -> Callable[[], None]:
    """The story, in a world that was brought up."""

    def tell() -> None:
        story(stories.brought_up())

    return tell


def asked_once(patch: pytest.MonkeyPatch) -> None:
    """Nothing is asked again right before a config is changed."""
    patch.setattr(KafkaConfigController, "_ask_again", lambda *_: None)


def all_stand_in_files(patch: pytest.MonkeyPatch) -> None:
    """What brokers take while they run is not known."""
    patch.setattr(managed_kafka, "DYNAMIC_CONFIGS", frozenset())


def edited_once_more_after_the_decision() -> None:
    """What was decided is old by the time of the act, and asked again: nothing is set that is not declared."""
    start = lives.edited()
    calm = copy.deepcopy(start)
    calls = Calls(calm.check, CHANGES)
    calm.live(calls)
    asked = [at for at, name in enumerate(calls.names) if name == "describe_default_configs"]
    _recorded, decided, again = asked[:3]
    assert decided < again < calls.names.index("alter_default_configs")
    stale = lives.lived(start, decided + 1, lives.another_value).stale
    assert not stale


GONE = of_a_world(stories.test_what_leaves_the_spec_is_taken_back_and_what_others_set_stays)
SET = of_a_world(stories.test_what_brokers_take_while_they_run_is_set_and_the_rest_stands_in_their_files)
ELSEWHERE = of_a_world(stories.test_a_kafka_that_does_not_answer_or_is_another_one_is_not_changed)
MUTANTS: tuple[Mutant, ...] = (
    (asked_once, edited_once_more_after_the_decision),
    (
        rewritten(decide, "decide", "*(key for key in gone if not _has(observed, key, wanted[key]))", "", kafka_config),
        GONE,
    ),
    (rewritten(decide, "decide", "if keys else None", "", kafka_config), GONE),
    (
        rewritten(decide, "decide", "() if is_paused else actions", "actions", kafka_config),
        of_a_world(stories.test_a_paused_one_changes_nothing),
    ),
    (rewritten(decide, "_actions", "if not _has(", "if value is not None and not _has("), GONE),
    (
        rewritten(decide, "_wanted", "if MIN_ISR in wanted:", "if False:"),
        of_a_world(stories.test_min_insync_replicas_goes_back_to_what_it_is_without_a_word),
    ),
    (
        rewritten(decide, "_has", "is_same_value(found, wanted)", "found == wanted"),
        of_a_world(stories.test_another_form_of_the_same_value_is_left),
    ),
    (
        rewritten(decide, "standing", 'found.status != "False"', "True", stories),
        of_a_world(stories.test_a_refusal_is_told_in_kafkas_words_and_ends_with_an_edit),
    ),
    (
        rewritten(
            managed,
            "reach",
            "status is None or view.cluster_id != status.cluster_id",
            "status is None",
            kafka_config,
        ),
        ELSEWHERE,
    ),
    (
        rewritten(decide, "_overridden", " and not is_same_value(value, managed.dynamic_config[key])", ""),
        of_a_world(stories.test_what_a_broker_has_of_its_own_is_left_and_told_with_the_command_that_ends_it),
    ),
    (
        rewritten(decide, "_verdict", "(overridden := _overridden(observed, managed)) is not None", "False"),
        of_a_world(stories.test_what_a_broker_has_of_its_own_is_left_and_told_with_the_command_that_ends_it),
    ),
    (all_stand_in_files, SET),
)


@pytest.mark.timeout(1_200)
def test_each_guard_of_configs_is_missed_by_a_story() -> None:
    assert not find_survivors(MUTANTS)


def test_what_was_decided_is_asked_again_right_before_it_is_done() -> None:
    edited_once_more_after_the_decision()
