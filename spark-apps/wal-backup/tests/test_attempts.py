"""Retries, killed executors, late tasks and half-written objects leave what nobody names, and change no manifest."""

from __future__ import annotations

import json
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import pyspark
import pytest
from backups import Answer, Bed
from spark_marks import WITH_SPARK
from stuck_objects import PATIENCE_SECONDS, StuckObject, ancestors

from sparkjob.errors import Interrupted
from sparkjob.s3 import S3
from sparkjob.wire.reader import Range
from wal_backup.layout import object_path
from wal_backup.store import Folder
from wal_backup.task import write_objects

pytest_plugins = ("spark_beds", "backup_beds")
pytestmark = WITH_SPARK

RECORDS = 60
BYTES = 10_000
"""Of a record: random ones, so that the object is larger than a pipe."""
EXECUTOR = "CoarseGrainedExecutorBackend"
TASK = """
import json, sys
from sparkjob.wire.reader import Range
from wal_backup.store import Folder
from wal_backup.task import write_objects
ranges, options, place, folder, path = json.loads(sys.argv[1])
write_objects([Range(*each) for each in ranges], options, Folder(**place), folder, path)
"""
"""What Spark's Python worker runs in a task, with the same function."""


def filled(bed: Bed) -> str:
    """A topic with large records."""
    topic, numbers = f"attempt_{secrets.token_hex(4)}", random.Random(7)  # noqa: S311 - the same each time
    bed.topics.fill({topic: [(b"k", numbers.randbytes(BYTES)) for _ in range(RECORDS)]})
    return topic


def spark_home(folder: Path) -> Path:
    """A Spark that keeps the folders of its workers to itself."""
    found, home = Path(pyspark.__file__).parent, folder / "spark"
    if home.exists():  # of an application before
        return home
    home.mkdir()
    for name in ("bin", "jars", "python"):
        (home / name).symlink_to(found / name)
    return home


@contextmanager
def application(
    bed: Bed, master: str, request: Mapping[str, Any], more: Mapping[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A backup as a program of its own, in a session of its own; and its summary."""
    asked, summary = bed.folder / "own.json", bed.folder / "own.summary"
    asked.write_text(json.dumps(request))
    command = [sys.executable, "-m", "wal_backup", "backup", "--request", str(asked), "--summary", str(summary)]
    environment = {**os.environ, "SPARK_MASTER": master, "SPARK_HOME": str(spark_home(bed.folder)), **(more or {})}
    with (bed.folder / "own.log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - our own program
            command, env=environment, stdout=log, stderr=log, start_new_session=True
        )
        try:
            yield process, summary
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(PATIENCE_SECONDS)


def unnamed(bed: Bed, *answers: Answer) -> set[str]:
    """The objects that none of these backups' manifests names."""
    found = {str(path.relative_to(bed.chain)) for path in (bed.chain / "data").rglob("*.parquet")}
    return found - {each.path for answer in answers for each in bed.manifest(answer).objects}


def written(bed: Bed) -> dict[str, tuple[bytes, int]]:
    """All files of the chain with their content; a file that was written once more is another one of the disk."""
    files = [path for path in bed.chain.rglob("*") if path.is_file()]
    return {str(path.relative_to(bed.chain)): (path.read_bytes(), path.stat().st_ino) for path in files}


def halves(bed: Bed) -> set[Path]:
    """What is not whole yet, or never will be."""
    return set((bed.chain / "tmp").iterdir())


def is_whole(bed: Bed, answer: Answer, topic: str) -> None:
    """The backup has what Kafka has, the store has one manifest, and whoever checks it finds nothing."""
    assert bed.stored(answer, topic) == bed.log(topic, 0, RECORDS)
    assert [path.name for path in (bed.chain / "manifests").iterdir()] == [answer.summary["manifest"]["name"]]
    assert (bed.check().code, bed.inspect().code) == (0, 0)


def test_the_keys_of_the_store_are_in_nothing_that_driver_and_executors_write_or_are_started_with(bed: Bed) -> None:
    """In pods the logs of executors are gone when a job has ended; here they stay."""
    topic = filled(bed)
    request = bed.request((topic, 0, RECORDS), parent=None, name="full", attempt=1, verify="Checksums")
    with application(bed, "local-cluster[1,1,1024]", request) as (process, summary):
        assert process.wait(PATIENCE_SECONDS) == 0, (bed.folder / "own.log").read_text()[-3000:]
    logs = {path: path.read_text() for path in (bed.folder / "spark/work").rglob("std*")}
    of_executors = "".join(logs.values())
    assert f"{EXECUTOR}" in of_executors, "it begins with the command that starts it"
    written = (bed.folder / "own.log").read_text() + of_executors + summary.read_text()
    keys = [Path(bed.storage["s3"][name]).read_text().strip() for name in ("accessKeyIdFile", "secretAccessKeyFile")]
    assert all(keys)
    assert not [key for key in keys if key in written]


def test_an_executor_that_is_killed_in_mid_write_is_replaced_and_its_half_object_is_garbage(folder_bed: Bed) -> None:
    bed, topic = folder_bed, filled(folder_bed)
    stuck = StuckObject(bed.chain, bed.folder)
    request = bed.request((topic, 0, RECORDS), parent=None, name="full", attempt=1, verify="Checksums")
    with application(bed, "local-cluster[2,1,1024]", request, stuck.environment) as (process, summary):
        worker, half = stuck.wait()
        (executor,) = (pid for pid, command in ancestors(worker) if EXECUTOR in command)
        os.kill(worker, signal.SIGKILL)
        os.kill(executor, signal.SIGKILL)
        assert process.wait(PATIENCE_SECONDS) == 0, (bed.folder / "own.log").read_text()[-3000:]
    answer = Answer(0, json.loads(summary.read_bytes()))
    is_whole(bed, answer, topic)
    assert (unnamed(bed, answer), halves(bed)) == (set(), {half})


def test_an_application_that_is_killed_in_mid_write_is_followed_by_the_next_attempt(folder_bed: Bed) -> None:
    bed, topic = folder_bed, filled(folder_bed)
    stuck = StuckObject(bed.chain, bed.folder)
    request = bed.request((topic, 0, RECORDS), parent=None, name="full", attempt=1, verify="None")
    with application(bed, "local[2]", request, stuck.environment) as (process, summary):
        worker, half = stuck.wait()
        os.killpg(process.pid, signal.SIGKILL)
        os.kill(worker, signal.SIGKILL)
    assert not summary.exists()
    answer = bed.back_up((topic, 0, RECORDS), attempt=2)
    is_whole(bed, answer, topic)
    assert (unnamed(bed, answer), halves(bed)) == (set(), {half})


def test_a_second_driver_of_a_backup_that_counts_writes_nothing(folder_bed: Bed) -> None:
    """Somebody edited its SparkApplication, so it is submitted again, and may cut the log elsewhere."""
    bed, topic = folder_bed, filled(folder_bed)
    request = bed.request((topic, 0, RECORDS), parent=None, name="full", attempt=1, verify="None")
    answers, found = list[Answer](), list[dict[str, tuple[bytes, int]]]()
    for master in ("local[1]", "local[4]"):
        with application(bed, master, request) as (process, summary):
            process.wait(PATIENCE_SECONDS)
            answers.append(Answer(process.returncode, json.loads(summary.read_bytes())))
            summary.unlink()
        found.append(written(bed))
    first, second = answers
    assert first.summary["outcome"] == "Passed", (bed.folder / "own.log").read_text()[-3000:]
    assert (second.summary["outcome"], "is there already" in second.summary["message"]) == ("Interrupted", True)
    assert found[0] == found[1]
    is_whole(bed, first, topic)
    assert unnamed(bed, first) == set()


def test_a_task_of_a_dead_attempt_that_ends_after_the_next_one_has_published_changes_nothing(folder_bed: Bed) -> None:
    bed, topic = folder_bed, filled(folder_bed)
    first, place = object_path("full", 1, "driver", 0, 0), Folder(bed.storage["folder"]["path"])
    stuck = StuckObject(bed.chain, bed.folder)
    folder = str(bed.chain.relative_to(bed.objects))
    options = {"bootstrap.servers": bed.topics.servers}
    task = json.dumps([[Range(topic, 0, RECORDS)], options, asdict(place), folder, first])
    zombie = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", TASK, task], env={**os.environ, **stuck.environment}
    )
    try:
        assert stuck.wait()[0] == zombie.pid
        answer = bed.back_up((topic, 0, RECORDS), attempt=2)
        published = bed.manifest_path(answer).read_bytes()
        assert unnamed(bed, answer) == set(), "half of it has no name"
        stuck.finish()
        assert zombie.wait(PATIENCE_SECONDS) == 0
    finally:
        zombie.kill()
        zombie.wait(PATIENCE_SECONDS)
    assert (bed.chain / first).stat().st_size == sum(each.bytes for each in bed.manifest(answer).objects), (
        "it wrote all of it, as well"
    )
    assert bed.manifest_path(answer).read_bytes() == published
    is_whole(bed, answer, topic)
    assert (unnamed(bed, answer), halves(bed)) == ({first}, set())


def test_half_an_object_that_a_failing_task_publishes_is_garbage(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream of pyarrow cannot be aborted: what was written to it when the task failed is an object of the bucket."""
    topic, path = filled(bed), object_path("full", 1, "driver", 0, 77)

    def breaks(source: BinaryIO, sink: BinaryIO, _: int) -> None:
        sink.write(source.read(BYTES))
        raise OSError(5, "Input/output error")

    def keys(name: str) -> str:
        return Path(bed.storage["s3"][name]).read_text().strip()

    asked = bed.storage["s3"]
    secret = keys("accessKeyIdFile"), keys("secretAccessKeyFile")
    place = S3(asked["bucket"], asked["prefix"], asked["region"], asked["endpoint"], None, *secret)
    folder, options = str(bed.chain.relative_to(bed.objects)), {"bootstrap.servers": bed.topics.servers}
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfileobj", breaks)
        with pytest.raises(Interrupted, match="Input/output error"):
            write_objects([Range(topic, 0, RECORDS)], options, place, folder, path)
    assert (bed.chain / path).stat().st_size == BYTES
    answer = bed.back_up((topic, 0, RECORDS))
    is_whole(bed, answer, topic)
    assert unnamed(bed, answer) == {path}
