"""The gate of restarts: what shuts it, in which order, and that nothing that gets worse opens it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seawall.api.v1alpha1.rollout import MeasuredReplay
from seawall.domain.datanodes.checks import GATE, Candidate, against, let_through, refusal
from seawall.domain.datanodes.facts import BadRecord, Facts
from seawall.domain.ledger.declarations import Grounds
from seawall.domain.rollout_reasons import Blocker
from seawall.domain.text import Explained
from tests.domain.datanodes.builders import (
    MI,
    NOW,
    ask,
    make_facts,
    with_datanode,
    with_pod,
    with_region,
    with_topic,
)

OVERRIDE = Grounds("broker 3 is lost", NOW + timedelta(hours=1))
Worsening = Callable[[Facts], Facts]


def without_datanode(facts: Facts) -> Facts:
    others = {name: datanode for name, datanode in facts.datanodes.items() if name != "datanode-0"}
    return replace(facts, datanodes=others)


WORSE: dict[Blocker, tuple[Worsening, ...]] = {
    Blocker.PAUSED: (lambda facts: replace(facts, is_paused=True),),
    Blocker.KAFKA_UNREACHABLE: (lambda facts: replace(facts, kafka_problem="no broker answered"),),
    Blocker.DATANODE_UNKNOWN: (
        lambda facts: with_region(facts, 0, reads_from=None) if "datanode-0" in facts.datanodes else facts,
        without_datanode,
    ),
    Blocker.NOT_FULLY_IN_SYNC: (
        lambda facts: with_topic(facts, 0, in_sync=2) if "datanode-0" in facts.datanodes else facts,
        lambda facts: with_topic(facts, 0, in_sync=0, replicas=0) if "datanode-0" in facts.datanodes else facts,
    ),
    Blocker.WAL_NOT_INTACT: (lambda facts: replace(facts, wal_problem="wal_5 was recreated"),),
    Blocker.LOG_START_BEYOND_REPLAY: (
        lambda facts: with_topic(facts, 0, log_start=201) if "datanode-0" in facts.datanodes else facts,
        lambda facts: with_topic(facts, 0, log_start=None) if "datanode-0" in facts.datanodes else facts,
    ),
    Blocker.REASSIGNMENT: (
        lambda facts: with_topic(facts, 0, is_moving=True) if "datanode-0" in facts.datanodes else facts,
    ),
    Blocker.DELETE_ONGOING: (
        lambda facts: with_topic(facts, 0, is_cut=True) if "datanode-0" in facts.datanodes else facts,
    ),
    Blocker.ANOTHER_DOWN: (
        lambda facts: with_pod(facts, 1, ready=False),
        lambda facts: with_pod(facts, 2, gone_by=NOW),
        lambda facts: with_region(facts, 2, leads=False),
        lambda facts: replace(facts, pods=tuple(pod for pod in facts.pods if pod.ordinal != 1)),
    ),
    Blocker.BAD_RECORD: (
        lambda facts: replace(facts, bad_records={"datanode-0": BadRecord("wal_0", 300, "a value without a key")}),
    ),
    Blocker.REPLAY_TOO_LONG: (
        lambda facts: with_datanode(facts, 0, size_bytes=10**12) if "datanode-0" in facts.datanodes else facts,
        lambda facts: (
            with_datanode(facts, 0, size_bytes=None, entries=None) if "datanode-0" in facts.datanodes else facts
        ),
    ),
}
EACH = [(reason, worsen) for reason, all_of_it in WORSE.items() for worsen in all_of_it]


def test_three_healthy_datanodes_may_be_restarted() -> None:
    assert all(refusal(ask(make_facts(), number)) is None for number in range(3))


@pytest.mark.parametrize(("reason", "worsen"), EACH, ids=lambda value: str(value) if isinstance(value, Blocker) else "")
def test_each_fact_shuts_the_gate_for_its_own_reason(reason: Blocker, worsen: Worsening) -> None:
    found = refusal(ask(worsen(make_facts())))
    assert found is not None
    assert found.reason is reason


def test_every_reason_has_its_predicate_in_the_order_of_the_issue() -> None:
    assert list(GATE) == list(Blocker)
    assert [reason.value for reason in Blocker] == [
        "Paused",
        "KafkaUnreachable",
        "DatanodeUnknown",
        "NotFullyInSync",
        "WALNotIntact",
        "LogStartBeyondReplay",
        "ReassignmentOngoing",
        "DeleteOngoing",
        "AnotherDatanodeDown",
        "BadRecord",
        "ReplayTooLong",
    ]


@given(st.lists(st.sampled_from(EACH), max_size=5), st.sampled_from(EACH))
def test_what_gets_worse_never_opens_the_gate_and_the_first_reason_is_shown(
    before: list[tuple[Blocker, Worsening]], worse: tuple[Blocker, Worsening]
) -> None:
    facts = make_facts()
    for _, worsen in before:
        facts = worsen(facts)
    was = against(ask(facts))
    now = against(ask(worse[1](facts)))
    order: list[Explained] = list(Blocker)
    assert not was or now, "the gate opened"
    # of a datanode that nobody knows any more, nobody can say what else is against it
    if Blocker.DATANODE_UNKNOWN not in {found.reason for found in now}:
        assert {found.reason for found in was} <= {found.reason for found in now}
    positions = [order.index(found.reason) for found in now]
    assert positions == sorted(positions)
    assert (first := refusal(ask(worse[1](facts)))) is not None
    assert first == now[0]


@given(st.integers(0, 4), st.integers(0, 4))
def test_only_all_replicas_in_sync_are_enough(replicas: int, in_sync: int) -> None:
    facts = with_topic(make_facts(), 0, replicas=replicas, in_sync=min(in_sync, replicas))
    assert (refusal(ask(facts)) is None) is (0 < replicas <= in_sync)


@given(st.integers(0, 400), st.integers(0, 400))
def test_a_log_may_start_where_the_region_reads_and_not_one_offset_later(log_start: int, reads_from: int) -> None:
    facts = with_topic(with_region(make_facts(), 0, reads_from=reads_from), 0, log_start=log_start)
    assert (refusal(ask(facts)) is None) is (log_start <= reads_from)


@given(st.integers(0, 2**40), st.integers(5, 1000), st.integers(1, 1000))
def test_more_to_read_never_opens_the_gate(size: int, seconds: int, budget: int) -> None:
    measured = MeasuredReplay(entries=1_000, bytes=100 * MI, seconds=seconds)
    facts = make_facts()
    facts = replace(facts, limits=replace(facts.limits, replay_budget=timedelta(seconds=budget)))

    def is_open(more: int) -> bool:
        asked = with_datanode(facts, 0, size_bytes=size + more)
        return refusal(Candidate("datanode-0", asked, measured)) is None

    assert is_open(0) or not is_open(MI)


def test_what_is_wrong_with_another_datanodes_topics_is_not_this_ones() -> None:
    facts = with_topic(make_facts(), 1, in_sync=1)
    assert refusal(ask(facts, 0)) is None
    assert refusal(ask(facts, 1)) is not None


def test_the_only_datanode_may_be_restarted() -> None:
    facts = make_facts()
    alone = replace(facts, pods=facts.pods[:1], statefulsets=(replace(facts.statefulsets[0], replicas=1),))
    assert refusal(ask(alone)) is None


def test_the_one_that_is_down_may_be_restarted_and_no_other() -> None:
    facts = with_pod(make_facts(), 1, ready=False)
    assert refusal(ask(facts, 1)) is None
    assert refusal(ask(facts, 0)) is not None


def test_the_message_says_what_exactly_and_what_to_do() -> None:
    found = refusal(ask(with_topic(make_facts(), 0, in_sync=2)))
    assert found is not None
    assert found.message == (
        "A topic that it would replay lacks an in-sync replica: one more failure, and the replay has nothing to read "
        "(wal_0 has 2 of 3). Bring the brokers back, and wait until they have caught up."
    )


def test_a_person_lets_through_everything_but_their_own_pause() -> None:
    for reason, worsen in EACH:
        asked = ask(replace(worsen(make_facts()), override=OVERRIDE))
        passed = let_through(asked)
        if reason is Blocker.PAUSED:
            assert refusal(asked) is not None
            assert passed is None
        else:
            assert refusal(asked) is None
            assert passed is not None
            assert passed.reason is reason


def test_an_override_of_an_open_gate_passes_nothing() -> None:
    assert let_through(ask(replace(make_facts(), override=OVERRIDE))) is None
