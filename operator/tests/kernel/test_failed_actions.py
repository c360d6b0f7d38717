"""What every controller makes of actions that are refused, or not answered: nothing fails in silence.

A condition says so for as long as it lasts, one event tells of it, each try is logged, and it is tried again until it
works; then the condition is as before. Everything runs on the in-memory ports, which pass the contract tests.
"""

from __future__ import annotations

import importlib
import inspect
import logging
import pkgutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

import seawall.controllers
from seawall.api.v1alpha1.verification import WALVerification
from seawall.domain.errors import Conflict, Forbidden, OutsideUnavailable, SeawallError
from seawall.domain.step import EventType
from seawall.domain.times import REFUSED_SECONDS, UNANSWERED_SECONDS
from seawall.reconciler import CONFLICTS_REPORTED, STATUS_NOT_WRITTEN, Outcome
from tests.kernel.failure_scenes import SCENES, Scene, Stage, corrects_topics_of_kafka
from tests.support.refusals import Refusal
from tests.worlds import verification_world

REFUSED: SeawallError = Forbidden("creating in /apis/seawall.dev: 403 a person has to give this right")
UNANSWERED: SeawallError = OutsideUnavailable("POST /apis/seawall.dev: no answer (ReadTimeoutError)")
CONFLICTING: SeawallError = Conflict("/apis/seawall.dev: the object has been modified")
TRIES, OBSERVERS = 4, 3
"""How often it is tried, and looked at, at the least: after two minutes a restart waits for flushes no longer."""
HEALS = 40
"""Rounds after which it works, once it is let."""

EVERY = pytest.mark.parametrize(
    ("kind", "scene", "calls"), SCENES, ids=[f"{kind} {scene.__name__}" for kind, scene, _ in SCENES]
)
BOTH = pytest.mark.parametrize("error", [REFUSED, UNANSWERED], ids=["refused", "unanswered"])


def test_there_is_a_scene_for_every_controller() -> None:
    kinds = set()
    for module in pkgutil.iter_modules(seawall.controllers.__path__, "seawall.controllers."):
        for _, found in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if hasattr(found, "perform") and not inspect.isabstract(found):
                kinds.add(inspect.signature(found).parameters["kind"].default)
    assert {kind for kind, _, _ in SCENES} == kinds


@EVERY
@BOTH
def test_what_fails_is_told_by_a_condition_and_one_event_logged_and_tried_again_until_it_works(
    kind: str, scene: Scene, calls: Iterable[str], error: SeawallError
) -> None:
    refusal = Refusal(error, calls)
    stage = scene(refusal)
    assert stage.process.controller.kind == kind
    with logged() as lines:
        see_it_fail(stage, refusal)
    assert_one_event(stage, error)
    assert sum(f"{kind} {stage.key}: " in line and str(error) in line for line in lines) == refusal.count == len(lines)
    heal(stage, refusal)
    assert_one_event(stage, error)


@EVERY
def test_a_conflict_that_comes_back_each_time_is_told_until_it_works(
    kind: str, scene: Scene, calls: Iterable[str]
) -> None:
    refusal = Refusal(CONFLICTING, {*calls} - {"flush_regions"})  # which asks for no state that it would find
    stage = scene(refusal)
    with logged() as lines:
        see_it_fail(stage, refusal, of=CONFLICTS_REPORTED + 1)
    assert_one_event(stage, CONFLICTING)
    assert all(f"{kind} {stage.key}: " in line and str(CONFLICTING) in line for line in lines)
    heal(stage, refusal)
    assert_one_event(stage, CONFLICTING)


def see_it_fail(stage: Stage, refusal: Refusal, of: int = 1) -> None:
    """It is tried again and again, and after each tick the condition says why, always in the same words.

    From the try on that is the first failure; those before are none.
    """
    error, observer = refusal.error, 0
    reported: set[tuple[str, str, str]] = set()

    def look() -> None:
        condition = stage.reported() if refusal.count >= of else None
        if condition is not None:
            assert str(error) in condition.message
            reported.add((condition.status, condition.reason, condition.message))
            assert len(reported) == 1, "it flaps"

    for _ in range(200):
        ticked = stage.until_it_waits(look)
        if refusal.count >= of:
            observer += 1
            assert ticked.after is not None
            assert 0 < ticked.after <= 30
            assert stage.own_pace or ticked.after == (REFUSED_SECONDS if error is REFUSED else UNANSWERED_SECONDS)
        if observer >= OBSERVERS and refusal.count >= of + TRIES - 1:
            break
        stage.passes(ticked.after or 30.0)
    assert refusal.count >= TRIES, "it is not tried again"
    assert reported
    if not stage.own_pace:
        assert reported == {("False", "ChangeRefused" if error is REFUSED else "ChangeUnanswered", said(error))}


def said(error: SeawallError) -> str:
    """What the condition's message is."""
    return f"a conflict that repeats: {error}" if error is CONFLICTING else str(error)


def heal(stage: Stage, refusal: Refusal) -> None:
    """What failed works now."""
    refusal.is_on = False
    for _ in range(HEALS):
        ticked = stage.until_it_waits()
        condition = stage.reported()
        if condition is None or str(refusal.error) not in condition.message:
            return
        stage.passes(ticked.after or 30.0)
    raise AssertionError(f"it does not heal: {stage.reported()}")


def assert_one_event(stage: Stage, error: SeawallError) -> None:
    """One, and a warning where a person is needed."""
    events = [event for event in stage.kube.events if str(error) in event.message]
    assert len(events) == 1, events
    assert error is not REFUSED or (events[0].type, events[0].reason) == (EventType.WARNING, "ChangeRefused")


@contextmanager
def logged() -> Iterator[list[str]]:
    """The warnings of the reconciler, one line each."""
    lines: list[str] = []

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    handler, logger = Lines(logging.WARNING), logging.getLogger("seawall.reconciler")
    logger.addHandler(handler)
    try:
        yield lines
    finally:
        logger.removeHandler(handler)


def test_the_same_failure_after_it_worked_is_told_again() -> None:
    refusal = Refusal(REFUSED)
    stage = corrects_topics_of_kafka(refusal)
    see_it_fail(stage, refusal)
    heal(stage, refusal)
    stage.relapses()
    refusal.is_on, refusal.count = True, 0
    see_it_fail(stage, refusal)
    assert [event.reason for event in stage.kube.events if str(REFUSED) in event.message] == ["ChangeRefused"] * 2


@BOTH
def test_what_fails_after_the_end_is_an_event_and_in_the_log(error: SeawallError) -> None:
    """A verification that is over stays what it is: its conditions are its verdict."""
    world = verification_world.VerificationWorld()
    world.start(ttlSecondsAfterFinished=60)
    world.settle_verification(ticks=399)
    assert world.verification().status.is_over
    world.time.time += timedelta(minutes=2)
    refusal = Refusal(error, {"delete"})
    process = world.verifier(refusal)
    with logged() as lines:
        after = {process.tick(verification_world.CHECK).after for _ in range(3)}
    assert (refusal.count, len(lines), after) == (3, 3, {REFUSED_SECONDS if error is REFUSED else UNANSWERED_SECONDS})
    reported = [event for event in world.kube.events if str(error) in event.message]
    assert [event.type for event in reported] == [EventType.WARNING]
    refusal.is_on = False
    process.tick(verification_world.CHECK)
    assert world.kube.get(WALVerification, verification_world.CHECK) is None


@EVERY
@BOTH
def test_a_status_that_cannot_be_written_is_an_event_and_in_the_log(
    kind: str, scene: Scene, calls: Iterable[str], error: SeawallError
) -> None:
    """No condition can say it."""
    if kind == "Ledger":
        return  # it writes no status
    refusal = Refusal(error, {*calls, "replace_status"})
    stage = scene(refusal)
    with logged() as lines:
        failed = 0
        for _ in range(60):
            ticked = stage.process.tick(stage.key)
            failed += ticked.outcome is Outcome.ERROR
            if failed == TRIES:
                break
            if ticked.after != 0.0:
                stage.passes(ticked.after or 30.0)
    assert failed == TRIES
    assert len(lines) >= TRIES
    reported = [event for event in stage.kube.events if event.message == str(error)]
    assert [(event.type, event.reason) for event in reported if event.reason == STATUS_NOT_WRITTEN] == [
        (EventType.WARNING, STATUS_NOT_WRITTEN)
    ]
    assert len(reported) <= 2, "one of the status, and one of an action"


@EVERY
def test_a_status_whose_every_write_meets_a_conflict_is_an_event_and_in_the_log(
    kind: str, scene: Scene, calls: Iterable[str]
) -> None:
    """Another one writes it each time in between: both would go on for ever."""
    if kind == "Ledger":
        return  # it writes no status
    refusal = Refusal(CONFLICTING, {*calls, "replace_status"} - {"flush_regions"})
    stage = scene(refusal)
    with logged() as lines:
        for _ in range(4 * CONFLICTS_REPORTED):
            ticked = stage.process.tick(stage.key)
            if ticked.outcome is Outcome.ERROR:
                break
            stage.passes(ticked.after or 0.0)
    assert refusal.count > CONFLICTS_REPORTED
    assert any(str(CONFLICTING) in line for line in lines)
    reported = [event for event in stage.kube.events if said(CONFLICTING) == event.message]
    assert [event.reason for event in reported if event.reason == STATUS_NOT_WRITTEN] == [STATUS_NOT_WRITTEN]
