"""People move right before any call of a backup that deletes: what they want to keep stays, until its driver deletes.

A restore that comes when the list is in the status finds it there, and waits.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest

from seawall.api.meta import STOP_DELETES_ANNOTATION, Key
from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.backup_policy import WALBackupPolicy
from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.restore_status import RestoreStage
from seawall.api.v1alpha1.spark_job import JobStage
from seawall.domain.backup.retention import Surroundings, deleting, find_needed
from tests.backup.test_backup_policy import PolicyWorld, settle
from tests.backup.test_broken_chains import find_broken
from tests.backup.test_retention import FULLS, TEN, chains, declared, keep, made, restore
from tests.worlds.backup_world import POLICY
from tests.worlds.purge_world import NAMESPACE, WAL, Calls
from tests.worlds.restore_world import BACK, RestoreWorld, lost
from tests.worlds.verification_world import why

FREEZES = 24
"""Calls before the application is made: from the look that decides what goes to the request that is written down."""
Move = Callable[[PolicyWorld, str], None]


def needs_it(world: PolicyWorld, chain: str) -> None:
    """Somebody makes a restore of the chain."""
    restore(world, chain)


def keeps_it(world: PolicyWorld, chain: str) -> None:
    """Somebody sets keep on a backup of the chain."""
    keep(world, next(each for each in world.backups() if each.status.chain == chain))


def declares_none(world: PolicyWorld, _: str) -> None:
    """Somebody takes the retention back."""
    world.declare_backups(**{**FULLS, "retention": None})


def stops_deletes(world: PolicyWorld, _: str) -> None:
    """Somebody stops all deletes of the WALCluster."""
    raw = world.kube._objects["WALCluster", WAL]
    raw["metadata"]["annotations"] = {STOP_DELETES_ANNOTATION: "wait"}
    world.kube._touch(raw)


def due() -> PolicyWorld:
    """A backup that is to delete the oldest chain has not begun."""
    world = made(declared(successfulRunsHistoryLimit=20), 4)
    world.time.time += TEN - (world.time.time.minute % 10) * (TEN / 10)
    settle(world.planner(), POLICY)
    return world


def active(world: PolicyWorld) -> WALBackup:
    """The backup that is made."""
    return world.backups()[-1]


def declares_more(world: PolicyWorld, _: str) -> None:
    """Somebody makes the recovery window longer."""
    world.declare_backups(**{**FULLS, "retention": {"recoveryWindow": "2h", "minimumFulls": 2}})


def finds_the_others_broken(world: PolicyWorld, chain: str) -> None:
    """Restores of all others end, because the store does not have what was written."""
    find_broken(world, *(name for name in chains(world) if name != chain))


MOVES: tuple[Move, ...] = (needs_it, keeps_it, declares_none, declares_more, stops_deletes, finds_the_others_broken)


def disturbed(world: PolicyWorld, move: Move | None, at: int) -> tuple[int, int, bool]:
    """How many calls there are up to the application, and in all; and whether the driver was about to delete.

    It is, if between the move and that the operator has not the two ticks that it needs: one that reads all anew and
    records that the attempt is over, and one that removes the application.
    """
    calls, chain = Calls(lambda _: None), chains(world)[0]
    since, made_at, process = 9, 0, world.backer(calls)

    def before(_: str) -> None:
        nonlocal since
        if len(calls.names) == at and move is not None:
            since = 0
            move(world, chain)

    calls.before = before
    for _ in range(60):
        since += 1
        world.settle_backup(active(world).metadata.key, process, ticks=1)
        if not made_at and world.spark.applications:
            made_at = len(calls.names)
        if active(world).status.outcome is not None or world.deleted:
            break
    return made_at, len(calls.names), since < 2


def test_what_somebody_wants_before_the_driver_deletes_is_not_deleted() -> None:
    world = due()
    world.spark.applications.clear()  # those of backups before
    world.slow = 2
    undisturbed = copy.deepcopy(world)
    made_at, calls, _ = disturbed(undisturbed, None, 0)
    assert len(undisturbed.deleted) == 1
    assert calls - made_at >= 30
    late = set[int]()
    for at in range(made_at - FREEZES, calls + 1):
        moves: tuple[Move, ...] = (needs_it, *(() if at % 8 else MOVES))
        for move in moves:
            each = copy.deepcopy(world)
            _, _, is_late = disturbed(each, move, at)
            assert is_late or each.deleted == [], (move.__name__, at)
            late |= {at} if each.deleted else set()
    assert late
    assert min(late) > made_at


def frozen(*, is_made: bool) -> tuple[PolicyWorld, str]:
    """The list is in the request; the application is not made yet, because somebody pauses the backup, or it runs."""
    world = due()
    world.slow = 99
    process = world.backer()
    for _ in range(60):
        world.settle_backup(active(world).metadata.key, process, ticks=1)
        if active(world).status.stage is JobStage.RUNNING:
            break
    (chain,) = active(world).status.expiring
    if is_made:
        world.settle_backup(active(world).metadata.key, process, ticks=4)
    else:
        pause(world, {"seawall.dev/paused": "true"})
        world.settle_backup(active(world).metadata.key, process, ticks=3)
    assert bool([key for key in world.spark.applications if key.name == f"{active(world).metadata.name}-1"]) is is_made
    return world, chain


def pause(world: PolicyWorld, annotations: dict[str, str]) -> None:
    """Somebody edits the annotations of the backup that is made."""
    raw = world.kube._objects["WALBackup", active(world).metadata.key]
    raw["metadata"]["annotations"] = annotations
    world.kube._touch(raw)


def goes_on_without_the_list(move: Move, *, is_made: bool) -> None:
    world, chain = frozen(is_made=is_made)
    name = active(world).metadata.name
    move(world, chain)
    pause(world, {})
    world.settle_backup(active(world).metadata.key, ticks=2)
    assert f"it was to delete chain {chain}" in (active(world).status.message or "")
    world.slow = 0
    world.live(TEN / 4)
    assert Key(NAMESPACE, f"{name}-1") not in world.spark.applications
    assert (Key(NAMESPACE, f"{name}-1") in world.spark.specs) is is_made
    assert world.deleted == []
    found = next(each for each in world.backups() if each.metadata.name == name)
    assert (found.status.stage, found.status.attempt, found.status.expiring) == (JobStage.COMPLETED, 2, ())


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("is_made", [False, True], ids=["waits", "runs"])
def test_a_backup_whose_list_must_stay_by_now_goes_on_without_it(move: Move, *, is_made: bool) -> None:
    goes_on_without_the_list(move, is_made=is_made)


def test_a_list_that_still_may_go_interrupts_nobody() -> None:
    world, _ = frozen(is_made=True)
    keep(world, active(world))
    world.slow = 0
    world.live(TEN / 4)
    assert len(world.deleted) == 1
    assert world.backups()[-1].status.attempt == 1


def test_a_driver_that_is_to_delete_is_stopped_while_its_backup_cannot_be_read() -> None:
    """Nobody asks meanwhile whether its list may still go; the backup itself is not over, and goes on without it."""
    world, _ = frozen(is_made=True)
    backup = active(world).metadata
    raw = world.kube._objects["WALBackup", backup.key]
    spec = raw["spec"]
    raw["spec"] = {**spec, "newField": 1}
    world.kube._touch(raw)
    process = world.backer()
    world.settle_backup(backup.key, process, ticks=1)
    assert Key(NAMESPACE, f"{backup.name}-1") not in world.spark.applications
    world.slow = 0
    world.settle_backup(backup.key, process, ticks=10)
    waiting = world.walbackup(backup.key)
    assert (waiting.status.stage, waiting.status.attempt, why(waiting)[0]) == (JobStage.RUNNING, 1, "InvalidSpec")
    raw["spec"] = spec
    world.kube._touch(raw)
    world.live(TEN / 4)
    found = world.walbackup(backup.key)
    assert (found.status.stage, found.status.attempt, found.status.expiring) == (JobStage.COMPLETED, 2, ())
    assert world.deleted == []


def test_what_the_driver_of_a_backup_has_said_counts_although_that_cannot_be_read() -> None:
    world, chain = frozen(is_made=True)
    backup = active(world).metadata
    world.slow = 0
    while not world.deleted:
        world.run_spark()
    raw = world.kube._objects["WALBackup", backup.key]
    spec = raw["spec"]
    raw["spec"] = {**spec, "newField": 1}
    world.kube._touch(raw)
    world.settle_backup(backup.key, ticks=10)
    assert Key(NAMESPACE, f"{backup.name}-1") in world.spark.applications
    raw["spec"] = spec
    world.kube._touch(raw)
    world.live(TEN / 4)
    status = world.walbackup(backup.key).status
    assert status.expiry is not None
    assert (status.stage, status.attempt, status.expiry.gone) == (JobStage.COMPLETED, 1, (chain,))


def test_what_the_driver_says_counts_although_somebody_stops_deletes_a_moment_later() -> None:
    world, chain = frozen(is_made=True)
    world.slow = 0
    while not world.deleted:
        world.run_spark()
    stops_deletes(world, chain)
    world.live(TEN / 4)
    status = world.backups()[-1].status
    assert status.attempt == 1
    assert status.expiry is not None
    assert status.expiry.gone == (chain,)


def test_another_chain_that_may_go_by_now_keeps_none_of_the_list() -> None:
    world = made(declared(successfulRunsHistoryLimit=20), 4)
    policy, backup = world.policy(), world.backups()[-1]
    oldest = policy.status.chains[0]
    rows = tuple(
        oldest.model_copy(update={"name": f"c{number}", "full_time": oldest.full_time - (20 - number) * TEN})
        for number in range(12)
    )
    status = policy.status.model_copy(update={"chains": (*rows, *policy.status.chains)})
    found = Surroundings(WALBackupPolicy(policy.metadata, policy.spec, status), world.backups(), ())
    listed = backup.status.model_copy(update={"expiring": ("c4", "c11")})
    assert find_needed(found, listed) is None
    assert find_needed(found, listed.model_copy(update={"expiring": ("c4", "x")})) == "x"
    assert find_needed(found, listed.model_copy(update={"location": "s3://elsewhere"})) == "c4"


def test_a_restore_of_a_chain_that_is_being_deleted_waits_for_that_and_says_so() -> None:
    world: RestoreWorld = lost()
    world.back_up(Key(NAMESPACE, "deletes"))
    world.kube.write_raw_status(Key(NAMESPACE, "deletes"), type(world.walbackup()), {"expiring": ["old"]})
    world.bring_back(source={"clusterId": "fake-cluster", "chain": "old"})
    process = world.restorer()
    for _ in range(10):
        world.settle_restore(process=process, ticks=1)
    found = world.kube.get(WALRestore, BACK)
    assert found is not None
    assert (found.status.stage, found.status.request_digest) == (RestoreStage.INSPECTING, None)
    message = "WALBackup deletes deletes chain old, which its policy does not need"
    assert why(found) == ("ChainExpiring", message)
    assert deleting("old", [world.walbackup(Key(NAMESPACE, "deletes"))]) == "deletes"
    world.kube.remove(Key(NAMESPACE, "deletes"), type(world.walbackup()))
    for _ in range(10):
        world.settle_restore(process=process, ticks=1)
    assert why(world.walrestore())[0] != "ChainExpiring"
