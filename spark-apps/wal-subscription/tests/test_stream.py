"""The application on Spark: Structured Streaming plans and copies, drivers die, and what they leave is one log."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mirror_writers import written_to
from mirrors import Mirror
from pyspark.sql import SparkSession
from spark_marks import WITH_SPARK

from seawall_e2e.waiting import wait_until
from wal_subscription.__main__ import main
from wal_subscription.micro_batches import MicroBatches
from wal_subscription.stops import Reason, Stop
from wal_subscription.stream import _beat

pytest_plugins = ("spark_beds", "mirror_beds")
pytestmark = WITH_SPARK
RECORDS = [(b"k", b"%d" % number) for number in range(200)]


class Run:
    """The program in this process, in the session of all tests, until it ends."""

    def __init__(self, spark: SparkSession, request: Path, summary: Path) -> None:
        self._summary = summary
        self._code: list[int] = []
        arguments = ["--request", str(request), "--summary", str(summary)]
        self._thread = threading.Thread(target=lambda: self._code.append(main(arguments, spark)))
        self._thread.start()

    def end(self, within: float = 90) -> tuple[int, dict[str, Any]]:
        """Its exit code, and its summary."""
        self._thread.join(within)
        assert not self._thread.is_alive(), "it did not end"
        summary: dict[str, Any] = json.loads(self._summary.read_bytes())
        return self._code[0], summary


def request_file(mirror: Mirror, folder: Path, **other: Any) -> Path:
    """Of all topics."""
    path = folder / "request.json"
    path.write_text(json.dumps(mirror.request(**other)))
    return path


def test_a_mirror_streams_until_a_topic_must_stop_and_the_next_run_goes_on_without_it(
    spark: SparkSession, mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wal_subscription.report.GATHER_SECONDS", 2.0)
    names = [f"stream-{number}" for number in range(5)]
    mirror.make(*names)
    mirror.source.topics.append(dict.fromkeys(names, RECORDS))
    run = Run(spark, request_file(mirror, tmp_path), tmp_path / "summary.json")
    wait_until(lambda: all(map(mirror.has_all, names)), "all topics are mirrored", within=60)
    mirror.source.topics.append(dict.fromkeys(names, RECORDS))
    wait_until(lambda: all(map(mirror.has_all, names)), "they go on", within=30)
    mirror.target.topics.append({names[2]: RECORDS[:1]})
    mirror.source.topics.append(dict.fromkeys(names, RECORDS))

    code, summary = run.end()
    assert (code, summary["outcome"], summary["stoppedTopics"]) == (0, "Stopped", 1)
    (stopped,) = summary["stopped"]
    assert (stopped["topic"], stopped["reason"], stopped["offset"]) == (names[2], "Diverged", 400)
    assert all(mirror.has_all(name) for name in names if name != names[2]), "the others went on"

    del mirror.starts[names[2]]
    run = Run(spark, request_file(mirror, tmp_path), tmp_path / "summary.json")
    mirror.source.topics.append(dict.fromkeys(names, RECORDS))
    wait_until(lambda: all(map(mirror.has_all, mirror.starts)), "the next run goes on", within=60)
    assert mirror.require_equal(*mirror.starts) == 4 * 4 * len(RECORDS)
    mirror.source.topics.delete(names[0])
    code, summary = run.end()
    assert (code, summary["stopped"][0]["reason"]) == (0, "IdentityFenceBroken")


def test_another_kafka_is_refused_and_one_that_does_not_answer_is_not(
    spark: SparkSession, mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror.make("refusals")
    wrong = {**mirror.target.to_json(), "clusterId": "q1Sh-9_ISia_zwGINzRvyQ"}
    code, summary = Run(spark, request_file(mirror, tmp_path, target=wrong), tmp_path / "summary.json").end()
    assert (code, summary["outcome"]) == (0, "Refused")
    assert summary["message"].endswith(f"is {mirror.target.cluster_id}, not q1Sh-9_ISia_zwGINzRvyQ")
    monkeypatch.setattr("sparkjob.wire.kafka_state.SECONDS", 2.0)
    nobody = {**mirror.target.to_json(), "bootstrapServers": ["127.0.0.1:9"]}
    code, summary = Run(spark, request_file(mirror, tmp_path, target=nobody), tmp_path / "summary.json").end()
    assert (code, summary["outcome"]) == (3, "Interrupted")


def test_what_breaks_in_a_micro_batch_is_told_as_what_it_is(
    spark: SparkSession, mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror.make("breaks")

    def breaks(_: MicroBatches) -> None:
        raise RuntimeError("no more")

    monkeypatch.setattr(MicroBatches, "once", breaks)
    code, summary = Run(spark, request_file(mirror, tmp_path), tmp_path / "summary.json").end()
    assert (code, summary["outcome"], summary["message"]) == (3, "Interrupted", "it broke off: no more")


@contextmanager
def drivers(request: Path, folder: Path, count: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Programs of their own, each with its Java."""

    def start(number: int) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "wal_subscription", "--request", str(request), "--summary", "-"]
        environment = {**os.environ, "SPARK_MASTER": "local[1]"}
        with (folder / f"driver-{number}.log").open("ab") as log:
            return subprocess.Popen(  # noqa: S603 - our own program
                command, env=environment, stdout=log, stderr=log, start_new_session=True
            )

    running = [start(number) for number in range(count)]
    try:
        yield running
    finally:
        for process in running:
            kill(process)


def kill(driver: subprocess.Popen[bytes]) -> None:
    """All of it: Python, Java, and Python's workers."""
    if driver.poll() is None:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()


def test_drivers_that_are_killed_and_two_at_once_make_one_log(
    spark: SparkSession, mirror: Mirror, tmp_path: Path
) -> None:
    """`spark` has set what a program needs to find its jars."""
    names = ["drivers-0", "drivers-1", "drivers-2"]
    mirror.make(*names)
    request = request_file(mirror, tmp_path)
    ends = dict.fromkeys(names, 0)

    def is_ahead() -> bool:
        return all(mirror.target.of(name).end > ends[name] for name in names)

    servers = ",".join(mirror.source.servers)
    with written_to(servers, names[0], 0.02), written_to(servers, names[1], 0.02), written_to(servers, names[2], 0.1):
        for count in (1, 2):
            with drivers(request, tmp_path, count) as running:
                wait_until(is_ahead, "the mirror goes on", within=180)
                ends = {name: mirror.target.of(name).end for name in names}
                os.kill(running[0].pid, signal.SIGKILL)  # the Python driver alone: its Java may go on for a moment
                time.sleep(1.0)
    with drivers(request, tmp_path, 1):
        wait_until(lambda: all(map(mirror.has_all, names)), "all is mirrored", within=180)
    assert mirror.require_equal(*names) > 0


class Slow:
    """Finds out that it is over, and still has something to do in that micro-batch."""

    def __init__(self, spark: SparkSession) -> None:
        self.stops: list[Stop] = []
        self.has_ended = False
        self._spark = spark

    @property
    def is_over(self) -> bool:
        return bool(self.stops)

    def require_sides(self) -> None:
        pass

    def once(self) -> None:
        self.stops.append(Stop("wal_0", Reason.DIVERGED, 0, "it must stop"))
        self._spark.sparkContext.parallelize([1.0], 1).map(time.sleep).collect()
        self.has_ended = True


def test_a_micro_batch_ends_before_the_run_does(spark: SparkSession, tmp_path: Path) -> None:
    slow = Slow(spark)
    _beat(spark, slow, 100, str(tmp_path))
    assert slow.has_ended
    assert len(slow.stops) == 1
