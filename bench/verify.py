"""Replay verification: CPU per record of each level against a plain loop with the same checks, cores, and memory.

What a record costs is told by two loads, a tenth and the whole: the difference leaves out what starting Spark costs.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

from beds import Beds
from measured_command import Cost, measure
from report import Result
from sizes import Sizes
from wal_load import Load
from warm_session import session_environment

LEVELS = ("Integrity", "Coverage", "Equivalence")
HEAP, DAEMON = "1g", "spark.python.daemon.module=counted_daemon"
ONE_CORE = "Integrity on one core"
LOOP, PERF = "confluent-kafka loop, same checks", "kafka-consumer-perf-test"
GOAL_LOOP, GOAL_CORES, GOAL_MEMORY = 1.5, 1 / 1.7, 1.2
READING = ("Integrity", "Coverage")
"""The levels that need no snapshot."""
NOTES = {"1 KiB": 1 << 10, "64 KiB": 1 << 16, "1 MiB": (1 << 20) - 1000}
"""Bytes of a record: the largest is just below what GreptimeDB's max_batch_bytes lets through."""
GOAL_SIZES = 2.0


@dataclass(frozen=True, slots=True)
class Size:
    """Records of the whole load, in how many topics, the first levels of LEVELS, and how often all is measured.

    `tenth` 0: only the whole load, and what a start of Spark costs counts as well: so few records cannot be told from
    it. `large`: records of the largest size; of the smaller ones so many that all loads have the same bytes. `kinds`
    and `notes`: of those loads, the first so many kinds (random, compressible) and sizes. `cores` 2: on one core, too.
    """

    records: int = 800_000
    topics: int = 8
    levels: int = len(LEVELS)
    rounds: int = 5
    tenth: int = 1
    cores: int = 2
    large: int = 400
    kinds: int = 2
    notes: int = len(NOTES)


SMALL = Size(1_000, 1, levels=1, rounds=1, tenth=0, cores=1, large=1, kinds=1, notes=1)
"""Spark starts twice: a start takes most of the time."""
SIZES = Sizes("verify", __doc__, Size(), SMALL)


@dataclass(frozen=True, slots=True)
class Costs:
    """What one command took for the whole load, and for a tenth of it unless it was left out."""

    tenth: Cost | None
    whole: Cost


class Bed:
    """A Kafka with the small and the whole load."""

    def __init__(self, servers: str, size: Size, folder: Path) -> None:
        self._folder = folder
        each = size.records // size.topics
        self._whole = Load(servers, "bench-whole", size.topics, each)
        self._tenth = Load(servers, "bench-tenth", size.topics, each // 10) if size.tenth else None
        for load in filter(None, (self._tenth, self._whole)):
            load.write(folder / load.name)

    def run(self, command: Callable[[Load], Cost]) -> Costs:
        """What a command takes for the loads."""
        return Costs(None if self._tenth is None else command(self._tenth), command(self._whole))

    def per_record(self, costs: Costs) -> tuple[float, float]:
        """CPU µs and wall µs that one record more costs."""
        whole, tenth = costs.whole, costs.tenth or Cost(0, 0, 0)
        more = (self._whole.each - (self._tenth.each if self._tenth is not None else 0)) * self._whole.topics
        cpu, wall = whole.cpu_seconds - tenth.cpu_seconds, whole.seconds - tenth.seconds
        return cpu / more * 1e6, wall / more * 1e6

    def verify(self, load: Load, level: str, cores: int) -> Cost:
        """One verification of a load."""
        return verify(self._folder, load, level, cores)


def verify(folder: Path, load: Load, level: str, cores: int) -> Cost:
    """One verification, which must pass, as a program of its own."""
    request, summary = folder / "request.json", folder / "summary.json"
    request.write_bytes(load.request(level, folder / load.name))
    path = os.pathsep.join(filter(None, (str(Path(__file__).parent), os.environ.get("PYTHONPATH"))))
    environment = {
        # As an executor of the image starts: otherwise the heap grows because it may, and not because it must.
        **session_environment(folder, HEAP, "--driver-java-options", f"-Xms{HEAP}", "--conf", DAEMON),
        "SPARK_MASTER": f"local[{cores}]",
        "PYTHONPATH": path,
    }
    command = [sys.executable, "-m", "replay_verification", "--request", str(request), "--report", "-"]
    return measure([*command, "--summary", str(summary)], environment)


def measure_sizes(servers: str, size: Size, folder: Path) -> list[Result]:
    """The most memory of a process at the levels that read all of it, by the size of the records."""
    found = []
    for is_random in (True, False)[: size.kinds]:
        name = "random" if is_random else "very compressible"
        costs = {note: _of_size(servers, note, size, folder, is_random=is_random) for note in list(NOTES)[: size.notes]}
        smallest, *larger = costs
        for level in READING[: size.levels]:
            base = [costs[smallest][level].mebibytes]
            for note in larger:
                metric = f"{level}, most memory of a process, {name} records of {note}"
                memory = [costs[note][level].mebibytes]
                found.append(Result(metric, "MiB", memory, f"of {smallest}", base, GOAL_SIZES))
    return found


def _of_size(servers: str, name: str, size: Size, folder: Path, *, is_random: bool) -> dict[str, Cost]:
    note = NOTES[name]
    load = Load(servers, f"bench-{note}-{is_random}", 1, size.large * NOTES["1 MiB"] // note, note, is_random)
    load.write_log()
    return {level: verify(folder, load, level, 2) for level in READING[: size.levels]}


def loop(load: Load) -> Cost:
    """The peer with the same checks."""
    return _read_by("wal_load.py", load)


def perf_test(load: Load) -> Cost:
    """Kafka's own tool, which checks nothing: one topic after the other."""
    return _read_by("perf_tools.py", load)


def _read_by(program: str, load: Load) -> Cost:
    topics = [load.topic(index) for index in range(load.topics)]
    return measure([sys.executable, str(Path(__file__).with_name(program)), load.servers, str(load.each), *topics])


def main(arguments: Sequence[str] | None = None, beds: Beds | None = None) -> None:
    """Measures and reports."""
    run, beds = SIZES.parse(arguments), beds or Beds()
    report = run.report({"driverMemory": HEAP})
    with beds.brokers(1) as kafka, tempfile.TemporaryDirectory() as folder:
        servers = ",".join(kafka.bootstrap_servers)
        if run.size.records:
            report.results += measure_all(Bed(servers, run.size, Path(folder)), run.size)
        if run.size.large:
            report.results += measure_sizes(servers, run.size, Path(folder))
    run.finish(report)


def measure_all(bed: Bed, size: Size) -> list[Result]:
    """Both peers, each level on two cores, and Integrity on one; one after another, as often as it is asked for."""
    levels = LEVELS[: size.levels]
    works: dict[str, Callable[[Load], Cost]] = {LOOP: loop, PERF: perf_test}
    works |= {level: partial(bed.verify, level=level, cores=2) for level in levels}
    if size.cores > 1:
        works[ONE_CORE] = partial(bed.verify, level="Integrity", cores=1)
    costs: dict[str, list[Costs]] = {name: [] for name in works}
    for number in range(size.rounds):
        for name, work in works.items():
            costs[name].append(bed.run(work))
            print(f"{number}, {name}: {costs[name][-1]}", flush=True)
    return results(bed, levels, costs)


def results(bed: Bed, levels: Sequence[str], costs: dict[str, list[Costs]]) -> list[Result]:
    """The lines."""
    cpu = {name: [bed.per_record(each)[0] for each in found] for name, found in costs.items()}
    wall = {name: [bed.per_record(each)[1] for each in found] for name, found in costs.items()}
    if below := [name for name, found in cpu.items() if median(found) <= 0]:
        raise RuntimeError(f"{below}: all records took less CPU than a tenth of them: --records is too small")
    found = []
    for level in levels:
        goal = GOAL_LOOP if level == "Integrity" else None
        found.append(Result(f"{level}, CPU per record", "µs", cpu[level], LOOP, cpu[LOOP], goal))
        found.append(Result(f"{level}, CPU per record", "µs", cpu[level], PERF, cpu[PERF]))
    whole = [each.whole.mebibytes for each in costs["Integrity"]]
    tenth = [each.tenth.mebibytes for each in costs["Integrity"] if each.tenth is not None]
    memory = ("a tenth of it", tenth, GOAL_MEMORY) if tenth else ()
    one_core = ("on 1 core", wall[ONE_CORE], GOAL_CORES) if ONE_CORE in wall else ()
    return [
        *found,
        Result("Integrity, most memory of a process, ten times the data", "MiB", whole, *memory),
        Result("Integrity, time per record on 2 cores", "µs", wall["Integrity"], *one_core),
    ]


if __name__ == "__main__":
    main()
