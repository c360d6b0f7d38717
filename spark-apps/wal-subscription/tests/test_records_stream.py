"""The sink of records on Spark: Structured Streaming plans, executors hand on, and a topic that stops is told."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import cast

import pytest
from handed_on import Handed
from mirrors import side_of
from pyspark.sql import SparkSession
from record_harm import spoil_value
from record_logs import CPU, MEM, NET, Written
from record_writers import Database
from spark_marks import WITH_SPARK
from test_stream import Run, drivers

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.waiting import wait_until
from wal_subscription.doubts import CERTAIN_SECONDS
from wal_subscription.stops import Reason

pytest_plugins = ("spark_beds", "mirror_beds")
pytestmark = WITH_SPARK


def test_rows_stream_until_a_record_gives_none_and_the_next_run_goes_on_where_the_sink_says(
    spark: SparkSession,
    source_kafka: KafkaProcesses,
    target_kafka: KafkaProcesses,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("wal_subscription.report.GATHER_SECONDS", 1.0)
    monkeypatch.setitem(cast("dict[Reason, float]", CERTAIN_SECONDS), Reason.IDENTITY_FENCE_BROKEN, 0.5)
    handed = Handed(side_of(source_kafka), side_of(target_kafka), partitions=2)
    names = handed.make(3)
    logs = {name: Written() for name in names}

    def write(topic: int) -> None:
        log = logs[names[topic]]
        for table in (CPU, MEM, NET):
            log.entry(table, 2, in_parts=table == MEM)
        handed.append(log, topic)

    def start() -> Run:
        request = tmp_path / f"request-{handed.run}.json"
        request.write_text(json.dumps(handed.request()))
        return Run(spark, request, tmp_path / "summary.json")

    for topic in range(3):
        write(topic)
    run = start()
    wait_until(handed.has_all, "all is handed on", within=60)
    at = spoil_value(logs[names[1]])
    handed.append(logs[names[1]], 1)
    write(2)
    code, summary = run.end()
    assert (code, summary["outcome"], summary["stoppedTopics"]) == (0, "Stopped", 1)
    (stopped,) = summary["stopped"]
    assert (stopped["topic"], stopped["reason"], stopped["offset"]) == (names[1], "Unreadable", at)

    handed.run, handed.dead_letters = 2, True
    run = start()
    write(1)
    wait_until(handed.has_all, "the next run goes on", within=60)
    assert handed.require_once(logs, CPU, MEM, NET) == 5 * 6
    assert handed.places()[names[1]].dead_letters == 1
    handed.source.topics.delete(names[0])
    code, summary = run.end()
    assert (code, summary["stopped"][0]["reason"]) == (0, "IdentityFenceBroken")


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_drivers_that_are_killed_and_two_at_once_hand_on_each_row_once(
    spark: SparkSession, source_kafka: KafkaProcesses, target_kafka: KafkaProcesses, tmp_path: Path
) -> None:
    """`spark` has set what a program needs to find its jars. Two at once end each other's transactions all the time."""
    handed = Handed(side_of(source_kafka), side_of(target_kafka))
    handed.make()
    request = tmp_path / "request.json"
    request.write_text(json.dumps(handed.request()))
    database, position, kills = Database(handed.sources[0], handed.source.options), -1, 0

    def is_ahead() -> bool:
        return any(place.position > position for place in handed.places().values())

    with database.writes(0.1):
        for count in (1, 2, 2):
            with drivers(request, tmp_path, count) as running:
                wait_until(is_ahead, "rows are handed on", within=240)
                (place,) = handed.places().values()
                position = place.position
                os.kill(running[0].pid, signal.SIGKILL)  # the Python driver alone: its Java may go on for a moment
                time.sleep(2.0)
                kills += count
    with drivers(request, tmp_path, 1):
        wait_until(handed.has_all, "all is handed on", within=240)
    rows = handed.require_once(database.log, CPU, MEM, NET)
    print(f"{rows} rows once and in order; {kills} kills of drivers on Spark")  # noqa: T201 - the counts are the evidence
