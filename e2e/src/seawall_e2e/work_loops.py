"""What people and schedules do of a WALCluster for as long as a nemesis is about: loops, each in a thread of its own.

A step that asks an API server which is away begins anew; one that comes to no end within its bound, or sees what must
not be, ends the run.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol, Self, TypeVar

from seawall_e2e.backups import Backup, Backups
from seawall_e2e.cluster import BROKERS, PLAINTEXT
from seawall_e2e.commands import CommandFailed, kubectl
from seawall_e2e.invariants import GRANTED
from seawall_e2e.mirrors import digests
from seawall_e2e.objects import delete, find
from seawall_e2e.purges import Purges
from seawall_e2e.refdb import DATANODES
from seawall_e2e.restarts import Restarts
from seawall_e2e.verifications import Verification, Verifications
from seawall_e2e.waiting import WaitedInVain, patience

FoundT = TypeVar("FoundT")

PAUSE = 2.0
"""Seconds between two tries."""
BOUND = 900.0
"""Seconds for a step beside faults that never end: a gate waits for each of them."""


class Over(Exception):  # noqa: N818 - named for what happened
    """The run ended before the step did."""


@dataclass(frozen=True, slots=True)
class Patient:
    """Waits beside faults."""

    over: threading.Event

    def until(self, look: Callable[[], FoundT | None], what: str, within: float = BOUND) -> FoundT:
        """Looks until there is something to see, and returns it; who does not answer is asked again.

        Raises:
            Over: the run ended before.
            WaitedInVain: there was not, within so many seconds.
        """
        began = time.monotonic()
        while True:
            with suppress(CommandFailed):
                if found := look():
                    return found
            if time.monotonic() > began + within * patience():
                raise WaitedInVain(f"not within {within:.0f} s: {what}")
            self.rest(PAUSE)

    def rest(self, seconds: float) -> None:
        """Waits for so long. Raises Over."""
        if self.over.wait(seconds):
            raise Over


class Work(Protocol):
    """Something that is done again and again."""

    def step(self, patient: Patient) -> str:
        """Once; what it is counted as."""
        ...


@dataclass
class Loops:
    """Runs work in threads as long as the `with` lasts; `check` and its end raise what went wrong in them."""

    over: threading.Event
    work: Sequence[Work]
    counts: Counter[str] = field(default_factory=Counter)
    _broken: list[BaseException] = field(default_factory=list)
    _threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> Self:
        for each in self.work:
            self._threads.append(threading.Thread(target=self._run, args=(each,), daemon=True))
            self._threads[-1].start()
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        self.over.set()
        for thread in self._threads:
            thread.join()
        if failed is None:
            self.check()

    def check(self) -> None:
        """Raises the first thing that went wrong."""
        if self._broken:
            raise AssertionError("a loop ended") from self._broken[0]

    def _run(self, work: Work) -> None:
        patient = Patient(self.over)
        while not self.over.is_set():
            try:
                self.counts[work.step(patient)] += 1
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


@dataclass
class Rolls:
    """Restarts of all datanodes, one after another."""

    restarts: Restarts
    _numbers: count[int] = field(default_factory=count)

    def step(self, patient: Patient) -> str:
        """A person asks for one, and waits until it is done."""
        value = f"hour-{next(self._numbers)}"
        self.restarts.ask(value)

        def is_done() -> bool:
            status = self.restarts.status()
            return (status.get("stage"), status.get("doneRequest")) == ("Completed", value)

        patient.until(is_done, f"the roll {value} is done")
        if (restarted := self.restarts.status()["restarted"]) != DATANODES:
            raise AssertionError(f"{restarted} of {DATANODES} datanodes were restarted")
        patient.rest(20)
        return "rolls of all datanodes"


@dataclass
class Moves:
    """Replicas that go and come back: two of each topic and three, and a broker that is drained."""

    restarts: Restarts
    _numbers: count[int] = field(default_factory=count)

    def step(self, patient: Patient) -> str:
        """Two replicas, then three; then a broker without any of them."""
        for factor in (2, 3):
            self.declare(factor)
            patient.until(lambda: self._factors() == {factor}, f"each topic has {factor} replicas")  # noqa: B023
            patient.rest(5)
        gone = next(self._numbers) % BROKERS
        self.declare(2, gone)
        patient.until(lambda: not self._has(gone), f"broker {gone} is drained")
        self.declare(3)
        patient.until(lambda: self._factors() == {3}, "each topic has three replicas")
        patient.rest(10)
        return "rounds of moves of replicas"

    def declare(self, factor: int, *gone: int) -> None:
        """So many replicas of each topic, and none on these brokers."""
        spec = {"topics": {"replicationFactor": factor}, "reassignment": {"excludeBrokers": list(gone)}}
        kubectl(*self.restarts.wal.patch_command(json.dumps({"spec": spec})))

    def _replicas(self) -> list[list[int]]:
        return [topic["replicas"]["0"] for topic in self.restarts.site.topics().values()]

    def _factors(self) -> set[int]:
        return {len(replicas) for replicas in self._replicas()}

    def _has(self, broker: int) -> bool:
        return any(broker in replicas for replicas in self._replicas())


@dataclass
class Holds:
    """Holds that come and go; of what each holds, another client reads the same records as long as it is granted."""

    purges: Purges
    restarts: Restarts
    granted_records: int = 0
    _numbers: count[int] = field(default_factory=count)

    def step(self, patient: Patient) -> str:
        """One hold on every other topic from where it begins; then purges have their turn."""
        site, number = self.restarts.site, next(self._numbers)
        name, offsets = f"held-{number}", site.toolbox.offsets(f"{site.prefix}_")
        ranges = {topic: offsets[topic] for topic in sorted(offsets)[number % 2 :: 2]}
        try:
            state = self.purges.request(name, {topic: start for topic, (start, _) in ranges.items()})
            if state not in GRANTED:
                return f"holds that were {state}"
            before = digests(site.toolbox, ",".join(PLAINTEXT), ranges)
            patient.rest(30)
            again = patient.until(lambda: digests(site.toolbox, ",".join(PLAINTEXT), ranges), "it is read again", 240)
            if again != before:
                raise AssertionError(f"what was held is not what it was: {before} {again}")
        finally:
            delete_hold(self.purges, name)
        self.granted_records += sum(end - start for start, end in ranges.values())
        patient.rest(20)
        return "holds whose records were read twice"


def delete_hold(purges: Purges, hold: str) -> None:
    """Deletes a hold, whoever is away, also when the run is over."""
    where = (purges.wal.namespace, "walholds", hold)

    def is_gone() -> bool:
        delete(*where)
        return find(*where) is None

    Patient(threading.Event()).until(is_gone, f"hold {hold} is gone", within=120)


@dataclass
class Proofs:
    """Verifications by a person, one after another; a log that nobody cuts has nothing to find."""

    verifications: Verifications
    records: int = 0
    _numbers: count[int] = field(default_factory=count)

    def step(self, patient: Patient) -> str:
        """One, to its end."""
        name = f"proof-{next(self._numbers)}"
        self.verifications.request(name)
        seen = patient.until(lambda: self._over(name), f"{name} is over")
        if seen.findings:
            raise AssertionError(f"{seen} found what is not so")
        if seen.verified and seen.counts.get("records") != seen.entries:
            raise AssertionError(f"{seen} did not read all that it says")
        self.records += seen.counts.get("records", 0)
        patient.rest(30)
        return f"verifications that {seen.outcome or seen.stage}"

    def _over(self, name: str) -> Verification | None:
        found = self.verifications.find(name)
        return found if found.is_over else None


@dataclass
class Copies:
    """Full backups by a person, one after another, each decoded once more; one of a log that moves may fail."""

    backups: Backups
    records: int = 0
    _numbers: count[int] = field(default_factory=count)

    def step(self, patient: Patient) -> str:
        """One, to its end."""
        name = f"copy-{next(self._numbers)}"
        self.backups.declare()
        self.backups.begin(name)
        found = patient.until(lambda: self._over(name), f"backup {name} is over")
        if found.stage == "Completed" and found.verified != "Integrity":
            raise AssertionError(f"{found} was not decoded")
        self.records += found.records
        patient.rest(60)
        return f"backups that {found.stage}"

    def _over(self, name: str) -> Backup | None:
        found = next(each for each in self.backups.all() if each.name == name)
        return found if found.stage in {"Completed", "Failed"} else None
