"""A retention that falls behind says so: a backup moves its time on by two periods, however long it takes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.backup_policy import Retention
from seawall.domain.backup import chains
from seawall.domain.backup.runs import OwnBackups
from seawall.domain.conditions import ConditionBuilder
from tests.backup import test_retention as stories
from tests.backup.test_retention import HOUR, Story
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten

WEEKS = Retention(recovery_window=336 * HOUR, minimum_fulls=2)
DAY = Retention(recovery_window=24 * HOUR, minimum_fulls=2)


def made(world: Story, count: int, hours: int) -> Story:
    """As many backups more, each completed so long after the one before."""
    for _ in range(count):
        world.back_up(full=False)
        world.ours, world.theirs = world.ours + hours * HOUR, world.theirs + hours * HOUR
    return world


def applied(world: Story, retention: Retention = WEEKS, *, is_suspended: bool = False) -> tuple[str, str, str]:
    """The condition RetentionApplied."""
    policy = world.policy
    own = OwnBackups.of(policy, world.backups(), ())
    between = None if is_suspended else world.between
    listed = chains.list_chains(policy.status, own, world.backups(), (), between, now=world.ours)
    (found,) = chains.retention_condition(listed, own, retention, ConditionBuilder((), 1, world.ours))
    return found.status, found.reason, found.message


def test_a_retention_that_falls_behind_says_so_until_backups_are_scheduled_more_rarely() -> None:
    world = made(Story(), 10, 3)
    assert applied(world)[:2] == ("True", "Applied")
    assert applied(world, DAY)[:2] == ("False", "RetentionBehind")
    made(world, 90, 3)
    status, reason, message = applied(world)
    assert (status, reason) == ("False", "RetentionBehind")
    assert message == (
        "the newest backup is of 2026-12-07 21:00Z, and the window counts back from 2026-12-03 18:00Z, which a backup "
        "moves on by 2h at most: chains stay longer than declared"
    )
    assert applied(world, is_suspended=True)[:2] == ("True", "Applied")
    world.between = 3 * HOUR
    made(world, 100, 3)
    assert applied(world)[:2] == ("True", "Applied")
    newest = min(each.metadata.creation_timestamp for each in world.backups())
    assert world.policy.status.retention_time == newest


def test_backups_that_complete_in_time_are_never_behind() -> None:
    world = Story()
    for _ in range(60):
        made(world, 1, 2)
        assert applied(world, DAY)[:2] == ("True", "Applied")


def test_a_clock_that_is_ahead_is_said() -> None:
    world = stories.made(stories.declared(retention={"recoveryWindow": "2h", "minimumFulls": 1}), 4)
    assert stories.condition(world)[:2] == ("True", "Applied")
    world.time.time += stories.YEARS
    stories.made(world, 2)
    assert stories.condition(world)[:2] == ("False", "RetentionBehind")
    assert world.deleted == []


def test_an_api_server_whose_clock_is_ahead_moves_nothing_on_faster_than_time_passes() -> None:
    """Backups say by its clock alone when they were made, and when they completed."""
    world = made(Story(), 4, 1)
    policy, now = world.policy, world.ours
    assert policy.status.retention_time is not None
    world.back_up(full=True)  # which the policy has not heard of
    ahead = [_ahead(each) for each in world.backups()]
    own = OwnBackups.of(policy, ahead, ())
    listed = chains.list_chains(policy.status, own, ahead, (), world.between, now=now)
    assert listed.time == now
    first = policy.status.model_copy(update={"retention_time": None, "chains": ()})
    assert chains.list_chains(first, own, ahead, (), world.between, now=now).time == now


def _ahead(backup: WALBackup) -> WALBackup:
    """By a clock that is a month ahead."""
    month, status = timedelta(days=30), backup.status
    metadata = backup.metadata.model_copy(update={"creation_timestamp": backup.metadata.creation_timestamp + month})
    ended = status.completion_time
    update = {"completion_time": None if ended is None else ended + month}
    return replace(backup, metadata=metadata, status=status.model_copy(update=update))


MUTANTS: tuple[Mutant, ...] = (
    (
        rewritten(chains, "_newest", ", _completed(backup), now)", ", _completed(backup))"),
        test_an_api_server_whose_clock_is_ahead_moves_nothing_on_faster_than_time_passes,
    ),
    (
        rewritten(chains, "_retention_state", "behind is not None", "False"),
        test_a_retention_that_falls_behind_says_so_until_backups_are_scheduled_more_rarely,
    ),
    (
        rewritten(chains, "_why_behind", "max(window / 4, RETENTION_BEHIND_PERIODS * between)", "window"),
        test_a_retention_that_falls_behind_says_so_until_backups_are_scheduled_more_rarely,
    ),
)


def test_every_guard_is_needed() -> None:
    assert not find_survivors(MUTANTS)
