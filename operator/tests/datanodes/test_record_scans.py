"""The operator reads the logs of crashing datanodes a piece at a time, and remembers what it found."""

from __future__ import annotations

from dataclasses import replace

from seawall.domain.datanodes.facts import BadRecord
from seawall.domain.datanodes.scans import KEYLESS, describe_unreadable, suspicious_topics, with_scanned
from seawall.domain.rollout.workload import Termination
from seawall.observe.record_scans import RecordScans
from tests.domain.datanodes.builders import KILLED, make_facts, with_pod, with_region, with_topic
from tests.fakes.kafka import FakeKafka, FakeTopic
from tests.fakes.kafka_logs import FakeKafkaLogs
from tests.worlds.restart_world import WAL

ENDED = Termination("Error", "", 1)
IDS = {"wal_0": "a", "wal_1": "b"}


def logs_with(*bad: int) -> FakeKafkaLogs:
    kafka = FakeKafka(brokers=1)
    for name in IDS:
        topic = kafka.topics[name] = FakeTopic(name, (1,))
        topic.log.append(1_000)
    kafka.topics["wal_1"].log.keys = dict.fromkeys(bad)
    return FakeKafkaLogs(kafka)


def scan(
    scans: RecordScans, logs: FakeKafkaLogs, starts: dict[str, int], ids: dict[str, str] = IDS
) -> tuple[BadRecord, ...]:
    scans.scan(WAL, logs, starts, ids)
    return scans.found(WAL, ids)


def test_only_the_topics_of_who_crashes_for_no_other_reason_are_read() -> None:
    facts = make_facts()
    assert suspicious_topics(facts) == {}
    assert suspicious_topics(with_pod(facts, 1, ready=False, restarts=4, last_termination=ENDED)).keys() >= {"wal_1"}
    oom = replace(KILLED, reason="OOMKilled")
    assert suspicious_topics(with_pod(facts, 1, ready=False, restarts=4, last_termination=oom)) == {}


def test_a_region_whose_start_nobody_knows_reads_from_the_start_of_the_log() -> None:
    facts = with_pod(make_facts(), 1, ready=False, restarts=4, last_termination=ENDED)
    facts = with_topic(with_region(facts, 1, reads_from=None), 1, log_start=150)
    assert suspicious_topics(facts)["wal_1"] == 150


def test_a_record_that_was_found_is_not_looked_for_again() -> None:
    logs, scans = logs_with(300), RecordScans()
    for _ in range(3):
        assert scan(scans, logs, {"wal_1": 200}) == (BadRecord("wal_1", 300, KEYLESS),)
    assert logs.kafka.requests["find_unreadable"] == 1


def test_who_begins_behind_it_looks_for_the_next_one() -> None:
    logs, scans = logs_with(300, 400), RecordScans()
    scan(scans, logs, {"wal_1": 200})
    both = (BadRecord("wal_1", 300, KEYLESS), BadRecord("wal_1", 400, KEYLESS))
    assert scan(scans, logs, {"wal_1": 301}) == both, "another one may begin in front of both"
    assert scan(scans, logs, {"wal_1": 401}) == both


def test_who_begins_below_what_was_read_has_that_read_too_and_what_is_known_stays() -> None:
    """Another datanode fails, or a region that does not say where it begins."""
    logs, scans = logs_with(120, 300), RecordScans()
    scan(scans, logs, {"wal_1": 200})
    found = (BadRecord("wal_1", 120, KEYLESS), BadRecord("wal_1", 300, KEYLESS))
    assert scan(scans, logs, {"wal_1": 100}) == found
    assert scan(scans, logs, {"wal_1": 100}) == found
    assert logs.kafka.requests["find_unreadable"] == 2


def test_what_lies_between_two_readers_is_not_taken_for_read() -> None:
    logs, scans = logs_with(100, 300), RecordScans()
    scan(scans, logs, {"wal_1": 50})
    logs.kafka.topics["wal_1"].log.keys.pop(300)
    assert len(scan(scans, logs, {"wal_1": 500})) == 1
    logs.kafka.topics["wal_1"].log.keys[300] = None
    assert len(scan(scans, logs, {"wal_1": 200})) == 2


def test_another_log_of_the_same_name_is_read_anew_and_an_answer_that_is_missing_is_asked_for_again() -> None:
    logs, scans = logs_with(300), RecordScans()
    scan(scans, logs, {"wal_1": 200})
    logs.kafka.topics["wal_1"].log.keys.clear()
    assert scan(scans, logs, {"wal_1": 200}, {**IDS, "wal_1": "another"}) == ()
    logs.kafka.offline.add(1)
    logs.kafka.topics["wal_1"].log.append_with_key(1, None)
    assert scan(scans, logs, {"wal_1": 200}, {**IDS, "wal_1": "another"}) == ()
    logs.kafka.offline.clear()
    assert len(scan(scans, logs, {"wal_1": 200}, {**IDS, "wal_1": "another"})) == 1


def test_what_one_look_does_not_read_the_next_one_does() -> None:
    logs, scans = logs_with(300), RecordScans()
    names = {f"wal_{number}": str(number) for number in range(6)}
    for name in names:
        logs.kafka.topics.setdefault(name, FakeTopic(name, (1,))).log.append(500)
    for _ in range(3):
        found = scan(scans, logs, dict.fromkeys(names, 0), names)
    assert found == (BadRecord("wal_1", 300, KEYLESS),)


def test_topics_take_turns_whether_they_end_or_cannot_be_read() -> None:
    """A log of which nothing is left to read, and one without a leader, keep nobody from reading a long one."""
    logs, scans = logs_with(), RecordScans()
    names = {f"wal_{number}": str(number) for number in range(5)}
    for name in names:
        logs.kafka.topics.setdefault(name, FakeTopic(name, (2,))).log.append(500)
    for _ in range(10):
        scan(scans, logs, dict.fromkeys(names, 0), names)
    assert scan(scans, logs, {"wal_1": 0}, names) == ()
    logs.kafka.topics["wal_1"].log.append_with_key(1, None)
    found = [scan(scans, logs, dict.fromkeys(names, 0), names) for _ in range(3)]
    assert [len(each) for each in found][-1] == 1


def test_the_record_is_everybodys_who_would_read_it() -> None:
    facts = with_scanned(make_facts(), [BadRecord("wal_9", 300, KEYLESS)])
    assert set(facts.bad_records) == set(facts.datanodes)
    assert with_scanned(make_facts(), [BadRecord("wal_9", 1, KEYLESS)]).bad_records == {}
    deleted = with_scanned(with_region(make_facts(), 1, reads_from=None), [BadRecord("wal_1", 1, KEYLESS)])
    assert deleted.bad_records == {}, "where a region begins is not known, and the log begins behind it"


def test_a_record_without_a_value_and_one_with_a_key_can_be_read() -> None:
    assert describe_unreadable(None, has_value=False) is None
    assert describe_unreadable(b"{}", has_value=True) is None
    assert describe_unreadable(None, has_value=True) == KEYLESS
    assert describe_unreadable(b"\xff", has_value=True) is not None
