"""Who is not let in by the metasrv, or has nothing to ask it with, does not know that the database is stopped.

A datanode that the declared StatefulSet does not have reports all the time.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import Key
from seawall.api.v1alpha1.restore_status import RestoreStage
from seawall.controllers import restore
from seawall.domain.dataplane.connection import NotReached, PartRefused
from seawall.domain.errors import OutsideUnavailable, SeawallError
from tests.restore.test_restore import nothing_was_made
from tests.restore.test_restore_crash import approved
from tests.support.mutants import Mutant, find_survivors
from tests.worlds.purge_world import NAMESPACE, WAL
from tests.worlds.restore_world import LONG_AGO, RestoreWorld
from tests.worlds.verification_world import why

Patch = pytest.MonkeyPatch
SECRET = Key(NAMESPACE, "ca")


def one_elsewhere() -> RestoreWorld:
    """No pod of the StatefulSet is left, and datanode 2 lives elsewhere."""
    world = approved()
    world.data_plane.stopped = {0, 1}
    return world


def behind_tls() -> RestoreWorld:
    """The metasrv is reached by a private CA."""
    world = one_elsewhere()
    spec = world.spec()
    urls = {"frontend": "https://frontend:4000", "tls": {"caSecretRef": {"name": SECRET.name}}}
    spec["dataPlane"]["greptimedb"] = {**spec["dataPlane"]["greptimedb"], **urls}
    world.kube.apply(WAL, spec)
    return world


def refuse(world: RestoreWorld, error: Exception) -> None:
    """The metasrv does not let Seawall in, or the API server gives no Secret."""

    def refuses() -> Any:
        raise error

    world.data_plane.reports = refuses  # type: ignore[method-assign]


def waits(world: RestoreWorld, reason: str) -> None:
    """Nothing is made, and it says why."""
    world.settle_restore(ticks=40)
    assert why(world.walrestore())[0] == reason
    nothing_was_made(world)


def test_a_datanode_that_reports_runs_and_without_the_secret_nobody_knows() -> None:
    world = behind_tls()
    waits(world, "DatabaseUnknown")
    assert "Secret ca does not exist" in why(world.walrestore())[1]
    world.kube.secrets[SECRET] = {"ca.crt": b"x"}
    waits(world, "DatabaseRunning")


@pytest.mark.parametrize(
    "error",
    [
        PartRefused(NotReached.AUTHENTICATION_FAILED, "the metasrv answers 401"),
        PartRefused(NotReached.TLS_FAILED, "its certificate has expired"),
        OutsideUnavailable("the API server gives no Secret"),
    ],
    ids=["401", "expired", "no API server"],
)
def test_who_is_not_let_in_does_not_know(error: Exception) -> None:
    world = one_elsewhere()
    refuse(world, error)
    waits(world, "DatabaseUnknown")
    assert str(error) in why(world.walrestore())[1]


def test_a_topic_with_a_row_is_not_deleted_by_who_is_not_let_in() -> None:
    """The first job breaks off; the datanode elsewhere writes before its topics would be made anew."""
    world = one_elsewhere()
    world.half_written, world.data_plane.stopped = 1, {0, 1, 2}
    process = world.restorer()
    for _ in range(200):
        world.settle_restore(process=process, ticks=1)
        if world.walrestore().status.stage is RestoreStage.REMOVING:
            break
    log = world.kafka.topics["wal_1"].log
    refuse(world, PartRefused(NotReached.TLS_FAILED, "its certificate has expired"))
    log.append(1, LONG_AGO)  # by a clock that is far behind
    world.settle_restore(process=process, ticks=100)
    world.time.time += timedelta(minutes=10)
    world.settle_restore(process=process, ticks=100)
    assert world.kafka.topics["wal_1"].log.topic_id == log.topic_id, "the topic with an acknowledged row is gone"


def taken_for_silence(patch: Patch) -> None:
    """Whatever goes wrong counts as nobody who answers."""
    patch.setattr(restore, "PartUnavailable", SeawallError)


MUTANTS: tuple[Mutant, ...] = tuple(
    (taken_for_silence, story)
    for story in (
        lambda: test_who_is_not_let_in_does_not_know(PartRefused(NotReached.TLS_FAILED, "its certificate has expired")),
        test_a_topic_with_a_row_is_not_deleted_by_who_is_not_let_in,
    )
)


def test_the_guard_is_needed() -> None:
    assert not find_survivors(MUTANTS)
