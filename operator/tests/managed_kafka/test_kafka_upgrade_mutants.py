"""The guards of an upgrade are taken away one by one: each story must then end badly. Prints the kills."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from seawall.controllers import kafka_roll
from seawall.controllers.kafka_roll import KafkaRollController
from seawall.domain.kafka_nodes import checks
from seawall.domain.kafka_nodes.reasons import OVERRIDABLE, KafkaBlocker
from seawall.domain.managed_kafka import decide, plan, releases, roll_facts
from seawall.domain.rollout.actions import Evict
from tests.managed_kafka import test_kafka_upgrade as stories
from tests.managed_kafka import test_kafka_upgrade_crash as moved
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten

NOT_BACK = stories.test_what_is_finalized_is_not_gone_back_to_and_an_edit_is_the_way_out


def anybody_may_answer(patch: pytest.MonkeyPatch) -> None:
    """A person lets through what would not come back."""
    patch.setattr(checks, "OVERRIDABLE", OVERRIDABLE | {KafkaBlocker.VERSION})


def levels(version: str, level: int, back: str | None, *, is_too_old: bool) -> Callable[[], None]:
    """A line of the table."""
    return lambda: stories.test_levels_of_releases(version, level, back, is_too_old=is_too_old)


def feature(name: str, level: int, back: str | None, *, is_too_old: bool) -> Callable[[], None]:
    """A feature beside metadata.version."""
    return lambda: stories.test_each_feature_that_is_finalized_counts(name, level, back, is_too_old=is_too_old)


def asked_once(patch: pytest.MonkeyPatch) -> None:
    """Nothing is asked again right before a template or an eviction."""
    patch.setattr(KafkaRollController, "_ask_again", lambda *_: None)


MUTANTS: tuple[Mutant, ...] = (
    (rewritten(roll_facts, "roll_facts", "version_problem=case.too_old,", "", kafka_roll), NOT_BACK),
    (anybody_may_answer, stories.test_nobody_lets_a_node_go_that_would_not_come_back),
    (
        rewritten(plan, "plan", " or case.too_old is not None", "", decide),
        stories.test_a_node_that_joins_is_not_begun_with_a_version_that_is_too_old,
    ),
    (rewritten(decide, "_of_version", "case.too_old is None", "True"), NOT_BACK),
    (
        rewritten(decide, "_of_upgrade", "(oldest := case.goes_back_to) is None", "True"),
        stories.test_it_goes_back_until_features_are_finalized_and_what_ends_it_is_told,
    ),
    (
        rewritten(releases, "why_too_old", "level > known", "level >= known"),
        levels("4.2.0", 29, None, is_too_old=False),
    ),
    (
        rewritten(releases, "goes_back_to", ".index(release_of(version))", ".index(release_of(version)) + 1"),
        levels("4.3.1", 30, None, is_too_old=False),
    ),
    (rewritten(releases, "_reads", "level <= ", "level < "), levels("4.3.1", 29, "4.2", is_too_old=False)),
    (
        rewritten(releases, "why_too_old", "features.items()", "list(features.items())[:1]"),
        feature("streams.version", 1, "4.2", is_too_old=True),
    ),
    (
        rewritten(releases, "_reads", "known.get(feature, 0)", "known.get(feature, level)"),
        feature("of.tomorrow.version", 1, None, is_too_old=False),
    ),
    (asked_once, lambda: moved.test_right_before_a_node_goes_what_is_finalized_is_asked_for_again(Evict, "4.2")),
)


@pytest.mark.timeout(1_200)
def test_each_guard_of_an_upgrade_is_missed_by_a_story() -> None:
    assert not find_survivors(MUTANTS)
