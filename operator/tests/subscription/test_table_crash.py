"""A subscription whose rows go to a bucket dies at every call, and its guards are taken away one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from seawall.api.v1alpha1.hold import WALHold
from seawall.domain.subscription.committed import chain, progress
from seawall.domain.subscription.logs import Position
from seawall.domain.subscription.records import begin
from seawall.observe import chains
from tests.subscription import test_table_sink as stories
from tests.subscription.test_records_sink import lose_and_purge, make_table
from tests.support.deaths import die_at_every_call
from tests.support.mutants import Mutant, find_survivors
from tests.worlds.purge_world import Guard
from tests.worlds.subscription_world import CHANGES, DR
from tests.worlds.table_world import TableWorld

Story = Callable[[TableWorld], Callable[[TableWorld], bool]]
"""What happens, and how it is when all is done that follows of it."""
Patch = pytest.MonkeyPatch


def end_state(world: TableWorld) -> Any:
    """All that outlives processes, but for numbers that are others at each look."""
    status, hold = world.subscription().status, world.kube.get(WALHold, DR)
    rows = [(row.name, row.generation, row.start, row.stopped, row.message) for row in status.topics]
    return (
        (status.state, status.resync, status.generation, status.run and status.run.number, sorted(rows)),
        [(found.type, found.status, found.reason) for found in status.conditions if found.type != "Held"],
        None if hold is None else dict(hold.status.granted),
        sorted(key.name for key in world.spark.applications),
        [(request["run"], request["tables"], request["topics"]) for request in world.requests()][-1:],
        sorted((generation, offset) for _, generation, offset in world.handed),
    )


def begins(world: TableWorld) -> Callable[[TableWorld], bool]:
    world.subscribe()
    return lambda each: each.is_even()


def meets_a_new_table(world: TableWorld) -> Callable[[TableWorld], bool]:
    world.subscribe(tables={"include": ["public.*"]})
    world.live(world.is_even)
    make_table(world)
    return lambda each: len(each.rows_of("wal_0")) == 45 and each.is_even()


def begins_a_topic_anew(world: TableWorld) -> Callable[[TableWorld], bool]:
    lose_and_purge(world)
    world.subscribe(resync="again", lagBudget={"maxBytes": "1Mi"})
    return lambda each: each.subscription().status.resync == "again" and each.is_even()


@pytest.mark.parametrize("story", [begins, meets_a_new_table, begins_a_topic_anew])
def test_a_death_at_any_call_of_a_subscription_of_tables_changes_nothing_about_the_end(story: Story) -> None:
    world = TableWorld()
    is_done = story(world)

    def live(each: TableWorld, guard: Guard | None) -> None:
        each.live(lambda: is_done(each), each.subscriber(guard))

    assert die_at_every_call(world, live, end_state, CHANGES) > 3


def hold_of_the_position(patch: Patch) -> None:
    """The hold follows the position, and not what is still needed."""
    patch.setattr(Position, "keep_from", property(lambda self: self.applied))


def any_commit(patch: Patch) -> None:
    """Whoever signs it, and whatever it is about."""

    def believing(content: bytes | None, _: str, __: Any) -> Any:
        return chain.Commit.model_construct(**_fields(content))

    patch.setattr(chains, "parse", believing)


def _fields(content: bytes | None) -> dict[str, Any]:
    raw = progress.Progress.model_validate_json(content or b"").model_dump() if content else {}
    return {**raw, "rows": 0, "dead_letters": 0}


def no_generation(patch: Patch) -> None:
    """Who begins anew goes on from the chain that there was."""
    patch.setattr(begin, "ANEW", frozenset())


def another_reader(patch: Patch) -> None:
    """Seawall reads as the job writes."""
    patch.setattr(chains, "as_reader", lambda s3: s3)


def silence_is_nothing(patch: Patch) -> None:
    """A store that does not answer has no commits."""
    patch.setattr(chains, "find_newest", lambda *_: chains.NONE)


MUTANTS: tuple[Mutant, ...] = (
    (hold_of_the_position, stories.test_the_hold_stays_where_an_entry_began_that_is_not_whole),
    (any_commit, stories.test_what_is_no_commit_of_its_own_moves_no_hold),
    (no_generation, stories.test_a_gap_begins_anew_as_another_chain),
    (another_reader, stories.test_seawall_reads_with_a_key_of_its_own_and_says_what_the_store_says),
    (silence_is_nothing, stories.test_while_the_store_is_silent_the_hold_stays_and_what_runs_goes_on),
)


@pytest.mark.timeout(600)
def test_each_guard_of_tables_is_missed_by_a_story() -> None:
    assert not find_survivors(MUTANTS)
