"""What the adversary disturbs."""

from __future__ import annotations

from datetime import timedelta

from tests.adversary.arena import RUNS, Arena
from tests.adversary.lives import Adversary, Scenario
from tests.adversary.moves import COMMON, OF_RUNS
from tests.purge_world import TOPICS


def with_history(auto_prune: str = "Disabled") -> Arena:
    """A day passed: records were written, a run deleted, and the database wrote and flushed since."""
    arena = Arena(auto_prune=auto_prune)
    arena.judge.moved()
    arena.operate()
    arena.wait()
    arena.remember()
    arena.run_of(RUNS[1])
    arena.live(arena.process(arena.judge), RUNS[1], lambda: arena.is_over(RUNS[1]), 40)  # type: ignore[arg-type]
    arena.kube._objects.pop(("WALPurge", RUNS[1]))
    arena.work(40)
    arena.beside.clear()
    arena.kube._parsed.clear()
    return arena


def afterwards(arena: Arena) -> None:
    """Life goes on: topics are tended, rows are written, and another run deletes what it may."""
    arena.tend()
    arena.work()
    arena.run_of(RUNS[1])
    arena.live(arena.process(arena.judge), RUNS[1], lambda: arena.is_over(RUNS[1]), 14)  # type: ignore[arg-type]
    arena.work()


def purge(arena: Arena, adversary: Adversary) -> None:
    """A run, with flushes, then another one."""
    arena.operate()
    arena.beside.insert(0, adversary.between)
    arena.run_of(RUNS[0])
    arena.live(arena.process(adversary), RUNS[0], lambda: arena.is_over(RUNS[0]), 14)
    adversary.between()
    del arena.beside[0]
    afterwards(arena)


SCENARIOS = (
    Scenario("purge in mode B", with_history, purge, COMMON + OF_RUNS),
    Scenario("purge in mode A", lambda: with_history("Logical"), purge, COMMON + OF_RUNS),
)
assert timedelta
assert TOPICS
