"""An event that could not be posted was not told: it is posted when the same fails once more, and then once."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest

from seawall.domain.errors import SeawallError
from seawall.domain.step import Event
from seawall.reconciler import Outcome, Reconciler
from tests.kernel.failure_scenes import Scene
from tests.kernel.test_failed_actions import BOTH, EVERY, UNANSWERED, assert_one_event, see_it_fail
from tests.support.refusals import Refusal
from tests.worlds import verification_world


def of_one_that_is_over(
    refusal: Refusal,
) -> tuple[verification_world.VerificationWorld, Reconciler[Any, Any, Any, Any]]:
    """Its deletion fails, and its status is its verdict: the kernel's event is all that tells of it."""
    world = verification_world.VerificationWorld()
    world.start(ttlSecondsAfterFinished=60)
    world.settle_verification(ticks=399)
    world.time.time += timedelta(minutes=2)
    world.kube.events.clear()
    return world, world.verifier(refusal)


@BOTH
def test_what_failed_while_the_lease_was_not_renewed_is_told_when_it_is(error: SeawallError) -> None:
    refusal = Refusal(error, {"delete"})
    world, process = of_one_that_is_over(refusal)
    answers = [True, False]
    """To whether it leads, before the act and before the event."""
    process = Reconciler(process.controller, lambda: answers.pop(0) if answers else True)
    assert process.tick(verification_world.CHECK).outcome is Outcome.FAILED
    assert (answers, world.kube.events) == ([], [])
    for _ in range(3):
        process.tick(verification_world.CHECK)
    assert refusal.count == 4
    assert [event.message for event in world.kube.events] == [str(error)]


@BOTH
def test_what_the_api_server_did_not_take_is_posted_at_the_next_try(error: SeawallError) -> None:
    world, process = of_one_that_is_over(Refusal(error, {"delete"}))
    world.kube.takes_event = lambda _: False
    for _ in range(2):
        process.tick(verification_world.CHECK)
    world.kube.takes_event = lambda _: True
    for _ in range(3):
        process.tick(verification_world.CHECK)
    assert [event.message for event in world.kube.events] == [str(error)]


@EVERY
def test_of_every_controller_one_that_was_not_taken_is_told_later(
    kind: str, scene: Scene, calls: Iterable[str]
) -> None:
    """Also where its own step tells of the failure, and is over with its status."""
    refusal, refused = Refusal(UNANSWERED, calls), list[Event]()
    stage = scene(refusal)

    def takes(event: Event) -> bool:
        is_first = not refused and str(UNANSWERED) in event.message
        refused.extend([event] if is_first else [])
        return not is_first

    stage.kube.takes_event = takes
    see_it_fail(stage, refusal)
    assert refused, f"{kind} tells of it"
    assert_one_event(stage, UNANSWERED)


def test_a_status_that_could_not_be_written_is_told_although_its_first_event_was_not_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = verification_world.VerificationWorld()
    world.start()
    process = world.verifier(Refusal(UNANSWERED, {"replace_status"}))
    taken = iter([False])
    monkeypatch.setattr(world.kube, "takes_event", lambda _: next(taken, True))
    outcomes = {process.tick(verification_world.CHECK).outcome for _ in range(4)}
    assert outcomes == {Outcome.ERROR}
    assert [event.message for event in world.kube.events] == [str(UNANSWERED)]
