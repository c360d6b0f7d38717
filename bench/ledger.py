"""The ledger at 10,000, 100,000 and 1,000,000 regions, 100 a topic: seconds, peak memory, growth.

Each size is planned in a process of its own, so that the peak is its own. Two peers do the core of the work in the
same process, nothing but the least needed id by topic: raw numpy, and plain objects in a loop. What it costs to put
the objects of the ports (reports, metadata) into columns is told apart: the reading of them costs much more.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from ledger_inputs import DATANODES, PER_TOPIC, REGIME, make_inputs, make_read
from report import Result
from sizes import Sizes

from seawall.domain.ledger.assess import assess
from seawall.domain.ledger.ledger import announcements, permit, plan
from seawall.domain.ledger.policy import Policy
from seawall.domain.ledger.read import Memory
from seawall.domain.ledger.replay import replay_by_datanode
from seawall.domain.ledger.tables import Regions

REPETITIONS = 5
STEPS = 3


@dataclass(frozen=True, slots=True)
class Size:
    """Regions of the greatest size; each of those before has `growth` times fewer."""

    regions: int = 1_000_000
    growth: int = 10

    @property
    def steps(self) -> tuple[int, ...]:
        """The sizes, from the least."""
        return tuple(self.regions // self.growth**step for step in reversed(range(STEPS)))


SIZES = Sizes("ledger", __doc__, Size(), Size(4_000, 2))


@dataclass(frozen=True, slots=True)
class Measured:
    """What one process measured; seconds are samples."""

    plan: list[float]
    plan_cpu: list[float]
    permit: list[float]
    replay: list[float]
    raw: list[float]
    plain: list[float]
    start_mb: float
    peak_mb: float


@dataclass(frozen=True, slots=True)
class Observation:
    """A whole look, from objects to inputs."""

    seconds: list[float]
    cpu: list[float]
    objects_mb: float
    peak_mb: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures and reports; a missed goal is no failure."""
    asked = SIZES.parse(arguments)
    steps = asked.size.steps
    facts = {"perTopic": PER_TOPIC, "mode": "B", "datanodes": DATANODES, "repetitions": REPETITIONS}
    report = asked.report({**facts, "sizes": steps})
    found = {size: Measured(**run("plan", size)) for size in steps}
    for size, measured in found.items():
        report.results += lines(size, measured, is_last=size == steps[-1])
    report.results += growth(found)
    observation = Observation(**run("look", steps[-1]))
    what = f"a look at {steps[-1]:,} regions from the ports' objects"
    report.results += [
        Result(what, "s", observation.seconds, max_value=2),
        Result(f"CPU of {what}", "s", observation.cpu),
        Result(
            f"peak RSS of {what}",
            "MB",
            [observation.peak_mb],
            "the objects alone",
            [observation.objects_mb],
            max_value=500,
        ),
    ]
    asked.finish(report)


def child_main() -> None:
    """What a process does that measures one size: prints what it measured."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--child", choices=["plan", "look"], required=True)
    parser.add_argument("--regions", type=int, required=True)
    arguments = parser.parse_args()
    child = measure_plan if arguments.child == "plan" else measure_look
    print(json.dumps(asdict(child(arguments.regions))))


def run(kind: str, regions: int) -> dict[str, Any]:
    """A process of its own."""
    command = [sys.executable, __file__, "--child", kind, "--regions", str(regions)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    print(f"{kind} {regions:,}: {done.stdout.strip()}", flush=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def lines(size: int, measured: Measured, *, is_last: bool) -> list[Result]:
    """The lines of one size; the goals are those of the greatest."""
    what = f"{size:,} regions"
    raw = "least by topic in raw numpy"
    return [
        Result(f"plan {what}", "s", measured.plan, raw, measured.raw, max_value=2 if is_last else None),
        Result(f"plan {what}", "s", measured.plan, "least by topic of plain objects", measured.plain),
        Result(f"CPU of it, {what}", "s", measured.plan_cpu, max_value=2 if is_last else None),
        Result(f"permit {what}", "s", measured.permit, raw, measured.raw, max_value=2 if is_last else None),
        Result(f"replay costs {what}", "s", measured.replay),
        Result(
            f"peak RSS, {what}",
            "MB",
            [measured.peak_mb],
            "RSS after the imports",
            [measured.start_mb],
            max_value=1000 if is_last else None,
        ),
    ]


def growth(found: dict[int, Measured]) -> list[Result]:
    """Seconds for a million regions at one size against the size before: 1 is linear."""
    return [
        Result(
            f"plan, µs a region at {large:,}",
            "µs",
            [seconds / large * 1e6 for seconds in found[large].plan],
            f"at {small:,}",
            [seconds / small * 1e6 for seconds in found[small].plan],
            max_ratio=2,
        )
        for small, large in pairwise(found)
    ]


def measure_plan(count: int) -> Measured:
    """Plans and permits of columns that are there."""
    start = rss_mb()
    inputs = make_inputs(count)
    recorded = inputs.topics.marker
    ledger = plan(inputs)
    assert len(announcements(ledger)) == count // PER_TOPIC  # noqa: S101 - a benchmark of nothing would be fast
    assert permit(inputs, recorded).purge_to.known.all()  # noqa: S101
    pairs = list(zip(inputs.regions.topic.tolist(), inputs.regions.data_flushed.listed(), strict=True))
    planned, permitted, replayed, raw, plain = timed(
        lambda: plan(inputs),
        lambda: permit(inputs, recorded),
        lambda: replay_by_datanode(ledger),
        lambda: raw_least(inputs.regions, count // PER_TOPIC),
        lambda: plain_least(pairs),
    )
    (cpu,) = timed(lambda: plan(inputs), clock=time.process_time)
    return Measured(planned, cpu, permitted, replayed, raw, plain, start, peak_mb())


def raw_least(regions: Regions, topics: int) -> Any:
    """The least flushed id of each topic, and nothing else."""
    found = np.full(topics, 2**62)
    np.minimum.at(found, regions.topic, regions.data_flushed.numbers)
    return found


def plain_least(pairs: Sequence[tuple[int, int | None]]) -> dict[int, int]:
    """The same in a loop over plain objects that are there: topics and flushed ids."""
    found: dict[int, int] = {}
    for topic, flushed in pairs:
        if flushed is not None and (topic not in found or flushed < found[topic]):
            found[topic] = flushed
    return found


def measure_look(count: int) -> Observation:
    """From the ports' objects to the ledger's inputs, twice: the second look has something to compare with."""
    read = make_read(count)
    objects = rss_mb()
    policies = (Policy("policy"),)
    memory = Memory.at_start(0)
    seconds, cpu = [], []
    for _ in range(2):
        begin, begin_cpu = time.perf_counter(), time.process_time()
        memory = assess(memory, read, REGIME, policies).memory
        seconds.append(time.perf_counter() - begin)
        cpu.append(time.process_time() - begin_cpu)
    return Observation(seconds, cpu, objects, peak_mb())


def timed(*works: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> list[list[float]]:
    """Seconds of some repetitions of each, in turns, after one that warms up."""
    found: list[list[float]] = [[] for _ in works]
    for repetition in range(REPETITIONS + 1):
        for seconds, work in zip(found, works, strict=True):
            begin = clock()
            work()
            if repetition:
                seconds.append(clock() - begin)
    return found


def rss_mb() -> float:
    """What the process has in memory now."""
    pages = int(open("/proc/self/statm").read().split()[1])  # noqa: PTH123, SIM115 - a file of the kernel
    return pages * resource.getpagesize() / 2**20


def peak_mb() -> float:
    """The most it ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    child_main() if "--child" in sys.argv else main()
