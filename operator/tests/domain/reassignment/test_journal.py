"""The journal: what a run froze, in one ConfigMap."""

from __future__ import annotations

import gzip
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seawall.domain.partitions import PartitionId
from seawall.domain.reassignment.journal import Journal, PlannedMove, UnreadableJournal, decode_journal, encode_journal
from seawall.domain.reassignment.throttling import estimate_seconds

NOW = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)
LARGEST = 900 * 1024
"""Bytes that a ConfigMap surely takes: the API server's limit is a megabyte, with everything."""

replicas = st.lists(st.integers(0, 40), min_size=1, max_size=5, unique=True).map(tuple)
moves = st.builds(
    PlannedMove,
    st.builds(PartitionId, st.text(alphabet="abc_.-7", min_size=1, max_size=20), st.integers(0, 60)),
    replicas,
    replicas,
    st.integers(0, 2**45),
)
journals = st.builds(
    Journal,
    st.just(NOW),
    st.lists(st.sampled_from(["Raise", "Drain"]), max_size=2, unique=True).map(tuple),
    st.frozensets(st.integers(0, 40), max_size=4),
    st.lists(moves, max_size=20, unique_by=lambda move: move.id).map(lambda found: tuple(sorted(found, key=_id))),
)


def _id(move: PlannedMove) -> PartitionId:
    return move.id


def a_journal(*made: PlannedMove) -> Journal:
    return Journal(NOW, ("Raise",), frozenset(), made)


MOVE = PlannedMove(PartitionId("wal_0", 0), (1,), (1, 2, 3), 1_000)


@given(journals)
def test_what_is_written_is_read(journal: Journal) -> None:
    assert decode_journal(encode_journal(journal)) == journal
    assert decode_journal(encode_journal(journal)).digest == journal.digest


def test_ten_thousand_topics_fit_into_one_config_map() -> None:
    """With names as long as Kafka takes them, replicas in no order, and bytes that compress badly."""
    chance = random.Random(7)  # noqa: S311 - no secret
    made = []
    for number in range(10_000):
        brokers = chance.sample(range(1, 31), 6)
        topic = f"{'greptimedb_wal_topic' * 11}_{number}"
        made.append(PlannedMove(PartitionId(topic, 0), tuple(brokers[:3]), tuple(brokers[3:]), chance.randrange(2**40)))
    data = encode_journal(a_journal(*made))
    print(f"10,000 topics: {len(data)} bytes")  # noqa: T201 - the count is the evidence
    assert len(data) < LARGEST
    assert len(decode_journal(data).moves) == len(made)


def test_the_digest_is_of_all_that_is_frozen_and_of_when() -> None:
    journal = a_journal(MOVE)
    others = (
        replace(journal, planned_at=NOW + timedelta(seconds=1)),
        replace(journal, exclude=frozenset({4})),
        a_journal(replace(MOVE, wanted=(1, 3, 2))),
        a_journal(replace(MOVE, original=(2,))),
    )
    assert len({journal.digest, *(other.digest for other in others)}) == len(others) + 1
    assert journal.plans_the_same(others[0])
    assert not any(journal.plans_the_same(other) for other in others[1:])
    assert journal.plans_the_same(a_journal(replace(MOVE, size=7))), "logs grow all the time"


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "cut"),
        (b"nonsense", "damaged"),
        (encode_journal(a_journal(MOVE))[:-9], "cut"),
        (gzip.compress(b"[]"), "damaged"),
        (gzip.compress(b'[2,"2026-11-22T09:00:00Z",[],[],[]]'), "format 2"),
        (gzip.compress(b" " * 17 * 2**20), "far too long"),
    ],
    ids=["empty", "no gzip", "cut", "no journal", "newer", "too long"],  # gzip writes the time into its bytes
)
def test_what_is_damaged_or_newer_is_said(data: bytes, sentence: str) -> None:
    with pytest.raises(UnreadableJournal, match=sentence):
        decode_journal(data)


def test_the_estimate_is_that_of_the_busiest_broker() -> None:
    """Broker 1 sends two copies of each; nobody fetches more than two logs."""
    two = a_journal(MOVE, replace(MOVE, id=PartitionId("wal_1", 0)))
    assert estimate_seconds(two, 1_000) == 4
    drain = a_journal(PlannedMove(PartitionId("wal_0", 0), (1, 2), (2, 3), 5_000))
    assert estimate_seconds(drain, 1_000) == 5
    assert estimate_seconds(a_journal(replace(MOVE, wanted=(1,))), 1_000) == 0
