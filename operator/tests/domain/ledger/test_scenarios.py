"""Stories in the simulated world: each is an interleaving that would lose data, or block for ever, without one rule.

`test_mutants.py` takes the rules away one by one and expects these stories to fail.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from unittest.mock import patch

import pytest

from seawall.api.v1alpha1.hold import HoldState
from seawall.domain.ledger import assess as ledger_look
from seawall.domain.ledger.bounds import Verified
from seawall.domain.ledger.held import Claim
from seawall.domain.ledger.ledger import Ledger
from seawall.domain.ledger.mode import Mode
from seawall.domain.ledger.policy import Level, Policy, Requirement
from seawall.domain.times import CLOCKS_AGREE
from tests.domain.ledger.simulation.database import STANDBY
from tests.domain.ledger.simulation.operator import START
from tests.domain.ledger.simulation.world import GRACE, SAFETY, World

MODES = [Mode.A, Mode.B, Mode.C]


def grown(
    mode: Mode, regions: int = 2, rows: int = 10, inner: int = 1, operators: int = 1, *, keeps_tombstones: bool = True
) -> World:
    """A world in which each region has written rows, and the operators have watched for more than one grace."""
    world = World(mode, operators=operators, keeps_tombstones=keeps_tombstones)
    for number in range(regions):
        world.database.create(number, "wal_0", number % 2, inner, world.logs["wal_0"].high_watermark - 1)
    world.beat(2)
    for _ in range(rows):
        for number in range(regions):
            assert world.database.write(number, 0) is not None
    world.beat(20)
    return world


def flush_all(world: World) -> None:
    for number in world.database.regions:
        world.database.flush(number)


def purge(world: World, beats: int = 80) -> int:
    """Many cycles; where the log starts then."""
    for _ in range(beats):
        if world.mode is Mode.A:
            world.database.prune_by_itself("wal_0")
        world.beat()
    return world.logs["wal_0"].log_start


def plan_of(world: World) -> Ledger:
    """What the first operator last planned."""
    found = world.operators[0].plan
    assert found is not None
    return found


def until(world: World, call: str, operator: int = 0, limit: int = 5_000) -> None:
    """Lives until the operator is about to make this call for the next time."""
    for _ in range(limit):
        if world.operators[operator].step() == call:
            return
        if world.mode is Mode.A:
            world.database.prune_by_itself("wal_0")
        for node in world.database.processes:
            report(world, node)
        world.check()
    raise AssertionError(f"never about to: {call}")


def report(world: World, node: int) -> None:
    """A node says how its regions are, and is heard."""
    world.database.sample_idle(node)
    world.database.heartbeat(node)
    world.database.deliver(node)


def sentence(world: World) -> str | None:
    plan = world.operators[0].plan
    assert plan is not None
    return plan.reason(0)


@pytest.mark.parametrize("mode", MODES)
def test_a_topic_shrinks_when_its_regions_have_flushed(mode: Mode) -> None:
    world = grown(mode)
    last = world.logs["wal_0"].high_watermark - 1
    flush_all(world)
    assert purge(world) in {last - 1, last}
    world.restart_everything()


@pytest.mark.parametrize("mode", [Mode.A, Mode.B])
def test_idle_regions_let_a_topic_shrink_without_a_flush(mode: Mode) -> None:
    world = grown(mode)
    flush_all(world)
    for _ in range(10):
        world.database.write(0, 0)
    world.database.flush(0)
    assert purge(world) == world.logs["wal_0"].high_watermark - 1
    world.restart_everything()


@pytest.mark.parametrize("mode", MODES)
def test_a_region_that_has_not_flushed_keeps_its_rows(mode: Mode) -> None:
    world = grown(mode)
    world.database.flush(0)
    assert purge(world) <= 1
    world.restart_everything()


@pytest.mark.parametrize("mode", MODES)
def test_a_follower_keeps_what_it_has_not_read(mode: Mode) -> None:
    world = grown(mode)
    world.database.add_standby(0)
    flush_all(world)
    behind = purge(world)
    (position,) = world.database.standbys[0].positions
    assert behind <= position + 1
    world.database.replay_on_standby(0)
    ahead = purge(world)
    assert behind < ahead


@pytest.mark.parametrize("mode", [Mode.A, Mode.B])
def test_a_follower_of_an_idle_region_holds_nothing_back_once_it_is_as_far_as_its_leader(mode: Mode) -> None:
    world = grown(mode)
    flush_all(world)
    for number in (0, 1):
        world.database.add_standby(number)
    world.beat(2)
    for _ in range(10):
        world.database.write(1, 0)
    world.database.flush(1)
    world.database.replay_on_standby(1)
    purge(world)
    (position,) = world.database.standbys[0].positions
    assert world.logs["wal_0"].log_start > position + 1


def test_without_markers_what_a_leader_saw_idle_lifts_nothing_of_its_follower() -> None:
    """What the leader has on its own disk by then, its checkpoint, is not what the standby has on its own."""
    world = grown(Mode.C)
    world.database.add_standby(0)
    world.beat(2)
    for _ in range(10):
        world.database.write(1, 0)
    flush_all(world)
    world.database.checkpoint(0)
    world.database.checkpoint(1)
    world.database.standbys[0].positions = list(world.database.regions[0].flushed)
    kept = world.database.standbys[0].positions[0]
    world.database.write(1, 0)
    flush_all(world)
    world.database.checkpoint(0)
    world.database.checkpoint(1)
    purge(world)
    assert world.logs["wal_0"].log_start <= kept + 1


def test_no_marker_is_announced_beyond_a_follower() -> None:
    """A standby with a disk of its own that becomes the leader would skip what lies between."""
    world = grown(Mode.B)
    world.database.add_standby(0)
    flush_all(world)
    world.database.replay_on_standby(0)
    for number in (0, 1):
        world.database.write(number, 0)
    flush_all(world)
    assert purge(world) > 0
    (position,) = world.database.standbys[0].positions
    assert (world.database.markers["wal_0"].pruned_entry_id or 0) <= position


def test_a_follower_that_says_nothing_stops_its_topic() -> None:
    world = grown(Mode.B)
    before = purge(world, 20)
    world.database.add_standby(0)
    world.database.cut_off.add(STANDBY)
    flush_all(world)
    assert purge(world) == before
    assert plan_of(world).reason(0) == "FollowerMissing"
    world.database.remove_standby(0)
    assert purge(world) > before


@pytest.mark.parametrize("mode", MODES)
def test_the_metadata_region_keeps_its_rows_too(mode: Mode) -> None:
    world = grown(mode, inner=2)
    world.database.write(0, 1)
    flush_all(world)
    needed = world.database.write(1, 1)
    for number in range(10):
        world.database.write(number % 2, 0)
    for number in range(2):
        world.database.flush(number, only=0)
    assert needed is not None
    assert purge(world) <= needed
    world.restart_everything()


@pytest.mark.parametrize("looked_between", [False, True])
def test_a_leader_that_came_back_is_not_believed_what_it_sampled_meanwhile(*, looked_between: bool) -> None:
    """Found here: an idle sample of a replaced leader, which arrives when the route names it again, was announced.

    Whether the operator has seen the new route before the sample arrives (a new streak, one advance) or not (the streak
    would go on but for the route's revision).
    """
    world = grown(Mode.B, regions=1)
    database = world.database
    flush_all(world)
    purge(world)
    until(world, "reports" if not world.store.recorded else "end run")
    until(world, "reports")
    database.begin_migration(0, 1, old_answers=False)
    database.finish_open(0)
    database.end_migration(0, 1)
    row = database.write(0, 0)
    world.logs["wal_0"].append()
    database.sample_idle(0)  # node 0 does not know that it was replaced, and has nothing in memory
    database.heartbeat(0)
    database.begin_migration(0, 0, old_answers=False)
    database.finish_open(0)
    database.end_migration(0, 0)
    if looked_between:
        world.operators[0].cycle()
    database.deliver(0)
    for _ in range(2):
        world.operators[0].cycle()
        world.check()
    assert row is not None
    assert not world.store.recorded
    world.restart_everything()


def test_an_opener_that_read_the_old_marker_is_waited_for() -> None:
    """One advance may have been on its way since before the node died; two cannot."""
    world = grown(Mode.B)
    database = world.database
    flush_all(world)
    for _ in range(10):
        database.write(0, 0)
    database.flush(0)
    report(world, 0)
    report(world, 1)
    until(world, "announce")
    database.heartbeat(1)
    database.kill(1)  # its successor reads the marker of before the announcement, and is slow
    live_without(world, 1, until=database.now + 50)
    assert world.store.recorded
    database.deliver(1)  # what the dead process sent arrives after the value was seen
    live_without(world, 1, until=database.now + GRACE)
    database.finish_open(0)
    world.check()
    assert purge(world) > 0


@pytest.mark.parametrize("restarts", ["nobody", "the operator", "the datanode"])
def test_what_was_only_staged_is_kept_when_the_repartition_fails(restarts: str) -> None:
    """Its memtable is empty and it says that it was idle; the rows are in files that no restart finds (ADR 79)."""
    world = grown(Mode.B, regions=1)
    database = world.database
    flush_all(world)
    database.begin_staging(0)
    needed = [database.write(0, 0) for _ in range(5)]
    database.flush(0)
    world.beat(3)
    database.end_staging(0, fails=True)
    if restarts == "the operator":
        world.operators[0].start()
    if restarts == "the datanode":
        database.kill(0)
    start = purge(world)
    assert None not in needed
    assert start <= min(row for row in needed if row is not None)
    assert (database.markers["wal_0"].pruned_entry_id or 0) < start + 1
    world.restart_everything()


def test_what_was_staged_and_flushed_again_is_purged_when_the_repartition_succeeds() -> None:
    world = grown(Mode.B, regions=1)
    database = world.database
    database.begin_staging(0)
    for _ in range(5):
        database.write(0, 0)
    flush_all(world)
    database.end_staging(0, fails=False)
    assert purge(world) == world.logs["wal_0"].high_watermark - 1
    world.restart_everything()


def test_an_idle_region_whose_table_moved_is_let_go_by_its_checkpoint() -> None:
    """Of its route nobody knows any more whether it was staged; what the database stores itself, it reads by."""
    world = grown(Mode.B, regions=2)
    database = world.database
    database.any_change_may_stage = True
    flush_all(world)
    database.begin_migration(0, 1, old_answers=True)
    database.finish_open(0)
    database.end_migration(0, 1)
    for _ in range(10):
        database.write(1, 0)
    database.flush(1)
    held = purge(world)
    assert held < world.logs["wal_0"].high_watermark - 1
    database.checkpoint(0)
    assert purge(world) == world.logs["wal_0"].high_watermark - 1
    world.restart_everything()


def live_without(world: World, node: int, until: int) -> None:
    """The other node reports and the operators work; of this one nothing is heard."""
    other = 1 - node
    while world.database.now < until:
        report(world, other)
        world.operators[0].step()
        world.check()


def test_what_a_replaced_leader_reports_is_no_report() -> None:
    world = grown(Mode.B, regions=1)
    database = world.database
    flush_all(world)
    database.begin_migration(0, 1, old_answers=False)
    database.finish_open(0)
    database.end_migration(0, 1)
    row = database.write(0, 0)
    world.logs["wal_0"].append()
    live_without(world, 1, until=database.now + 200)
    assert sentence(world) == "RegionMissing"
    assert row is not None
    world.restart_everything()


def test_a_dropped_table_keeps_its_rows_until_it_cannot_come_back() -> None:
    world = grown(Mode.B)
    world.database.flush(0)
    world.database.drop(1)
    assert purge(world) <= 1
    world.database.roll_back_drop(1, within=GRACE)
    world.beat(3)
    world.restart_everything()
    world.database.drop(1)
    world.database.finish_drop(1, after=GRACE)
    assert purge(world) > 1


@pytest.mark.parametrize("mode", [Mode.B, Mode.C])
@pytest.mark.parametrize("restarts", [False, True])
def test_a_region_that_vanished_keeps_its_rows_for_one_grace(mode: Mode, *, restarts: bool) -> None:
    """Of a database without tombstones. An operator that has just started does not know what vanished before."""
    world = grown(mode, keeps_tombstones=False)
    world.database.flush(0)
    world.database.drop(1)
    if restarts:
        world.operators[0].start()
    for _ in range(GRACE // 10 - 1):
        world.beat(wait=1)
    world.database.roll_back_drop(1, within=GRACE)
    world.beat(3)
    assert purge(world) <= 1
    world.restart_everything()


def test_the_seen_value_is_read_again() -> None:
    """A manifest is restored from an older copy after the run has seen its value, and the operator forgets."""
    world = grown(Mode.C)
    flush_all(world)
    until(world, "end run" if world.store.recorded else "record seen")
    until(world, "reports")
    assert world.store.recorded
    # Records of an older Seawall know no revision: the fence does not notice, and the value alone must keep the rows.
    world.store.records = {name: replace(found, revision=None) for name, found in world.store.records.items()}
    world.broken_since["wal_0"] = world.database.now
    world.database.restore_manifest(1)
    world.operators[0].start()
    needed = min(offset for _, offset in world.database.regions[1].needed())
    assert purge(world) <= needed


def test_a_recreated_topic_stops_everything_and_says_so() -> None:
    world = grown(Mode.B)
    flush_all(world)
    assert purge(world) > 1
    log = world.logs["wal_0"]
    world.broken_since["wal_0"] = world.database.now
    log.recreate()
    for _ in range(60):
        world.database.write(0, 0)
    assert purge(world) == 0
    assert sentence(world) == "IdentityFenceBroken"
    assert "recreated" in str(world.operators[0].memory.findings["wal_0"].sentence)
    assert world.store.records["wal_0"].broken


def test_a_log_that_ends_at_a_known_id_is_cut() -> None:
    """At first contact there is no record: the high watermark is exclusive, so being equal is too low already."""
    world = World(Mode.B, operators=1)
    world.database.create(0, "wal_0", 0, 1, 0)
    world.database.finish_open(0)
    for _ in range(9):
        world.database.write(0, 0)
    world.database.flush(0)
    world.broken_since["wal_0"] = 0
    world.logs["wal_0"].fail_over(keep_to=9)
    assert purge(world) == 0
    assert world.database.markers["wal_0"].pruned_entry_id == 0
    assert sentence(world) == "IdentityFenceBroken"


def test_a_restored_manifest_stops_everything() -> None:
    world = grown(Mode.C)
    flush_all(world)
    world.beat(3)
    world.broken_since["wal_0"] = world.database.now
    world.database.restore_manifest(1)
    world.beat(1)
    assert "went back" in world.operators[0].memory.findings["wal_0"].sentence


@pytest.mark.parametrize("mode", MODES)
def test_a_hold_stops_a_purge_and_its_end_lets_it_go_on(mode: Mode) -> None:
    world = grown(mode)
    world.place_hold("backup", Claim({"wal_0": 7}))
    flush_all(world)
    assert purge(world) <= 7
    assert world.store.holds["backup"].state is HoldState.EXTENDED
    world.change_hold("backup", "release", 0, START)
    assert purge(world) > 7


def test_a_hold_on_everything_stops_all_deletes() -> None:
    world = grown(Mode.B)
    world.place_hold("spark", Claim(everything=True))
    flush_all(world)
    assert purge(world) == 0


def test_a_hold_below_the_intent_is_lost_at_once() -> None:
    world = grown(Mode.B)
    flush_all(world)
    assert purge(world) > 7
    world.place_hold("late", Claim({"wal_0": 7}))
    world.beat(3)
    assert world.store.holds["late"].state is HoldState.LOST


def test_holds_are_listed_after_the_intent_is_written() -> None:
    """The hold is placed and granted after the purger's look, before it writes its intent."""
    world = grown(Mode.B, operators=2)
    flush_all(world)
    until_both(world, "write intents")
    world.place_hold("spark", Claim({"wal_0": 7}))
    world.operators[1].start()
    for _ in range(60):
        world.operators[1].step()
    assert world.store.holds["spark"].granted is not None
    until(world, "reports")
    world.check()
    assert world.logs["wal_0"].log_start <= 7


def test_a_requested_hold_counts() -> None:
    """It is granted by one who read the intent before it was raised, while the purger lists it as Requested."""
    world = grown(Mode.B, operators=2)
    flush_all(world)
    until_both(world, "write intents")
    world.place_hold("spark", Claim({"wal_0": 7}))
    granter = world.operators[1]
    granter.start()
    while granter.step() != "write hold" or world.store.holds["spark"].renewal is None:
        pass
    until(world, "read hold")
    granter.step()
    assert world.store.holds["spark"].state is HoldState.ACTIVE
    world.check()


def until_both(world: World, call: str) -> None:
    """The first operator is about to raise its intent; everything until then happened with both alive."""
    while True:
        until(world, call)
        if world.operators[0].permit is not None:
            return


def test_a_renewal_that_was_taken_before_lost_was_written_has_won() -> None:
    """By arithmetic the hold is over; nobody has written it, and its owner renews it."""
    world = grown(Mode.B)
    world.place_hold("spark", Claim({"wal_0": 7}), ttl=100_000)
    world.beat(3)
    assert world.store.holds["spark"].state is HoldState.ACTIVE
    flush_all(world)
    until_both(world, "write intents")
    until(world, "reports")
    until(world, "holds")
    world.database.now += 200_000
    # An observation that took so long knows no offsets, and deletes nothing for that alone.
    with patch.object(ledger_look, "_of_one_time", lambda read, _: read):
        until(world, "read hold")
        world.change_hold("spark", "renew", 1, START + timedelta(milliseconds=world.database.now))
        world.beat(3)
    assert not world.store.holds["spark"].state.is_final
    assert world.logs["wal_0"].log_start <= 7


def test_a_hold_ends_by_its_ttl_after_it_was_at_risk() -> None:
    world = grown(Mode.B)
    world.place_hold("spark", Claim({"wal_0": 7}), ttl=400)
    flush_all(world)
    states = set()
    for _ in range(80):
        world.beat()
        states.add(world.store.holds["spark"].state)
    assert {HoldState.EXTENDED, HoldState.AT_RISK, HoldState.LOST} <= states
    assert world.logs["wal_0"].log_start > 7


def test_an_old_leader_that_wakes_up_before_its_delete_is_harmless() -> None:
    """I4: stopped right before DeleteRecords, while another takes over and everything goes on."""
    world = grown(Mode.B, operators=2)
    flush_all(world)
    until(world, "delete")
    late, _ = world.operators[0], world.operators.pop(0)
    world.place_hold("spark", Claim({"wal_0": 7}))
    for _ in range(10):
        world.database.write(0, 0)
    purge(world)
    assert world.store.holds["spark"].state is HoldState.LOST
    world.database.kill(1)
    late.step()
    world.check()
    world.restart_everything()


def test_somebody_elses_deletes_stop_ours_and_lose_the_holds_that_they_overtook() -> None:
    world = grown(Mode.B)
    world.place_hold("spark", Claim({"wal_0": 4}))
    world.beat(3)
    flush_all(world)
    world.broken_since["wal_0"] = world.database.now
    world.logs["wal_0"].delete_records(9)
    world.place_hold("later", Claim({"wal_0": 12}))
    world.beat(4)
    assert sentence(world) == "ForeignDelete"
    assert world.store.holds["spark"].state is HoldState.LOST
    assert world.store.holds["later"].state is HoldState.REQUESTED
    assert purge(world) == 9


def test_the_annotation_stops_deletes() -> None:
    world = grown(Mode.B)
    flush_all(world)
    world.store.stopped = True
    assert purge(world) == 0
    assert sentence(world) == "StoppedByAnnotation"


def gated(level: Level) -> tuple[World, str]:
    """All is flushed, and a policy requires a verification that is at most an hour old; with the topic's id."""
    world = grown(Mode.B)
    flush_all(world)
    safety = replace(SAFETY, verification=Requirement(level, timedelta(hours=1)))
    world.operators[0].policy = Policy("strict", safety=safety)
    return world, world.logs["wal_0"].topic_id


def now_of(world: World) -> datetime:
    """The wall clock."""
    return START + timedelta(milliseconds=world.database.now)


def verified(
    topic: str, topic_id: str, level: Level, start: int, ended: datetime, *, replays: bool = True, minutes: int = 0
) -> Verified:
    """What a verification says that took so long."""
    return Verified(topic, topic_id, level, start, ended - timedelta(minutes=minutes), ended, replays=replays)


def test_a_required_verification_bounds_by_its_start() -> None:
    world, topic_id = gated(Level.INTEGRITY)
    assert purge(world) == 0
    assert sentence(world) == "VerificationMissing"
    now = now_of(world)
    world.store.verified = (
        verified("wal_0", topic_id, Level.EQUIVALENCE, 6, now),
        verified("wal_0", topic_id, Level.COVERAGE, 12, now + timedelta(seconds=1)),
        verified("wal_0", "another", Level.EQUIVALENCE, 12, now + timedelta(seconds=2)),
    )
    assert purge(world) == 6


def test_of_the_verifications_that_count_the_one_that_began_last_bounds() -> None:
    world, topic_id = gated(Level.COVERAGE)
    now = now_of(world)
    world.store.verified = (
        verified("wal_0", topic_id, Level.COVERAGE, 7, now - timedelta(minutes=20)),
        verified("wal_0", topic_id, Level.INTEGRITY, 5, now),
        verified("wal_0", topic_id, Level.INTEGRITY, 12, now - timedelta(hours=2)),
    )
    assert purge(world) == 7


def test_a_look_into_which_another_operator_writes_its_record_finds_nothing() -> None:
    """Found by the simulation: one operator has read the offsets, and the other one makes the first record after it."""
    world = World(Mode.A)
    world.database.create(0, "wal_0", 0, 2, world.logs["wal_0"].high_watermark - 1)
    world.beat(20)
    until(world, "intents", operator=1)
    world.database.write(0, 0)
    world.database.checkpoint(0)
    for _ in range(3):
        world.database.prune_by_itself("wal_0")
        until(world, "reports")
        world.beat(1, 5)
    until(world, "reports", operator=1)
    assert not world.operators[1].memory.findings
    world.check()


def test_no_verification_counts_that_ended_before_one_that_found_the_log_bad() -> None:
    """Whoever mends it may need what the earlier one would let go; a good one after it counts again."""
    world, topic_id = gated(Level.COVERAGE)
    now = now_of(world)
    good = verified("wal_0", topic_id, Level.EQUIVALENCE, 12, now - timedelta(minutes=20))
    bad = verified("wal_0", topic_id, Level.COVERAGE, 6, now - timedelta(minutes=10), replays=False)
    world.store.verified = (good, bad)
    assert purge(world) == 0
    assert sentence(world) == "VerificationMissing"
    world.store.verified = (good, bad, verified("wal_0", topic_id, Level.COVERAGE, 6, now - timedelta(minutes=5)))
    assert purge(world) == 6


def test_no_verification_counts_that_began_before_one_was_over_that_found_the_log_bad() -> None:
    """However late it ended: what the bad one read may have come after all that it was told to read."""
    world, topic_id = gated(Level.COVERAGE)
    now = now_of(world)
    bad = verified("wal_0", topic_id, Level.COVERAGE, 6, now - timedelta(minutes=30), replays=False, minutes=10)
    ended = now - timedelta(minutes=5)
    for minutes in (45, 30, 25):
        world.store.verified = (bad, verified("wal_0", topic_id, Level.EQUIVALENCE, 12, ended, minutes=minutes))
        assert purge(world) == 0
        assert sentence(world) == "VerificationMissing"
    world.store.verified = (bad, verified("wal_0", topic_id, Level.COVERAGE, 6, ended, minutes=24))
    assert purge(world) == 6


def test_a_good_verdict_from_the_future_counts_for_nothing() -> None:
    """It was written by a clock that was ahead: nobody knows whether it is newer than a bad one."""
    world, topic_id = gated(Level.COVERAGE)
    now = now_of(world)
    bad = verified("wal_0", topic_id, Level.COVERAGE, 6, now - timedelta(minutes=10), replays=False)
    good = verified("wal_0", topic_id, Level.COVERAGE, 6, now + timedelta(minutes=30), minutes=35)
    world.store.verified = (good, bad)
    assert purge(world) == 0
    assert sentence(world) == "VerificationMissing"
    world.store.verified = (replace(good, finished_at=now + CLOCKS_AGREE), bad)
    assert purge(world) == 6


def test_a_bad_verdict_about_another_log_or_from_before_takes_nothing_away() -> None:
    world, topic_id = gated(Level.COVERAGE)
    now = now_of(world)
    world.store.verified = (
        verified("wal_0", topic_id, Level.COVERAGE, 6, now - timedelta(minutes=20)),
        verified("wal_0", "another", Level.COVERAGE, 6, now, replays=False),
        verified("wal_1", "another", Level.COVERAGE, 6, now, replays=False),
        verified("wal_0", topic_id, Level.COVERAGE, 6, now - timedelta(minutes=30), replays=False),
    )
    assert purge(world) == 6


def test_a_topic_that_was_read_and_does_not_replay_counts_for_nothing() -> None:
    world, topic_id = gated(Level.COVERAGE)
    now = now_of(world)
    bad = verified("wal_0", topic_id, Level.COVERAGE, 12, now - timedelta(minutes=10), replays=False)
    good = verified("wal_0", topic_id, Level.COVERAGE, 6, now - timedelta(minutes=5))
    world.store.verified = (bad, good)
    assert purge(world) == 6


def test_a_verification_that_is_too_old_says_so() -> None:
    world, topic_id = gated(Level.INTEGRITY)
    ended = now_of(world) - timedelta(hours=2)
    world.store.verified = (verified("wal_0", topic_id, Level.INTEGRITY, 12, ended),)
    assert purge(world) == 0
    assert sentence(world) == "VerificationTooOld"


def test_a_region_that_is_born_before_the_announcement_makes_it_fail() -> None:
    world = grown(Mode.B)
    flush_all(world)
    until(world, "announce")
    world.database.create(2, "wal_0", 0, 1, 0)
    world.operators[0].step()
    assert world.database.markers["wal_0"].pruned_entry_id == 0
    assert purge(world) > 0


def test_reports_are_read_before_offsets() -> None:
    """A flush between the two reads must not look as if the log had lost its end."""
    world = grown(Mode.B)
    until(world, "reports")
    for _ in range(5):
        world.database.write(0, 0)
    world.database.flush(0)
    world.database.heartbeat(0)
    world.database.deliver(0)
    until(world, "reports")
    world.check()


def test_two_purgers_end_where_one_would() -> None:
    world = grown(Mode.B, operators=2)
    flush_all(world)
    assert purge(world) == world.logs["wal_0"].high_watermark - 1


@pytest.mark.parametrize("mode", MODES)
def test_a_run_that_dies_at_any_step_ends_the_same(mode: Mode) -> None:
    """I3, I6: the operator dies before its n-th call, for each n of a run; the next one ends where one would have."""
    calls = 0
    while True:
        world = grown(mode)
        flush_all(world)
        end = world.logs["wal_0"].high_watermark - 1
        steps = run_calls(world, calls)
        if steps < calls:
            break
        world.operators[0].start()
        assert purge(world, beats=60) in {end - 1, end}
        world.restart_everything()
        calls += 23
    assert calls > 50


def run_calls(world: World, calls: int) -> int:
    """So many calls of the operator with a living database; fewer when the topic has shrunk before."""
    for done in range(calls):
        if world.logs["wal_0"].log_start > 1:
            return done
        if world.mode is Mode.A:
            world.database.prune_by_itself("wal_0")
        for node in world.database.processes:
            report(world, node)
        world.operators[0].step()
        world.check()
    return calls


def test_an_operator_that_froze_while_it_read_raises_no_false_alarm() -> None:
    """Found by the simulation: it read reports and marker, and then the log, which another one had purged meanwhile."""
    world = World(Mode.A)
    for number in range(2):
        world.database.create(number, "wal_0", number, 1, world.logs["wal_0"].high_watermark - 1)
    world.beat(20)
    for number in range(12):
        world.database.write(number % 2, 0)
    until(world, "offsets", operator=1)
    asleep = world.operators.pop(1)
    flush_all(world)
    for _ in range(80):
        world.database.prune_by_itself("wal_0")
        world.beat(1, 5)
    world.operators.insert(1, asleep)
    assert world.logs["wal_0"].log_start > 1, "the other one purged meanwhile"
    until(world, "reports", operator=1)
    world.check()


def test_a_manifest_that_was_restored_while_no_operator_ran_is_noticed_by_the_record() -> None:
    """What a process remembers of flushed ids is gone with it; the record knows the least of them."""
    world = grown(Mode.C)
    flush_all(world)
    assert purge(world) > 1
    flush_all(world)
    world.beat(20)
    world.broken_since["wal_0"] = world.database.now
    world.database.restore_manifest(1)
    for operator in world.operators:
        operator.start()
    world.beat(60)
    assert "went back" in str(world.operators[0].memory.findings["wal_0"].sentence)
