"""Rows of selected tables are in the bucket once and in order, whoever dies or is late; what gives none is told."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from mirrors import clock_at, side_of
from record_harm import spoil_parts, spoil_value
from record_logs import CPU, MEM, NAMES, NET, Written
from tabled import PREFIX, Tabled

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.s3 import S3Process
from seawall_e2e.waiting import wait_until
from sparkjob import bucket
from wal_subscription.records.decoder import OPEN_MILLISECONDS
from wal_subscription.stops import Reason
from wal_subscription.table import copier, process
from wal_subscription.table.__main__ import main
from walrecord.region import region_id

pytest_plugins = ("mirror_beds", "table_beds")
pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("mirror")]


@pytest.fixture
def tabled(source_kafka: KafkaProcesses, bucket_server: S3Process, tmp_path: Path) -> Iterator[Tabled]:
    """A subscription without topics."""
    yield Tabled(side_of(source_kafka), bucket_server, tmp_path / "keys")
    process.forget()


def test_an_edit_selects_more_and_less_and_a_table_that_is_made_later_is_there_from_its_first_row(
    tabled: Tabled,
) -> None:
    tabled.make()
    tabled.tables, tabled.known = {"include": ["public.*"], "exclude": ["public.mem"]}, {CPU: NAMES[CPU]}
    log = Written()
    log.entry(CPU, 2)
    log.entry(MEM, 3, in_parts=True)
    tabled.append(log)
    (stop,) = tabled.run_all(tabled.start(clock_at()))
    assert (stop.reason, stop.offset) == (Reason.TABLE_UNKNOWN, 1)
    assert stop.message.endswith(
        f"offset 1, of region {region_id(MEM, 0)}, a record of a table whose name is not known"
    )

    tabled.known_to, tabled.run = len(log.records), 2  # the operator read all names, and did not select this one
    log.entry(CPU)
    tabled.append(log)
    tabled.run_all()
    assert [(row["tableId"], row["table"]) for row in tabled.rows()] == [(CPU, NAMES[CPU])] * 3
    tabled.known = {CPU: NAMES[CPU], MEM: NAMES[MEM]}

    before = tabled.position(tabled.sources[0])
    tabled.tables, tabled.run = {"include": ["public.*"], "exclude": ["public.cpu"]}, 3
    log.entry(MEM, 2)
    log.entry(CPU)
    tabled.append(log)
    tabled.run_all()
    assert [row["tableId"] for row in tabled.rows() if row["_offset"] >= before] == [MEM] * 2

    tabled.tables, tabled.run, tabled.known = {"include": ["*"], "exclude": []}, 4, {}
    log.entry(NET, 2, in_parts=True)
    tabled.append(log)
    tabled.run_all()
    assert [(row["tableId"], row["table"], row["_sequence"]) for row in tabled.rows()[-2:]] == [
        (NET, None, 1),
        (NET, None, 2),
    ]
    tabled.require_chain()
    assert len({commit["selection"] for commit in tabled.commits()}) == 3


def test_an_entry_that_is_open_for_too_long_does_not_hold_the_log_and_what_comes_of_it_later_is_told(
    tabled: Tabled,
) -> None:
    tabled.make()
    log = Written()
    entry = log.begin(CPU, 4)
    log.write(entry, 2)
    tabled.append(log, timestamp=1_000)
    log.entry(MEM)
    tabled.append(log, timestamp=2_000 + OPEN_MILLISECONDS)
    tabled.run_all()
    last = tabled.commits()[-1]
    assert (last["readFrom"], last["givenUp"]) == (3, [{"region": region_id(CPU, 0), "offset": 0}])
    log.write(entry)
    tabled.append(log)
    (stop,) = tabled.run_all(tabled.start(clock_at()))
    assert (stop.reason, stop.offset) == (Reason.UNREADABLE, 3)
    tabled.dead_letters = True
    assert tabled.run_all() == []
    assert tabled.commits()[-1]["givenUp"] == []


def test_dead_letters_are_objects_that_their_commit_names_and_the_topic_goes_on(tabled: Tabled) -> None:
    tabled.dead_letters = True
    tabled.make()
    log = Written()
    log.entry(CPU)
    bad = [spoil_value(log), spoil_parts(log)]
    log.entry(MEM)
    log.records.append((b"{", b"v"))
    tabled.append(log)
    assert tabled.run_all() == []
    log.entry(CPU)
    tabled.append(log)
    assert tabled.run_all() == []
    assert tabled.require_once(log, CPU, MEM) == 3
    letters = [letter for commit in tabled.commits() for letter in commit["letters"]]
    assert [letter["offset"] for letter in letters] == [*bad, bad[-1] + 2]
    assert [letter["region"] for letter in letters] == [region_id(CPU, 0)] * 2 + [None]
    assert letters[0]["reason"] == "the entry is not a whole WalEntry"
    found = [json.loads((tabled.root / letter["path"]).read_bytes()) for letter in letters]
    for letter, content in zip(letters, found, strict=True):
        record = base64.b64decode(content["key"]), base64.b64decode(content["value"])
        assert record == log.records[letter["offset"]]
        assert (content["offset"], content["reason"]) == (letter["offset"], letter["reason"])


def test_a_large_stretch_becomes_several_commits_and_files_no_larger_than_they_may_be(tabled: Tabled) -> None:
    tabled.most_bytes = 4_096
    tabled.make()
    log = Written()
    for number in range(60):
        log.entry((CPU, MEM)[number % 2], 10, in_parts=number % 10 == 0)
    tabled.append(log)
    tabled.run_all()
    assert tabled.require_once(log, CPU, MEM) == 600
    commits = [commit for commit in tabled.commits() if commit["files"]]
    assert len(commits) > 2
    assert all(len(commit["files"]) <= 2 for commit in commits)


def test_a_stretch_that_has_much_to_read_again_comes_further_each_time(
    tabled: Tabled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copier, "MOST_SECONDS", 0.0)
    tabled.make()
    log = Written()
    entry = log.begin(CPU, 4)
    while entry.parts:
        log.write(entry, 1)
        log.entry(MEM)
    tabled.append(log)
    assert tabled.run_all(within=20) == []
    assert tabled.require_once(log, CPU, MEM) == 4 + len(log.records) // 2
    assert len(tabled.commits()) == 1 + len(log.records)


def test_many_topics_have_chains_of_their_own_and_the_command_names_their_files(
    tabled: Tabled, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = tabled.make(3)
    logs = {name: Written() for name in names}
    for topic, log in enumerate(logs.values()):
        for number in range(30):
            log.entry((CPU, MEM, NET)[number % 3], 2, in_parts=number % 4 == topic)
        tabled.append(log, topic)
    tabled.run_all()
    assert tabled.require_once(logs, CPU, MEM, NET) == 3 * 60
    path = tmp_path / "request.json"
    path.write_text(json.dumps(tabled.request()))
    assert main(["--request", str(path), "--table", "public.*"]) == 0
    printed = capsys.readouterr().out.splitlines()
    start = f"s3://{tabled.name}/{PREFIX}/{tabled.writer}/data/"
    assert all(line.startswith(start) for line in printed)
    found = [pq.read_table(tabled.folder.parent / line.removeprefix("s3://")) for line in printed]
    assert sum(table.num_rows for table in found) == 3 * 40
    tabled.log(names[1])[0].unlink()
    assert main(["--request", str(path)]) == 1
    assert "is broken: commit 0 is gone" in capsys.readouterr().err


def test_another_generation_is_a_chain_of_its_own_and_a_gap_stops_a_topic(tabled: Tabled) -> None:
    (name,) = tabled.make()
    log = Written()
    for _ in range(6):
        log.entry(CPU)
    tabled.append(log)
    tabled.source.topics.delete_records(name, 2)
    tabled.starts[name] = 2
    tabled.run_all()
    assert [row["_offset"] for row in tabled.rows()] == [2, 3, 4, 5]
    for _ in range(4):
        log.entry(CPU)
    tabled.append(log)
    tabled.source.topics.delete_records(name, 8)
    (stop,) = tabled.run_all(tabled.start(clock_at()))
    assert (stop.reason, stop.offset) == (Reason.SOURCE_GAP, 6)
    tabled.generation, tabled.starts[name] = 1, 8
    assert tabled.run_all() == []
    assert [row["_offset"] for row in tabled.rows()] == [8, 9]


def test_a_store_that_is_down_or_does_not_answer_for_a_while_is_waited_for(
    tabled: Tabled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucket, "SECONDS", 1)
    monkeypatch.setattr(bucket, "FILE_SECONDS", 1)
    tabled.make()
    micro, log, server = tabled.start(), Written(), tabled.server
    for end, begin in ((server.kill, server.start), (server.pause, server.resume)):
        log.entry(CPU, 2)
        tabled.append(log)
        end()
        wait_until(lambda: micro.once() or micro._planner.in_trouble(tabled.sources[0]), "it has trouble", within=30)  # type: ignore[func-returns-value]
        begin()
        assert tabled.run_all(micro) == []
    assert tabled.require_once(log, CPU) == 4


def test_a_log_in_transactions_gives_what_its_database_reads_and_markers_are_passed_over(tabled: Tabled) -> None:
    (name,) = tabled.make()
    log = Written()
    for _ in range(4):
        log.entry(CPU)
        tabled.source.topics.append_in_transaction(name, log.take())
    tabled.run_all()
    assert [row["_sequence"] for row in tabled.rows()] == [1, 2, 3, 4]
