"""Replay verification: CPU per record of each level against a plain loop with the same checks, cores, and memory.

What a record costs is told by two loads, a tenth and the whole: the difference leaves out what starting Spark costs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from measured_command import Cost, measure
from report import Report, Result
from wal_load import Load

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.java import DOWNLOAD_TIMEOUT
from seawall_e2e.loopback.processes import platform_folder

TOPICS = 8
RECORDS = 5_000_000
LEVELS = ("Coverage", "Integrity", "Equivalence")
HEAP = "1g"
LOOP, PERF = "confluent-kafka loop, same checks", "kafka-consumer-perf-test"
GOAL_LOOP, GOAL_CORES, GOAL_MEMORY = 1.5, 1 / 1.7, 1.2
LARGE = 3_000
"""Records of the largest size; of the smaller ones so many that all loads have the same bytes."""
NOTES = {"1 KiB": 1 << 10, "64 KiB": 1 << 16, "1 MiB": (1 << 20) - 1000}
"""Bytes of a record: the largest is just below what GreptimeDB's max_batch_bytes lets through."""
GOAL_SIZES = 2.0


class Bed:
    """A Kafka with the small and the whole load."""

    def __init__(self, servers: str, records: int, folder: Path) -> None:
        self._folder = folder
        sizes = {"small": records // 10, "whole": records}
        self._loads = [Load(servers, name, TOPICS, size // TOPICS) for name, size in sizes.items()]
        for load in self._loads:
            load.write(folder / load.name)

    def both(self, command: Callable[[Load], Cost]) -> tuple[Cost, Cost]:
        """What a command takes for the small load and for the whole one."""
        small, whole = (command(load) for load in self._loads)
        return small, whole

    def per_record(self, costs: tuple[Cost, Cost]) -> tuple[float, float]:
        """CPU µs and wall µs that one record more costs."""
        small, whole = self._loads
        more = (whole.each - small.each) * TOPICS
        cpu, wall = costs[1].cpu_seconds - costs[0].cpu_seconds, costs[1].seconds - costs[0].seconds
        if cpu <= 0:
            raise RuntimeError(
                f"{whole.each * TOPICS} records took less CPU than a tenth of them: --records is too small"
            )
        return cpu / more * 1e6, wall / more * 1e6

    def verify(self, load: Load, level: str, cores: int) -> Cost:
        """One verification of a load."""
        return verify(self._folder, load, level, cores)


def verify(folder: Path, load: Load, level: str, cores: int) -> Cost:
    """One verification, which must pass, as a program of its own."""
    request, summary = folder / "request.json", folder / "summary.json"
    request.write_bytes(load.request(level, folder / load.name))
    environment = {
        "SPARK_MASTER": f"local[{cores}]",
        "SEAWALL_SPARK_JARS": str(platform_folder("spark/jars.sh", DOWNLOAD_TIMEOUT)),
        "PYSPARK_PYTHON": sys.executable,
        # As an executor of the image starts: otherwise the heap grows because it may, and not because it must.
        "PYSPARK_SUBMIT_ARGS": f"--driver-memory {HEAP} --driver-java-options -Xms{HEAP} pyspark-shell",
        "SPARK_LOCAL_DIRS": str(folder),
    }
    command = [sys.executable, "-m", "replay_verification", "--request", str(request), "--report", "-"]
    return measure([*command, "--summary", str(summary)], environment)


def measure_sizes(servers: str, large: int, folder: Path, report: Report) -> None:
    """The most memory of a process at both levels that read all of it, by the size of the records."""
    for is_random in (True, False):
        name = "random" if is_random else "very compressible"
        costs = {size: _of_size(servers, size, large, folder, is_random=is_random) for size in NOTES}
        for level in ("Coverage", "Integrity"):
            smallest = costs["1 KiB"][level].mebibytes
            for size in ("64 KiB", "1 MiB"):
                metric = f"{level}, most memory of a process, {name} records of {size}"
                memory = [costs[size][level].mebibytes]
                report.results.append(Result(metric, "MiB", memory, "of 1 KiB", [smallest], GOAL_SIZES))


def _of_size(servers: str, size: str, large: int, folder: Path, *, is_random: bool) -> dict[str, Cost]:
    note = NOTES[size]
    load = Load(servers, f"sized-{note}-{is_random}", 1, large * NOTES["1 MiB"] // note, note, is_random)
    load.write_log()
    return {level: verify(folder, load, level, 2) for level in ("Coverage", "Integrity")}


def loop(load: Load) -> Cost:
    """The peer with the same checks."""
    program = str(Path(__file__).with_name("wal_load.py"))
    topics = [load.topic(index) for index in range(load.topics)]
    return measure([sys.executable, program, load.servers, str(load.each), *topics])


def perf_test(load: Load) -> Cost:
    """Kafka's own tool, which checks nothing: one topic after the other."""
    jars = platform_folder("kafka/jars.sh", DOWNLOAD_TIMEOUT)
    script = " && ".join(
        f"java -Xmx512m -cp '{jars}/*' org.apache.kafka.tools.ConsumerPerformance --bootstrap-server {load.servers} "
        f"--topic {load.topic(index)} --num-records {load.each} --group perf-{load.topic(index)} --timeout 60000"
        for index in range(load.topics)
    )
    return measure(["bash", "-ec", script])


def main() -> None:
    """Measures and reports."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--records", type=int, default=RECORDS, help="0: only records of several sizes")
    arguments.add_argument("--large", type=int, default=LARGE, help="records of 1 MiB, and as many bytes of others")
    given = arguments.parse_args()
    setting = {"records": given.records, "topics": TOPICS, "driverMemory": HEAP, "recordsOf1MiB": given.large}
    report = Report("verify", setting)
    with KafkaProcesses(1) as kafka, tempfile.TemporaryDirectory() as folder:
        if given.records:
            measure_all(Bed(kafka.bootstrap_servers[0], given.records, Path(folder)), report)
        measure_sizes(kafka.bootstrap_servers[0], given.large, Path(folder), report)
    print(f"\n{report.table()}\nwritten to {report.write().relative_to(report.write().parents[2])}")


def measure_all(bed: Bed, report: Report) -> None:
    """Every level, both peers, one core and two."""
    of_loop, _ = bed.per_record(bed.both(loop))
    of_perf, _ = bed.per_record(bed.both(perf_test))
    for level in LEVELS:
        costs = bed.both(lambda load, level=level: bed.verify(load, level, 2))  # type: ignore[misc]
        cpu, two_cores = bed.per_record(costs)
        goal = GOAL_LOOP if level == "Integrity" else None
        report.results.append(Result(f"{level}, CPU per record", "µs", [cpu], LOOP, [of_loop], goal))
        report.results.append(Result(f"{level}, CPU per record", "µs", [cpu], PERF, [of_perf]))
        if level == "Integrity":
            memory = [[cost.mebibytes] for cost in costs]
            metric = "Integrity, most memory of a process, ten times the data"
            report.results.append(Result(metric, "MiB", memory[1], "a tenth of it", memory[0], GOAL_MEMORY))
            _, one_core = bed.per_record(bed.both(lambda load: bed.verify(load, "Integrity", 1)))
            metric = "Integrity, time per record on 2 cores"
            report.results.append(Result(metric, "µs", [two_cores], "on 1 core", [one_core], GOAL_CORES))


if __name__ == "__main__":
    main()
