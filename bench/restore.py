"""Restores of a WAL: records written back and read back, against a plain producer and reader; and padding alone."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from beds import Beds
from report import Result
from restore_rounds import Samples, Work
from sizes import Sizes
from wal_load import Load
from warm_session import run_rounds, session_environment

LOOP, NULLS = "confluent-kafka: produce all, idempotent, and read it once", "confluent-kafka: produce as many nulls"
GOAL, GOAL_PADDING, GOAL_PADDING_SECONDS = 2.0, 1.0, 3.0
HEAP = "1g"


@dataclass(frozen=True, slots=True)
class Size:
    """Records of the log in how many topics, rounds of both sides, and offsets of a padding."""

    records: int = 1_000_000
    topics: int = 2
    rounds: int = 5
    padding: int = 10_000_000
    paddings: int = 3


SIZES = Sizes("restore", __doc__, Size(), Size(2_000, 1, rounds=1, padding=10_000, paddings=1))


def main(arguments: Sequence[str] | None = None, beds: Beds | None = None) -> None:
    """Measures and reports."""
    run, beds = SIZES.parse(arguments), beds or Beds()
    size, report = run.size, run.report({"driverMemory": HEAP})
    with beds.brokers(1) as kafka, tempfile.TemporaryDirectory() as folder:
        servers = ",".join(kafka.bootstrap_servers)
        load = Load(servers, "bench-restore", size.topics, size.records // size.topics, is_random=True)
        load.write_log()
        names = tuple(load.topic(index) for index in range(load.topics))
        work = Work(servers, kafka.cluster_id, names, load.each, folder, size.rounds, size.padding, size.paddings)
        variables = session_environment(Path(folder), HEAP, "--conf", "spark.task.maxFailures=1")
        found = Samples(**run_rounds("restore_rounds.py", asdict(work), Path(folder), variables))
    is_full = size == SIZES.full
    report.results += [
        Result("restore, written and read back", "s", found.ours, LOOP, found.loop, GOAL),
        Result("padding", "s", found.padding, NULLS, found.nulls, GOAL_PADDING),
        Result("padding to 10^7" if is_full else "padding", "s", found.padding,
               max_value=GOAL_PADDING_SECONDS if is_full else None),
    ]  # fmt: skip
    run.finish(report)


if __name__ == "__main__":
    main()
