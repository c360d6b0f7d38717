"""A subscription whose rows go to a bucket dies at every call, and its guards are taken away one by one."""

from __future__ import annotations

from typing import Any

import pytest

from seawall.domain.subscription.committed import chain, progress
from seawall.domain.subscription.logs import Position
from seawall.domain.subscription.records import begin
from seawall.observe import chains
from seawall.observe.subscription_parts import SubscriptionReader
from tests.subscription import test_table_buckets as buckets
from tests.subscription import test_table_sink as stories
from tests.subscription.lives import Story, deaths_of
from tests.subscription.test_records_crash import begins, begins_a_topic_anew, end_state, meets_a_new_table
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.table_world import TableWorld

Patch = pytest.MonkeyPatch


@pytest.mark.parametrize("story", [begins, meets_a_new_table, begins_a_topic_anew])
def test_a_death_at_any_call_of_a_subscription_of_tables_changes_nothing_about_the_end(
    story: Story[TableWorld],
) -> None:
    assert deaths_of(TableWorld(), story, end_state) > 3


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
    (
        rewritten(chains, "read_newest", "newest < before.number", "False"),
        buckets.another_bucket_of_the_same_name_has_nothing,
    ),
    (
        rewritten(chains, "read_newest", "before.number - 1)", "before.number)"),
        buckets.a_bucket_that_somebody_empties_is_lost_and_resync_begins_anew,
    ),
    (
        rewritten(chains, "read_newest", "(place, newest) == (before.place, before.number)", "newest == before.number"),
        buckets.a_bucket_that_was_moved_is_read_anew,
    ),
    (
        rewritten(chains, "read_newest", "if isinstance(commit, Commit):", "if commit is not None:"),
        buckets.a_commit_that_could_not_be_read_is_read_again,
    ),
    (
        rewritten(SubscriptionReader, "_chains", "(bucket, folders)", "folders"),
        buckets.another_bucket_of_the_same_name_has_nothing,
    ),
    (silence_is_nothing, stories.test_while_the_store_is_silent_the_hold_stays_and_what_runs_goes_on),
)


@pytest.mark.timeout(600)
def test_each_guard_of_tables_is_missed_by_a_story() -> None:
    assert not find_survivors(MUTANTS)
