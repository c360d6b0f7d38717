"""Faults that a seed draws, one after another, and the history of what became of each.

The same seed draws the same faults in the same order: their kinds, their victims by number, their pauses and lengths.
What is running at that moment depends on the machine.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from seawall_e2e.commands import CommandFailed
from seawall_e2e.faults import Fault, FaultKind

VictimT = TypeVar("VictimT")


@dataclass(frozen=True, slots=True)
class Draw:
    """What a seed says of one fault."""

    kind: FaultKind
    pause: float
    """Seconds of peace before it."""
    seconds: float
    """For which it lasts."""
    victim: int
    """Of those that there are then, counted around."""

    def of(self, victims: Sequence[VictimT]) -> VictimT:
        """The victim."""
        if not victims:
            raise Missed(f"there is nobody for {self.kind}")
        return victims[self.victim % len(victims)]


class HalfDone(AssertionError):  # noqa: N818 - named for what happened
    """A fault of several steps stands in the middle: nothing that comes after it would tell what is wrong."""


class Missed(AssertionError):  # noqa: N818 - named for what happened
    """There is nobody at the moment to whom it could be done."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Between which seconds a pause lies, and a fault's length."""

    pause: tuple[float, float]
    seconds: tuple[float, float]


def draws(seed: int, kinds: Sequence[FaultKind], pace: Pace) -> Iterator[Draw]:
    """What a seed draws, without an end: each kind once before any comes again."""
    drawn = random.Random(seed)  # noqa: S311 - to be repeated
    while True:
        for kind in drawn.sample(kinds, len(kinds)):
            yield Draw(kind, drawn.uniform(*pace.pause), drawn.uniform(*pace.seconds), drawn.randrange(2**16))


@dataclass(frozen=True, slots=True)
class Happened:
    """A fault of the history."""

    at: float
    """Seconds since the beginning."""
    kind: str
    victim: str
    good_after: float | None
    """Seconds until all was well again; None: it could not be done, and `victim` says why."""


@dataclass(slots=True)
class Nemesis:
    """Does what a seed draws.

    Args:
        drawn: by `draws`.
        faults: how each kind is done.
        over: is set when it shall end.
    """

    drawn: Iterator[Draw]
    faults: Mapping[FaultKind, Callable[[Draw], Fault]]
    over: threading.Event
    history: list[Happened] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    def run(self, seconds: float) -> None:
        """One fault after another for so long, or until it is over; the last one is made good.

        Raises:
            AssertionError: one could not be made good.
        """
        end = time.monotonic() + seconds
        for draw in self.drawn:
            if self.over.wait(max(0.0, min(draw.pause, end - time.monotonic()))) or time.monotonic() >= end:
                return
            self.do(draw)

    def counts(self) -> dict[str, int]:
        """How often each kind was done."""
        return dict(sorted(Counter(each.kind for each in self.history if each.good_after is not None).items()))

    def told(self) -> list[dict[str, Any]]:
        """The history, as JSON."""
        return [asdict(each) for each in self.history]

    def do(self, draw: Draw) -> None:
        """One fault, which is made good; none, once it is over. Raises as `run`."""
        if self.over.is_set():
            return
        began = time.monotonic()
        victim, good_after, is_done = "", None, False
        try:
            fault = self.faults[draw.kind](draw)
            victim = str(fault)
            print(f"{began - self.started:6.1f}s  {draw.kind}: {victim}, for {draw.seconds:.1f} s", flush=True)
            with fault.applied():
                is_done = True
                self.over.wait(draw.seconds)
            good_after = round(time.monotonic() - began, 1)
        except (Missed, CommandFailed) as missed:  # its victim was restarted at the same moment, by us or by a roll
            if is_done:
                raise HalfDone(f"nobody knows whether {draw.kind}, {victim}, is good again: {missed}") from missed
            victim = f"{victim}: {str(missed).splitlines()[0]}"
        self.history.append(Happened(round(began - self.started, 1), str(draw.kind), victim, good_after))
        print(f"{time.monotonic() - self.started:6.1f}s  {self.history[-1]}", flush=True)
