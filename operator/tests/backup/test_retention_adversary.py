"""People move right before any call of a backup that freezes what goes: what they want to keep stays, if it still can.

A list that is in the status already counts; whoever comes later finds it there, and waits.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

from seawall.api.meta import STOP_DELETES_ANNOTATION, Key
from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.restore_status import RestoreStage
from seawall.domain.backup.retention import deleting
from tests.backup.test_backup_policy import PolicyWorld, settle
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


def disturbed(world: PolicyWorld, move: Move | None, at: int) -> tuple[int, bool]:
    """How many calls there are up to the application, and whether the list was in the status at the move."""
    calls, frozen, chain = Calls(lambda _: None), [False], chains(world)[0]

    def before(_: str) -> None:
        if len(calls.names) == at and move is not None:
            frozen[0] = chain in active(world).status.expiring
            move(world, chain)

    calls.before = before
    made_at, process = 0, world.backer(calls)
    for _ in range(60):
        world.settle_backup(active(world).metadata.key, process, ticks=1)
        if not made_at and active(world).status.application_name is not None:
            made_at = len(calls.names)
        if active(world).status.outcome is not None:
            break
    return made_at, frozen[0]


def test_what_somebody_wants_before_the_list_is_in_the_status_is_not_deleted() -> None:
    world = due()
    undisturbed = copy.deepcopy(world)
    calls, _ = disturbed(undisturbed, None, 0)
    assert len(undisturbed.deleted) == 1
    late = 0
    for at in range(calls - FREEZES, calls + 1):
        moves: tuple[Move, ...] = (needs_it, *(() if at % 8 else (keeps_it, declares_none, stops_deletes)))
        for move in moves:
            each = copy.deepcopy(world)
            _, frozen = disturbed(each, move, at)
            assert frozen or each.deleted == [], (move.__name__, at)
            late += frozen
    assert late


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
