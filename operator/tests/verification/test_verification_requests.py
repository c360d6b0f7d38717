"""What a job is told to read, while others write ConfigMaps: only what the status named before counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import Key
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.spark_job import JobStage, Outcome
from seawall.api.v1alpha1.verification import WALVerification
from seawall.controllers.hold import WALHoldController
from seawall.controllers.verification import WALVerificationController
from seawall.domain.decision import settle
from seawall.domain.errors import Conflict
from seawall.domain.spark_job.actions import FreezeRequest, JobAction, Submit
from seawall.domain.spark_job.application import Ended
from seawall.domain.step import Act
from seawall.reconciler import Reconciler
from tests.worlds.purge_world import NAMESPACE, TOPICS
from tests.worlds.verification_world import CHECK, VerificationWorld, why

FIRST = Key(NAMESPACE, "check-1")
CHANGED = ("RequestChanged", "ConfigMap check-1 is not the request that status.requestDigest names")


def settle_until(
    world: VerificationWorld,
    is_reached: Callable[[], bool],
    act: Callable[[], None],
    process: Reconciler[Any, Any, Any, Any] | None = None,
) -> None:
    """Ticks, and acts once, as soon as something is so."""
    process = process or world.verifier()
    controller = WALHoldController(world.kube, world.observer(), world.time, world.meters)
    granter = Reconciler(controller, may_write=lambda: True)
    for _ in range(100):
        if is_reached():
            act()
            return
        process.tick(CHECK)
        for hold in world.kube.list(WALHold, NAMESPACE).items:
            granter.tick(hold.metadata.key)
        world.time.time += timedelta(seconds=1)
    raise AssertionError(f"it never came so far: {world.verification().status}")


def assert_nothing_is_proved(world: VerificationWorld) -> None:
    status = world.verification().status
    assert (status.stage, status.outcome) == (JobStage.FAILED, Outcome.INTERRUPTED)
    assert not any(row.verified for row in status.topics)
    assert (world.holds(), world.spark.applications) == ([], {})


@pytest.mark.parametrize("is_named", [False, True])
def test_a_forged_request_proves_nothing_and_no_job_is_started_on_it(is_named: bool) -> None:  # noqa: FBT001 - a case
    """Of [39, 40) nothing is wrong; an honest verification of [1, 40) fails."""
    world = VerificationWorld(bad=set(TOPICS))
    world.start()

    def is_so() -> bool:
        return bool(world.holds()) and (world.verification().status.request_digest is not None) is is_named

    settle_until(world, is_so, world.forge_request)
    world.bad = set()
    assert why(world.settle_verification()) == CHANGED
    assert world.spark.specs == {}
    assert_nothing_is_proved(world)


def test_a_request_that_is_exchanged_before_the_job_is_made_starts_none() -> None:
    world = VerificationWorld(bad=set(TOPICS))
    world.spark.installed = False
    world.start()
    world.settle_verification(ticks=40)
    world.forge_request()
    world.spark.installed, world.bad = True, set()
    assert why(world.settle_verification()) == CHANGED
    assert world.spark.specs == {}
    assert_nothing_is_proved(world)


def test_a_request_that_is_exchanged_while_the_job_starts_ends_the_job() -> None:
    world = VerificationWorld(bad=set(TOPICS), slow=10**6)
    world.start()
    world.settle_verification(ticks=30)
    assert list(world.spark.applications) == [FIRST]
    world.forge_request()
    assert why(world.settle_verification(ticks=10)) == CHANGED
    assert_nothing_is_proved(world)


def test_a_job_that_read_another_request_proves_nothing_even_if_the_right_one_is_back() -> None:
    """The kubelet mounted it while it was another one: only the verdict can tell."""
    world = VerificationWorld(slow=10**6)
    world.start()
    world.settle_verification(ticks=30)
    text, code = world.judge(FIRST)
    digest = world.verification().status.request_digest or ""
    world.spark.report(FIRST, "COMPLETED", driver=Ended(code, text.replace(digest, "0" * 64)))
    found = world.settle_verification(ticks=10)
    assert why(found) == ("RequestChanged", "the driver's verdict is about another request")
    assert_nothing_is_proved(world)


def test_a_verdict_of_the_attempt_before_proves_nothing_about_this_one() -> None:
    world = VerificationWorld(dies=1, slow=10**6)
    world.start()
    world.settle_verification(ticks=30)
    before = world.judge(FIRST)[0]
    world.slow = 0
    settle_until_attempt(world, 2)
    world.slow = 10**6
    world.settle_verification(ticks=30)
    second = Key(NAMESPACE, "check-2")
    world.spark.report(second, "COMPLETED", driver=Ended(0, before))
    assert why(world.settle_verification(ticks=10))[0] == "RequestChanged"
    assert_nothing_is_proved(world)


def settle_until_attempt(world: VerificationWorld, attempt: int) -> None:
    for _ in range(200):
        if world.verification().status.attempt == attempt:
            return
        world.settle_verification(ticks=1)
    raise AssertionError(f"attempt {attempt} never begins")


def test_a_request_that_is_deleted_costs_the_attempt_only() -> None:
    world = VerificationWorld(slow=10**6)
    world.start()
    world.settle_verification(ticks=30)
    world.kube.remove_config_map(FIRST)
    settle_until_attempt(world, 2)
    world.slow = 0
    found = world.settle_verification()
    assert (found.status.outcome, found.status.attempt) == (Outcome.PASSED, 2)
    assert [key.name for key in world.spark.applications] == ["check-2"]


def test_a_request_that_somebody_else_owns_is_never_used() -> None:
    world = VerificationWorld()
    world.spark.installed = False
    world.start()
    world.settle_verification(ticks=40)
    found = world.kube.get_config_map(FIRST)
    assert found is not None
    world.start("other")
    world.kube.remove_config_map(FIRST)
    other = world.kube.get(WALVerification, Key(NAMESPACE, "other"))
    assert other is not None
    world.kube.write_config_map(other, replace(found, resource_version=None))  # the same bytes
    world.spark.installed = True
    assert why(world.settle_verification())[0] == "NameTaken"
    assert world.spark.specs == {}


def test_what_unpacks_to_no_request_is_none() -> None:
    world = VerificationWorld()
    world.spark.installed = False
    world.start()
    world.settle_verification(ticks=40)
    world.kube.put_config_map(FIRST, {"request.json.gz": "not compressed"})
    world.spark.installed = True
    assert why(world.settle_verification()) == CHANGED


def test_the_status_names_the_request_before_anybody_can_read_it() -> None:
    world = VerificationWorld()
    world.start()
    settle_until(world, lambda: world.verification().status.request_digest is not None, lambda: None)
    status = world.verification().status
    assert world.kube.get_config_map(FIRST) is None
    assert [(row.name, row.verified_from, row.end) for row in status.topics] == [(name, 1, 40) for name in TOPICS]
    found = world.settle_verification()
    assert found.status.request_digest is not None
    assert world.spark.specs[FIRST]["arguments"][-2:] == ["--digest", found.status.request_digest]


def test_a_log_that_grows_all_the_time_is_verified_all_the_same() -> None:
    """Each look shows other offsets; the request is of one look, whatever is written meanwhile."""
    world = VerificationWorld()
    world.start()
    process = world.verifier()
    for _ in range(200):
        world.write("wal_0", 1)
        found = world.settle_verification(process, ticks=1)
        if found.status.is_over:
            break
    assert found.status.outcome is Outcome.PASSED
    (first, *_) = found.status.topics
    assert first.end > 40


def test_a_hold_that_is_deleted_before_the_request_is_written_is_placed_anew_and_all_of_it_is_read() -> None:
    world = VerificationWorld()
    world.start()
    process = world.verifier()

    def lose_the_hold() -> None:
        for region in world.data_plane.regions:
            world.flush(region)  # so that the next hold begins further on
        world.kube.remove(FIRST, WALHold)

    settle_until(world, lambda: world.verification().status.request_digest is not None, lose_the_hold, process)
    found = world.settle_verification(process)
    assert (found.status.stage, found.status.not_read) == (JobStage.COMPLETED, ())
    assert [(row.name, row.verified_from > 1, row.verified) for row in found.status.topics] == [
        (name, True, True) for name in TOPICS
    ]


def decided(world: VerificationWorld, kind: type[JobAction]) -> tuple[WALVerificationController, JobAction]:
    """A process that has decided to do something, and sleeps before it does."""
    reconciler = world.verifier()
    controller: WALVerificationController = reconciler.controller  # type: ignore[assignment]
    granter = Reconciler(
        WALHoldController(world.kube, world.observer(), world.time, world.meters), may_write=lambda: True
    )
    for _ in range(50):
        obj = world.verification()
        step = settle(obj, controller.decide(obj, controller.observe(obj)))
        if isinstance(step, Act) and isinstance(step.actions[0], kind):
            return controller, step.actions[0]
        reconciler.tick(CHECK)
        for hold in world.kube.list(WALHold, NAMESPACE).items:
            granter.tick(hold.metadata.key)
        world.time.time += timedelta(seconds=1)
    raise AssertionError(f"{kind} is never decided")


def test_a_process_that_slept_before_it_made_the_job_asks_again() -> None:
    moves: tuple[Callable[[VerificationWorld], None], ...] = (
        VerificationWorld.forge_request,
        lambda world: world.edit_cluster({"spark": {"image": "replay-verification:2"}}),
        lambda world: world.kube.remove(FIRST, WALHold),
        lambda world: world.annotate(paused="true"),
        lambda world: world.start_anew(),
    )
    for move in moves:
        world = VerificationWorld()
        world.start()
        controller, action = decided(world, Submit)
        obj = world.verification()
        move(world)
        with pytest.raises(Conflict):
            controller.perform(obj, action)
        assert world.spark.specs == {}


def test_a_process_that_slept_before_it_wrote_the_request_writes_none_that_the_status_does_not_name() -> None:
    world = VerificationWorld()
    world.start()
    controller, action = decided(world, FreezeRequest)
    obj = world.verification()
    world.kube.replace_status(obj, obj.status.model_copy(update={"request_digest": "0" * 64}))  # another operator
    with pytest.raises(Conflict):
        controller.perform(obj, action)
    assert world.kube.get_config_map(FIRST) is None
