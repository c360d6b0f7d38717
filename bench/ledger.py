"""The ledger at 10,000, 100,000 and 1,000,000 regions, 100 a topic: seconds, peak memory, growth.

Each size is planned in a process of its own, so that the peak is its own. Two peers do the core of the work in the
same process, nothing but the least needed id by topic: raw numpy, and plain objects in a loop. A whole observation
begins with what the ports gave (reports, metadata, logs) and ends with the ledger's inputs. What it costs to decode a
metasrv's answer is told apart, beside json of the standard library.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from ledger_inputs import DATANODES, PER_TOPIC, REGIME, later, make_answer, make_inputs, make_read
from report import Result
from sizes import Sizes

from seawall.adapters.greptimedb.heartbeats import read_heartbeats
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
    """Whole observations, from what the ports gave to inputs."""

    seconds: list[float]
    cpu: list[float]
    read_mb: float
    peak_mb: float


@dataclass(frozen=True, slots=True)
class Decoding:
    """A metasrv's answer that becomes columns; the peer makes objects of all of it."""

    cpu: list[float]
    json_cpu: list[float]
    answer_mb: float
    peak_mb: float
    """Beyond what there was before: the answer is not counted."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures and reports; a missed goal is no failure."""
    asked = SIZES.parse(arguments)
    steps = asked.size.steps
    facts = {"perTopic": PER_TOPIC, "mode": "B", "datanodes": DATANODES, "repetitions": REPETITIONS}
    report = asked.report({**facts, "sizes": steps})
    found = {size: Measured(**run("plan", size)) for size in steps}
    for size, measured in found.items():
        report.results += lines(size, measured, is_last=size == steps[-1])
    report.results += growth("plan, µs a region", {size: each.plan for size, each in found.items()})
    observations = {size: Observation(**run("observe", size)) for size in steps}
    for size, observed in observations.items():
        report.results += observation_lines(size, observed, is_last=size == steps[-1])
    report.results += growth("observation, µs of CPU a region", {size: each.cpu for size, each in observations.items()})
    decoded = {size: Decoding(**run("decode", size)) for size in (steps[0] // asked.size.growth, *steps[:-1])}
    for size, each in decoded.items():
        report.results += decoding_lines(size, each)
    report.results += growth("decoding, µs of CPU a region", {size: each.cpu for size, each in decoded.items()})
    asked.finish(report)


def child_main() -> None:
    """What a process does that measures one size: prints what it measured."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--child", choices=[*CHILDREN], required=True)
    parser.add_argument("--regions", type=int, required=True)
    arguments = parser.parse_args()
    print(json.dumps(asdict(CHILDREN[arguments.child](arguments.regions))))


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


def observation_lines(size: int, observed: Observation, *, is_last: bool) -> list[Result]:
    """The lines of one size; the goals are those of the greatest. The processor's time is what neighbours leave be."""
    what = f"observation of {size:,} regions"
    return [
        Result(what, "s", observed.seconds, max_value=2 if is_last else None),
        Result(f"CPU of an {what}", "s", observed.cpu, max_value=2 if is_last else None),
        Result(
            f"peak RSS of an {what}",
            "MB",
            [observed.peak_mb],
            "RSS with what was read",
            [observed.read_mb],
            max_value=500 if is_last else None,
        ),
    ]


def decoding_lines(size: int, decoded: Decoding) -> list[Result]:
    """Lines of one size."""
    what = f"heartbeats of {size:,} regions"
    return [
        Result(f"CPU of decoding {what}", "s", decoded.cpu, "json.loads of the same answer", decoded.json_cpu),
        Result(f"most memory of decoding {what}", "MB", [decoded.peak_mb], "the answer", [decoded.answer_mb]),
    ]


def growth(metric: str, seconds: dict[int, list[float]]) -> list[Result]:
    """Of a region at one size against the size before: 1 is linear."""
    return [
        Result(
            f"{metric} at {large:,}",
            "µs",
            [each / large * 1e6 for each in seconds[large]],
            f"at {small:,}",
            [each / small * 1e6 for each in seconds[small]],
            max_ratio=2,
        )
        for small, large in pairwise(seconds)
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


def measure_observation(count: int) -> Observation:
    """Observations in which each datanode has reported anew, as they come every ten seconds. The first has no past."""
    read = make_read(count)
    gc.collect()
    there = rss_mb()
    policies = (Policy("policy"),)
    memory = Memory.at_start(0)
    seconds, cpu = [], []
    for number in range(REPETITIONS + 1):
        read = later(read, number)
        begin, begin_cpu = time.perf_counter(), time.process_time()
        memory = assess(memory, read, REGIME, policies).memory
        if number:
            seconds.append(time.perf_counter() - begin)
            cpu.append(time.process_time() - begin_cpu)
    return Observation(seconds, cpu, there, peak_mb())


def measure_decoding(count: int) -> Decoding:
    """An answer with three heartbeats of each datanode, as a metasrv keeps some of them."""
    answer = make_answer(count)
    gc.collect()
    before = rss_mb()
    forget_peak()
    assert sum(len(each.regions) for each in read_heartbeats(answer)) == count  # noqa: S101
    peak = peak_mb() - before
    ours, peer = timed(lambda: read_heartbeats(answer), lambda: json.loads(answer), clock=time.process_time)
    return Decoding(ours, peer, len(answer) / 2**20, peak)


CHILDREN: dict[str, Callable[[int], Measured | Observation | Decoding]] = {
    "plan": measure_plan,
    "observe": measure_observation,
    "decode": measure_decoding,
}


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


def forget_peak() -> None:
    """The peak is counted from now on."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_mb() -> float:
    """The most it had since the peak was forgotten, or ever."""
    (line,) = (each for each in Path("/proc/self/status").read_text().splitlines() if each.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    child_main() if "--child" in sys.argv else main()
