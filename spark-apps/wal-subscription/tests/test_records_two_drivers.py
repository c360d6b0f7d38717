"""Two drivers at once, killed and frozen at any moment: each row is there once, and without fencing it is not.

The long form (`pytest -m soak`) has three brokers at the target, which are killed, too; both print what they did. What
there is without fencing is seen in the long form; in the short one a mutant of `test_records.py` shows it. What the
long one did is in e2e/soak/results/records-writers.json.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from handed_on import Handed
from mirror_writers import Writers
from mirrors import side_of
from record_logs import CPU, MEM, NET
from record_writers import CONDITION, NO_CONDITION, Database, hand_on

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.soak import write_counts
from seawall_e2e.waiting import wait_until

pytest_plugins = ("mirror_beds",)
pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("mirror")]
SHORT = {"kills": 5, "freezes": 2, "refused": 1}
"""Five kills may come so fast that the two never meet: then it goes on."""
LONG = {"kills": 100, "freezes": 30}
BROKER_KILLS = 4


def nothing(_: int) -> None:
    """Besides."""


def harmed(
    handed: Handed,
    folder: Path,
    least: dict[str, int],
    how: str = CONDITION,
    also: Callable[[int], None] = nothing,
) -> tuple[Database, dict[str, int]]:
    """Two drivers that are harmed until that much was done, and then end their work; what was written, and counted."""
    path, seed, rounds = folder / "request.json", random.Random(7), 0  # noqa: S311 - a fixed row of faults
    path.write_text(json.dumps(handed.request()))
    database, writers = Database(handed.sources[0], handed.source.options), Writers(path, how, target=hand_on)
    try:
        with database.writes():
            while any(writers.total().get(what, 0) < number for what, number in least.items()):
                writers.harm(seed)
                also(rounds)
                rounds += 1
        wait_until(handed.has_all, "all is handed on", within=180)
        return database, writers.total()
    finally:
        writers.close()


def test_two_drivers_that_are_killed_and_frozen_hand_on_each_row_once(
    source_kafka: KafkaProcesses, target_kafka: KafkaProcesses, tmp_path: Path
) -> None:
    handed = Handed(side_of(source_kafka), side_of(target_kafka), tables={"include": ["public.*"], "exclude": []})
    handed.make()
    database, total = harmed(handed, tmp_path, SHORT)
    rows = handed.require_once(database.log, CPU, MEM)
    print(f"{rows} rows once and in order; {total}")  # noqa: T201 - the counts are the evidence
    assert total["stopped"] == 0


@pytest.mark.soak
def test_without_fencing_the_same_two_drivers_hand_on_rows_twice(
    source_kafka: KafkaProcesses, target_kafka: KafkaProcesses, tmp_path: Path
) -> None:
    handed = Handed(side_of(source_kafka), side_of(target_kafka))
    handed.make()
    database, _ = harmed(handed, tmp_path, {"kills": 1, "freezes": 1}, NO_CONDITION)
    with pytest.raises(AssertionError):
        handed.require_once(database.log, CPU, MEM, NET)


@pytest.mark.soak
@pytest.mark.timeout(2400)
def test_two_drivers_and_brokers_that_are_killed(source_kafka: KafkaProcesses, tmp_path: Path) -> None:
    with KafkaProcesses(3) as target:
        handed = Handed(side_of(source_kafka), side_of(target, replicas=3))
        handed.make(target={"min.insync.replicas": "2"})
        brokers = 0

        def kill_a_broker(rounds: int) -> None:
            nonlocal brokers
            if rounds % 25 == 10:
                target.kill(brokers % 3)
                time.sleep(1)
                target.start(brokers % 3)
                brokers += 1

        database, total = harmed(handed, tmp_path, LONG, also=kill_a_broker)
        rows = handed.require_once(database.log, CPU, MEM, NET)
        print(f"{rows} rows once and in order; {brokers} kills of a broker; {total}")  # noqa: T201 - as above
        assert brokers >= BROKER_KILLS
        assert total["stopped"] == 0
        write_counts("records-writers", {**total, "brokers killed": brokers, "rows once": rows})
