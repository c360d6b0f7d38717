"""What writers and readers record survives them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from checker.journal import Journal, JournalFolder
from checker.ledger import Ack, Ledger, LedgerFile
from checker.rows import Batch, batch_name, batch_of, create_table, value_of
from checker.teller import answers


def test_every_start_of_a_writer_has_a_journal_and_names_of_its_own(tmp_path: Path) -> None:
    assert [LedgerFile(tmp_path, "writer-0").name for _ in range(3)] == ["writer-0.1", "writer-0.2", "writer-0.3"]


def test_a_line_is_given_once_and_an_unfinished_one_not_before_its_end(tmp_path: Path) -> None:
    folder = JournalFolder(tmp_path)
    Journal(tmp_path, "a").append({"n": 1})
    path = tmp_path / "a.1.jsonl"
    with path.open("ab") as file:
        file.write(b'{"n":')
    assert list(folder.new_lines()) == [{"n": 1}]
    assert list(folder.new_lines()) == []
    with path.open("ab") as file:
        file.write(b'2}\n{"n":3}\n')
    Journal(tmp_path, "b").append({"n": 4})
    assert list(folder.new_lines()) == [{"n": 2}, {"n": 3}, {"n": 4}]


def test_a_ledger_counts_what_is_acknowledged_and_what_is_unknown(tmp_path: Path) -> None:
    file = LedgerFile(tmp_path, "w")
    batches = [Batch(batch_name(0, file.name, number), number, 1, 8) for number in (1, 2, 3)]
    for batch in batches:
        file.tried(batch)
    file.acknowledged(batches[0], Ack(2**42 + 1, "t", 2**63))
    file.failed(batches[1], 1003)
    ledger = Ledger(tmp_path)
    ledger.refresh()
    ledger.refresh()
    assert (ledger.acked_rows, ledger.unknown_rows, dict(ledger.failures)) == (1, 5, {1003: 1})
    assert ledger.acks == {"00-w.1-000001": Ack(2**42 + 1, "t", 2**63)}
    assert ledger.batches["00-w.1-000003"] == batches[2]


def test_a_line_that_no_writer_writes_is_an_error(tmp_path: Path) -> None:
    Journal(tmp_path / "writers", "w").append({"acked": "x"})
    with pytest.raises(ValueError, match="not a line of a ledger"):
        Ledger(tmp_path).refresh()


def test_rows_follow_from_their_batch() -> None:
    batch = Batch(batch_name(3, "w.1", 7), 2, 100, 33)
    first, second = batch.rows()
    assert (first.key, second.key) == ("03-w.1-000007.0", "03-w.1-000007.1")
    assert (first.time, second.time) == (100, 101)
    assert len(first.value) == len(second.value) == 33
    assert first.value == value_of(first.key, 33) != second.value
    assert batch_of(second.key) == batch.name
    assert batch.insert().count(f"'{second.value}'") == 1


def test_a_partition_holds_the_names_that_begin_with_its_number() -> None:
    assert 'PARTITION p0 VALUES LESS THAN ("01"), PARTITION p1 VALUES LESS THAN (MAXVALUE)' in create_table(2)


def test_what_is_needed_is_the_oldest_acknowledged_entry_beyond_the_flushed_one(tmp_path: Path) -> None:
    file = LedgerFile(tmp_path, "w")
    for number, (region, entry) in enumerate([(1, 9), (1, 5), (1, 7), (2, 6), (3, 8)]):
        batch = Batch(batch_name(0, file.name, number), 1, 1, 8)
        file.tried(batch)
        file.acknowledged(batch, Ack(region, "t", entry))
    ledger = Ledger(tmp_path)
    ledger.refresh()
    needed = {region: ack.entry_id for region, ack in ledger.oldest_above({1: 5, 2: 6}).items()}
    assert needed == {1: 7}, "all of region 2 is flushed, and region 3 has not reported"


def test_who_asks_while_rows_are_written_is_told_what_is_new(tmp_path: Path) -> None:
    file = LedgerFile(tmp_path, "w")

    def write(entry: int) -> None:
        batch = Batch(batch_name(0, file.name, entry), 2, 1, 8)
        file.tried(batch)
        file.acknowledged(batch, Ack(7, "t", entry))

    def questions() -> Iterator[str]:
        for entry in (4, 5):
            write(entry)
            yield '["progress"]'
        yield '["needed", {"7": 4}]'

    first, second, needed = map(json.loads, answers(tmp_path, questions()))
    assert [(each["answer"]["acked"], each["answer"]["entries"]) for each in (first, second)] == [
        (2, {"7": 1}),
        (4, {"7": 2}),
    ]
    assert needed == {"answer": [{"region_id": 7, "topic": "t", "entry_id": 5}]}
