"""The guards of promotions are taken away one by one: each story must then end badly. Prints the kills."""

from __future__ import annotations

import pytest

from seawall.domain.subscription import copies, decide, promotion, standing
from tests.subscription import test_promotion_refusals as refusals
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten

MUTANTS: tuple[Mutant, ...] = (
    (
        rewritten(promotion, "begin", " or without_copy(case)", ""),
        refusals.somebody_elses_topic_is_not_promoted,
    ),
    (
        rewritten(promotion, "_plan", "if forgotten:", "if False:"),
        refusals.a_topic_that_the_pool_gets_after_the_copying_ended_is_not_forgotten,
    ),
    (
        rewritten(copies, "copied", " if row.target_id is not None", "", promotion),
        refusals.somebody_elses_topic_is_not_promoted,
    ),
    (
        rewritten(promotion, "explained", "if not forgotten or", "if True or"),
        refusals.test_a_topic_that_had_not_begun_when_the_source_died_is_not_forgotten,
    ),
    (
        rewritten(copies, "_others", "if name not in {*names, *absent}", "if name not in {*names}"),
        refusals.test_a_topic_that_does_not_exist_yet_hinders_nobody,
    ),
    (
        rewritten(standing, "standing", "if new:", "if False:", decide),
        refusals.a_topic_that_cannot_begin_is_named,
    ),
)


@pytest.mark.timeout(600)
def test_each_guard_of_a_promotion_is_missed_by_a_story() -> None:
    assert not find_survivors(MUTANTS)
