"""The sink of tables on Spark: Structured Streaming plans, executors write, and a topic that stops is told."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import cast

import pytest
from mirrors import side_of
from pyspark.sql import SparkSession
from record_harm import spoil_value
from record_logs import CPU, MEM, NET, Written
from record_writers import Database
from spark_marks import WITH_SPARK
from tabled import Tabled
from test_stream import Run, drivers

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.s3 import S3Process
from seawall_e2e.waiting import wait_until
from wal_subscription.doubts import CERTAIN_SECONDS
from wal_subscription.stops import Reason

pytest_plugins = ("spark_beds", "mirror_beds", "table_beds")
pytestmark = WITH_SPARK


def test_rows_are_written_until_a_record_gives_none_and_the_next_run_goes_on_where_the_chain_says(
    spark: SparkSession,
    source_kafka: KafkaProcesses,
    bucket_server: S3Process,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("wal_subscription.report.GATHER_SECONDS", 1.0)
    monkeypatch.setitem(cast("dict[Reason, float]", CERTAIN_SECONDS), Reason.IDENTITY_FENCE_BROKEN, 0.5)
    tabled = Tabled(side_of(source_kafka), bucket_server, tmp_path / "keys")
    names = tabled.make(3)
    logs = {name: Written() for name in names}

    def write(topic: int) -> None:
        log = logs[names[topic]]
        for table in (CPU, MEM, NET):
            log.entry(table, 2, in_parts=table == MEM)
        tabled.append(log, topic)

    def start() -> Run:
        request = tmp_path / f"request-{tabled.run}.json"
        request.write_text(json.dumps(tabled.request()))
        return Run(spark, request, tmp_path / "summary.json")

    for topic in range(3):
        write(topic)
    run = start()
    wait_until(tabled.has_all, "all is written", within=60)
    at = spoil_value(logs[names[1]])
    tabled.append(logs[names[1]], 1)
    write(2)
    code, summary = run.end()
    assert (code, summary["outcome"], summary["stoppedTopics"]) == (0, "Stopped", 1)
    (stopped,) = summary["stopped"]
    assert (stopped["topic"], stopped["reason"], stopped["offset"]) == (names[1], "Unreadable", at)

    tabled.run, tabled.dead_letters = 2, True
    run = start()
    write(1)
    wait_until(tabled.has_all, "the next run goes on", within=60)
    assert tabled.require_once(logs, CPU, MEM, NET) == 5 * 6
    assert tabled.commits(names[1])[-1]["deadLetters"] == 1
    files = [file["path"] for name in names for commit in tabled.commits(name) for file in commit["files"]]
    by_spark = spark.read.parquet(*(str(tabled.root / path) for path in files))
    assert by_spark.select("_topic", "_offset", "_row").distinct().count() == by_spark.count() == 5 * 6
    tabled.source.topics.delete(names[0])
    code, summary = run.end()
    assert (code, summary["stopped"][0]["reason"]) == (0, "IdentityFenceBroken")


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_drivers_that_are_killed_and_two_at_once_write_each_row_once(
    spark: SparkSession, source_kafka: KafkaProcesses, bucket_server: S3Process, tmp_path: Path
) -> None:
    """`spark` has set what a program needs to find its jars."""
    tabled = Tabled(side_of(source_kafka), bucket_server, tmp_path / "keys")
    (name,) = tabled.make()
    request = tmp_path / "request.json"
    request.write_text(json.dumps(tabled.request()))
    database, position, kills = Database(name, tabled.source.options), -1, 0

    def is_ahead() -> bool:
        return tabled.position(name) > position

    with database.writes(0.1):
        for count in (1, 2, 2):
            with drivers(request, tmp_path, count) as running:
                wait_until(is_ahead, "rows are written", within=240)
                position = tabled.position(name)
                os.kill(running[0].pid, signal.SIGKILL)  # the Python driver alone: its Java may go on for a moment
                time.sleep(2.0)
                kills += count
    with drivers(request, tmp_path, 1):
        wait_until(tabled.has_all, "all is written", within=240)
    rows = tabled.require_once(database.log, CPU, MEM, NET)
    print(f"{rows} rows once and in order; {kills} kills of drivers on Spark")  # noqa: T201 - the counts are the evidence
