"""The guards of readiness gates are taken away one by one: each story must then end badly. Prints the kills."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from seawall.controllers.controller import Controller
from seawall.controllers.kafka_in_sync import KafkaInSyncController
from seawall.domain.kafka_in_sync import decide, judge
from seawall.domain.managed_kafka import objects, pods
from tests.fakes.kafka_pods import FakeKafkaPods
from tests.managed_kafka import test_kafka_in_sync as stories
from tests.managed_kafka import test_managed_kafka_objects as made
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.in_sync_world import InSyncWorld
from tests.worlds.managed_world import WAL

Patch = pytest.MonkeyPatch


def of(story: Callable[[InSyncWorld], object]) -> Callable[[], None]:
    """The story, in a world where all are in sync."""

    def tell() -> None:
        story(stories.all_in_sync())

    return tell


def nobody_asks_again(patch: Patch) -> None:
    """What was decided is said, however old it is."""
    patch.setattr(Controller, "_ask_again", lambda *_: None)


def nothing_is_compared(patch: Patch) -> None:
    """What is written goes to whatever pod has the name."""
    patch.setattr(FakeKafkaPods, "_cluster_of", lambda *_: WAL)


BEHIND = stories.test_one_that_falls_behind_counts_no_more_at_once_and_no_other_one_may_go
BROKER, VOTER = (of(partial(BEHIND, node=node)) for node in (0, 101))
ANEW = of(stories.test_a_container_that_begins_anew_does_not_count_until_it_was_seen_in_sync)
MUTANTS: tuple[Mutant, ...] = (
    (rewritten(judge, "_of_broker", "all(node.id in each.isr for each in own)", "True"), BROKER),  # True out of sync
    (rewritten(judge, "_of_controller", "if is_caught_up(case, answer, node)", "if True"), VOTER),
    (
        rewritten(judge, "judge", "not pod.container or not pod.is_ready", "False", decide),
        of(stories.test_a_broker_whose_port_is_closed_does_not_count_when_it_is_open_again),
    ),
    (
        rewritten(judge, "judge", "if case.loses_volume(node)", "if False", decide),
        of(partial(stories.test_one_whose_claim_is_deleted_does_not_count, is_silent=True)),
    ),
    (
        rewritten(judge, "_of_broker", "is not BrokerState.ONLINE", "is None"),
        of(stories.test_a_broker_that_is_not_heard_from_does_not_count),
    ),
    (
        rewritten(judge, "_of_broker", " - answer.adding.get(each.id, frozenset())", ""),
        of(stories.test_replicas_that_are_being_made_do_not_count),
    ),
    # Never taken away.
    (rewritten(decide, "_wanted", "return None if is_said else said_of(pod, reason)", "return None"), BROKER),
    # Unknown counts as in sync, and as out of sync.
    (
        rewritten(judge, "judge", "return None\n", "return NodeReason.IN_SYNC\n", decide),
        stories.test_where_nothing_was_said_what_is_not_known_does_not_count,
    ),
    (
        rewritten(judge, "judge", "return None\n", "return NodeReason.NOT_HEARD\n", decide),
        of(stories.test_what_is_not_known_changes_nothing),
    ),
    # Kept over a container's restart.
    (
        rewritten(judge, "is_said_of", "return pod.in_sync is not None", "return True or None", decide),
        of(stories.test_that_another_container_runs_is_said_although_kafka_does_not_answer),
    ),
    (
        rewritten(judge, "run_of", "pod.container", '""', decide),
        of(stories.test_a_container_that_begins_anew_is_seen_twice_anew),
    ),
    # One look.
    (
        rewritten(KafkaInSyncController, "_steady", "lasted >= enough", "True"),
        stories.test_a_new_pod_counts_only_when_it_was_seen_in_sync_twice,
    ),
    (nobody_asks_again, of(stories.test_what_is_old_by_the_time_it_is_said_is_not_said)),
    # Of another pod.
    (nothing_is_compared, of(stories.test_of_another_pod_with_the_same_name_nothing_is_said)),
    (rewritten(decide, "_actions", "not pod.is_gated or ", ""), of(stories.test_a_pod_without_the_gate_is_left_alone)),
    (
        rewritten(pods, "pod_template", '"readinessGates": [{"conditionType": names.IN_SYNC_GATE}],', "", objects),
        made.test_a_pod_is_ready_when_it_is_said_to_be_in_sync_and_one_that_is_not_goes_only_while_all_others_are,
    ),
    (
        rewritten(objects, "budgets", '"IfHealthyBudget"', '"AlwaysAllow"', made),
        made.test_a_pod_is_ready_when_it_is_said_to_be_in_sync_and_one_that_is_not_goes_only_while_all_others_are,
    ),
)


@pytest.mark.timeout(1_200)
def test_each_guard_of_a_readiness_gate_is_missed_by_a_story() -> None:
    assert not find_survivors(MUTANTS)
