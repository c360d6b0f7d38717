"""The API server comes back from a backup, and the target of a subscription knows later runs than its status."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from seawall.api.v1alpha1.subscription_status import StopReason
from seawall.domain.subscription import behind, decide
from seawall.domain.subscription.committed.chain import Chains
from tests.subscription.test_records_sink import lose_and_purge
from tests.support import api_server_backup
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.purge_world import TOPICS
from tests.worlds.records_world import RecordsWorld
from tests.worlds.table_world import TableWorld

WORLDS = [RecordsWorld, TableWorld]


def back_up(world: RecordsWorld) -> Callable[[], None]:
    """What brings all of it back, with other versions."""
    bring_objects_back, applications = (
        api_server_backup.back_up(world.kube, world.intents),
        dict(world.spark.applications),
    )

    def bring_back() -> None:
        bring_objects_back()
        world.spark.applications, world.spark.lingering = applications, {}

    return bring_back


def number(world: RecordsWorld) -> int:
    """Of the run that is meant."""
    found = world.subscription().status.run
    assert found is not None
    return found.number


@pytest.mark.parametrize("made", WORLDS)
def test_a_run_goes_on_beyond_those_that_a_restored_api_server_forgot(made: type[RecordsWorld]) -> None:
    """The target ends whoever has an older number (`Fenced`), and no person could give it a later one."""
    world = made()
    world.subscribe()
    world.live(world.is_even)
    bring_back = back_up(world)
    for tables in ("public.*", "*.*"):
        world.subscribe(tables={"include": [tables]})
        world.write("wal_0", 5)
        world.live(world.is_even)
    assert number(world) == 3
    bring_back()
    world.write("wal_1", 5)
    found = world.live(world.is_even)
    assert world.runs(4)
    assert [row.stopped for row in found.status.topics] == [None] * len(TOPICS)
    assert [len(world.rows_of(name)) for name in TOPICS] == [50, 45, 40]


def test_a_topic_goes_on_in_the_generation_that_a_restored_api_server_forgot() -> None:
    """Of an older one its rows would come again, if anybody could write them."""
    world = RecordsWorld()
    world.subscribe()
    world.live(world.is_even)
    bring_back = back_up(world)
    lose_and_purge(world)
    world.subscribe(resync="the rows of May are gone", lagBudget={"maxBytes": "1Mi"})
    world.live(world.is_even)
    world.foreign.add("wal_2")  # the hold of before is overtaken by what was purged since
    world.gone_with_holes.add("wal_2")
    bring_back()
    world.purged("wal_2", 100)  # a person has readopted the log: the intents are of before, too
    world.write("wal_2", 5)
    found = world.live(world.is_even)
    assert {row.name: row.generation for row in found.status.topics} == {"wal_0": 0, "wal_1": 0, "wal_2": 1}
    assert found.status.generation == 1
    assert world.rows_of("wal_2", 1) == list(range(100, 220))


def test_rows_that_stopped_as_those_of_an_older_run_go_on_when_a_person_says_so() -> None:
    """The driver of before may have had the time to say that it was overtaken, while the operator could not look."""
    world = RecordsWorld()
    world.subscribe()
    world.live(world.is_even)
    bring_back = back_up(world)
    world.subscribe(tables={"include": ["public.*"]})
    world.live(lambda: world.runs(2) and world.is_even())
    bring_back()
    found = world.subscription()
    stopped = [row.model_copy(update={"stopped": StopReason.FENCED}) for row in found.status.topics]
    world.kube.replace_status(found, found.status.model_copy(update={"topics": tuple(stopped)}))
    world.live(ticks=20)
    world.subscribe(resync="it is restored")
    world.write("wal_1", 5)
    world.live(world.is_even)
    assert {row.generation for row in world.subscription().status.topics} == {0}
    assert world.rows_of("wal_1") == list(range(45))


def test_each_is_missed() -> None:
    beyond = partial(test_a_run_goes_on_beyond_those_that_a_restored_api_server_forgot, RecordsWorld)
    of_tables = partial(test_a_run_goes_on_beyond_those_that_a_restored_api_server_forgot, TableWorld)
    same = rewritten(behind, "catch_up", "latest <= (0 if run is None else run.number)", "True", decide)
    beside = rewritten(behind, "catch_up", "if application is not None:", "if False:", decide)
    mutants: list[Mutant] = [
        (same, beyond),
        (beside, beyond),
        (rewritten(Chains, "committed", "isinstance(commit, Commit)", "False"), of_tables),
        (
            rewritten(behind, "_of_generation", "found.generation <= row.generation", "True"),
            test_a_topic_goes_on_in_the_generation_that_a_restored_api_server_forgot,
        ),
    ]
    assert find_survivors(mutants) == []
