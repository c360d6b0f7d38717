"""One run: the day of a seed, from its beginning until all is at rest, with every step judged."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random as chance
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from random import Random
from typing import Any

from seawall.api.meta import Key
from seawall.reconciler import Ticked
from tests.adversary.bugs import bugs_come_through
from tests.adversary.judge import Violation
from tests.fakes.ids import seed_ids
from tests.simulation import calm
from tests.simulation.calls import CHANGING, Record, Tick, describe
from tests.simulation.checks import Checks
from tests.simulation.clocks import VirtualLoop
from tests.simulation.day import Day
from tests.simulation.nemesis import Nemesis
from tests.simulation.plan import CALM_AT, Happening, Plan, clock, plan_of
from tests.simulation.process import Process, Stopped
from tests.simulation.watch import Watch

LAST_LINES = 60
BUSY_STEP, CALM_STEP = 2.0, 120.0
SLOW = (6_000.0, 12_000.0)
"""How long a look takes to begin while the operator is slow."""
PATIENCE = 20
"""Steps that an object may take soon, one after another, while the operator is slow."""
TAKES_OVER = (3.0, 15.0)
"""Until another process has the Lease."""


@dataclass(frozen=True)
class Result:
    """How a run ended.

    Attributes:
        violation: what is wrong; None: nothing.
        digest: of the log of all events.
        counts: of what happened.
        story: the last lines of the log.
    """

    plan: Plan
    violation: str | None
    digest: str
    counts: dict[str, int]
    story: tuple[str, ...]


@dataclass
class Simulation:
    """One run."""

    plan: Plan
    day: Day
    random: Random
    record: Record = field(default_factory=Record)
    processes: list[Process] = field(default_factory=list)
    inside: list[Tick] = field(default_factory=list)
    """Ticks that are under way, the innermost one last."""
    counts: Counter[str] = field(default_factory=Counter)
    api_server_is_down: bool = False
    is_calm: bool = False
    """Nobody edits, and nothing goes wrong any more: all is looked at as often as it wants to be."""
    is_over: bool = False
    violation: str | None = None
    writes: list[str] = field(default_factory=list)
    """Changes since they were last cleared."""

    def __post_init__(self) -> None:
        self._digest = hashlib.sha256()
        self._lines: deque[str] = deque(maxlen=LAST_LINES)
        self.nemesis = Nemesis(self)
        self.checks = Checks(self)
        self._names = iter(range(1_000))
        self.watch = Watch(self, self.day.kube)

    # --- time

    @property
    def now(self) -> float:
        """Seconds since the beginning of the day."""
        return asyncio.get_running_loop().time()

    @property
    def is_busy(self) -> bool:
        """Whether this is a time at which much happens."""
        return self.is_calm or any(begin <= self.now < end for begin, end in self.plan.windows)

    def latency(self, steps: int) -> float:
        """How long until a tick begins of an object that has taken so many steps soon."""
        if self.is_busy or 0 < steps < PATIENCE:
            return self.random.uniform(0.0, 0.3)
        return self._until_busy(self.random.uniform(*SLOW))

    def _until_busy(self, seconds: float) -> float:
        nexts = [begin for begin, _ in self.plan.windows if begin > self.now] + [CALM_AT]
        return max(0.1, min(seconds, min((n for n in nexts if n > self.now), default=self.now + seconds) - self.now))

    def later(self, seconds: float, name: str, number: int = 0) -> None:
        """What has begun ends."""
        asyncio.get_running_loop().call_later(seconds, self._end, name, number)

    def _end(self, name: str, number: int) -> None:
        if not self.is_calm and not self.is_over:
            self.nemesis.happen(Happening(self.now, 0, name, number))

    # --- the life of the processes

    async def live(self) -> None:
        """The whole day."""
        for _ in range(2):
            self._start()
        self.elect()
        while self.now < CALM_AT and not self.is_over:
            self._step()
            await asyncio.sleep(BUSY_STEP if self.is_busy else self._until_busy(CALM_STEP))
        if not self.is_over:
            await calm.come_to_rest(self)
        self.is_over = True

    def _step(self) -> None:
        try:
            self.nemesis.pass_time()
            self.day.step()
            self.watch.look()
        except Violation as violation:
            self.broke(str(violation))
        except Stopped:
            return

    def _start(self) -> Process:
        ahead = timedelta(seconds=self.random.uniform(-4.0, 4.0))
        process = Process(self, f"operator-{next(self._names)}", ahead)
        self.processes.append(process)
        process.start()
        self.watch.list_all(process)
        return process

    def elect(self, preferred: Process | None = None) -> None:
        """One of the processes has the Lease."""
        leading = preferred or next((each for each in self.processes if each.leads), self.processes[0])
        for process in self.processes:
            process.lead(leads=process is leading)
        self.log(f"{leading.name} leads")

    def died(self, process: Process) -> None:
        """It is gone; its successor is started, and another one takes the Lease when it is free."""
        self.log(f"{process.name} dies")
        self.counts["deaths"] += 1
        self.processes.remove(process)
        self._start()
        if process.leads and not any(each.leads for each in self.processes):
            asyncio.get_running_loop().call_later(self.random.uniform(*TAKES_OVER), self._take_over)

    def _take_over(self) -> None:
        if not any(each.leads for each in self.processes) and not self.is_over:
            self.elect(self.processes[0])

    def reaches_kube(self, process: Process) -> bool:
        """Whether the API server answers it."""
        return not self.api_server_is_down and not process.cut_off

    # --- what happens

    def note_call(self, name: str, part: str) -> int:
        """Numbers a call."""
        record = self.record
        record.names.append(name)
        record.parts.append(part)
        record.ticks.append(self.inside[-1] if self.inside else None)
        self.counts["calls"] += 1
        return len(record.names) - 1

    def before_call(self, process: Process, name: str, part: str) -> str | None:
        """Others act first; what becomes of the call itself."""
        if self.is_over:
            raise Stopped
        return self.nemesis.before_call(process, name, part)

    def after_call(self, process: Process, name: str, kind: str | None, args: tuple[Any, ...]) -> None:
        """What changed is noted, and watchers hear of it."""
        if name in CHANGING:
            what = describe(name, args)
            self.counts["changes"] += 1
            self.counts[name] += 1
            self.writes.append(f"{process.name}: {what}")
            self.log(f"{process.name} {what}")
        if kind in {"kube", "pods"} and name in CHANGING:
            self.day.note()
            self.watch.look()

    def ticked(self, process: Process, kind: str, key: Key, ticked: Ticked) -> None:
        """A tick ended."""
        self.counts["ticks"] += 1
        self._digest.update(f"{self.now:.6f} {process.name} {kind} {key} {ticked.outcome}\n".encode())

    # --- what is found

    def found(self, violation: Violation, at: int) -> None:
        """The judge says that something is wrong: nobody could have seen it, or the run is over."""
        if self.record.is_late(self.inside[-1] if self.inside else None, at):
            self.counts["unavoidable"] += 1
            self.log(f"nobody could see: {violation}")
            self.day.referee.moved()
            return
        self.broke(str(violation))
        raise Stopped

    def broke(self, what: str) -> None:
        """The run is over."""
        if self.violation is None:
            self.violation = what
            self.log(f"!!! {what}")
        self.is_over = True

    def log(self, line: str) -> None:
        """One line of the story, which is a part of the digest."""
        text = f"{clock(self.now)} {line}"
        self._lines.append(text)
        self._digest.update(text.encode() + b"\n")

    def result(self) -> Result:
        """How it ended."""
        self._digest.update(_state_of(self.day).encode())
        counts = {**self.counts, "rows": self.day.acknowledged}
        return Result(self.plan, self.violation, self._digest.hexdigest(), counts, tuple(self._lines))


@bugs_come_through()
def simulate(seed: int, happenings: Sequence[Happening] | None = None) -> Result:
    """The day of a seed, or only a part of what happens on it."""
    plan = plan_of(seed)
    if happenings is not None:
        plan = replace(plan, happenings=tuple(happenings))
    seed_ids(f"ids of {seed}")
    state = chance.getstate()
    chance.seed(f"queues of {seed}")  # the queues draw from it
    chances = Random(f"day of {seed}")  # noqa: S311 - a seed, no secret
    day = Day(auto_prune=plan.auto_prune, random=chances, mirrors=plan.mirrors, backs_up=plan.backs_up)
    sim = Simulation(plan, day, Random(f"run of {seed}"))  # noqa: S311 - as above
    loop = VirtualLoop(day.time)
    try:
        loop.run_until_complete(_live(sim))
    finally:
        _end_tasks(loop)
        chance.setstate(state)
    return sim.result()


async def _live(sim: Simulation) -> None:
    await sim.live()


def _end_tasks(loop: VirtualLoop) -> None:
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
    loop.close()


def _state_of(day: Day) -> str:
    """All that outlives the processes, in an order of its own."""
    objects = {f"{kind} {key}": raw for (kind, key), raw in day.kube._objects.items()}
    logs = {name: [topic.log.log_start, topic.log.end, topic.replicas] for name, topic in day.kafka.topics.items()}
    copies = {name: [topic.log.topic_id, topic.log.end] for name, topic in day.mirror.target.topics.items()}
    manifests = sorted(map(list, day.stored))
    return json.dumps([objects, logs, sorted(day.kafka.topics), copies, manifests], sort_keys=True, default=str)
