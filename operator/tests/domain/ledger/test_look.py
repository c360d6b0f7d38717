"""One look: the fence over all topics, its memory, and the way out."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from seawall.domain.dataplane.metadata import MetadataSnapshot
from seawall.domain.ledger.fence import Break, Readoption, Verdict, parse_readoption
from seawall.domain.ledger.held import Claim
from seawall.domain.ledger.mode import Mode
from seawall.domain.ledger.policy import Level
from tests.domain.ledger.simulation.operator import START
from tests.domain.ledger.simulation.world import World
from tests.domain.ledger.test_scenarios import flush_all, gated, grown, now_of, purge, sentence, verified


def test_a_person_readopts_a_topic_that_somebody_else_deleted_from() -> None:
    world = grown(Mode.B)
    flush_all(world)
    world.broken_since["wal_0"] = world.database.now
    world.logs["wal_0"].delete_records(9)
    world.beat(3)
    assert sentence(world) == "ForeignDelete"
    expiry = (START + timedelta(hours=20)).isoformat()
    adoption = parse_readoption(f"the retention was wrong@{expiry}")
    assert isinstance(adoption, Readoption)
    world.operators[0].readoption = adoption
    world.beat(3)
    assert sentence(world) is None
    assert purge(world) > 9
    world.logs["wal_0"].delete_records(world.logs["wal_0"].high_watermark)
    world.beat(3)
    assert world.logs["wal_0"].log_start > world.store.records["wal_0"].intent, "one annotation adopts a topic once"


def test_a_readopted_topic_that_still_ends_too_early_stays_broken() -> None:
    world = grown(Mode.B)
    flush_all(world)
    world.beat(3)
    world.broken_since["wal_0"] = world.database.now
    world.logs["wal_0"].recreate()
    world.beat(3)
    adoption = parse_readoption(f"it was me@{(START + timedelta(hours=20)).isoformat()}")
    assert isinstance(adoption, Readoption)
    world.operators[0].readoption = adoption
    world.beat(3)
    assert world.operators[0].observation.identities["wal_0"].verdict is Verdict.BROKEN
    assert purge(world) == 0


def test_topics_that_kafka_says_nothing_of_keep_their_findings() -> None:
    world = grown(Mode.B)
    flush_all(world)
    world.beat(3)
    world.broken_since["wal_0"] = world.database.now
    log = world.logs["wal_0"]
    log.recreate()
    world.beat(1)
    before = world.operators[0].memory.findings
    world.operators[0].silent = frozenset({"wal_0"})
    world.beat(3)
    assert before
    assert world.operators[0].memory.findings == before


def test_a_record_that_says_broken_counts_while_kafka_is_silent_about_its_topic() -> None:
    """Also for an operator that has just started: the other topics of the pool stay alone."""
    world = grown(Mode.B)
    flush_all(world)
    world.beat(3)
    world.broken_since["wal_0"] = world.database.now
    world.logs["wal_0"].recreate()
    world.beat(3)
    assert world.store.records["wal_0"].broken
    operator = world.operators[0]
    operator.silent = frozenset({"wal_0"})
    operator.start()
    world.beat(2)
    found = operator.memory.findings.get("wal_0")
    assert found is not None
    assert found.what is Break.STANDING


def test_an_unreadable_shard_stops_its_topics_and_is_not_taken_for_first_contact() -> None:
    world = grown(Mode.B)
    flush_all(world)
    world.operators[0].unreadable = frozenset({"wal_0"})
    records = dict(world.store.records)
    assert purge(world) == 0
    assert sentence(world) == "IntentsUnreadable"
    assert world.store.records == records


def test_unreadable_holds_stop_every_topic() -> None:
    world = grown(Mode.B)
    flush_all(world)
    world.place_hold("spark", Claim({"wal_0": 19}))
    world.operators[0].holds_readable = False
    assert purge(world) == 0
    assert sentence(world) == "HoldsUnreadable"


def readopt(world: World, reason: str = "it was me", hours: int = 20) -> None:
    """A person annotates the WALCluster."""
    adoption = parse_readoption(f"{reason}@{(START + timedelta(hours=hours)).isoformat()}")
    assert isinstance(adoption, Readoption)
    world.operators[0].readoption = adoption


def broken_and_whole() -> World:
    """`wal_0` was recreated and has grown beyond all ids that the database knows; `wal_1` is whole."""
    world = World(Mode.B, topics=2, operators=1)
    for number in range(2):
        world.database.create(number, f"wal_{number}", number, 1, 0)
    world.beat(2)
    for number in range(2):
        world.database.write(number, 0)
    world.beat(3)
    recreate(world, "wal_0")
    world.beat(3)
    assert world.store.records["wal_0"].broken
    return world


def recreate(world: World, topic: str) -> None:
    """Somebody deletes and makes a topic again, and others write to it."""
    world.broken_since[topic] = world.database.now
    world.logs[topic].recreate()
    for _ in range(60):
        world.logs[topic].append()


def test_a_readoption_that_lingers_does_not_adopt_what_breaks_later() -> None:
    """Found here: within its expiry one annotation adopted later breaks of other topics, unseen."""
    world = broken_and_whole()
    readopt(world)
    world.beat(2)
    assert world.operators[0].memory.findings == {}
    assert not world.store.records["wal_0"].broken
    recreate(world, "wal_1")
    world.operators[0].start()
    world.beat(4)
    assert world.store.records["wal_1"].broken
    readopt(world, "that one too")
    world.beat(2)
    assert not world.store.records["wal_1"].broken


def test_a_verdict_of_before_a_readoption_licenses_nothing_and_the_next_one_does() -> None:
    """What was verified then was cut off; the log of this id is another one by now."""
    world, topic_id = gated(Level.COVERAGE)
    now = now_of(world)
    good = verified("wal_0", topic_id, Level.COVERAGE, 12, now)
    cut_off(world)
    world.store.verified = (good,)
    readopt(world)
    assert purge(world) == 0
    assert (world.store.records["wal_0"].broken, sentence(world)) == (False, "VerificationMissing")
    world.store.verified = (good, verified("wal_0", topic_id, Level.COVERAGE, 6, now + timedelta(seconds=2)))
    assert purge(world) == 6


def test_a_readoption_takes_its_verdicts_away_before_the_new_record_is_written() -> None:
    """Nothing else is against the topic by then: Kafka has forgotten the epoch whose end was cut off."""
    world, topic_id = gated(Level.COVERAGE)
    cut_off(world)
    world.logs["wal_0"].epoch_ends.clear()
    world.store.verified = (verified("wal_0", topic_id, Level.COVERAGE, 12, now_of(world)),)
    readopt(world)
    world.beat()
    assert sentence(world) == "VerificationMissing"


def cut_off(world: World) -> None:
    """An unclean election; then others write, beyond all that the database knows."""
    assert purge(world) == 0
    log = world.logs["wal_0"]
    world.broken_since["wal_0"] = world.database.now
    log.fail_over(keep_to=log.high_watermark - 3)
    for _ in range(60):
        log.append()
    world.beat(4)
    assert world.store.records["wal_0"].broken


def test_a_topic_that_is_only_suspected_when_a_readoption_comes_is_not_adopted() -> None:
    world = broken_and_whole()
    recreate(world, "wal_1")
    readopt(world)
    world.beat(4)
    assert not world.store.records["wal_0"].broken
    assert world.store.records["wal_1"].broken


def test_a_topic_that_kafka_is_silent_about_when_a_readoption_comes_is_marked_all_the_same() -> None:
    """Somebody else deletes from it later: that is not adopted."""
    world = broken_and_whole()
    operator = world.operators[0]
    operator.silent = frozenset({"wal_1"})
    readopt(world)
    world.beat(2)
    world.broken_since["wal_1"] = world.database.now
    world.logs["wal_1"].delete_records(world.logs["wal_1"].high_watermark)
    operator.silent = frozenset()
    world.beat(4)
    assert world.logs["wal_1"].log_start > world.store.records["wal_1"].intent


def test_a_topic_that_is_born_under_a_readoption_is_not_adopted_by_it_later() -> None:
    world = broken_and_whole()
    del world.store.records["wal_1"]
    readopt(world)
    world.beat(2)
    recreate(world, "wal_1")
    world.beat(4)
    assert world.store.records["wal_1"].broken


def test_a_readoption_that_was_refused_does_not_come_into_force_by_waiting() -> None:
    world = broken_and_whole()
    readopt(world, hours=25)
    world.beat(3)
    assert world.store.records["wal_0"].broken
    world.database.now += 2 * 3_600_000
    world.beat(3)
    assert world.store.records["wal_0"].broken


@pytest.mark.parametrize("difference", [-3, 3])
def test_what_a_store_has_issued_is_recorded_be_it_more_or_less_than_its_revision(
    difference: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MySQL's revisions are of what was read; whether it went back its log says."""
    world = grown(Mode.B)
    world.database.revision += 10
    read = world.database.snapshot

    def snapshot() -> MetadataSnapshot:
        found = read()
        return replace(found, issued=found.revision + difference)

    monkeypatch.setattr(world.database, "snapshot", snapshot)
    flush_all(world)
    world.beat(3)
    record = world.store.records["wal_0"]
    assert record.revision is not None
    assert record.issued_revision == record.revision + difference
