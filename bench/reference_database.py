"""The reference database: rows written and replayed, next to what Kafka's own tools do with records of the same size.

One datanode, one metasrv, one frontend and three brokers as processes on loopback. It is the ceiling for benchmarks
that write their rows with refdb.
"""

from __future__ import annotations

import random
import re
import string
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime

from beds import Beds
from confluent_kafka.admin import AdminClient, NewTopic
from perf_tools import MEBIBYTE, PerfTools, Speed
from report import Result
from sizes import Sizes

from seawall_e2e.loopback.refdb import RefDbProcesses
from seawall_e2e.waiting import wait_until

BROKERS = 3
REGIONS = 4
WRITERS = 8
ROW_BYTES = 100
TABLE = """CREATE TABLE t (ts TIMESTAMP TIME INDEX, k STRING, v STRING, PRIMARY KEY(k)) PARTITION BY RANGE COLUMNS (k) (
PARTITION a VALUES LESS THAN ('b'), PARTITION b VALUES LESS THAN ('c'), PARTITION c VALUES LESS THAN ('d'),
PARTITION d VALUES LESS THAN (MAXVALUE))"""


@dataclass(frozen=True, slots=True)
class Workload:
    """So many statements with so many rows each; a statement's rows belong to one region, so it is one record."""

    name: str
    statements: int
    rows: int
    peer_records: int
    """Enough for the peer to run for seconds: it is quicker by far, and its start is counted too."""


@dataclass(frozen=True, slots=True)
class Size:
    """Statements of one row and of many, the peer's records to each, and how often each is measured."""

    single: int = 2_000
    single_peer: int = 200_000
    large: int = 120
    large_peer: int = 2_000
    rows: int = 500
    repetitions: int = 5

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """What is written."""
        return (
            Workload("1 row each", self.single, 1, self.single_peer),
            Workload(f"{self.rows} rows each", self.large, self.rows, self.large_peer),
        )


SIZES = Sizes("refdb", __doc__, Size(), Size(24, 100, 4, 20, rows=10, repetitions=1))


def main(arguments: Sequence[str] | None = None, beds: Beds | None = None) -> None:
    """Measures and reports."""
    run, beds = SIZES.parse(arguments), beds or Beds()
    report = run.report(
        {
            "brokers": BROKERS,
            "replicationFactor": BROKERS,
            "regions": f"{REGIONS}, on one topic",
            "writers": f"{WRITERS} HTTP clients",
            "rowBytes": ROW_BYTES,
        },
    )
    with beds.brokers(BROKERS) as brokers, beds.etcd() as etcd:
        tools = PerfTools(brokers.bootstrap_servers)
        admin = AdminClient({"bootstrap.servers": ",".join(brokers.bootstrap_servers), "log_level": 0})
        wal = {"num_topics": 1, "replication_factor": BROKERS}
        with RefDbProcesses(brokers.bootstrap_servers, etcd, datanodes=1, wal=wal) as db:
            if "code" in (answer := db.sql(TABLE)):
                raise RuntimeError(answer)
            for number in range(REGIONS):  # once each has the lease that comes with a heartbeat
                db.write(insert(number, 1))
            wait_until(lambda: appended(db)[1] == REGIONS, "the heartbeat has the first row of each region")
            for workload in run.size.workloads:
                report.results += writing(db, workload, tools, admin, run.size.repetitions)
            report.results += replay(db, tools, run.size.repetitions)
    run.finish(report)


def writing(
    db: RefDbProcesses, workload: Workload, tools: PerfTools, admin: AdminClient, repetitions: int
) -> list[Result]:
    """INSERTs, in turns with the producing peer at the same record size."""
    rows, mebibytes, peer = [], [], []
    for _ in range(repetitions):
        size_before, number_before = appended(db)
        statements = [insert(number, workload.rows) for number in range(workload.statements)]
        started = time.monotonic()
        with ThreadPoolExecutor(WRITERS) as writers:
            answers = list(writers.map(db.sql, statements))
        seconds = time.monotonic() - started
        if refused := [answer for answer in answers if "code" in answer]:
            raise RuntimeError(refused[0])
        wait_until(lambda n=number_before: appended(db)[1] == n + workload.statements, "the heartbeat has all")  # type: ignore[misc]
        size = appended(db)[0] - size_before
        rows.append(workload.statements * workload.rows / seconds)
        mebibytes.append(size / MEBIBYTE / seconds)
        peer.append(produced(tools, admin, workload.peer_records, size // workload.statements))
        print(f"{workload.name}: {rows[-1]:.0f} rows/s, {mebibytes[-1]:.2f} MiB/s; peer {peer[-1]}", flush=True)
    against = "kafka-producer-perf-test, acks=all, lz4, records of the same size"
    return [
        Result(f"rows written, {workload.name}", "rows/s", rows),
        Result(
            f"records written, {workload.name}",
            "records/s",
            [r / workload.rows for r in rows],
            against,
            [p.records_per_second for p in peer],
        ),
        Result(f"WAL written, {workload.name}", "MiB/s", mebibytes, against, [p.mebibytes_per_second for p in peer]),
    ]


def replay(db: RefDbProcesses, tools: PerfTools, repetitions: int) -> list[Result]:
    """Kill -9 and start, in turns with the consuming peer, which reads the same topic once."""
    size, number = appended(db)
    rows, mebibytes, peer = [], [], []
    for _ in range(repetitions):
        db.datanodes[0].kill()
        db.start_datanode(0)
        log = db.datanodes[0].log_since_start()
        recovered = sum(int(count) for count in re.findall(r"rows recovered: (\d+)", log))
        seconds = at(log, "all regions are opened") - at(log, "Try to open region")
        rows.append(recovered / seconds)
        mebibytes.append(size / MEBIBYTE / seconds)
        peer.append(tools.consume(f"wal_{db.prefix}_0", number))
        print(f"{recovered} rows replayed in {seconds:.2f} s, {mebibytes[-1]:.2f} MiB/s; peer {peer[-1]}", flush=True)
    against = "kafka-consumer-perf-test on the same topic"
    return [
        Result("rows replayed", "rows/s", rows),
        Result("WAL replayed", "MiB/s", mebibytes, against, [speed.mebibytes_per_second for speed in peer]),
    ]


def produced(tools: PerfTools, admin: AdminClient, records: int, size: int) -> Speed:
    """The producing peer, on a topic of its own."""
    topic = f"perf-{uuid.uuid4().hex[:8]}"
    (made,) = admin.create_topics([NewTopic(topic, 1, BROKERS)], operation_timeout=30).values()
    made.result(30)
    return tools.produce(topic, records, size)


def insert(number: int, rows: int) -> str:
    """A statement whose rows go to one region; values are letters, as the peer's are."""
    letters = random.Random(number)  # noqa: S311 - payload
    region = "abcd"[number % REGIONS]
    values = (
        f"({row}, '{region}{uuid.uuid4().hex[:8]}', '{''.join(letters.choices(string.ascii_uppercase, k=ROW_BYTES))}')"
        for row in range(rows)
    )
    return f"INSERT INTO t VALUES {', '.join(values)}"  # noqa: S608 - for a test database


def appended(db: RefDbProcesses) -> tuple[int, int]:
    """Bytes and number of the records that the datanode appended, as it last reported."""
    topics = db.admin("/admin/heartbeat")[0][-1]["topic_stats"]
    return sum(topic["record_size"] for topic in topics), sum(topic["record_num"] for topic in topics)


def at(log: str, text: str) -> float:
    """When a line was logged first."""
    line = next(line for line in log.splitlines() if text in line)
    return datetime.strptime(line[:23], "%Y-%m-%d %H:%M:%S,%f").timestamp()  # noqa: DTZ007 - only differences count


if __name__ == "__main__":
    main()
