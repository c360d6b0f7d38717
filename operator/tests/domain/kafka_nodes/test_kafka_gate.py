"""The gate of a Kafka node's restart: each reason in its order; what is unknown, or gets worse, never opens it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seawall.domain.kafka_nodes.checks import GATE, Candidate, against, let_through, refusal
from seawall.domain.kafka_nodes.facts import KafkaFacts
from seawall.domain.kafka_nodes.reasons import OVERRIDABLE, KafkaBlocker
from seawall.domain.ledger.declarations import Grounds
from seawall.domain.partitions import Partition, PartitionId
from tests.domain.kafka_nodes.world import SECOND, START, separate

Worsening = Callable[[KafkaFacts], KafkaFacts]
LATER = START + timedelta(days=1)


def healthy() -> KafkaFacts:
    """Three controllers and three brokers, of which all have been steady for long."""
    facts = separate().observe()
    nodes = tuple(replace(node, steady_since=facts.now - timedelta(minutes=1)) for node in facts.nodes)
    return replace(facts, nodes=nodes)


def ask(facts: KafkaFacts, number: int = 0) -> Candidate:
    return Candidate(next(node for node in facts.nodes if node.id == number), facts)


def with_node(facts: KafkaFacts, number: int, **changes: Any) -> KafkaFacts:
    return replace(facts, nodes=tuple(replace(node, **changes) if node.id == number else node for node in facts.nodes))


def with_isr(facts: KafkaFacts, *isr: int) -> KafkaFacts:
    if facts.partitions is None:
        return facts
    first, *others = facts.partitions
    return replace(facts, partitions=(replace(first, isr=frozenset(isr)), *others))


def unready(facts: KafkaFacts) -> KafkaFacts:
    node = next(node for node in facts.nodes if node.id == 2)
    return with_node(facts, 2, pod=replace(node.pod, ready=False))


def alone(facts: KafkaFacts) -> KafkaFacts:
    mine = Partition(PartitionId("mine", 0), (0,), frozenset({0}), 0)
    return replace(facts, partitions=(*(facts.partitions or ()), mine))


WORSE: tuple[tuple[KafkaBlocker, Worsening], ...] = (
    (KafkaBlocker.PAUSED, lambda facts: replace(facts, is_paused=True)),
    (KafkaBlocker.CERTIFICATES, lambda facts: replace(facts, certificates_problem="Secret tls does not exist")),
    (KafkaBlocker.VERSION, lambda facts: replace(facts, version_problem="metadata.version is finalized at 30")),
    (KafkaBlocker.NOT_BELIEVED, lambda facts: with_node(facts, 0, stranger="nodes 1, 2 began with another CA")),
    (KafkaBlocker.VOLUME_GOES, lambda facts: with_node(facts, 0, loses_volume=True)),
    (KafkaBlocker.KAFKA_UNREACHABLE, lambda facts: replace(facts, kafka_problem="no broker answers")),
    (KafkaBlocker.KAFKA_UNREACHABLE, lambda facts: replace(facts, partitions=None)),
    (KafkaBlocker.NODE_NOT_ONLINE, unready),
    (KafkaBlocker.NODE_NOT_ONLINE, lambda facts: replace(facts, missing=("wal-3",))),
    (KafkaBlocker.NODE_NOT_ONLINE, lambda facts: with_node(facts, 2, is_fenced=True)),
    (KafkaBlocker.NODE_NOT_ONLINE, lambda facts: with_node(facts, 2, is_fenced=None)),
    (KafkaBlocker.NODE_NOT_ONLINE, lambda facts: with_node(facts, 101, is_caught_up=False)),
    (KafkaBlocker.QUORUM_DEGRADED, lambda facts: replace(facts, voters=None)),
    (KafkaBlocker.QUORUM_DEGRADED, lambda facts: replace(facts, active_controller=None)),
    (KafkaBlocker.QUORUM_DEGRADED, lambda facts: replace(facts, voters=frozenset({100, 101, 102, 103}))),
    (KafkaBlocker.LAST_IN_SYNC, lambda facts: with_isr(facts, 0)),
    (KafkaBlocker.NOT_FULLY_IN_SYNC, lambda facts: with_isr(facts, 0, 1)),
    (KafkaBlocker.WOULD_STOP_WRITES, lambda facts: replace(facts, min_isr={**facts.min_isr, "wal_0": 3})),
    (KafkaBlocker.WOULD_STOP_WRITES, lambda facts: replace(facts, min_isr={})),
    (KafkaBlocker.ONLY_REPLICA, alone),
    (KafkaBlocker.REASSIGNMENT, lambda facts: replace(facts, is_moving=True)),
    (KafkaBlocker.REASSIGNMENT, lambda facts: replace(facts, is_moving=None)),
    (KafkaBlocker.DELETE_ONGOING, lambda facts: replace(facts, is_cut=True)),
    (KafkaBlocker.DELETE_ONGOING, lambda facts: replace(facts, is_cut=None)),
    (KafkaBlocker.DATANODE_AWAY, lambda facts: replace(facts, is_datanode_away=True)),
    (KafkaBlocker.DATANODE_AWAY, lambda facts: replace(facts, is_datanode_away=None)),
    (KafkaBlocker.DWELL, lambda facts: with_node(facts, 1, steady_since=None)),
    (KafkaBlocker.DWELL, lambda facts: with_node(facts, 101, steady_since=facts.now - 14 * SECOND)),
)


def test_a_healthy_kafka_lets_any_node_go() -> None:
    facts = healthy()
    assert [refusal(Candidate(node, facts)) for node in facts.nodes] == [None] * 6


@pytest.mark.parametrize("worse", WORSE, ids=lambda pair: pair[0].value)
def test_each_reason_alone(worse: tuple[KafkaBlocker, Worsening]) -> None:
    found = refusal(ask(worse[1](healthy())))
    assert found is not None
    assert found.reason is worse[0]
    assert found.message.startswith(worse[0].sentence.rstrip("."))


def test_a_run_that_is_paused_in_the_middle_of_a_delete_is_named() -> None:
    facts = replace(healthy(), is_cut=True, paused_run="WALPurge nightly is paused")
    found = refusal(ask(facts))
    assert found is not None
    assert found.reason is KafkaBlocker.DELETE_ONGOING
    assert "WALPurge nightly is paused" in found.message
    assert refusal(ask(replace(facts, is_cut=False))) is None


def test_every_reason_has_its_predicate_and_a_case_here() -> None:
    assert list(GATE) == list(KafkaBlocker)
    assert {reason for reason, _ in WORSE} == set(KafkaBlocker)


@given(st.lists(st.sampled_from(WORSE), max_size=5), st.sampled_from(WORSE))
def test_what_gets_worse_never_opens_the_gate_and_the_first_reason_is_shown(
    before: list[tuple[KafkaBlocker, Worsening]], worse: tuple[KafkaBlocker, Worsening]
) -> None:
    facts = healthy()
    for _, worsen in before:
        facts = worsen(facts)
    now = against(ask(worse[1](facts)))
    assert not against(ask(facts)) or now, "the gate opened"
    assert now
    order: list[Any] = list(KafkaBlocker)
    positions = [order.index(found.reason) for found in now]
    assert positions == sorted(positions)
    assert refusal(ask(worse[1](facts))) == now[0]


@given(st.lists(st.sampled_from(WORSE), min_size=1, max_size=6))
def test_no_word_lets_the_last_copy_or_the_majority_go(worse: list[tuple[KafkaBlocker, Worsening]]) -> None:
    facts = replace(healthy(), override=Grounds("broker 3 is lost", LATER))
    for _, worsen in worse:
        facts = worsen(facts)
    stays = {found.reason for found in against(ask(facts))} - OVERRIDABLE
    is_known = facts.partitions is not None and facts.voters is not None and facts.active_controller is not None
    assert is_known or stays
    found = refusal(ask(facts))
    assert (found is None) is (not stays)
    if not stays:
        passed = let_through(ask(facts))
        assert passed is not None
        assert passed.reason in OVERRIDABLE


def crashing(facts: KafkaFacts, waiting: str = "CrashLoopBackOff") -> KafkaFacts:
    """The only node of a Kafka that begins again and again, so that nobody answers."""
    (node,) = (each for each in facts.nodes if each.id == 0)
    pod = replace(node.pod, ready=False, waiting=waiting)
    alone = replace(node, pod=pod, is_controller=True, is_fenced=None, is_caught_up=None)
    return replace(
        facts,
        nodes=(alone,),
        partitions=None,
        voters=None,
        active_controller=None,
        kafka_problem="nobody answers",
        is_moving=None,
    )


def test_what_does_not_run_is_mended_by_a_persons_word_though_nobody_answers() -> None:
    facts = crashing(healthy())
    found = refusal(ask(facts))
    assert found is not None
    assert found.reason is KafkaBlocker.KAFKA_UNREACHABLE
    said = Grounds("its memory was too small", LATER)
    assert refusal(ask(replace(facts, override=said))) is None
    runs = refusal(ask(replace(crashing(healthy(), waiting=""), override=said)))
    assert runs is not None
    assert runs.reason is KafkaBlocker.QUORUM_DEGRADED


def test_the_quorum_is_not_asked_of_what_it_misses_already() -> None:
    facts = with_node(healthy(), 102, is_caught_up=False)
    node = next(node for node in facts.nodes if node.id == 0)
    away = replace(node.pod, ready=False)
    assert KafkaBlocker.QUORUM_DEGRADED in {each.reason for each in against(ask(facts))}, "it is a broker that is well"
    broker = with_node(facts, 0, pod=away, is_fenced=True)
    assert KafkaBlocker.QUORUM_DEGRADED not in {each.reason for each in against(ask(broker))}
    both = with_node(broker, 0, is_controller=True)
    assert KafkaBlocker.QUORUM_DEGRADED in {each.reason for each in against(ask(both))}, "it may vote"
    stopped = with_node(both, 0, pod=replace(away, waiting="CrashLoopBackOff"))
    assert KafkaBlocker.QUORUM_DEGRADED not in {each.reason for each in against(ask(stopped))}


def test_two_voters_are_one_too_few_for_a_restart_and_one_is_a_persons_to_stop() -> None:
    facts = healthy()
    two = replace(facts, nodes=tuple(node for node in facts.nodes if node.id != 102), voters=frozenset({100, 101}))
    found = refusal(ask(two, 100))
    assert found is not None
    assert (found.reason, found.clause) == (KafkaBlocker.QUORUM_DEGRADED, "1 of 2 voters would be left")
    nodes = tuple(node for node in facts.nodes if node.id not in {101, 102})
    one = replace(facts, nodes=nodes, voters=frozenset({100}))
    found = refusal(ask(one, 100))
    assert found is not None
    assert (found.reason, found.clause) == (KafkaBlocker.ONLY_REPLICA, "the only controller")


def test_of_a_node_that_is_down_its_own_replicas_do_not_count() -> None:
    facts = with_isr(with_node(healthy(), 0, is_fenced=True), 1, 2)
    assert refusal(ask(facts)) is None
    assert refusal(ask(facts, 1)) is not None


def test_what_a_node_that_is_down_takes_away_is_away_already() -> None:
    facts = healthy()
    (pod,) = (node.pod for node in facts.nodes if node.id == 0)
    down = with_node(facts, 0, is_fenced=True, pod=replace(pod, ready=False))
    only = replace(alone(with_isr(down, 1, 2)), is_moving=True, is_cut=True, is_datanode_away=True)
    assert refusal(ask(only)) is None
    serving = with_node(only, 0, is_fenced=False)
    assert refusal(ask(serving)) is not None, "not Ready is not enough: Kafka lets it lead"
    behind = refusal(ask(with_isr(down, 0)))
    assert behind is not None
    assert behind.reason is KafkaBlocker.NOT_FULLY_IN_SYNC, "others have to catch up from it"


def test_pods_are_well_whose_nodes_are_in_sync_in_a_kafka_that_is_known() -> None:
    facts = healthy()
    assert facts.well_pods() == {node.uid for node in facts.nodes}
    assert with_isr(facts, 1, 2).well_pods() == facts.well_pods() - {"uid-0"}
    assert replace(facts, kafka_problem="no broker answers").well_pods() == frozenset()
