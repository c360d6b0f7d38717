"""The peer: Kafka's own kafka-producer-perf-test and kafka-consumer-perf-test, with Java's default settings.

`perf_tools.py <servers> <records> <topic> …` reads so many records of each topic, one topic after the other.
"""

from __future__ import annotations

import re
import sys
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from seawall_e2e.commands import run
from seawall_e2e.loopback.java import DOWNLOAD_TIMEOUT
from seawall_e2e.loopback.processes import platform_folder

TIMEOUT = 600
MEBIBYTE = 2**20
_SENT = re.compile(r"(\d+) records sent, ([\d.]+) records/sec \(([\d.]+) MB/sec\)")


@dataclass(frozen=True, slots=True)
class Speed:
    """What a tool reached."""

    records_per_second: float
    mebibytes_per_second: float


class PerfTools:
    """Runs the tools, each to its end."""

    def __init__(self, servers: Sequence[str]) -> None:
        self._servers = ",".join(servers)
        self._class_path = f"{platform_folder('kafka/jars.sh', DOWNLOAD_TIMEOUT)}/*"

    def produce(self, topic: str, records: int, size: int) -> Speed:
        """As many records as it can, with the settings that GreptimeDB's WAL has: acks=all, lz4."""
        said = self._run(
            "ProducerPerformance",
            *("--bootstrap-server", self._servers, "--topic", topic, "--throughput", "-1"),
            *("--num-records", str(records), "--record-size", str(size)),
            *("--command-property", "acks=all", "--command-property", "compression.type=lz4"),
        )
        found = _SENT.findall(said)
        if not found or int(found[-1][0]) != records:
            raise RuntimeError(f"kafka-producer-perf-test said: {said[-500:]}")
        _, per_second, mebibytes = found[-1]
        return Speed(float(per_second), float(mebibytes))

    def consume(self, topic: str, records: int) -> Speed:
        """Reads so many records; the time that joining a group takes is not counted."""
        said = self._run(
            "ConsumerPerformance",
            *("--bootstrap-server", self._servers, "--topic", topic, "--num-records", str(records)),
            *("--group", f"perf-{uuid.uuid4()}", "--hide-header", "--timeout", "60000"),
        )
        # start, end, MB, MB/s, records, records/s, rebalance ms, fetch ms, fetch MB/s, fetch records/s
        values = [field.strip() for field in said.strip().splitlines()[-1].split(",")]
        if int(values[4]) < records:
            raise RuntimeError(f"kafka-consumer-perf-test said: {said[-500:]}")
        return Speed(float(values[9]), float(values[8]))

    def _run(self, tool: str, *arguments: str) -> str:
        command = ["java", "-Xmx512m", "-cp", self._class_path, f"org.apache.kafka.tools.{tool}", *arguments]
        return run(*command, timeout=TIMEOUT)


def main() -> None:
    """Reads topics: in each run by a group of its own, because one that has read them begins at their ends."""
    servers, records, *topics = sys.argv[1:]
    tools = PerfTools(servers.split(","))
    for topic in topics:
        tools.consume(topic, int(records))


if __name__ == "__main__":
    main()
