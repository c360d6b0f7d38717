"""A restore into scratch topics with an adversary: nothing goes that is somebody else's, and nothing is left behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.spark_job import JobStage
from seawall.domain.restore.scratch_names import PREFIX, scratch_name
from seawall.domain.times import SCRATCH_LINGER
from tests.adversary.arena import tick
from tests.adversary.judge import Violation
from tests.adversary.lives import ALL, CLOCK, Adversary, Move
from tests.adversary.restores import (
    CLUSTER,
    RESTORE,
    RestoreArena,
    application_goes,
    declare_nothing,
    declare_other_code,
    delete_request,
    driver_dies,
    judge_end,
    keep_elsewhere,
    pause_cluster,
    pause_restore,
    second_operator,
    skew,
    sleep_long,
)
from tests.adversary.restores import delete_cluster as delete_walcluster
from tests.adversary.restores import other_kafka as lead_to_another
from tests.worlds.restore_world import BACK

ROUNDS, STEP = 50, timedelta(seconds=3)
FROZEN_ROUNDS = int(SCRATCH_LINGER / STEP) - 2


@dataclass
class DrillArena(RestoreArena):
    """All that outlives a process.

    Attributes:
        foreign: ids of topics that somebody else made by a scratch topic's name.
        may_leave: whether nobody can be asked for topics any more.
    """

    foreign: set[str] = field(default_factory=set)
    may_leave: bool = False

    def drill_of(self) -> WALRestore | None:
        """The drill, if it is there."""
        return self.kube.get(WALRestore, BACK)

    def is_over(self) -> bool:
        """Whether nothing more will come of it."""
        found = self.drill_of()
        return found is None or (found.status.is_over and not found.metadata.finalizers)

    def scratch(self) -> str:
        """The name of one of its topics."""
        found = self.drill_of()
        return "" if found is None else scratch_name(found.metadata, 1)


def declared_drill() -> DrillArena:
    """There is a backup, and somebody has made a drill of it."""
    arena = DrillArena()
    assert arena.backed_up().status.stage is JobStage.COMPLETED
    arena.bring_back(padAboveFlushed=False, scratch={}, timeout="1h")
    arena.referee.jobs = set(arena.spark.specs)
    return arena


def drill(arena: DrillArena, adversary: Adversary) -> None:
    """It goes on to its end, and then without an adversary, until nothing more comes."""
    process = adversary.acting(arena.restorer(adversary))
    for _ in range(ROUNDS):
        tick(process, BACK, most=1)
        if arena.is_over():
            break
        arena.run_spark()
        arena.time.time += STEP
        adversary.between()
    later = arena.restorer(arena.referee)
    for _ in range(60):
        tick(later, BACK)
        if arena.is_over():
            break
        arena.run_spark()
        arena.time.time += timedelta(minutes=1)
    judge_end(arena, adversary)
    left = {
        name
        for name, topic in arena.kafka.topics.items()
        if name.startswith(PREFIX) and str(topic.log.topic_id) not in arena.foreign
    }
    found = arena.drill_of()
    if left and not arena.may_leave and (found is None or not found.metadata.finalizers):
        raise Violation(f"S: {', '.join(sorted(left))} is left, and nobody will remove it")


# --- moves


def topic_appears(arena: DrillArena, records: int = 0) -> None:
    """Somebody makes a topic of this name."""
    name = arena.scratch()
    if name and name not in arena.kafka.topics:
        log = arena.kafka.add_topic(name).log
        log.append(records)
        arena.foreign.add(str(log.topic_id))
        arena.fresh |= {str(log.topic_id)} if records else set()


def topic_appears_and_is_written(arena: DrillArena) -> None:
    topic_appears(arena, 3)


def delete_scratch_topic(arena: DrillArena) -> None:
    arena.kafka.topics.pop(arena.scratch(), None)


def recreate_scratch_topic(arena: DrillArena) -> None:
    if arena.kafka.topics.pop(arena.scratch(), None) is not None:
        topic_appears(arena)


def recreate_scratch_topic_and_write(arena: DrillArena) -> None:
    if arena.kafka.topics.pop(arena.scratch(), None) is not None:
        topic_appears(arena, 3)


def other_kafka(arena: DrillArena) -> None:
    """The addresses lead to another cluster, and nobody knows the first one any more."""
    lead_to_another(arena)
    arena.may_leave = True


def delete_cluster(arena: DrillArena) -> None:
    delete_walcluster(arena)
    arena.may_leave = True


def delete_drill(arena: DrillArena) -> None:
    """As kubectl does: it stays while a finalizer stands, and its application goes after it."""
    if ("WALRestore", BACK) in arena.kube._objects:
        arena.kube.deletes_at = arena.time.time
        arena.kube.remove(BACK, WALRestore)


def drill_is_gone_and_made_again(arena: DrillArena) -> None:
    """If it may go at once."""
    raw = arena.kube._objects.get(("WALRestore", BACK))
    delete_drill(arena)
    if raw is not None and ("WALRestore", BACK) not in arena.kube._objects:
        arena.kube.apply(BACK, raw["spec"], kind=WALRestore)


def frozen(arena: DrillArena) -> None:
    """This process freezes for a while, and another one goes on.

    For less than scratch topics are waited for: one that was frozen for longer is no leader any more, and what it does
    after its last look nobody can undo (ADR 38).
    """
    process = arena.restorer(arena.referee)
    for _ in range(FROZEN_ROUNDS):
        tick(process, BACK)
        arena.run_spark()
        arena.time.time += STEP


def deleted_and_frozen(arena: DrillArena) -> None:
    """It is deleted, and another process sees to its end."""
    delete_drill(arena)
    frozen(arena)


def move(make: Callable[[Any], object], *touches: str, name: str = "") -> Move:
    """A move of this arena, or of that of all restores."""
    return Move(name or make.__name__, frozenset(touches), make)


OF_DRILLS = (
    *(move(make, "kafka") for make in (topic_appears, topic_appears_and_is_written, delete_scratch_topic)),
    *(move(make, "kafka") for make in (recreate_scratch_topic, recreate_scratch_topic_and_write, other_kafka)),
    *(move(make, CLUSTER) for make in (delete_cluster, pause_cluster, declare_other_code, keep_elsewhere)),
    move(declare_nothing, CLUSTER),
    *(move(make, RESTORE, "spark") for make in (delete_drill, drill_is_gone_and_made_again)),
    move(pause_restore, RESTORE),
    *(move(make, ALL) for make in (second_operator, frozen, deleted_and_frozen, sleep_long)),
    move(delete_request, "kube:ConfigMap"),
    *(move(make, "spark") for make in (driver_dies, application_goes)),
    move(skew(2), CLOCK, name="clock is 2 h ahead"),
    move(skew(-2), CLOCK, name="clock is 2 h behind"),
)
