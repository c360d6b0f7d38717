"""Work that is done again and again for as long as a nemesis is about, each kind in a thread of its own.

A step that asks an API server which is away begins anew; one that comes to no end within its bound, or sees what must
not be, ends the run.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self, TypeVar

from seawall_e2e.commands import CommandFailed
from seawall_e2e.waiting import Bound, WaitedInVain, explained

FoundT = TypeVar("FoundT")

PAUSE = 2.0
"""Seconds between two tries."""
LOOK = 1.0
"""Seconds between two looks whether all is done."""
BOUND = 900.0
"""Seconds for a step beside faults that never end: a gate waits for each of them."""


class Over(Exception):  # noqa: N818 - named for what happened
    """The run ended before the step did."""


@dataclass(slots=True)
class Patient:
    """Waits beside faults."""

    over: threading.Event
    awaited: str = ""
    """What it waits for, or waited for last."""
    _explain: Callable[[], object] = lambda: ""

    def until(
        self,
        look: Callable[[], FoundT | None],
        what: str,
        within: float = BOUND,
        explain: Callable[[], object] = lambda: "",
    ) -> FoundT:
        """Looks until there is something to see, and returns it; who does not answer is asked again.

        Raises:
            Over: the run ended before.
            WaitedInVain: there was not, within so many seconds.
        """
        bound, unanswered = Bound(within), ""
        self.awaited, self._explain = what, explain
        while True:
            try:
                if found := look():
                    return found
                unanswered = ""
            except CommandFailed as silent:
                unanswered = f"\nat last, {silent}"
            if bound.is_over():
                why = f"{unanswered}\n{explained(explain)}".rstrip()
                raise WaitedInVain(f"not within {bound.seconds:.0f} s: {what}{why}")
            self.rest(PAUSE)

    def explain(self) -> str:
        """What it waits for, and what there is to say of that."""
        return f"{self.awaited}\n{explained(self._explain)}".rstrip()

    def rest(self, seconds: float) -> None:
        """Waits for so long. Raises Over."""
        if self.over.wait(seconds):
            raise Over


class Work(Protocol):
    """Something that is done again and again."""

    @property
    def goal(self) -> str:
        """What a step is counted as that came to its end, however many were begun."""
        ...

    @property
    def pause(self) -> float:
        """Seconds between two steps."""
        ...

    def step(self, patient: Patient) -> str:
        """Once; what it is counted as."""
        ...


@dataclass
class Loops:
    """Runs work in threads as long as the `with` lasts; `check` and its end raise what went wrong in them.

    Args:
        over: is set when it shall end, or something went wrong.
        once: each ends when it has reached its goal.
    """

    over: threading.Event
    work: Sequence[Work]
    once: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    _broken: list[BaseException] = field(default_factory=list)
    _threads: list[threading.Thread] = field(default_factory=list)
    _patients: list[Patient] = field(default_factory=list)

    def __enter__(self) -> Self:
        for each in self.work:
            self._patients.append(Patient(self.over))
            self._threads.append(threading.Thread(target=self._run, args=(each, self._patients[-1]), daemon=True))
            self._threads[-1].start()
        return self

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        was_first = bool(self._broken)  # what went wrong beside it came of that, or of the end
        self.over.set()
        for thread in self._threads:
            thread.join()
        if failed is None or (was_first and issubclass(failed, Exception)):
            self.check()

    def wait(self, within: float) -> None:
        """Waits, where it is done once, until all is done.

        Raises:
            AssertionError: something went wrong, or is not done within so many seconds.
        """
        bound = Bound(within)
        for thread in self._threads:
            while thread.is_alive() and not bound.is_over():
                thread.join(LOOK)
        self.check()
        all_work = zip(self.work, self._threads, self._patients, strict=True)
        if late := [(work.goal, patient) for work, thread, patient in all_work if thread.is_alive()]:
            said = "; ".join(f"{goal} (they wait for: {patient.awaited})" for goal, patient in late)
            why = explained(lambda: "\n".join(patient.explain() for _, patient in late))
            raise WaitedInVain(f"not within {bound.seconds:.0f} s: {said}\n{why}")

    def check(self) -> None:
        """Raises the first thing that went wrong."""
        if self._broken:
            first = self._broken[0]
            raise AssertionError(f"a loop ended: {type(first).__name__}: {first}") from first

    def _run(self, work: Work, patient: Patient) -> None:
        while not self.over.is_set():
            try:
                done = work.step(patient)
                self.counts[done] += 1
                print(f"{self.counts[done]} {done}", flush=True)
                if self.once and done == work.goal:
                    return
                patient.rest(work.pause)
            except Over:
                return
            except CommandFailed as unanswered:
                print(f"{type(work).__name__}: {str(unanswered).splitlines()[0]}", flush=True)
                self.counts["steps begun anew"] += 1
                self.over.wait(PAUSE)
            except BaseException as error:  # noqa: BLE001 - raised by `check`
                self._broken.append(error)
                self.over.set()
                return
