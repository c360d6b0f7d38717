"""What a backup has is what Kafka has: every offset, key, value, header and time; holes of the log stay holes."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from backups import Bed
from confluent_kafka import Producer
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as some
from spark_marks import WITH_SPARK

from sparkjob.wire.records import Record, digest_of

pytest_plugins = ("spark_beds", "backup_beds")
pytestmark = WITH_SPARK

CONTENTS = some.none() | some.just(b"") | some.binary(max_size=40) | some.just(b"\x00" * 100_000)
NAMES = some.text(some.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=5)
"""librdkafka ends a header's name at a zero byte: README.md says so."""
HEADERS = some.none() | some.lists(some.tuples(NAMES, CONTENTS), min_size=1, max_size=4)
PHASES = [phase for phase in Phase if phase is not Phase.shrink]
"""What fails here takes a second each time: it is told as it was found."""
NOW = int(time.time() * 1000)
WRITTEN = some.tuples(CONTENTS, CONTENTS, HEADERS, some.integers(1, NOW))
LOGS = some.lists(some.lists(WRITTEN, max_size=12), min_size=3, max_size=3)


Written = tuple[bytes | None, bytes | None, Any, int]
"""Key, value, headers, and the time in ms."""


def write(bed: Bed, topic: str, records: Sequence[Written]) -> None:
    """In this order."""
    producer = Producer({"bootstrap.servers": bed.topics.servers, "enable.idempotence": True})
    for key, value, headers, timestamp in records:
        producer.produce(topic, value, key, 0, timestamp=timestamp, headers=headers)
    assert producer.flush(30) == 0


def transaction(bed: Bed, topic: str, values: list[bytes], *, commits: bool) -> None:
    """Records and the marker that ends their transaction."""
    before = bed.topics.end(topic)
    producer = Producer({"bootstrap.servers": bed.topics.servers, "transactional.id": secrets.token_hex(4)})
    producer.init_transactions(30)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value, partition=0)
    producer.flush(30)
    (producer.commit_transaction if commits else producer.abort_transaction)(30)
    bed.topics.wait_for_end(topic, before + len(values) + 1)


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture], phases=PHASES)
@given(logs=LOGS)
def test_whatever_is_written_is_backed_up_as_it_is(bed: Bed, logs: list[list[Written]]) -> None:
    stem = secrets.token_hex(4)
    bed = replace(bed, chain_name=stem)  # each full backup begins a chain
    topics = [f"{stem}_{number}" for number in range(len(logs))]
    bed.topics.create(*topics, config={"retention.ms": "-1"})
    for topic, records in zip(topics, logs, strict=True):
        write(bed, topic, records)
    answer = bed.back_up(*((topic, 0, len(log)) for topic, log in zip(topics, logs, strict=True)), name=stem)
    assert answer.summary["outcome"] == "Passed", answer.summary
    for topic, records in zip(topics, logs, strict=True):
        found = bed.stored(answer, topic)
        assert [(each.key, each.value, each.headers, each.timestamp) for each in found] == [
            (key, value, headers, timestamp) for key, value, headers, timestamp in records
        ]
        assert [each.offset for each in found] == list(range(len(records)))
        assert digest_of(found) == digest_of(bed.log(topic, 0, len(records)))


def test_holes_of_a_log_stay_holes_also_at_both_ends_and_log_append_time_stays_what_it_is(bed: Bed) -> None:
    topic = f"holes_{secrets.token_hex(4)}"
    bed.topics.create(topic, config={"message.timestamp.type": "LogAppendTime"})
    transaction(bed, topic, [b"gone"], commits=False)  # 0, 1
    write(bed, topic, [(b"k", b"v", None, 0)])  # 2
    transaction(bed, topic, [b"a", b"b"], commits=True)  # 3, 4, and 5
    transaction(bed, topic, [b"gone"], commits=False)  # 6, 7
    answer = bed.back_up((topic, 0, 8))
    assert answer.summary["outcome"] == "Passed", answer.summary
    (found,) = bed.manifest(answer).topics
    assert found.gaps == ((0, 2), (5, 8))
    assert [(each.offset, each.value) for each in bed.stored(answer, topic)] == [(2, b"v"), (3, b"a"), (4, b"b")]
    assert {each.timestamp_type for each in bed.stored(answer, topic)} == {2}
    assert bed.check().code == 0


def test_a_log_that_begins_late_a_quiet_one_and_an_empty_one(bed: Bed) -> None:
    late, quiet, empty = (f"{name}_{secrets.token_hex(4)}" for name in ("late", "quiet", "empty"))
    bed.topics.fill({late: [(b"k", b"v%d" % number) for number in range(10)], quiet: [(b"k", b"v")], empty: []})
    bed.topics.delete_records(late, 4)
    full = bed.back_up((late, 4, 10), (quiet, 0, 1), (empty, 0, 0))
    assert [each.offset for each in bed.stored(full, late)] == [4, 5, 6, 7, 8, 9]
    bed.topics.append({late: [(b"k", b"new")]})
    more = bed.back_up((late, 10, 11), (quiet, 1, 1), (empty, 0, 0), parent=full, name="more")
    assert more.summary["outcome"] == "Passed", more.summary
    assert [each.value for each in bed.stored(more, late)] == [b"new"]
    assert (bed.stored(more, quiet), bed.stored(more, empty)) == ([], [])
    nothing = bed.back_up((late, 11, 11), (quiet, 1, 1), (empty, 0, 0), parent=more, name="none")
    assert nothing.summary["counts"] == {"records": 0, "bytes": 0, "storedBytes": 0, "objects": 0}
    assert bed.inspect().summary["chains"][0]["backups"] == 3


def test_digests_tell_null_from_empty_and_every_part_from_the_next() -> None:
    def one(**other: object) -> str:
        return digest_of([Record(0, 0, 1, b"k", b"v", None)._replace(**other)])  # type: ignore[arg-type]

    digests = {
        one(),
        one(key=None),
        one(key=b""),
        one(key=b"kv", value=b""),
        one(key=b"", value=b"kv"),
        one(value=None),
        one(value=b""),
        one(offset=1),
        one(timestamp=1),
        one(timestamp_type=2),
        one(headers=[("a", None)]),
        one(headers=[("a", b"")]),
        one(headers=[("a", b"b"), ("a", b"c")]),
        one(headers=[("a", b"c"), ("a", b"b")]),
        one(headers=[("ab", b"")]),
    }
    assert len(digests) == 15
