"""Two drivers at once, killed and frozen at any moment: each row is there once; without the condition, it is not.

The long form (`pytest -m soak`) kills the store, too; both print what they did. What there is without the condition is
seen in the long form; in the short one a mutant of `test_table.py` shows it. What the long one did is in
e2e/soak/results/table-writers.json.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from local_snapshots import snapshot_of
from mirror_writers import Writers
from mirrors import side_of
from record_logs import CPU, MEM, NET, Written
from record_writers import CONDITION, NO_CONDITION, Database
from table_snapshot_stories import OF_MEM, PUBLIC, REGION, require_snapshot_and_log
from table_writers import write_tables
from tabled import Tabled

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.s3 import S3Process
from seawall_e2e.soak import write_counts
from seawall_e2e.waiting import wait_until

pytest_plugins = ("mirror_beds", "table_beds")
pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("mirror")]
SHORT = {"kills": 5, "freezes": 2, "refused": 1}
LONG = {"kills": 100, "freezes": 40, "refused": 20}
STORE_KILLS = 4
PAUSE_SECONDS = 0.6
"""A commit takes longer than a transaction: who is always killed before it never meets another one."""


def nothing(_: int) -> None:
    """Besides."""


def harmed(
    tabled: Tabled,
    folder: Path,
    least: dict[str, int],
    how: str = CONDITION,
    *,
    also: Callable[[int], None] = nothing,
    until: Callable[[], bool] = lambda: True,
    log: Written | None = None,
) -> tuple[Database, dict[str, int]]:
    """Two drivers that are harmed until that much was done, and have met; what was written, and counted.

    `log` is what the topic has by then.
    """
    path, seed, rounds = folder / "request.json", random.Random(7), 0  # noqa: S311 - a fixed row of faults
    path.write_text(json.dumps(tabled.request()))
    database, writers = Database(tabled.sources[0], tabled.source.options), Writers(path, how, target=write_tables)
    database.log = log or database.log
    try:
        with database.writes():
            while not until() or any(writers.total().get(what, 0) < number for what, number in least.items()):
                time.sleep(PAUSE_SECONDS)
                writers.harm(seed)
                also(rounds)
                rounds += 1
        wait_until(tabled.has_all, "all is written", within=180)
        return database, writers.total()
    finally:
        writers.close()


def test_two_drivers_that_are_killed_and_frozen_write_each_row_once(
    source_kafka: KafkaProcesses, bucket_server: S3Process, tmp_path: Path
) -> None:
    tables = {"include": ["public.*"], "exclude": list[str]()}
    tabled = Tabled(side_of(source_kafka), bucket_server, tmp_path / "keys", tables=tables)
    tabled.make()
    database, total = harmed(tabled, tmp_path, SHORT)
    rows = tabled.require_once(database.log, CPU, MEM)
    print(f"{rows} rows once and in order in {len(tabled.log())} commits; {total}")  # noqa: T201 - the counts are the evidence
    assert total["stopped"] == 0


def with_a_snapshot(tabled: Tabled, folder: Path, files: int) -> tuple[Written, dict[int, int]]:
    """A log, and a snapshot in so many files of what it has; up to which entry."""
    log = Written()
    for number in range(2 * files):
        log.entry((CPU, MEM)[number % 2], 2, in_parts=number % 7 == 3)
    tabled.append(log)
    cuts = {region: len(log.records) - 3 for region in (REGION, OF_MEM)}
    tabled.snapshot = snapshot_of(folder / "snapshot", tabled.sources[0], log, cuts, files // 2)
    return log, cuts


# In every run: the same without a snapshot, and one driver that dies within a snapshot (test_table_guards.py).
@pytest.mark.soak
def test_two_drivers_that_are_killed_and_frozen_begin_with_a_snapshot_and_write_each_row_once(
    source_kafka: KafkaProcesses, bucket_server: S3Process, tmp_path: Path
) -> None:
    tabled = Tabled(side_of(source_kafka), bucket_server, tmp_path / "keys", tables=PUBLIC)
    tabled.make()
    log, cuts = with_a_snapshot(tabled, tmp_path, files=20)
    database, total = harmed(tabled, tmp_path, SHORT, log=log)
    rows, commits = require_snapshot_and_log(tabled, database.log, cuts), len(tabled.log())
    print(f"{rows} rows once in {commits} commits; {total}")  # noqa: T201 - the counts are the evidence
    assert total["stopped"] == 0


@pytest.mark.soak
@pytest.mark.timeout(2400)
def test_two_drivers_and_a_store_that_are_killed_within_a_snapshot(
    source_kafka: KafkaProcesses, bucket_server: S3Process, tmp_path: Path
) -> None:
    tabled = Tabled(side_of(source_kafka), bucket_server, tmp_path / "keys", tables=PUBLIC)
    tabled.make()
    log, cuts = with_a_snapshot(tabled, tmp_path, files=400)
    kills, within = 0, 0

    def kill_the_store(rounds: int) -> None:
        nonlocal kills, within
        within += tabled.commits()[-1]["snapshot"] is not None if tabled.log() else 1
        if rounds % 10 == 5:
            bucket_server.kill()
            time.sleep(1)
            bucket_server.start()
            kills += 1

    database, total = harmed(tabled, tmp_path, {**SHORT, "kills": 60, "freezes": 20}, also=kill_the_store, log=log)
    rows, commits = require_snapshot_and_log(tabled, database.log, cuts), len(tabled.log())
    print(f"{rows} rows once in {commits} commits; {kills} kills of the store; {within} rounds within it; {total}")  # noqa: T201 - as above
    assert (kills >= STORE_KILLS, within > 20, total["stopped"]) == (True, True, 0)


@pytest.mark.soak
def test_without_the_condition_the_same_two_drivers_lose_rows_or_write_them_twice(
    source_kafka: KafkaProcesses, bucket_server: S3Process, tmp_path: Path
) -> None:
    tabled = Tabled(side_of(source_kafka), bucket_server, tmp_path / "keys")
    tabled.make()

    def is_forked() -> bool:
        try:
            tabled.require_chain()
        except AssertionError:
            return True
        return False

    database, _ = harmed(tabled, tmp_path, {}, NO_CONDITION, until=is_forked)
    with pytest.raises(AssertionError):
        tabled.require_once(database.log, CPU, MEM, NET)


@pytest.mark.soak
@pytest.mark.timeout(2400)
def test_two_drivers_and_a_store_that_are_killed(
    source_kafka: KafkaProcesses, bucket_server: S3Process, tmp_path: Path
) -> None:
    tabled = Tabled(side_of(source_kafka), bucket_server, tmp_path / "keys")
    tabled.make()
    kills = 0

    def kill_the_store(rounds: int) -> None:
        nonlocal kills
        if rounds % 25 == 10:
            bucket_server.kill()
            time.sleep(1)
            bucket_server.start()
            kills += 1

    database, total = harmed(tabled, tmp_path, LONG, also=kill_the_store)
    rows = tabled.require_once(database.log, CPU, MEM, NET)
    commits = len(tabled.log())
    print(f"{rows} rows once and in order in {commits} commits; {kills} kills of the store; {total}")  # noqa: T201 - as above
    assert kills >= STORE_KILLS
    assert total["stopped"] == 0
    assert commits > 100, "there was a checkpoint"
    write_counts("table-writers", {**total, "stores killed": kills, "commits": commits, "rows once": rows})
