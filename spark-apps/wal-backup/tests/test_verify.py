"""A backup is proved by what the store has of it, and has no manifest before that."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path

import pytest
from backups import Answer, Bed
from pyspark.sql import SparkSession
from spark_marks import WITH_SPARK
from test_injected_faults import FAULTS
from wal_logs import DATA, Record, TableRow, clean_log, payload, records_of

from sparkjob.integrity.findings import Kind, Severity
from sparkjob.log_records import Chunk, LogRecords
from wal_backup.backup import Backup
from wal_backup.decode import Decoded, judge_records
from wal_backup.manifest import StoredObject
from wal_backup.request import Level
from wal_backup.store import Folder
from wal_backup.verify import Verifier
from walrecord.region import metadata_region

pytest_plugins = ("spark_beds", "backup_beds")
pytestmark = WITH_SPARK


def topic_of(bed: Bed, records: Sequence[Record]) -> str:
    """A topic with these records."""
    topic = f"proof_{secrets.token_hex(4)}"
    bed.topics.fill({topic: records})
    return topic


def manifests(bed: Bed) -> list[Path]:
    """That the store has."""
    return list((bed.chain / "manifests").glob("*"))


@pytest.mark.parametrize("level", ["None", "Checksums", "Integrity"])
def test_a_whole_backup_says_which_level_was_proved(bed: Bed, level: str) -> None:
    log = clean_log()
    answer = bed.back_up((topic_of(bed, log.records), 0, log.end), verify=level)
    assert answer.code == 0, answer.summary
    assert (answer.summary["verified"], answer.summary["warnings"]) == (level, 0)
    if level != "None":
        checked = bed.check(level)
        assert (checked.code, checked.summary["verified"]) == (0, level), checked.summary


@pytest.mark.parametrize("level", ["Checksums", "Integrity"])
def test_an_object_that_is_not_what_was_written_gets_no_manifest(
    folder_bed: Bed, monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    """A byte changes in the store after the object was put, and before the backup is proved."""
    bed, log, honest = folder_bed, clean_log(), Backup._require_stored
    topic = topic_of(bed, log.records)

    def rot(self: Backup, objects: Sequence[StoredObject]) -> None:
        honest(self, objects)
        path = bed.chain / objects[0].path
        content = bytearray(path.read_bytes())
        content[40] ^= 1
        path.write_bytes(content)

    with monkeypatch.context() as patch:
        patch.setattr(Backup, "_require_stored", rot)
        answer = bed.back_up((topic, 0, log.end), verify=level)
    assert answer.summary["outcome"] == "Failed", answer.summary
    assert "ObjectChanged" in answer.kinds()
    assert {found["topic"] for found in answer.summary["findings"]} == {topic}
    assert {"manifest", "verified"}.isdisjoint(answer.summary)
    assert manifests(bed) == []
    again = bed.back_up((topic, 0, log.end), verify=level, attempt=2)
    assert (again.code, bed.check(level).code) == (0, 0), again.summary


def test_records_that_do_not_replay_get_no_manifest_at_integrity_only(bed: Bed) -> None:
    log = clean_log()
    harmed, expected = FAULTS["flipped-payload"](log)
    topic = topic_of(bed, harmed)
    answer = bed.back_up((topic, 0, len(harmed)), verify="Integrity")
    assert answer.summary["outcome"] == "Failed", answer.summary
    ((kind, offset, _),) = expected
    (found,) = answer.summary["findings"]
    assert (found["kind"], found["topic"], found["offset"]) == (kind, topic, offset)
    assert manifests(bed) == []
    assert bed.back_up((topic, 0, len(harmed)), verify="Checksums").code == 0
    assert (bed.check("Checksums").code, bed.check("Integrity").kinds()) == (0, [kind])


def test_integrity_finds_in_a_store_what_it_finds_in_kafka(folder_bed: Bed) -> None:
    """The faults of replay-verification's own test, with what is to be found in each."""
    bed, stem = folder_bed, secrets.token_hex(4)
    logs = {f"{stem}-{name}": fault(clean_log()) for name, fault in FAULTS.items()}
    bed.topics.fill({topic: records for topic, (records, _) in logs.items()})
    answer = bed.back_up(*((topic, 0, len(records)) for topic, (records, _) in logs.items()))
    assert answer.code == 0, answer.summary
    verifier = Verifier(bed.spark, Folder(bed.storage["folder"]["path"]), Level.INTEGRITY, "1.1.3")
    proof = verifier.verify(str(bed.chain.relative_to(bed.objects)), [bed.manifest(answer)])
    expected = [(Kind(kind), topic, offset) for topic, (_, found) in logs.items() for kind, offset, _ in found]
    errors = [each for each in expected if each[0].severity is Severity.ERROR]
    assert sorted((each.kind, each.topic, each.offset) for each in proof.findings) == sorted(errors)
    assert proof.warnings == len(expected) - len(errors)


def test_a_metadata_region_is_judged_from_where_its_data_region_reads(spark: SparkSession) -> None:
    """Before that, its numbers stand there with other bytes: nobody would replay those."""
    before, entry = (payload(1, TableRow("a", 1, load)) for load in (1, 2))
    contents = (before, entry, entry)
    records = [
        (offset, key, value)
        for offset, content in enumerate(contents)
        for key, value in records_of(metadata_region(DATA), content)
    ]
    log = LogRecords(spark, 1, lambda _: iter([Chunk("wal", records)]))
    assert judge_records(log, {"wal": {DATA: 1}}, drops_repeats=True) == Decoded((), 1)
    whole = judge_records(log, {"wal": {DATA: 0}}, drops_repeats=True)
    assert [(found.kind, found.offset) for found in whole.findings] == [(Kind.SEQUENCE_REUSED, 1)]


def _split(bed: Bed, records: Sequence[Record], at: int) -> tuple[Answer, Answer]:
    """Two backups, each proved by itself."""
    topic = topic_of(bed, records)
    full = bed.back_up((topic, 0, at), verify="Integrity")
    more = bed.back_up((topic, at, len(records)), parent=full, name="more", verify="Integrity")
    assert (full.code, more.code) == (0, 0), (full.summary, more.summary)
    return full, more


def test_an_entry_that_two_backups_share_is_whole_in_their_chain(bed: Bed) -> None:
    log = clean_log()
    shared = next(entry for entry in log.entries if entry.last > entry.first)
    _split(bed, log.records, shared.first + 2)
    assert bed.check("Integrity").code == 0


def test_a_part_that_is_missing_where_two_backups_meet_is_found_by_a_check_of_the_chain(bed: Bed) -> None:
    log = clean_log()
    shared = next(entry for entry in log.entries if entry.last > entry.first)
    lost = shared.first + 1
    _split(bed, [*log.records[:lost], *log.records[lost + 1 :]], lost)
    assert bed.check("Checksums").code == 0
    checked = bed.check("Integrity")
    assert [(found["kind"], found["offset"]) for found in checked.summary["findings"]] == [("IllegalSequence", lost)]
