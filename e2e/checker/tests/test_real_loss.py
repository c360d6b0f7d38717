"""Real Kafka, etcd and refdb: no loss is found where there is none, and what is lost is found, row by row."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from checker.ledger import Ledger
from checker.teller import Teller
from refdb.meta.etcd import Etcd
from refdb.meta.keys import topic_name
from refdb.meta.values import topic_name_value
from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.etcd import EtcdProcess
from seawall_e2e.loopback.processes import Process
from seawall_e2e.loopback.refdb import RefDbProcesses
from seawall_e2e.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("refdb")]
FIRST = 4398046511105


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaProcesses]:
    """One broker."""
    with KafkaProcesses(brokers=1) as processes:
        yield processes


@pytest.fixture(scope="module")
def etcd() -> Iterator[EtcdProcess]:
    """One etcd."""
    with EtcdProcess() as process:
        yield process


class Checker:
    """The checker's roles as processes, on a database of one datanode with two regions in two topics."""

    def __init__(self, db: RefDbProcesses, folder: Path) -> None:
        self.db, self.folder, self.teller = db, folder, Teller(folder)
        self.writer = Process("writer", self.command("writer", "--period=0.02", "--large-every=9"), folder)
        self.reader = Process("reader", self.command("reader", "--pause=0.1"), folder)

    def command(self, role: str, *flags: str) -> list[str]:
        """How a role is started."""
        where = (f"--database=http://{self.db.frontend_address}", f"--journals={self.folder}", "--partitions=2")
        return [sys.executable, "-W", "error", "-m", "checker", role, *where, *flags]

    def wait_for_more(self, rows: int, readings: int = 0) -> None:
        """Waits until so many more rows were acknowledged and so many more readings done."""
        before = self.teller.progress()
        wait_until(
            lambda: all(self._more(before, name) >= n for name, n in (("acked", rows), ("readings", readings))),
            f"{rows} more rows, {readings} more readings",
            within=90,
            explain=lambda: (self.teller.progress(), self.writer.tail(), self.reader.tail()),
        )

    def _more(self, before: dict[str, Any], name: str) -> int:
        return int(self.teller.progress()[name]) - int(before[name])

    def stop(self) -> None:
        """Nothing more is written or read."""
        self.writer.kill()
        self.reader.kill()

    def judge(self, *, within: int = 20) -> tuple[int, dict[str, Any]]:
        """The exit code and the verdict."""
        done = subprocess.run(
            self.command("judge", f"--within={within}"), capture_output=True, text=True, timeout=90, check=False
        )
        print(done.stdout, done.stderr)
        return done.returncode, json.loads(done.stdout)

    def restart_datanode(self) -> None:
        """Kills it with SIGKILL and starts it."""
        self.db.datanodes[0].kill()
        self.db.start_datanode(0)


@pytest.fixture
def checker(kafka: KafkaProcesses, etcd: EtcdProcess, tmp_path: Path) -> Iterator[Checker]:
    """Writers that have begun."""
    with RefDbProcesses(kafka.bootstrap_servers, etcd, datanodes=1, wal={"max_batch_bytes": "16KB"}) as db:
        made = Checker(db, tmp_path)
        made.writer.start()
        try:
            made.wait_for_more(50)
            yield made
        finally:
            made.stop()


def test_no_row_is_lost_while_writer_reader_and_datanode_are_killed(checker: Checker) -> None:
    checker.reader.start()
    for kill in (checker.writer, checker.reader, None, checker.writer):
        checker.wait_for_more(60, readings=2)
        if kill is None:
            checker.restart_datanode()
        else:
            kill.kill()
            kill.start()
    checker.wait_for_more(60, readings=2)
    checker.stop()
    checker.restart_datanode()

    code, verdict = checker.judge()

    assert code == 0
    assert verdict["holds"] is True
    assert (verdict["lost"], verdict["changed"], verdict["duplicate"], verdict["invented"]) == (0, 0, 0, 0)
    assert verdict["acked"] <= verdict["read"] <= verdict["acked"] + verdict["unknown"]
    assert verdict["acked"] >= 350
    assert (verdict["regions"], verdict["topics"]) == (2, 2)
    assert verdict["readings"] > 10
    assert len(list((checker.folder / "writers").iterdir())) == 3


def test_rows_that_a_marker_hides_from_replay_are_found_lost_one_by_one(checker: Checker, etcd: EtcdProcess) -> None:
    """The purge that every purger must not do: the pruned marker passes rows that are only in the log."""
    checker.db.sql(f"ADMIN flush_region({FIRST})")
    checker.wait_for_more(100)
    checker.stop()
    wait_for_another_report(checker.db)
    flushed = region(checker.db)["region_manifest"]["Mito"]["flushed_entry_id"]
    acks, batches = ledger(checker)
    behind = {name: ack for name, ack in acks.items() if ack.region_id == FIRST and ack.entry_id > flushed}
    marker = sorted(ack.entry_id for ack in behind.values())[len(behind) // 2]
    store = Etcd(etcd.url, f"{checker.db.prefix}/")
    topic = next(iter(behind.values())).topic
    assert store.txn([], {topic_name(topic): topic_name_value(marker)})
    assert checker.judge()[0] == 0  # they are still in memory

    checker.restart_datanode()

    code, verdict = checker.judge()
    hidden = {name for name, ack in behind.items() if ack.entry_id <= marker}
    assert code == 1
    assert verdict["lost"] == sum(batches[name].count for name in hidden) > 10
    assert verdict["read"] + verdict["lost"] >= verdict["acked"]
    assert (verdict["changed"], verdict["duplicate"], verdict["invented"]) == (0, 0, 0)
    first = verdict["first"][0]
    assert (first["kind"], first["region_id"], first["topic"]) == ("lost", FIRST, topic)
    assert first["entry_id"] == min(acks[name].entry_id for name in hidden)
    assert first["key"].rsplit(".", 1)[0] in hidden


def test_records_deleted_before_they_were_flushed_make_the_table_unreadable(
    checker: Checker, kafka: KafkaProcesses
) -> None:
    checker.stop()
    checker.db.datanodes[0].kill()
    acks, _ = ledger(checker)
    last = max(acks.values(), key=lambda ack: (ack.region_id == FIRST, ack.entry_id))
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers[0]})
    (deleted,) = admin.delete_records([TopicPartition(last.topic, 0, last.entry_id)]).values()
    deleted.result(10)
    datanode = checker.db.datanodes[0]
    datanode.start()
    datanode.wait_ended(30)

    code, verdict = checker.judge(within=3)

    assert code == 1
    assert "OffsetOutOfRange" in datanode.log_since_start()
    assert "datanode 0" in verdict["unreadable"]
    assert (verdict["read"], verdict["holds"]) == (0, False)


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("INSERT INTO acked_rows(k, ts, v) VALUES ('{key}', {time}, 'another')", "changed"),
        ("INSERT INTO acked_rows(k, ts, v) VALUES ('{key}', 5, '{value}')", "duplicate"),
        ("INSERT INTO acked_rows(k, ts, v) VALUES ('00-stranger.1-000001.0', 5, 'x')", "invented"),
    ],
)
def test_what_somebody_else_writes_into_the_table_is_found(checker: Checker, statement: str, kind: str) -> None:
    checker.stop()
    acks, batches = ledger(checker)
    row = batches[min(acks)].rows()[0]
    assert "code" not in checker.db.sql(statement.format(key=row.key, time=row.time, value=row.value))

    code, verdict = checker.judge()

    assert code == 1
    assert verdict[kind] == 1
    assert verdict["lost"] == 0


def region(db: RefDbProcesses) -> dict[str, Any]:
    """The last report of the first region."""
    (stats,) = (each for each in db.admin("/admin/heartbeat")[0][-1]["region_stats"] if each["id"] == FIRST)
    return dict(stats)


def wait_for_another_report(db: RefDbProcesses) -> None:
    """Waits until two more heartbeats came: the second one was sent after all that was done before."""
    times: set[int] = set()

    def has_two_more() -> bool:
        times.add(int(db.admin("/admin/heartbeat")[0][-1]["timestamp_millis"]))
        return len(times) > 2

    wait_until(has_two_more, "two more heartbeats")


def ledger(checker: Checker) -> tuple[Any, Any]:
    """What was acknowledged, and all batches."""
    found = Ledger(checker.folder)
    found.refresh()
    return found.acks, found.batches
