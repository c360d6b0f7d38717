"""A SparkApplication that somebody deletes before its UID is in the status: its driver may have written already."""

from __future__ import annotations

from seawall.api.meta import Key
from seawall.api.v1alpha1.restore_status import RestoreStage
from seawall.controllers.made_applications import MadeApplications
from seawall.domain.restore import attempt, decide, removal, scratch
from tests.restore.test_restore import logs
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.purge_world import NAMESPACE, TOPICS
from tests.worlds.restore_world import BACK, LONG_AGO, RestoreWorld, lost
from tests.worlds.scratch_world import backed_up
from tests.worlds.verification_world import why

WRITER = Key(NAMESPACE, "back-2")
PLANNER = Key(NAMESPACE, "back-1")


def approved() -> RestoreWorld:
    """A restore whose application may be made."""
    world = lost()
    world.bring_back()
    world.live_until(RestoreStage.AWAITING_APPROVAL)
    world.stop_database()
    world.approve()
    return world


def delete_unread(world: RestoreWorld, *, dies: bool = False) -> None:
    """Somebody deletes it right after it was made; its driver has written by then. Then the restore goes to its end."""
    process = world.restorer()
    while WRITER not in world.spark.applications:
        world.settle_restore(BACK, process, ticks=1)
    assert world.walrestore().status.application_uid is None
    world.spark.delete(world.spark.applications[WRITER])
    (first, *_) = [row.into or row.name for row in world.walrestore().status.planned]
    world.kafka.topics[first].log.append(3, LONG_AGO)  # what comes back keeps its time
    world.settle_restore(BACK, world.restorer() if dies else process)


def what_its_driver_wrote_goes_and_the_next_attempt_begins() -> None:
    world = approved()
    delete_unread(world)
    found = world.walrestore()
    assert (found.status.stage, found.status.attempt) == (RestoreStage.COMPLETED, 3), why(found)
    assert logs(world) == dict.fromkeys(TOPICS, (1, 47))
    assert world.spark.made.count(WRITER) == 1


def test_what_its_driver_wrote_goes_and_the_next_attempt_begins() -> None:
    what_its_driver_wrote_goes_and_the_next_attempt_begins()


def where_nobody_knows_of_it_nothing_goes_and_the_message_says_so() -> None:
    world = approved()
    delete_unread(world, dies=True)
    found = world.walrestore()
    assert (found.status.stage, why(found)[0]) == (RestoreStage.FAILED, "NotOurs")
    assert (
        "wal_0 may have records of others, or of a SparkApplication back-2 that somebody deleted as soon as it was "
        "made, and is left as it is"
    ) in why(found)[1]
    assert world.kafka.topics["wal_0"].log.end == 3
    assert world.spark.made.count(WRITER) == 2


def test_where_nobody_knows_of_it_nothing_goes_and_the_message_says_so() -> None:
    where_nobody_knows_of_it_nothing_goes_and_the_message_says_so()


def a_drill_is_tried_again() -> None:
    world = backed_up()
    before = logs(world)
    world.drill()
    delete_unread(world)
    found = world.walrestore()
    assert (why(found)[0], found.status.attempt) == ("Drilled", 3)
    assert (world.scratch_topics(), logs(world)) == ([], before)


def test_a_drill_is_tried_again() -> None:
    a_drill_is_tried_again()


def test_a_plan_is_made_by_the_next_attempt() -> None:
    world = lost()
    world.bring_back()
    process = world.restorer()
    while PLANNER not in world.spark.applications:
        world.settle_restore(BACK, process, ticks=1)
    world.spark.delete(world.spark.applications[PLANNER])
    for _ in range(200):
        if world.walrestore().status.stage is RestoreStage.AWAITING_APPROVAL:
            break
        world.settle_restore(BACK, process, ticks=1)
    found = world.walrestore()
    assert (found.status.stage, found.status.attempt) == (RestoreStage.AWAITING_APPROVAL, 2)
    assert world.spark.made.count(PLANNER) == 1


def one_that_was_made_is_known_by_its_object_and_its_attempt() -> None:
    world = lost()
    world.bring_back()
    first, made = world.walrestore(), MadeApplications()
    made.remember(first, PLANNER, "app")
    assert made.uid_of(first, PLANNER) == "app"
    assert made.uid_of(first, WRITER) is None, "of another attempt"
    world.kube.remove(BACK, type(first))
    world.bring_back()
    again = world.walrestore()
    assert again.metadata.uid != first.metadata.uid
    assert made.uid_of(again, PLANNER) is None, "of another restore"
    made.forget(BACK)
    assert made.uid_of(first, PLANNER) is None


def test_one_that_was_made_is_known_by_its_object_and_its_attempt() -> None:
    one_that_was_made_is_known_by_its_object_and_its_attempt()


MUTANTS: tuple[Mutant, ...] = (
    (
        rewritten(attempt, "run", " or case.observed.made_uid", "", decide, scratch),
        what_its_driver_wrote_goes_and_the_next_attempt_begins,
    ),
    (rewritten(attempt, "run", " or case.observed.made_uid", "", decide, scratch), a_drill_is_tried_again),
    (
        rewritten(MadeApplications, "uid_of", "made == [owner.metadata.uid, application]", "True"),
        one_that_was_made_is_known_by_its_object_and_its_attempt,
    ),
    (
        rewritten(removal, "_is_all_ours", "and case.status.outcome is not Outcome.REFUSED", ""),
        where_nobody_knows_of_it_nothing_goes_and_the_message_says_so,
    ),
)


def test_no_guard_can_be_taken_away() -> None:
    assert find_survivors(MUTANTS) == []
