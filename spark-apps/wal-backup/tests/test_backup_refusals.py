"""A backup that would be glued over a gap, or is asked of the wrong place, is none: its manifest is not written."""

from __future__ import annotations

import gzip
import json
import secrets
from pathlib import Path
from typing import Any

import pytest
from backups import Answer, Bed
from confluent_kafka import Producer
from spark_marks import WITH_SPARK
from wal_topics import damage

from seawall_e2e.loopback import KafkaProcesses
from sparkjob.errors import Interrupted
from sparkjob.wire.reader import Range, Reader
from wal_backup.manifest import digest_of_manifest

pytest_plugins = ("spark_beds", "backup_beds")
pytestmark = WITH_SPARK


def filled(bed: Bed, count: int = 10) -> str:
    """A topic with records."""
    topic = f"log_{secrets.token_hex(4)}"
    bed.topics.fill({topic: [(b"k", b"v%d" % number) for number in range(count)]})
    return topic


def ended(answer: Answer, outcome: str, *words: str) -> None:
    """It ended so, and says all of this."""
    assert answer.summary["outcome"] == outcome, answer.summary
    for word in words:
        assert word in answer.summary["message"], answer.summary
    assert "manifest" not in answer.summary


def test_a_batch_that_is_damaged_is_no_gap_of_the_log(bed: Bed, kafka: KafkaProcesses) -> None:
    """Its client goes on behind it: with a manifest that says that there was nothing, nobody would miss the records."""
    topic = f"damaged_{secrets.token_hex(4)}"
    bed.topics.create(topic)
    values = [secrets.token_bytes(20) for _ in range(3)]
    for value in values:
        bed.topics.append({topic: [(b"k", value)]})
    damage(kafka.log_file(0, topic), values[1])
    ended(bed.back_up((topic, 0, 3)), "Interrupted", f"topic {topic} cannot be read at offset 1: ", "CRC32C")


def manifests(bed: Bed) -> int:
    """How many the store has."""
    return len(list((bed.chain / "manifests").glob("*")))


def test_a_topic_that_was_made_again_with_as_many_records_is_not_continued(bed: Bed) -> None:
    topic = filled(bed)
    full = bed.back_up((topic, 0, 10))
    bed.topics.delete(topic)
    bed.topics.fill({topic: [(b"k", b"w%d" % number) for number in range(20)]})
    ended(bed.back_up((topic, 10, 20), parent=full, name="more"), "Failed", topic, "was made again")
    assert manifests(bed) == 1


def test_a_log_whose_last_record_is_another_one_is_not_continued(folder_bed: Bed) -> None:
    """As after an unclean election: the same topic, as long as before, with other records at its end."""
    bed, topic = folder_bed, filled(folder_bed)
    full = bed.back_up((topic, 0, 10))
    _forge(bed, full, topic)
    forged = {"manifest": {"name": full.summary["manifest"]["name"], "digest": _digest(bed, full)}}
    bed.topics.append({topic: [(b"k", b"new")]})
    answer = bed.back_up((topic, 10, 11), parent=Answer(0, forged), name="more")
    ended(answer, "Failed", f"topic {topic} has another record at offset 9 than was backed up")


def _forge(bed: Bed, answer: Answer, topic: str) -> None:
    path = bed.manifest_path(answer)
    data = json.loads(gzip.decompress(path.read_bytes()))
    data["lastRecords"][topic]["digest"] = "0" * 64
    path.write_bytes(gzip.compress(json.dumps(data).encode(), mtime=0))


def _digest(bed: Bed, answer: Answer) -> str:
    return digest_of_manifest(bed.manifest_path(answer).read_bytes())


def test_a_gap_between_two_backups_is_not_glued_over(bed: Bed) -> None:
    topic = filled(bed)
    full = bed.back_up((topic, 0, 5))
    ended(bed.back_up((topic, 6, 10), parent=full, name="more"), "Failed", "was backed up to offset 5", "goes on at 6")


def test_records_that_are_gone_are_told_and_no_failure_of_the_network(bed: Bed) -> None:
    topic = filled(bed)
    bed.topics.delete_records(topic, 4)
    ended(bed.back_up((topic, 0, 10)), "Failed", "begins at offset 4")
    ended(bed.back_up((topic, 4, 11)), "Failed", "ends at offset 10")
    assert not (bed.chain / "manifests").exists()


def test_records_that_go_while_they_are_read_are_told(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = filled(bed)
    honest = type(bed.spark.sparkContext).parallelize

    def late(*arguments: Any) -> Any:
        bed.topics.delete_records(topic, 7)
        return honest(*arguments)

    monkeypatch.setattr(type(bed.spark.sparkContext), "parallelize", late)
    ended(bed.back_up((topic, 0, 10)), "Failed", "begins at offset 7")


def test_a_parent_that_is_not_there_or_was_changed_ends_the_chain(bed: Bed) -> None:
    topic = filled(bed)
    full = bed.back_up((topic, 0, 5))
    name, digest = full.summary["manifest"]["name"], full.summary["manifest"]["digest"]
    other = Answer(0, {"manifest": {"name": "other.json.gz", "digest": digest}})
    ended(bed.back_up((topic, 5, 10), parent=other, name="more"), "Failed", "other.json.gz is not there")
    changed = Answer(0, {"manifest": {"name": name, "digest": "0" * 64}})
    ended(bed.back_up((topic, 5, 10), parent=changed, name="more"), "Failed", "it was changed")


def test_a_parent_of_a_newer_program_is_not_continued(folder_bed: Bed) -> None:
    bed, topic = folder_bed, filled(folder_bed)
    full = bed.back_up((topic, 0, 5))
    path = bed.manifest_path(full)
    content = gzip.compress(json.dumps({**json.loads(gzip.decompress(path.read_bytes())), "version": 2}).encode())
    path.write_bytes(content)
    newer = Answer(0, {"manifest": {"name": path.name, "digest": digest_of_manifest(content)}})
    answer = bed.back_up((topic, 5, 10), parent=newer, name="more")
    ended(answer, "Failed", f"{path.name} has version 2; this program reads version 1")
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_nothing_is_overwritten(bed: Bed) -> None:
    topic = filled(bed)
    first = bed.back_up((topic, 0, 5))
    before, objects = bed.manifest_path(first).read_bytes(), sorted((bed.chain / "data").rglob("*.parquet"))
    ended(bed.back_up((topic, 0, 10)), "Refused", "is there already")
    ended(bed.back_up((topic, 0, 5)), "Interrupted", "is there already")  # the same request: it was made once more
    assert bed.manifest_path(first).read_bytes() == before
    assert sorted((bed.chain / "data").rglob("*.parquet")) == objects, "nothing is written, either"


def test_a_parent_that_another_backup_continued_is_not_continued_again_but_by_another_attempt(bed: Bed) -> None:
    topic = filled(bed)
    full = bed.back_up((topic, 0, 5))
    bed.back_up((topic, 5, 10), parent=full, name="next")
    before = sorted(path.name for path in (bed.chain / "manifests").iterdir())
    ended(
        bed.back_up((topic, 5, 10), parent=full, name="other"), "Failed", "goes on with next-1-000001.json.gz already"
    )
    assert sorted(path.name for path in (bed.chain / "manifests").iterdir()) == before
    again = bed.back_up((topic, 5, 10), parent=full, name="next", attempt=2)  # the first's driver died unheard
    assert again.summary["outcome"] == "Passed"
    assert bed.inspect().summary["errors"] == 0


def test_another_kafka_and_another_secret_are_refused(bed: Bed, tmp_path: Path) -> None:
    topic = filled(bed)
    kafka = {"bootstrapServers": bed.topics.servers.split(","), "clusterId": "another", "tls": None, "sasl": None}
    ended(bed.back_up((topic, 0, 5), kafka=kafka), "Refused", bed.cluster_id, "not another")
    (tmp_path / "wrong").write_text("wrong")
    wrong = {"s3": {**bed.storage["s3"], "secretAccessKeyFile": str(tmp_path / "wrong")}}
    answer = bed.back_up((topic, 0, 5), storage=wrong)
    ended(answer, "Interrupted", "the store refuses")
    missing = {"s3": {**bed.storage["s3"], "bucket": "no-such-bucket"}}
    assert bed.back_up((topic, 0, 5), storage=missing).summary["outcome"] != "Passed"
    nowhere = {"s3": {**bed.storage["s3"], "secretAccessKeyFile": str(tmp_path / "none")}}
    ended(bed.back_up((topic, 0, 5), storage=nowhere), "Refused", "cannot be read: No such file")


def test_an_open_transaction_is_waited_for_and_then_told(bed: Bed) -> None:
    topic = filled(bed)
    producer = Producer({"bootstrap.servers": bed.topics.servers, "transactional.id": topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=0)
    producer.flush(30)
    with (
        Reader({"bootstrap.servers": bed.topics.servers}, patience=2.0) as impatient,
        pytest.raises(Interrupted, match="gave no record from offset 10 to 11 in time"),
    ):
        list(impatient.read(Range(topic, 0, 11)))
    producer.abort_transaction(30)
