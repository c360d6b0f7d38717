"""Why a datanode does not come up: what is looked at, and in which order."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from seawall.domain.datanodes.diagnosis import diagnose
from seawall.domain.datanodes.facts import BadRecord, Facts
from seawall.domain.rollout.workload import Template, Termination
from seawall.domain.rollout_reasons import FailureReason
from seawall.domain.times import ROLLOUT_STUCK
from tests.domain.datanodes.builders import (
    KILLED,
    NOW,
    make_facts,
    make_statefulset,
    with_datanode,
    with_pod,
    with_region,
    with_topic,
)


def crashing(last: Termination = KILLED, facts: Facts | None = None) -> Facts:
    return with_pod(facts or make_facts(), 1, ready=False, restarts=4, last_termination=last)


def ailment(facts: Facts) -> FailureReason:
    (found,) = diagnose(facts)
    assert found.pod == "datanode-1"
    return found.ailment


def message(facts: Facts) -> str:
    (found,) = diagnose(facts)
    return found.message


def test_nothing_ails_datanodes_that_serve() -> None:
    assert diagnose(make_facts()) == ()


def test_one_that_goes_ails_nothing_in_its_time_and_does_not_serve_when_that_is_long_over() -> None:
    """On a node that is gone nobody ends it, and its StatefulSet makes no other."""
    facts = with_pod(make_facts(), 1, ready=False, gone_by=NOW)
    assert diagnose(facts) == ()
    late = replace(facts, now=NOW + ROLLOUT_STUCK)
    assert ailment(late) is FailureReason.NOT_SERVING
    assert "its pod does not go, and none is made instead: is its node there?" in message(late)
    assert ailment(replace(crashing(), now=NOW)) is not FailureReason.NOT_SERVING
    assert ailment(replace(with_pod(crashing(), 1, gone_by=NOW), now=late.now)) is FailureReason.NOT_SERVING


def test_a_log_that_starts_after_the_replay_start_is_told_before_all_else() -> None:
    facts = crashing(Termination("OOMKilled", "MissingKey", 137), with_topic(make_facts(), 1, log_start=201))
    assert ailment(facts) is FailureReason.OFFSET_OUT_OF_RANGE
    assert message(facts) == (
        "datanode-1: The log starts after the first offset that the datanode has to read: the WAL was purged or "
        "expired (wal_1 starts at 201, region 11 reads from 200). "
        "Restarts do not help: restore the region from a backup, or give it up."
    )


def test_the_last_word_of_the_container_tells_of_an_offset_out_of_range_too() -> None:
    assert (
        ailment(crashing(Termination("Error", "started\nOffsetOutOfRange: …\n", 1)))
        is FailureReason.OFFSET_OUT_OF_RANGE
    )


def test_a_scanned_record_is_told_with_its_offset() -> None:
    bad = {"datanode-1": BadRecord("wal_1", 300, "a value without a key")}
    facts = replace(crashing(), bad_records=bad)
    assert ailment(facts) is FailureReason.BAD_RECORD
    assert "(offset 300 of wal_1: a value without a key)" in message(facts)


def test_what_greptimedb_says_of_a_missing_key_is_a_bad_record() -> None:
    said = (
        "Error: 0: Failed to start datanode\n1: Failed to read WAL\n2: Missing required key in a record, at x.rs:115:45"
    )
    assert ailment(crashing(Termination("Error", said, 1))) is FailureReason.BAD_RECORD


def test_a_container_killed_for_its_memory_is_not_blamed_on_the_probe() -> None:
    last = Termination("OOMKilled", "", 137, timedelta(seconds=300))
    facts = replace(crashing(last), statefulsets=(make_statefulset(template=Template(startup_seconds=300)),))
    assert ailment(facts) is FailureReason.OUT_OF_MEMORY


def test_a_replay_that_the_probe_does_not_allow_says_both_times() -> None:
    last = Termination("Error", "", 137, timedelta(seconds=301))
    facts = with_datanode(crashing(last), 1, size_bytes=20 * 2**20 * 600)
    facts = replace(facts, statefulsets=(make_statefulset(template=Template(startup_seconds=300)),))
    assert ailment(facts) is FailureReason.PROBE_TOO_SHORT
    assert "(the replay needs 930 s, the probe allows 300 s)" in message(facts)


def test_a_container_that_ends_early_or_by_itself_is_not_blamed_on_the_probe() -> None:
    statefulset = make_statefulset(template=Template(startup_seconds=300))
    early = Termination("Error", "", 137, timedelta(seconds=20))
    by_itself = Termination("Error", "panicked", 101, timedelta(seconds=301))
    for last in (early, by_itself):
        assert ailment(replace(crashing(last), statefulsets=(statefulset,))) is FailureReason.CRASHES


def test_an_unknown_crash_shows_the_containers_last_word() -> None:
    facts = crashing(Termination("Error", "opening\npanicked at the disco\n", 101))
    assert message(facts) == (
        "datanode-1: The datanode ends again and again (Error, exit code 101: panicked at the disco). "
        "Its log says more."
    )


def test_one_unlucky_end_is_no_crash_loop() -> None:
    facts = with_pod(make_facts(), 1, ready=False, restarts=1, last_termination=KILLED)
    assert ailment(facts) is FailureReason.NOT_SERVING


def test_a_back_off_is_a_crash_loop_whatever_the_count() -> None:
    facts = with_pod(make_facts(), 1, ready=False, waiting="CrashLoopBackOff", restarts=1, last_termination=KILLED)
    assert ailment(facts) is FailureReason.CRASHES


def test_a_ready_pod_whose_region_does_not_lead_does_not_serve() -> None:
    assert message(with_region(make_facts(), 1, leads=False)) == (
        "datanode-1: The datanode does not serve all its regions (1 of 2 regions lead). "
        "Wait for its replay; if nothing moves, look at its log."
    )


def test_a_missing_pod_is_told_by_its_name() -> None:
    facts = make_facts()
    assert ailment(replace(facts, pods=(facts.pods[0], facts.pods[2]))) is FailureReason.MISSING


def test_the_worst_is_first() -> None:
    facts = crashing(facts=with_topic(make_facts(), 1, log_start=999))
    facts = with_region(facts, 0, leads=False)
    assert [found.ailment for found in diagnose(facts)] == [
        FailureReason.OFFSET_OUT_OF_RANGE,
        FailureReason.NOT_SERVING,
    ]
