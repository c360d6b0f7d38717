"""A restart that waits for long after the journal has it: what is in memory by then is flushed before the pod goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest

from seawall.api.v1alpha1.rollout import AskedFlush, FlushBefore, Maintenance, RestartStatus, RollStage
from seawall.domain.datanodes import flush as flushes
from seawall.domain.datanodes.actions import FlushRegions
from seawall.domain.datanodes.entry import begun, measured_anew
from seawall.domain.datanodes.facts import Facts
from seawall.domain.datanodes.gate import DatanodeGate
from seawall.domain.dataplane.flush import FlushFailure
from seawall.domain.ledger.declarations import Grounds
from seawall.domain.rollout.workload import Eviction, Pod
from seawall.domain.rollout_reasons import Reason
from seawall.domain.times import MAINTENANCE_LEASE, MAINTENANCE_SETTLES, ROLLOUT_AGAIN
from tests.datanodes.test_restart import ALL, waits
from tests.datanodes.test_restart_budget import SENTENCE, BudgetWorld, forbidden
from tests.domain.datanodes.builders import METASRV, NOW, make_facts, make_pod, make_region, with_datanode
from tests.worlds.restart_world import TOPICS

MUCH = 1 << 30
"""Bytes in memory, more than is written in a story."""

LONG_AGO = NOW - timedelta(days=1)


@dataclass
class Unlogged(BudgetWorld):
    """The rows of all regions skip the log, and more are written all the time.

    Attributes:
        flushed: by region when it was last asked to flush.
        unflushed: for how long its regions had not been asked when a datanode went, one after the other.
    """

    flushed: dict[int, datetime] = field(default_factory=dict)
    unflushed: list[timedelta] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.store.put_unlogged(*self.data_plane.regions)
        self.data_plane.unlogged |= set(self.data_plane.regions)
        flush, evict = self.data_plane.flush_regions, self.datanodes.evict

        def flush_regions(region_ids: Sequence[int]) -> Mapping[int, FlushFailure]:
            self.flushed |= dict.fromkeys(region_ids, self.time.now())
            return flush(region_ids)

        def evict_pod(pod: Pod) -> Eviction:
            if self.datanodes.forbids is None:
                led = [each for each, region in self.data_plane.regions.items() if region.datanode == pod.ordinal]
                self.unflushed.append(self.time.now() - min(self.flushed.get(each, LONG_AGO) for each in led))
            return evict(pod)

        self.data_plane.flush_regions = flush_regions  # type: ignore[method-assign]
        self.datanodes.evict = evict_pod  # type: ignore[method-assign]

    def pass_time(self, time: timedelta) -> None:
        """Rows are written."""
        super().pass_time(time)
        for region in self.data_plane.regions.values():
            region.memtable_bytes += 1_000


def unlogged() -> Unlogged:
    """The first eviction is about to be tried."""
    world = Unlogged()
    world.settle()
    world.annotate(restart="monday")
    world.settle(until=lambda: world.restart().stage is RollStage.RESTARTING)
    return world


@pytest.mark.parametrize("minutes", [11, 45])
def test_a_datanode_whose_restart_was_forbidden_for_long_flushes_anew_before_it_goes(minutes: int) -> None:
    world = unlogged()
    world.datanodes.forbids = SENTENCE
    world.allows_at = world.time.now() + timedelta(minutes=minutes)
    reasons = list[str]()

    def is_allowed() -> bool:
        reasons.append(world.restart().reason)
        return world.datanodes.forbids is None

    world.settle(until=lambda: world.restart().reason == "DisruptionBudget")
    world.settle(until=is_allowed)
    assert set(reasons) == {"DisruptionBudget"}, "a flush for each try is no news"
    world.settle()
    assert sorted(world.went) == ALL
    assert max(world.unflushed) < ROLLOUT_AGAIN
    assert world.maintained < MAINTENANCE_LEASE, "a flush needs none"


def test_a_datanode_whose_gate_was_shut_for_long_flushes_anew_before_it_goes() -> None:
    """A flush that was asked for when the gate shut says nothing of what was written since."""
    world = unlogged()
    for _ in range(2):
        world.annotate(paused="true")
        waits(world, seconds=700)
        assert world.restart().reason == "Paused"
        world.annotate(paused=None)
        world.settle(until=lambda: world.restart().flush is not None)
    assert (world.restart().stage, world.went) == (RollStage.RESTARTING, []), "its turn is not over"
    world.settle()
    assert sorted(world.went) == ALL
    assert max(world.unflushed) < ROLLOUT_AGAIN


def test_a_flush_counts_from_when_it_was_asked_for() -> None:
    """After it less is in memory than before, for as long as one likes: that alone says nothing of how much."""
    world = unlogged()
    world.annotate(paused="true")
    waits(world, seconds=700)
    for region in world.data_plane.regions.values():
        region.memtable_bytes += MUCH
    world.flushed.clear()
    world.annotate(paused=None)
    world.settle(until=lambda: bool(world.flushed))
    world.annotate(paused="true")
    waits(world, seconds=700)
    led = [world.data_plane.regions[region] for region in world.flushed]
    assert 0 < max(region.memtable_bytes for region in led) < MUCH
    world.annotate(paused=None)
    world.settle()
    assert sorted(world.went) == ALL
    assert max(world.unflushed) < ROLLOUT_AGAIN


def test_all_regions_flush_before_a_datanode_goes_also_those_that_were_not_asked_at_first() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flushes, "MAX_REGIONS", 1)
        world = unlogged()
        world.settle()
    assert sorted(world.went) == ALL
    assert max(world.unflushed) < ROLLOUT_AGAIN, "each was asked"


@dataclass
class Crowd:
    """A pod whose datanode has thousands of regions whose rows skip the log, and two others; rows are always written.

    Attributes:
        stuck: those that do not flush.
        asked: the regions, in the order in which they were asked to flush.
        reasons: what people heard.
    """

    count: int
    stuck: set[int] = field(default_factory=set)
    status: RestartStatus = field(default_factory=RestartStatus)
    now: datetime = NOW
    asked: list[int] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    override: Grounds | None = None

    def __post_init__(self) -> None:
        self.sizes = dict.fromkeys(range(100, 100 + self.count), MUCH)

    @property
    def facts(self) -> Facts:
        """What there is now; which comes first of them nobody knows."""
        found = make_facts(now=self.now, override=self.override)
        others = found.datanodes["datanode-0"].regions
        logged = (replace(each, in_memory=each.region not in self.asked) for each in others)
        regions = (
            make_region(region, "wal_0", unlogged_bytes=self.sizes[region], entries=region % 7)
            for region in reversed(self.sizes)
        )
        return with_datanode(found, 0, regions=(*logged, *regions))

    def go_on(self, *, ticks: int, every: timedelta = timedelta(seconds=30)) -> bool:
        """Whether nothing is left to be flushed. Each tick is another process's: it knows what the status says."""
        for _ in range(ticks):
            decision = flushes.flush(self.status, make_pod(0), self.facts)
            if decision is None:
                return True
            self.status = RestartStatus.model_validate(decision.status.model_dump(mode="json", by_alias=True))
            self.reasons.append(decision.verdict.reason)
            for action in decision.actions:
                assert isinstance(action, FlushRegions)
                self.asked += action.regions
                for region in {*action.regions} & self.sizes.keys() - self.stuck:
                    self.sizes[region] //= 2
            self.now += every
        return False


def test_a_thousand_regions_after_the_other_flush_until_all_were_asked() -> None:
    """Found by a reader: of more than a thousand the others were not asked, and their rows were lost without a word."""
    crowd = Crowd(2_005)
    assert crowd.go_on(ticks=8, every=timedelta(seconds=1))
    assert crowd.asked[:2_005] == sorted(crowd.sizes), "each of them once, although they are written to"
    assert set(crowd.reasons) == {Reason.FLUSHING}
    first, *others = crowd.status.flushed
    assert (others, flushes.is_flushed(crowd.status, make_pod(0), crowd.facts)) == ([], True)
    assert first.time == NOW + timedelta(seconds=4), "it counts from when the last ones were asked"


def test_a_thousand_regions_and_no_more_flush_in_one_go() -> None:
    crowd = Crowd(1_000)
    assert crowd.go_on(ticks=4)
    assert crowd.asked == sorted(crowd.sizes), "those whose rows the log has may be replayed"


def test_who_does_not_flush_among_the_second_thousand_stops_the_restart_and_all_flush_anew_when_it_has() -> None:
    crowd = Crowd(1_500, stuck={1_200})
    assert not crowd.go_on(ticks=60)
    assert crowd.reasons[-1] == crowd.status.reason == Reason.UNLOGGED_NOT_FLUSHED
    assert set(crowd.asked) >= crowd.sizes.keys()
    assert crowd.asked.count(100) > 1, "it is written to meanwhile"
    assert not crowd.status.flushed
    crowd.stuck.clear()
    assert crowd.go_on(ticks=60)
    assert [each.uid for each in crowd.status.flushed] == [make_pod(0).uid]


def test_what_a_person_gives_up_is_what_was_asked() -> None:
    """And not what is asked next."""
    crowd = Crowd(1_500, stuck={100}, override=Grounds("the bucket is gone", NOW + timedelta(hours=1)))
    assert crowd.go_on(ticks=60)
    assert set(crowd.asked) >= crowd.sizes.keys()
    assert crowd.reasons.count(Reason.UNLOGGED_NOT_FLUSHED) == 1


def test_what_an_older_version_asked_in_another_order_is_asked_anew() -> None:
    crowd = Crowd(1_500)
    asked = tuple(AskedFlush(region_id=str(each), unlogged_bytes=2 * MUCH) for each in range(1_599, 599, -1))
    crowd.status = RestartStatus(flush=FlushBefore(uid=make_pod(0).uid, start_time=NOW, regions=asked))
    assert crowd.go_on(ticks=8)
    assert set(crowd.asked) >= crowd.sizes.keys()


def test_what_a_restart_may_take_is_measured_when_the_pod_goes() -> None:
    world = forbidden()
    before = world.disruption()
    assert before is not None
    assert before.datanode is not None
    for topic in TOPICS:
        world.kafka.topics[topic].log.append(60_000_000)
    world.data_plane.busy |= set(world.data_plane.regions)
    world.datanodes.forbids = None
    world.settle(until=lambda: world.restart().stage is RollStage.REPLAYING)
    after, lease = world.disruption(), world.restart().maintenance
    assert after is not None
    assert after.datanode is not None
    assert (before.datanode.entries, after.datanode.entries) == (0, 120_000_000)
    assert after.budget_seconds > before.budget_seconds
    assert lease is not None
    assert after.gone_time is not None
    assert lease.expiry_time == after.gone_time + timedelta(seconds=after.budget_seconds)


def test_a_container_that_begins_anew_while_its_restart_waits_is_the_process_that_goes() -> None:
    """Else its own last report would be taken for the word of the one that comes."""
    world = forbidden()
    before = world.disruption()
    assert before is not None
    assert before.datanode is not None
    assert before.datanode.epoch is not None
    world.data_plane.epochs[before.datanode.id] = before.datanode.epoch + 1
    waits(world, seconds=60)
    after = world.disruption()
    assert after is not None
    assert after.datanode is not None
    assert (after.uid, after.datanode.epoch) == (before.uid, before.datanode.epoch + 1)


def test_a_datanode_that_fails_while_its_restart_waits_is_not_one_that_restarts() -> None:
    world = forbidden()
    waiting = world.disruption()
    assert waiting is not None
    (key,) = (each for each in world.datanodes.running if each.name == waiting.name)
    world.datanodes.running[key] = replace(world.datanodes.running[key], ready=False)
    waits(world, seconds=60)
    assert (world.health().status, world.health().reason) == ("False", "NotServing")


def test_a_new_process_is_no_measure_of_what_it_had_to_read() -> None:
    facts, pod = make_facts(), make_pod(0)
    entry = begun(RestartStatus(), pod, facts)
    by_the_new_one = with_datanode(facts, 0, epoch=2, entries=10**9, size_bytes=10**12)
    by_nobody = with_datanode(facts, 0, entries=None, size_bytes=None)
    assert measured_anew(entry, RestartStatus(), by_the_new_one) == entry
    assert measured_anew(entry, RestartStatus(), by_nobody) == entry
    by_the_same = measured_anew(entry, RestartStatus(), with_datanode(facts, 0, entries=10**9, size_bytes=10**12))
    assert by_the_same.budget_seconds > entry.budget_seconds


def test_a_database_leaves_maintenance_before_regions_flush_anew() -> None:
    """What stands between the try and the eviction, as a StatefulSet that nobody looks at, may last."""
    taken = Maintenance(
        metasrv=METASRV, taken_time=NOW, expiry_time=NOW + MAINTENANCE_LEASE, seen_time=NOW, was_on=False
    )
    facts = make_facts(in_maintenance=True, now=NOW + MAINTENANCE_SETTLES)
    decision = DatanodeGate(facts).act(RestartStatus(stage=RollStage.RESTARTING, maintenance=taken), make_pod(0))
    assert decision.verdict.reason == Reason.FLUSHING
    assert decision.status.flush is None
    assert decision.status.maintenance is not None
    assert decision.status.maintenance.leaving_time == facts.now
