"""What the guards of a backup are for: stories on a real Kafka and in a folder that go wrong without one of them.

`test_backup_mutants.py` takes the guards away.
"""

from __future__ import annotations

import gzip
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import test_verify as proofs
from backups import Answer, Bed
from confluent_kafka import Consumer, KafkaError, Message, Producer
from test_backup_refusals import ended, filled
from test_injected_faults import FAULTS
from test_round_trip import transaction
from wal_logs import clean_log

from sparkjob.wire import reader
from sparkjob.wire.kafka_state import TopicState
from sparkjob.wire.reader import Range
from wal_backup.backup import Backup
from wal_backup.chain import StoredManifest, longest_path
from wal_backup.check import check_object, objects_of
from wal_backup.manifest import LastRecord, Manifest, Parent, parse_manifest
from wal_backup.request import TopicRange
from wal_backup.store import Folder
from wal_backup.task import TaskResult, write_objects
from wal_backup.trouble import find_trouble

EXAMPLE = Path(__file__).parents[1] / "contract/manifest.json"
TIME = 1_700_000_000_000
"""Of records that are written twice, in ms."""


def same_records_in_a_new_topic(bed: Bed) -> None:
    """The record before `from` has the digest that it had: only the topic's id tells."""
    topic, written = f"again_{secrets.token_hex(4)}", [(b"k", b"v%d" % number) for number in range(10)]
    bed.topics.create(topic)
    bed.topics.append({topic: written}, timestamp=TIME)
    full = bed.back_up((topic, 0, 10))
    bed.topics.delete(topic)
    bed.topics.create(topic)
    bed.topics.append({topic: [*written, (b"k", b"new")]}, timestamp=TIME)
    ended(bed.back_up((topic, 10, 11), parent=full, name="more"), "Failed", topic, "was made again")


def a_changed_parent(bed: Bed) -> None:
    topic = filled(bed)
    full = bed.back_up((topic, 0, 5))
    changed = Answer(0, {"manifest": {**full.summary["manifest"], "digest": "0" * 64}})
    ended(bed.back_up((topic, 5, 10), parent=changed, name="more"), "Failed", "it was changed")


def after_reading(bed: Bed, topic: str, act: Callable[[Sequence[TaskResult]], None]) -> Answer:
    """A backup; something happens when all is read and written, and before the manifest is put."""
    honest = Backup._read

    def late(self: Backup) -> list[TaskResult]:
        results = honest(self)
        act(results)
        return results

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Backup, "_read", late)
        return bed.back_up((topic, 0, 10))


def records_that_go_after_they_were_read(bed: Bed) -> None:
    topic = filled(bed)
    answer = after_reading(bed, topic, lambda _: bed.topics.delete_records(topic, 7))
    ended(answer, "Failed", "begins at offset 7")


def a_log_that_was_cut_off_while_it_was_read(bed: Bed) -> None:
    """A task has read more records of a leader than the log has of it by now, though it has the id and the length."""
    honest = Backup._read

    def read(self: Backup) -> list[TaskResult]:
        (result,) = honest(self)
        (only,) = result.ranges
        assert (only.epochs, only.last_record is None) == (((0, 0),), False)
        return [replace(result, ranges=(replace(only, last_record=LastRecord(14, "of before the cut")),))]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Backup, "_read", read)
        ended(bed.back_up((filled(bed), 0, 10)), "Failed", "lost its records from offset 10 on while it was read")


def an_object_that_the_store_cut(bed: Bed) -> None:
    def cut(results: Sequence[TaskResult]) -> None:
        (stored,) = (each for result in results for each in result.objects)
        path = bed.chain / stored.path
        path.write_bytes(path.read_bytes()[:-1])

    ended(after_reading(bed, filled(bed), cut), "Interrupted", "bytes in the store")


def another_kafka(bed: Bed) -> None:
    kafka = {"bootstrapServers": bed.topics.servers.split(","), "clusterId": "another", "tls": None, "sasl": None}
    ended(bed.back_up((filled(bed), 0, 5), kafka=kafka), "Refused", "not another")


def all_kinds_of_nothing(bed: Bed) -> None:
    topic = f"nothing_{secrets.token_hex(4)}"
    bed.topics.fill({topic: [(None, None), (b"k", b""), (b"k", None), (b"k", b"v")]})
    assert [record.value for record in bed.log(topic, 0, 4)] == [None, b"", None, b"v"]


def a_transaction_that_is_committed_while_it_is_read(bed: Bed) -> None:
    topic = filled(bed)
    producer = Producer({"bootstrap.servers": bed.topics.servers, "transactional.id": topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"late", partition=0)
    producer.flush(30)

    class Committing(Consumer):
        """Tells of the log's end, and that the transaction has ended by then."""

        def consume(self, *given: Any) -> list[Message]:
            messages = super().consume(*given)
            if committed or not any(_is_end(message) for message in messages):
                return messages
            committed.append(True)
            producer.commit_transaction(30)
            bed.topics.wait_for_end(topic, 12)
            return messages

    committed: list[bool] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "Consumer", Committing)
        assert [record.offset for record in bed.log(topic, 0, 12)] == list(range(11))
    assert committed == [True]


def _is_end(message: Message) -> bool:
    error = message.error()
    return error is not None and error.code() == KafkaError._PARTITION_EOF


def _write(bed: Bed, topic: str, end: int) -> TaskResult:
    """A task, in this process."""
    place, options = Folder(bed.storage["folder"]["path"]), {"bootstrap.servers": bed.topics.servers}
    folder = str(bed.chain.relative_to(bed.objects))
    return write_objects([Range(topic, 0, end)], options, place, folder, "data/story-1/00000-0.parquet")


def holes(bed: Bed) -> None:
    topic = f"holes_{secrets.token_hex(4)}"
    bed.topics.fill({topic: [(b"k", b"v")]})
    transaction(bed, topic, [b"gone"], commits=False)
    bed.topics.append({topic: [(b"k", b"w")]})
    transaction(bed, topic, [b"gone"], commits=False)
    (read,) = _write(bed, topic, 6).ranges
    assert read.gaps == ((1, 3), (4, 6))


def records_that_nobody_has(bed: Bed) -> None:
    """A task that says less than it should: as many offsets as were asked for must be told."""
    topic = filled(bed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Backup, "_read", lambda _: [_write(bed, topic, 9)])
        ended(bed.back_up((topic, 0, 10)), "Interrupted", "gave 9 records and 0 gaps")


def _found_in(bed: Bed, change: Callable[[Path, Manifest], Manifest]) -> list[str]:
    """The kinds that `check` finds in this process, of a backup whose object or manifest was changed."""
    answer = bed.back_up((filled(bed), 0, 10))
    manifest = bed.manifest(answer)
    changed = change(bed.chain / manifest.objects[0].path, manifest)
    place, folder = Folder(bed.storage["folder"]["path"]), str(bed.chain.relative_to(bed.objects))
    return [finding.kind for each in objects_of(folder, changed) for finding in check_object(place, each)]


def a_section_with_other_records(bed: Bed) -> None:
    def forge(_: Path, manifest: Manifest) -> Manifest:
        (topic,) = manifest.topics
        other = replace(topic.sections[0], digest="0" * 64)
        return replace(manifest, topics=(replace(topic, sections=(other,)),))

    assert _found_in(bed, forge) == ["SectionChanged"]


def a_footer_with_another_byte(bed: Bed) -> None:
    """The name of the library that wrote the file: every page and every record is as it was."""

    def flip(path: Path, manifest: Manifest) -> Manifest:
        content = path.read_bytes()
        at = content.rindex(b"parquet-cpp-arrow")
        path.write_bytes(content[:at] + b"P" + content[at + 1 :])
        return manifest

    assert _found_in(bed, flip) == ["ObjectChanged"]


def an_object_that_rots_before_it_is_proved(bed: Bed) -> None:
    with pytest.MonkeyPatch.context() as patch:
        proofs.test_an_object_that_is_not_what_was_written_gets_no_manifest(bed, patch, "Checksums")


def records_that_do_not_replay(bed: Bed) -> None:
    records_of, _ = FAULTS["flipped-payload"](clean_log())
    answer = bed.back_up((proofs.topic_of(bed, records_of), 0, len(records_of)), verify="Integrity")
    assert answer.kinds() == ["UndecodableEntry"]


def a_log_that_is_another_one() -> None:
    wanted = TopicRange("t", "id", 0, 5, 10, {}, ())
    states = {"t": TopicState("id", 5, 10)}
    assert find_trouble([wanted], states) is None
    for state in (TopicState("other", 5, 10), TopicState("id", 6, 10), TopicState("id", 5, 9)):
        assert find_trouble([wanted], {"t": state}) is not None, state


def children_that_are_none() -> None:
    example = parse_manifest(gzip.compress(EXAMPLE.read_bytes()), "example")
    full = StoredManifest(replace(example, parent=None, sequence=0), "a" * 64)
    (topic,) = example.topics
    begins = replace(topic, start=topic.end, end=topic.end + 9)
    child = replace(example, backup="next", sequence=1, parent=Parent("full", "a" * 64), topics=(begins,))

    def path(manifest: Manifest, name: str = "child", **more: StoredManifest) -> int:
        found, problems = longest_path({"full": full, name: StoredManifest(manifest, "b" * 64), **more})
        assert bool(problems) is (len(found) == 1 or bool(more))
        return len(found)

    assert path(child) == 2
    assert path(replace(child, parent=Parent("full", "c" * 64))) == 1
    assert path(replace(child, sequence=2)) == 1
    assert path(replace(child, topics=(replace(begins, start=begins.start + 1),))) == 1
    assert path(replace(child, topics=(replace(begins, topic_id="other"),))) == 1
    assert path(child, twin=StoredManifest(replace(child, backup="rival"), "d" * 64)) == 2
    _, problems = longest_path(
        {"full": full, "child": StoredManifest(child, "b" * 64), "again": StoredManifest(child, "e" * 64)}
    )
    assert problems == (), "two attempts of one backup are no fork"
    late = StoredManifest(replace(child, finished_time=f"2999{child.finished_time[4:]}"), "e" * 64)
    second = StoredManifest(replace(child, attempt=child.attempt + 1), "b" * 64)
    best, _ = longest_path({"full": full, "late": late, "second": second})
    assert best[-1] is second, "whatever its node's clock said"
