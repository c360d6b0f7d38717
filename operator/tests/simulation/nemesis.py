"""Who makes happen what the plan of a day says: at a call, or between what a controller has seen and what it does."""

from __future__ import annotations

import contextlib
from collections import deque
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from tests.simulation.calls import CHANGING
from tests.simulation.deeds import CALL_FAULTS, DEEDS
from tests.simulation.plan import Happening
from tests.support.mortal import Died

if TYPE_CHECKING:  # they import this module
    from tests.simulation.process import Process
    from tests.simulation.run import Simulation

LOOK_AT_NO_LEDGER = frozenset({"WALPurgePolicy", "WALBackupPolicy", "VerificationSchedule", "Replication", "Brokers"})
"""Kinds that go on in the middle of a tick of the same process: looks at one ledger wait for each other."""
WAITS_FOR_CALLS, WAITS_FOR_AN_ACTION = 30.0, 120.0
"""Seconds after which it happens all the same."""
MOST_INSIDE = 2
"""How many ticks may be in the middle of each other."""


@dataclass(eq=False)
class Armed:
    """What happens soon."""

    what: Happening
    left: int
    """Calls, or actions of that name, that still go before."""

    def is_overdue(self, now: float) -> bool:
        """Whether there are not that many."""
        return self.what.at < now - (WAITS_FOR_AN_ACTION if self.what.before else WAITS_FOR_CALLS)


@dataclass
class Nemesis:
    """Has the list of what happens, and does it when its time has come."""

    sim: Simulation
    armed: list[Armed] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._waiting = deque(self.sim.plan.happenings)

    def calm(self) -> None:
        """Nothing of the list happens any more."""
        self._waiting.clear()
        self.armed.clear()

    def pass_time(self) -> None:
        """What waited for a call that nobody makes happens now; a fault of a call does not."""
        self._arm()
        overdue = [each for each in self.armed if each.is_overdue(self.sim.now)]
        self.armed = [each for each in self.armed if each not in overdue]
        for each in overdue:
            if each.what.name not in CALL_FAULTS:
                self.happen(each.what)

    def before_call(self, process: Process, name: str, part: str) -> str | None:
        """Who waited for this call acts now; what becomes of the call itself."""
        self._arm()
        fault = self._planned_fault(name)
        for each in self._due(""):
            if each.name in CALL_FAULTS:
                fault = each.name
            else:
                self.happen(each)
        if fault is not None:
            self.sim.counts["faults of calls"] += 1
            self.sim.log(f"{process.name} {name} ({part}): {fault}")
        return fault

    def before_action(self, action: str) -> None:
        """A controller has looked and decided, and begins to act: who waited for that acts first."""
        self._arm()
        for each in self._due(action):
            if each.name in CALL_FAULTS:
                self.sim.inside[-1].fault = each.name
            else:
                self.happen(each)

    def _planned_fault(self, name: str) -> str | None:
        """Of the first change that an action makes."""
        if not self.sim.inside or name not in CHANGING:
            return None
        tick = self.sim.inside[-1]
        fault, tick.fault = tick.fault, None
        return fault

    def _due(self, before: str) -> list[Happening]:
        if not self.armed:
            return []
        mine = [each for each in self.armed if each.what.before == before]
        due = [each for each in mine if each.left == 0]
        self.armed = [each for each in self.armed if each not in due]
        for each in mine:
            each.left -= 1
        return [each.what for each in due]

    def _arm(self) -> None:
        while self._waiting and self._waiting[0].at <= self.sim.now:
            each = self._waiting.popleft()
            self.armed.append(Armed(each, each.calls))

    def happen(self, happening: Happening) -> None:
        """Somebody or something acts."""
        sim, day, deed = self.sim, self.sim.day, DEEDS[happening.name]
        sim.log(f"*** {deed.name.replace('_', ' ')} ({happening.number})")
        sim.counts["happenings"] += 1
        day.excuse()
        deed.make(sim, happening.number)
        if deed.destroys:
            day.damaged_by.append(deed.name)
        sim.record.moves.append((len(sim.record.names), deed.as_move()))
        day.referee.moved()
        day.excuse()
        day.note()
        sim.watch.look()

    # --- what others do in the middle of a tick

    def freeze(self, number: int) -> None:
        """The innermost tick stands still, another process takes over and works, and then it goes on."""
        sim = self.sim
        if not sim.inside or len(sim.inside) > MOST_INSIDE:
            return
        busy = {id(tick.process) for tick in sim.inside}
        other = next((each for each in sim.processes if id(each) not in busy), None)
        if other is None:
            return
        sim.day.time.time += timedelta(seconds=15)
        sim.elect(other)
        for _ in range(3 + number % 20):
            sim.day.time.time += timedelta(seconds=sim.random.uniform(0.1, 10.0))
            sim._step()
            self._tick_any(other)

    def meanwhile(self, number: int) -> None:
        """Other threads of the process that calls do something."""
        if not self.sim.inside or len(self.sim.inside) > MOST_INSIDE:
            return
        for _ in range(1 + number % 6):
            self._tick_any(self.sim.inside[-1].process, LOOK_AT_NO_LEDGER)

    def _tick_any(self, process: Process, kinds: frozenset[str] | None = None) -> None:
        under_way = {(tick.kind, tick.key) for tick in self.sim.inside if tick.process is process}
        known = sorted(each for each in process.subjects if kinds is None or each.kind in kinds)
        free = [each for each in known if (each.kind, each.key) not in under_way]
        if free and not process.is_dead:
            chosen = self.sim.random.choice(free)
            with contextlib.suppress(Died):  # of it alone: who called goes on
                process.tick(chosen.kind, chosen.key)
