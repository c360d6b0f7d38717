"""The rules of placement are taken out of the source one by one: the checker or a flow must then complain.

Prints how many were killed. The clusters are always the same ones.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.domain.placement import test_fresh as fresh
from tests.domain.placement import test_placement as stories
from tests.domain.placement.clusters import cases
from tests.support.mutants import Mutant, find_survivors

PACKAGE = "seawall.domain.placement"


def without(name: str, module: str, guard: str, instead: str, story: Callable[[], None]) -> Mutant:
    """A mutant: in the source of `module`, `guard` becomes `instead`."""

    def mutate(patch: pytest.MonkeyPatch) -> None:
        original = sys.modules[f"{PACKAGE}.{module}"]
        source = inspect.getsource(original)
        assert guard in source, "the guard has changed: mend the mutant"
        changed: dict[str, Any] = {"__name__": original.__name__}
        exec(source.replace(guard, instead), changed)  # noqa: S102 - our own source
        users = [found for path, found in sys.modules.items() if path.startswith(PACKAGE)]
        for user in [*users, stories, fresh]:
            for attribute, value in vars(user).copy().items():
                if inspect.isfunction(value) and value.__module__ == original.__name__:
                    patch.setattr(user, attribute, changed[value.__name__])

    mutate.__name__ = name
    return mutate, story


def same_clusters(story: Any, *strategies: st.SearchStrategy[Any]) -> Callable[[], None]:
    """The property over clusters that are the same in each run, without looking for the smallest that fails."""
    always = settings(derandomize=True, database=None, deadline=None, max_examples=100, phases=[Phase.generate])
    holds: Callable[[], None] = always(given(*strategies)(story.hypothesis.inner_test))

    def reported() -> None:
        try:
            holds()
        except ArithmeticError as error:
            pytest.fail(str(error))

    return reported


ANY, HEALTHY = cases(), cases(healthy=True)
RULES = same_clusters(stories.test_a_placement_keeps_all_rules, ANY)
EVEN = same_clusters(stories.test_new_replicas_are_as_even_as_their_number_and_the_racks_allow, ANY)
LOWERED = same_clusters(stories.test_what_stays_of_lowered_partitions_is_as_even_as_it_can_be, HEALTHY)
LEADERS = same_clusters(stories.test_preferred_leaders_are_as_even_as_can_be_with_the_fewest_changes, HEALTHY)
ORDER = same_clusters(
    stories.test_the_order_in_which_kafka_tells_of_things_decides_nothing, ANY, st.randoms(use_true_random=False)
)
NEW = same_clusters(
    fresh.test_new_topics_are_as_even_as_what_is_there_and_the_racks_allow, ANY, fresh.FRESH, fresh.FACTOR
)
NEW_RULES = same_clusters(
    fresh.test_new_topics_are_on_brokers_that_are_online_and_not_excluded_each_once,
    *(ANY, fresh.FRESH, fresh.FACTOR),
)
NEW_LEADERS = same_clusters(
    fresh.test_preferred_leaders_of_new_topics_are_as_even_as_their_replicas_allow, HEALTHY, fresh.FRESH, fresh.FACTOR
)
TO_OTHER_RACK = stories.test_a_new_replica_goes_to_another_rack
LEADER_STAYS = stories.test_leaders_stay_in_lowered_partitions_even_if_all_are_on_one_broker
LATE_ONE_GOES = stories.test_what_is_out_of_sync_goes_even_if_its_broker_is_empty
LOWER = stories.test_a_lowered_partition_keeps_its_leader_and_what_is_in_sync
WAITS = stories.test_a_lowered_partition_whose_rest_is_not_in_sync_waits
UNHEALTHY = stories.test_what_is_not_in_sync_is_not_moved_to_balance
IN_RACKS = stories.test_replicas_are_balanced_within_the_racks_that_are_demanded
PREFERRED = stories.test_a_preferred_leader_that_can_stay_stays
LATE_LEADER = stories.test_a_replica_that_is_out_of_sync_is_not_preferred_as_leader

MUTANTS = (
    without("excluded brokers keep", "replicas", "replicas & ~grid.excluded\n    clash", "replicas\n    clash", RULES),
    without("any leader goes", "replicas", "column != grid.leader[row],", "", RULES),
    without("what is in sync goes", "replicas", "not grid.in_sync[row, column],", "", LOWER),
    without("racks are kept twice", "replicas", "if grid.rack[column] not in racks", "", RULES),
    without("chosen without a look at racks", "replicas", "racks.count(int(grid.rack[column])),", "", LOWERED),
    without("a leader is exchanged", "replicas", "grid.usable & ~grid.leads()", "grid.usable", LEADER_STAYS),
    without("what is late stays instead", "replicas", "grid.in_sync & grid.usable &", "grid.usable &", LATE_ONE_GOES),
    without("copies to dead brokers", "replicas", "free = grid.usable &", "free = ~grid.excluded &", RULES),
    without("copies to excluded brokers", "grid", "usable=online & ~excluded", "usable=online", RULES),
    without("copies into a rack twice", "replicas", "free &= in_rack == 0", "pass", RULES),
    without("copies without a look at racks", "replicas", "in_rack * most + load", "load", TO_OTHER_RACK),
    without("leaderless ones move", "place", "change & (leaderless | fewer)", "change & fewer", RULES),
    without("fewer are in sync", "place", "change & (leaderless | fewer)", "change & leaderless", WAITS),
    without("a rebalance takes the leader", "place", "& ~(lowered & grid.leads())", "", LEADER_STAYS),
    without(
        "late ones are balanced", "place", "may_rebalance = grid.healthy() & ~rows", "may_rebalance = ~rows", UNHEALTHY
    ),
    without(
        "racks get worse", "even", "= grid.rack[:, None] == grid.rack", "= grid.rack[:, None] >= -grid.rack", IN_RACKS
    ),
    without("not quite even", "even", "(more >= 2)", "(more >= 3)", EVEN),
    without("lowered ones stay uneven", "place", "leave = go | new", "leave = new", LOWERED),
    without("uneven leaders", "replicas", "even.argmax(axis=1)", "preferred", LEADERS),
    without(
        "leaders change for nothing",
        "replicas",
        "even.argmax(axis=1)",
        "(even | able & free[:, None]).argmax(axis=1)",
        LEADERS,
    ),
    without("the late one leads", "replicas", "(grid.in_sync | ~grid.replicas)", "True", LATE_LEADER),
    without(
        "new ones go where it happens",
        "place",
        "placed = even_out(grid, placed, Moving(may, may, grid.replicas",
        "placed, _ = placed, (grid, placed, Moving(may, may, grid.replicas",
        fresh.test_the_least_loaded_broker_of_the_emptiest_rack_is_not_always_best,
    ),
    without("what is there does not count", "place", "[*there, *fresh]", "[*fresh]", NEW),
    without(
        "what is there moves",
        "place",
        "may = is_new[:, None] & grid.usable",
        "may = ~is_new[:, None] | grid.usable",
        fresh.test_new_ones_are_even_with_what_is_there_and_not_with_what_could_move,
    ),
    without(
        "new leaders as it happens",
        "place",
        "preferred = lead(replace(",
        "preferred, _ = first, lead(replace(",
        NEW_LEADERS,
    ),
    without("new ones on dead brokers", "replicas", "free = grid.usable &", "free = ~grid.excluded &", NEW_RULES),
    without("new ones on excluded brokers", "grid", "usable=online & ~excluded", "usable=online", NEW_RULES),
    without(
        "partitions as they come", "grid", "sorted(partitions, key=lambda partition: partition.id)", "partitions", ORDER
    ),
)


def test_no_rule_can_be_left_out() -> None:
    assert not find_survivors(MUTANTS)
