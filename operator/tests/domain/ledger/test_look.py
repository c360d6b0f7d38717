"""One look: the fence over all topics, its memory, and the way out."""

from __future__ import annotations

from datetime import timedelta

from seawall.domain.ledger.fence import Break, Readoption, Verdict, parse_readoption
from seawall.domain.ledger.held import Claim
from seawall.domain.ledger.mode import Mode
from tests.domain.ledger.simulation.operator import START
from tests.domain.ledger.test_scenarios import flush_all, grown, purge, sentence


def test_a_person_readopts_a_topic_that_somebody_else_deleted_from() -> None:
    world = grown(Mode.B)
    flush_all(world)
    world.broken_since["wal_0"] = world.database.now
    world.logs["wal_0"].delete_records(9)
    world.beat(3)
    assert sentence(world) == "ForeignDelete"
    expiry = (START + timedelta(days=1)).isoformat()
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
    adoption = parse_readoption(f"it was me@{(START + timedelta(days=1)).isoformat()}")
    assert isinstance(adoption, Readoption)
    world.operators[0].readoption = adoption
    world.beat(3)
    assert world.operators[0].looked.identities["wal_0"].verdict is Verdict.BROKEN
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
    assert operator.memory.findings["wal_0"].what is Break.STANDING


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
