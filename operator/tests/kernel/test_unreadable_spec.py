"""A spec that this version cannot read ends no run: the CRDs are of another version, and one that reads it goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from seawall.api.meta import ConditionType, InvalidSpec, Key
from seawall.api.resource import Resource
from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.purge import Stage, WALPurge
from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.restore_status import RestoreStage
from seawall.api.v1alpha1.spark_job import JobStage, Outcome
from seawall.api.v1alpha1.verification import WALVerification
from seawall.domain.conditions import find_condition
from seawall.domain.restore.others import find_other
from seawall.domain.spark_job.case import is_granted
from seawall.observe.claims import why_restoring
from tests.worlds.backup_world import FULL, NEXT, BackupWorld
from tests.worlds.purge_world import CHANGES as PURGES
from tests.worlds.purge_world import NAMESPACE, RUN, Calls, World
from tests.worlds.restore_world import BACK, lost
from tests.worlds.scratch_world import CHANGES as RESTORES
from tests.worlds.scratch_world import ScratchWorld, backed_up
from tests.worlds.verification_world import CHECK, VerificationWorld, why

CHANGING = (PURGES | RESTORES) - {"replace_status"}
NEWER: dict[str, Any] = {"newField": "Enabled"}
"""A field that a newer CRD has, with its default, which the API server has filled in."""
WRONG: dict[str, Any] = {"clusterRef": {"name": "WAL"}}
"""A value that this version does not take, whatever other fields there are."""
OTHER, HOLD = Key(NAMESPACE, "other"), Key(NAMESPACE, "check-1")
CONTINUES: dict[str, Any] = {"parentRef": {"name": "full"}}


def stored(world: World, kind: type[Resource[Any, Any]], key: Key) -> dict[str, Any]:
    """The spec as the API server has it."""
    raw: dict[str, Any] = world.kube._objects[kind.KIND.kind, key]["spec"]
    return raw


def write(world: World, kind: type[Resource[Any, Any]], key: Key, spec: Mapping[str, Any]) -> None:
    """The same object with another spec."""
    found = world.kube.get(kind, key)
    assert found is not None
    world.kube.apply(key, spec, annotations=found.metadata.annotations, kind=kind)


@dataclass
class Scene:
    """A run, and who looks after it.

    Attributes:
        step: one tick of the operator, and what Spark does meanwhile.
        person: what somebody does in between, once.
    """

    world: World
    kind: type[Resource[Any, Any]]
    key: Key
    calls: Calls
    step: Callable[[], object]
    person: Callable[[], object] | None = None
    spec: dict[str, Any] = field(default_factory=dict)

    def found(self) -> Any:
        """The object."""
        return self.world.kube.get(self.kind, self.key)

    def until(self, stage: object) -> None:
        """Until this stage is recorded; a person approves what waits for that."""
        for _ in range(600):
            status = self.found().status
            if status.stage == stage:
                return
            if status.stage is RestoreStage.AWAITING_APPROVAL and self.person is not None:
                self.person()
                self.person = None
            self.step()
        raise AssertionError(f"it does not come to {stage}: {self.found()}")

    def become(self, **fields: Any) -> None:
        """Its spec cannot be read any more."""
        self.spec = stored(self.world, self.kind, self.key)
        write(self.world, self.kind, self.key, {**self.spec, **fields})
        assert isinstance(self.found().spec, InvalidSpec)

    def mend(self) -> None:
        """A version that reads it is there, or the field is not."""
        write(self.world, self.kind, self.key, self.spec)

    def changes_in(self, steps: int) -> set[str]:
        """What is changed outside but the status, in so many ticks."""
        before = len(self.calls.names)
        for _ in range(steps):
            self.step()
        return set(self.calls.names[before:]) & CHANGING


def a_purge() -> Scene:
    world = World()
    world.start_run()
    calls = Calls(world.check)
    return Scene(world, WALPurge, RUN, calls, partial(world.settle, world.process(calls), ticks=1))


def a_verification() -> Scene:
    world = VerificationWorld(slow=2)
    world.start()
    calls = Calls(world.check)
    step = partial(world.settle_verification, world.verifier(calls), ticks=1)
    return Scene(world, WALVerification, CHECK, calls, step)


def a_backup() -> Scene:
    world = BackupWorld(slow=2)
    world.back_up()
    calls = Calls(world.check)
    return Scene(world, WALBackup, FULL, calls, partial(world.settle_backup, FULL, world.backer(calls), ticks=1))


def a_restore(half_written: int = 0) -> Scene:
    world = lost(slow=2, half_written=half_written)
    world.bring_back()
    calls = Calls(world.check, RESTORES)
    step = partial(world.settle_restore, BACK, world.restorer(calls), ticks=1)

    def person() -> None:
        world.stop_database()
        world.approve()

    return Scene(world, WALRestore, BACK, calls, step, person)


def a_drill() -> Scene:
    world = backed_up(slow=2)
    world.drill()
    calls = Calls(world.check, RESTORES)
    return Scene(world, WALRestore, BACK, calls, partial(world.settle_restore, BACK, world.restorer(calls), ticks=1))


ALL: tuple[Callable[[], Scene], ...] = (a_purge, a_verification, a_backup, a_restore, a_drill)
BEGUN: tuple[tuple[Callable[[], Scene], object], ...] = (
    *((a_purge, stage) for stage in (Stage.PREPARATION, Stage.COMMUNICATION, Stage.PURGE)),
    *(
        (job, stage)
        for job in (a_verification, a_backup)
        for stage in (JobStage.HOLDING, JobStage.RUNNING, JobStage.RELEASING)
    ),
    *(
        (a_restore, stage)
        for stage in (
            RestoreStage.INSPECTING,
            RestoreStage.AWAITING_APPROVAL,
            RestoreStage.PREPARING,
            RestoreStage.WRITING,
            RestoreStage.ADOPTING,
        )
    ),
    (partial(a_restore, half_written=1), RestoreStage.REMOVING),
    *((a_drill, stage) for stage in (RestoreStage.PREPARING, RestoreStage.WRITING, RestoreStage.REMOVING)),
)


def waits(scene: Scene, where: str) -> None:
    """Nothing is done, and it is said why."""
    before = scene.found().status
    assert scene.changes_in(5) == set()
    found = scene.found()
    stalled = find_condition(found.status.conditions, ConditionType.STALLED)
    assert stalled is not None
    assert (stalled.status, stalled.reason) == ("True", "InvalidSpec")
    assert stalled.message.startswith(f"{where}: ")
    assert stalled.message.endswith("upgrade CRDs and operator together")
    fields = {"conditions", "observed_generation"}
    assert found.status.model_dump(exclude=fields) == before.model_dump(exclude=fields)
    assert found.status.observed_generation == found.metadata.generation


@pytest.mark.parametrize(("begin", "stage"), BEGUN)
def test_who_has_begun_waits_with_a_field_that_this_version_does_not_know(
    begin: Callable[[], Scene], stage: object
) -> None:
    scene = begin()
    scene.until(stage)
    scene.become(**NEWER)
    waits(scene, "spec.newField")
    scene.mend()
    scene.until("Completed")


@pytest.mark.parametrize("begin", ALL)
def test_who_has_begun_waits_with_any_spec_that_this_version_cannot_read(begin: Callable[[], Scene]) -> None:
    scene = begin()
    scene.step()
    assert scene.found().status.stage is not None
    scene.become(**WRONG)
    waits(scene, "spec.clusterRef.name")
    scene.mend()
    scene.until("Completed")


@pytest.mark.parametrize("begin", ALL)
def test_who_has_not_begun_waits_for_a_version_that_knows_the_field(begin: Callable[[], Scene]) -> None:
    scene = begin()
    scene.become(**NEWER)
    waits(scene, "spec.newField")
    scene.mend()
    scene.until("Completed")


@pytest.mark.parametrize("begin", ALL)
def test_who_is_in_a_stage_that_this_version_does_not_know_waits_there(begin: Callable[[], Scene]) -> None:
    scene = begin()
    scene.step()
    stage = write_stage(scene, "Newer")
    waits(scene, "status.stage")
    assert write_stage(scene, stage) == "Newer"
    scene.until("Completed")


def write_stage(scene: Scene, stage: str) -> str:
    """A newer version writes it; returns the one of before."""
    status = scene.world.kube.raw_status(scene.key, scene.kind)
    scene.world.kube.write_raw_status(scene.key, scene.kind, {**status, "stage": stage})
    return str(status["stage"])


@pytest.mark.parametrize("begin", ALL)
def test_what_nobody_can_begin_as_it_stands_ends(begin: Callable[[], Scene]) -> None:
    scene = begin()
    scene.become(**WRONG, **NEWER)
    assert scene.changes_in(2) == set()
    assert (scene.found().status.stage, why(scene.found())[0]) == ("Failed", "InvalidSpec")


def its_hold_is_placed(world: VerificationWorld) -> bool:
    found = world.kube.get(WALHold, HOLD)
    return found is not None and not is_granted(found)


def its_hold_is_granted(world: VerificationWorld) -> bool:
    found = world.kube.get(WALHold, HOLD)
    return found is not None and is_granted(found)


def it_is_to_run(world: VerificationWorld) -> bool:
    return world.verification().status.stage is JobStage.RUNNING


@pytest.mark.parametrize("when", [its_hold_is_placed, its_hold_is_granted, it_is_to_run])
def test_a_job_waits_for_the_spec_of_its_hold(when: Callable[[VerificationWorld], bool]) -> None:
    world = VerificationWorld()
    world.start()
    process = world.verifier()
    for _ in range(100):
        if when(world):
            break
        if when is its_hold_is_placed:  # by itself, as who grants holds is slow
            process.tick(CHECK)
            world.time.time += timedelta(seconds=5)
        else:
            world.settle_verification(process, ticks=1)
    assert when(world)
    spec, stage = stored(world, WALHold, HOLD), world.verification().status.stage
    write(world, WALHold, HOLD, {**spec, **NEWER})
    waiting = world.settle_verification(process, ticks=20)
    assert (waiting.status.stage, waiting.status.attempt, world.spark.made) == (stage, 1, [])
    reason, message = why(waiting)
    assert (reason, message.split(";")[0]) == (
        "InvalidSpec",
        "WALHold check-1 cannot be read: spec.newField: Extra inputs are not permitted",
    )
    write(world, WALHold, HOLD, spec)
    found = world.settle_verification(process)
    assert (found.status.outcome, found.status.attempt) == (Outcome.PASSED, 1)


def test_what_cannot_be_read_of_a_backup_is_no_reason_to_end_the_one_that_continues_it() -> None:
    world = BackupWorld()
    full = world.backed_up()
    write(world, WALBackup, FULL, {**stored(world, WALBackup, FULL), **NEWER})
    found = world.backed_up(NEXT, **CONTINUES)
    assert (found.status.stage, found.status.chain) == (JobStage.COMPLETED, full.status.chain)


def test_a_parent_is_not_continued_twice_while_one_of_the_two_waits() -> None:
    world = BackupWorld()
    world.backed_up()
    world.back_up(NEXT, **CONTINUES)
    process = world.backer()
    while world.walbackup(NEXT).status.stage is not JobStage.RUNNING:
        world.settle_backup(NEXT, process, ticks=1)
    spec = stored(world, WALBackup, NEXT)
    write(world, WALBackup, NEXT, {**spec, **NEWER})
    world.time.time += timedelta(seconds=60)
    younger = world.backed_up(OTHER, **CONTINUES)
    assert why(younger) == ("ParentUnusable", "WALBackup full is continued by next already")
    write(world, WALBackup, NEXT, spec)
    assert world.settle_backup(NEXT).status.stage is JobStage.COMPLETED


def at_work(begin: Callable[[], Scene]) -> WALRestore:
    """One whose spec cannot be read any more while its application writes."""
    scene = begin()
    scene.until(RestoreStage.WRITING)
    scene.become(**NEWER)
    found: WALRestore = scene.found()
    return found


def test_a_drill_that_waits_is_in_no_restores_way_and_a_restore_that_waits_is() -> None:
    world = ScratchWorld()
    world.bring_back(OTHER)
    other = world.walrestore(OTHER)
    assert find_other(other, [at_work(a_drill)]) is None
    assert find_other(other, [at_work(a_restore)]) == BACK.name


def test_a_restore_in_a_stage_that_this_version_does_not_know_is_at_work() -> None:
    scene = a_restore()
    scene.until(RestoreStage.INSPECTING)
    scene.world.kube.apply(OTHER, stored(scene.world, WALRestore, BACK), kind=WALRestore)
    other = scene.world.kube.get(WALRestore, OTHER)
    assert other is not None
    assert find_other(other, [scene.found()]) is None
    assert why_restoring(scene.world.kube, scene.world.cluster()) is None
    write_stage(scene, "Newer")
    assert find_other(other, [scene.found()]) == BACK.name
    assert (why_restoring(scene.world.kube, scene.world.cluster()) or "").startswith("WALRestore back is at work")
