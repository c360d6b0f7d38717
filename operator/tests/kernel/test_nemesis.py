"""The nemesis of `e2e/soak/test_the_hour.py`: a seed gives the same faults again, and what was missed is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

import pytest

from seawall_e2e.commands import CommandFailed
from seawall_e2e.faults import FaultKind
from seawall_e2e.nemesis import Draw, HalfDone, Missed, Nemesis, Pace, draws

KINDS = tuple(FaultKind)
PACE = Pace((1.0, 2.0), (3.0, 4.0))
AT_ONCE = Pace((0.0, 0.0), (0.0, 0.0))


def test_a_seed_draws_the_same_faults_again_and_another_one_others() -> None:
    first, again, other = (list(islice(draws(seed, KINDS, PACE), 100)) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert all(1 <= each.pause <= 2 and 3 <= each.seconds <= 4 for each in first)


def test_each_kind_comes_once_before_any_comes_again() -> None:
    drawn = [each.kind for each in islice(draws(3, KINDS, PACE), 2 * len(KINDS))]
    assert set(drawn[: len(KINDS)]) == set(drawn[len(KINDS) :]) == set(KINDS)


def test_a_victim_is_counted_around_and_nobody_is_a_miss() -> None:
    draw = Draw(FaultKind.BROKER_KILLED, 0, 0, victim=7)
    assert draw.of(["a", "b", "c"]) == "b"
    with pytest.raises(Missed, match="nobody for broker killed"):
        draw.of([])


@dataclass
class Scripted:
    """A fault that cannot be done, or can; and that cannot be made good, or can."""

    why_not: str | None
    why_bad: str | None = None

    @property
    def kind(self) -> FaultKind:
        return FaultKind.BROKER_KILLED

    @contextmanager
    def applied(self) -> Iterator[None]:
        if self.why_not is not None:
            raise CommandFailed(("kill",), self.why_not, "")
        yield
        if self.why_bad is not None:
            raise CommandFailed(("look",), self.why_bad, "")

    def __str__(self) -> str:
        return "kafka-0"


def test_what_could_not_be_done_is_in_the_history_and_is_not_counted() -> None:
    over, given = threading.Event(), [None, "found nobody", None]

    def fault(_: Draw) -> Scripted:
        made = Scripted(given.pop(0))
        if not given:
            over.set()
        return made

    nemesis = Nemesis(draws(1, [FaultKind.BROKER_KILLED], AT_ONCE), {FaultKind.BROKER_KILLED: fault}, over)
    nemesis.run(60)
    assert nemesis.counts() == {"broker killed": 2}
    assert [each["victim"] for each in nemesis.told()] == ["kafka-0", "kafka-0: kill found nobody", "kafka-0"]
    assert [each["good_after"] is None for each in nemesis.told()] == [False, True, False]


def test_a_fault_that_is_not_made_good_ends_the_run() -> None:
    done: list[Draw] = []

    def fault(draw: Draw) -> Scripted:
        done.append(draw)
        return Scripted(None, "found nobody")

    kinds = [FaultKind.BROKER_KILLED]
    nemesis = Nemesis(draws(1, kinds, AT_ONCE), dict.fromkeys(kinds, fault), threading.Event())
    with pytest.raises(HalfDone, match="whether broker killed, kafka-0, is good again: look found nobody"):
        nemesis.run(60)
    assert len(done) == 1
    assert nemesis.counts() == {}


def test_nothing_is_done_any_more_once_it_is_over() -> None:
    over, done = threading.Event(), list[Draw]()

    def fault(draw: Draw) -> Scripted:
        done.append(draw)
        return Scripted(None)

    nemesis = Nemesis(iter(()), {FaultKind.ETCD_RESTORED: fault}, over)
    over.set()
    nemesis.do(Draw(FaultKind.ETCD_RESTORED, 0, 0, 0))
    assert done == []
    assert nemesis.told() == []
