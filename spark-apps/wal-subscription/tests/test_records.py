"""Rows of selected tables arrive once and in order on real Kafka, whoever dies or is late; what gives none is told."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from handed_on import ALL, Handed, committed_in
from mirrors import clock_at, side_of
from record_harm import spoil_parts, spoil_value
from record_logs import CPU, MEM, NAMES, NET, Written

from seawall_e2e.loopback import KafkaProcesses
from wal_subscription.records import process
from wal_subscription.records.micro_batches import RecordsBatches
from wal_subscription.stops import Reason, Stop
from walrecord.region import region_id

pytest_plugins = ("mirror_beds",)
pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("mirror")]


@pytest.fixture
def handed(source_kafka: KafkaProcesses, target_kafka: KafkaProcesses) -> Iterator[Handed]:
    """A subscription without topics."""
    yield Handed(side_of(source_kafka), side_of(target_kafka))
    process.forget_all()


def test_an_edit_selects_more_and_less_and_a_table_that_is_made_later_is_there_from_its_first_row(
    handed: Handed,
) -> None:
    handed.make()
    handed.tables, handed.known = {"include": ["public.*"], "exclude": ["public.mem"]}, {CPU: NAMES[CPU]}
    log = Written()
    log.entry(CPU, 2)
    log.entry(MEM, 3, in_parts=True)
    handed.append(log)
    (stop,) = handed.run_all(handed.start(clock_at()))
    assert (stop.reason, stop.offset) == (Reason.TABLE_UNKNOWN, 1)
    assert stop.message.endswith(
        f"offset 1, of region {region_id(MEM, 0)}, a record of a table whose name is not known"
    )

    handed.known_to, handed.run = len(log.records), 2  # the operator read all names, and did not select this one
    log.entry(CPU)
    handed.append(log)
    handed.run_all()
    assert [row["tableId"] for row in handed.committed()] == [CPU] * 3
    at = len(log.records)
    log.entry(MEM)
    handed.append(log)
    (stop,) = handed.run_all(handed.start(clock_at()))
    assert (stop.reason, stop.offset) == (Reason.TABLE_UNKNOWN, at)

    handed.known, handed.run = {CPU: NAMES[CPU], MEM: NAMES[MEM]}, 3  # it names those that are not selected, too
    log.entry(MEM)
    handed.append(log)
    handed.run_all()
    assert [row["tableId"] for row in handed.committed()] == [CPU] * 3

    before = handed.places()[handed.sources[0]].position
    handed.tables, handed.run = {"include": ["public.*"], "exclude": ["public.cpu"]}, 4
    log.entry(MEM, 2)
    log.entry(CPU)
    handed.append(log)
    handed.run_all()
    assert [row["tableId"] for row in handed.committed() if row["offset"] >= before] == [MEM] * 2

    handed.tables, handed.run, handed.known = {"include": ["*"], "exclude": []}, 5, {}
    log.entry(NET, 2, in_parts=True)
    handed.append(log)
    handed.run_all()
    assert [(row["tableId"], row["table"], row["sequence"]) for row in handed.committed()[-2:]] == [
        (NET, None, 1),
        (NET, None, 2),
    ]
    handed.require_chain()


def test_dead_letters_are_kept_as_they_are_and_counted_and_the_topic_goes_on(handed: Handed) -> None:
    handed.dead_letters = True
    handed.make()
    log = Written()
    log.entry(CPU)
    bad = [spoil_value(log), spoil_parts(log)]
    log.entry(MEM)
    log.records.append((b"{", b"v" * 8_192))
    handed.append(log)
    assert handed.run_all() == []
    process.forget_all()
    log.entry(CPU)
    handed.append(log)
    assert handed.run_all() == []
    assert handed.require_once(log, CPU, MEM) == 3
    (place,) = handed.places().values()
    assert (place.dead_letters, place.rows, place.entries) == (3, 3, 3)
    found = committed_in(handed.target.options, handed.dead, 1)
    assert [(message.key(), message.value()) for message in found[:2]] == [log.records[at] for at in bad]
    headers = [dict(message.headers()) for message in found]
    assert [int(each["seawall-offset"]) for each in headers] == [*bad, bad[-1] + 2]
    assert [each["seawall-region"] for each in headers] == [b"%d" % region_id(CPU, 0)] * 2 + [None]
    assert headers[0]["seawall-reason"] == b"the entry is not a whole WalEntry"
    assert headers[2]["seawall-truncated"] == b"true"
    assert (found[2].key(), found[2].value()) == (None, None)


def test_many_topics_keep_their_own_order_and_tables_their_partition(handed: Handed) -> None:
    handed.by, handed.partitions = "Table", 3
    names = handed.make(3)
    logs = {name: Written() for name in names}
    for topic, log in enumerate(logs.values()):
        for number in range(30):
            log.entry((CPU, MEM, NET)[number % 3], 2, in_parts=number % 4 == topic)
        handed.append(log, topic)
    handed.run_all()
    assert handed.require_once(logs, CPU, MEM, NET) == 3 * 60
    for partition, key, value in handed.read(handed.rows, 3):
        assert partition == json.loads(key)["tableId"] % 3 == json.loads(value)["tableId"] % 3


def test_a_log_in_transactions_gives_what_its_database_reads_and_markers_are_passed_over(handed: Handed) -> None:
    (name,) = handed.make()
    log = Written()
    for _ in range(4):
        log.entry(CPU)
        handed.source.topics.append_in_transaction(name, log.take())
    handed.run_all()
    found = [row["sequence"] for row in handed.committed()]
    assert found == [1, 2, 3, 4]


def test_a_log_that_begins_later_is_handed_on_from_there_and_a_gap_stops_it(handed: Handed) -> None:
    (name,) = handed.make()
    log = Written()
    for _ in range(6):
        log.entry(CPU)
    handed.append(log)
    handed.source.topics.delete_records(name, 2)
    handed.starts[name] = 2
    handed.run_all()
    assert [row["offset"] for row in handed.committed()] == [2, 3, 4, 5]
    for _ in range(4):
        log.entry(CPU)
    handed.append(log)
    handed.source.topics.delete_records(name, 8)
    (stop,) = handed.run_all(handed.start(clock_at()))
    assert (stop.reason, stop.offset) == (Reason.SOURCE_GAP, 6)


def test_a_source_that_is_gone_and_a_target_that_is_made_again_stop(handed: Handed) -> None:
    names = handed.make(2)
    logs = [Written(), Written()]
    for topic, log in enumerate(logs):
        log.entry(CPU)
        handed.append(log, topic)
    micro = handed.start(clock_at())
    handed.run_all(micro)
    handed.source.topics.delete(names[0])
    stops = _until_over(micro)
    assert [(stop.topic, stop.reason, stop.offset) for stop in stops] == [(names[0], Reason.IDENTITY_FENCE_BROKEN, 1)]
    handed.sources, handed.tables = names[1:], ALL
    micro = handed.start(clock_at())
    handed.target.topics.delete(handed.rows)
    handed.target.create(handed.rows)
    stops = _until_over(micro)
    assert [(stop.topic, stop.reason) for stop in stops] == [(names[1], Reason.TARGET_LOST)]


def _until_over(micro: RecordsBatches) -> list[Stop]:
    for _ in range(20):
        micro.once()
        if micro.is_over:
            return micro.stops
    raise AssertionError("it goes on")
