"""What retention deletes: whole chains of its own that nobody needs, whatever clocks, people and the store do."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seawall.api.meta import ConditionType, Key
from seawall.api.v1alpha1.backup import MUTABLE, WALBackup, WALBackupSpec
from seawall.api.v1alpha1.backup_policy import BackupChain, Retention, WALBackupPolicy, WALBackupPolicySpec
from seawall.api.v1alpha1.backup_template import BackupLevel
from seawall.api.v1alpha1.restore import WALRestore
from seawall.domain.backup.chains import list_chains
from seawall.domain.backup.retention import Expiry, Surroundings, choose, plan_expiry
from seawall.domain.backup.runs import OwnBackups
from seawall.domain.conditions import find_condition
from tests.backup.test_backup_policy import PolicyWorld, settle
from tests.fakes.dataplane import FakeRegion
from tests.fakes.kube import FakeKube
from tests.ledger.test_ledger_watch import look, until, watch
from tests.support.deaths import die_at_every_call
from tests.worlds.backup_world import BACKUP, POLICY
from tests.worlds.purge_world import NAMESPACE

TEN = timedelta(minutes=10)
HOUR = timedelta(hours=1)
YEARS = timedelta(days=3650)
DECLARED: dict[str, Any] = {
    "schedule": "*/10 * * * *",
    "fullSchedule": "*/20 * * * *",
    "retention": {"recoveryWindow": "15m", "minimumFulls": 2},
}
FULLS = {**DECLARED, "fullSchedule": "*/10 * * * *"}
START = datetime(2026, 11, 25, 12, 0, tzinfo=UTC)


# --- the list and the choice, by themselves


@dataclass
class Story:
    """Backups of a policy that end at once, by clocks that say anything.

    Attributes:
        ours, theirs: what the operator's and the API server's clock say.
        last: the chain that goes on.
        completed: by chain, how many backups had completed when its full one had.
        store: by chain how many backups it has; what was deleted is not there.
        left_alone: chains that drivers leave alone.
    """

    between: timedelta = HOUR
    ours: datetime = START
    theirs: datetime = START
    number: int = 0
    done: int = 0
    last: str = ""
    completed: dict[str, int] = field(default_factory=dict)
    proved: dict[str, bool] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    deleted: list[str] = field(default_factory=list)
    left_alone: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.kube = FakeKube(lambda: self.theirs)
        spec = {"clusterRef": {"name": "wal"}, "schedule": "0 * * * *"}
        self.kube.apply(POLICY, spec, kind=WALBackupPolicy)

    @property
    def policy(self) -> WALBackupPolicy:
        found = self.kube.get(WALBackupPolicy, POLICY)
        assert found is not None
        return found

    def back_up(
        self, *, full: bool, proved: bool = True, keep: bool = False, retention: Retention | None = None
    ) -> None:
        """One backup, which deletes what its policy does not need; then the policy learns of it."""
        self.number += 1
        key = Key(NAMESPACE, f"p-b{self.number:010}")
        full = full or not self.last
        self.last = key.name if full else self.last
        spec = {"clusterRef": {"name": "wal"}, "keep": keep, **({} if full else {"parentRef": {"name": "before"}})}
        self.kube.create(WALBackup, key, WALBackupSpec.model_validate(spec), owner=self.policy)
        expiry = None if retention is None else self.plan(retention)
        asked = () if expiry is None else tuple(each.name for each in expiry.chains)
        gone = tuple(name for name in asked if name not in self.left_alone)
        place = (
            0 if full else 1 + max(0, *(row.backups - 1 for row in self.policy.status.chains if row.name == self.last))
        )
        status = {
            "stage": "Completed",
            "completionTime": self.ours.isoformat(),
            "chain": self.last,
            "location": "s3://wal",
            "clusterId": "kafka",
            "manifest": {"name": f"{key.name}-1-{place:06}.json.gz", "digest": "0" * 64},
            "verified": {"level": "Checksums", "time": self.ours.isoformat()} if proved else None,
            "counts": {"storedBytes": 5},
            "expiring": asked,
            "expiry": {"gone": gone},
        }
        self.kube.write_raw_status(key, WALBackup, status)
        self.done += 1
        if full:
            self.completed[self.last], self.proved[self.last] = self.done, proved
        self.kept |= {self.last} if keep else set()
        self.deleted += gone
        self.learn()

    def plan(self, retention: Retention) -> Expiry | None:
        spec = self.policy.spec
        assert isinstance(spec, WALBackupPolicySpec)
        edited = spec.model_copy(update={"retention": retention})
        policy = WALBackupPolicy(self.policy.metadata, edited, self.policy.status)
        return plan_expiry(Surroundings(policy, self.backups(), ()), "s3://wal", "kafka", self.last)

    def backups(self) -> list[WALBackup]:
        return list(self.kube.list(WALBackup, NAMESPACE).items)

    def learn(self) -> None:
        """The policy's status, and history limits that keep nothing but the newest."""
        for _ in range(2):
            policy = self.policy
            own = OwnBackups.of(policy, self.backups(), ())
            listed = list_chains(policy.status, own, self.backups(), (), self.between, now=self.ours)
            update = {"chains": listed.rows, "retention_time": listed.time}
            self.kube.replace_status(policy, policy.status.model_copy(update=update))
            gone = {each.name for each in listed.rows if each.gone}
            for backup in own.all[:-1]:
                if backup.status.chain in gone or not (isinstance(backup.spec, WALBackupSpec) and backup.spec.keep):
                    self.kube.remove(backup.metadata.key, WALBackup)


events = st.tuples(
    st.booleans(),  # full
    st.sampled_from([True, True, True, False]),  # proved
    st.sampled_from([False] * 7 + [True]),  # keep
    st.sampled_from([HOUR, HOUR, HOUR, HOUR, 9 * HOUR, YEARS, -YEARS]),  # what our clock does meanwhile
    st.sampled_from([HOUR, HOUR, HOUR, HOUR, 9 * HOUR, YEARS, -YEARS]),  # and theirs
)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(events, max_size=30), st.integers(1, 6), st.integers(1, 4))
def test_whatever_clocks_say_no_chain_goes_before_enough_backups_were_made_without_it(
    story: list[tuple[bool, bool, bool, timedelta, timedelta]], window: int, minimum: int
) -> None:
    world, retention = Story(), Retention(recovery_window=window * HOUR, minimum_fulls=minimum)
    for full, proved, keep, ours, theirs in story:
        world.ours, world.theirs = world.ours + ours, world.theirs + theirs
        before = len(world.deleted)
        world.back_up(full=full, proved=proved, keep=keep, retention=retention)
        chains, gone = list(world.completed), world.deleted[before:]
        left = [name for name in chains if name not in world.deleted]
        assert not set(gone) & world.kept
        for name in gone:
            newer = [each for each in left if chains.index(each) > chains.index(name) and world.proved[each]]
            # A backup moves the time on by two hours at most: the window is over when as many have completed.
            assert any(world.done - 1 - world.completed[each] >= window / 2 for each in newer)
            assert sum(world.proved[each] for each in left) >= minimum
        assert len(set(world.deleted)) == len(world.deleted)


def test_it_counts_back_from_the_newest_backup_and_keeps_what_one_needs_to_go_back_so_far() -> None:
    world, retention = Story(), Retention(recovery_window=3 * HOUR, minimum_fulls=1)
    for hour in range(12):
        world.back_up(full=hour % 2 == 0, retention=retention)
        world.ours, world.theirs = world.ours + HOUR, world.theirs + HOUR
    made = list(world.completed)
    assert world.deleted == made[:3]  # fulls at 0, 2, 4, 6, 8, 10; before the one at 11, one goes back from 10 to 7
    rows = world.policy.status.chains
    assert [(row.name, row.backups, row.stored_bytes) for row in rows] == [(name, 2, 10) for name in made[3:]]


def test_as_many_chains_as_go_at_once_and_are_left_alone_are_in_nobodys_way() -> None:
    """A person made restore points of them, say, or the bucket locks them for good."""
    world, retention = Story(), Retention(recovery_window=3 * HOUR, minimum_fulls=1)
    for _ in range(30):
        world.back_up(full=True, retention=retention)
        world.left_alone = set(list(world.completed)[:8])
        world.ours, world.theirs = world.ours + HOUR, world.theirs + HOUR
    made = list(world.completed)
    assert world.deleted == made[8:25]
    assert [each.name for each in world.policy.status.chains] == [*made[:8], *made[25:]]
    world.left_alone.clear()
    world.back_up(full=True, retention=retention)
    world.back_up(full=True, retention=retention)
    assert set(made[:8]) <= set(world.deleted)


def test_a_clock_that_is_behind_makes_no_full_backup_old() -> None:
    world, retention = Story(), Retention(recovery_window=3 * HOUR, minimum_fulls=1)
    for _ in range(3):
        world.back_up(full=True, retention=retention)
        world.ours, world.theirs = world.ours + HOUR, world.theirs + HOUR
    world.ours, world.theirs = world.ours - YEARS, world.theirs - YEARS
    for _ in range(3):
        world.back_up(full=True, retention=retention)
    assert world.deleted == []


def row(name: str, hour: int, level: BackupLevel = BackupLevel.CHECKSUMS, **other: Any) -> BackupChain:
    time = START + hour * HOUR
    full = {"name": f"{name}-1-000000.json.gz", "digest": "0" * 64}
    fields = {"name": name, "location": "s3://wal", "clusterId": "kafka", "full": full, **other}
    return BackupChain.model_validate({**fields, "fullTime": time, "newestTime": time, "verified": level})


ROWS = tuple(row(name, hour) for hour, name in enumerate("abcdef"))
NOW = START + 5 * HOUR
TWO = Retention(recovery_window=2 * HOUR, minimum_fulls=2)


def chosen(rows: tuple[BackupChain, ...] = ROWS, retention: Retention = TWO, needed: tuple[str, ...] = ()) -> list[str]:
    found = choose(rows, retention, NOW, needed)
    return [] if found is None else [each.name for each in found.chains]


def test_the_choice() -> None:
    assert chosen() == ["a", "b", "c"]
    assert chosen(needed=("b",)) == ["a", "c"]
    assert chosen(retention=Retention(recovery_window=2 * HOUR, minimum_fulls=5)) == ["a"]
    assert chosen(retention=Retention(recovery_window=2 * HOUR, minimum_fulls=7)) == []
    assert chosen(retention=Retention(recovery_window=6 * HOUR, minimum_fulls=1)) == []
    kept = ROWS[0].model_copy(update={"kept_by": "x"})
    assert chosen((kept, *ROWS[1:])) == ["b", "c"]
    unproved = row("d", 3, BackupLevel.NONE)
    assert chosen((*ROWS[:3], unproved, *ROWS[4:])) == ["a", "b"]
    gone = ROWS[0].model_copy(update={"gone": True})
    assert chosen((gone, *ROWS[1:])) == ["b", "c"]
    many = tuple(row(f"c{hour}", hour - 20) for hour in range(9)) + ROWS
    assert chosen(many) == [f"c{hour}" for hour in range(8)]
    again = choose(many, TWO, NOW, (), asked_in_vain=["c1", *(f"c{hour}" for hour in range(8)), "c0"])
    assert again is not None
    assert [each.name for each in again.chains] == ["c8", "a", "b", "c", "c1", "c2", "c3", "c4"]


def test_what_must_be_there_is_named() -> None:
    found = choose(ROWS, TWO, NOW, ())
    assert found is not None
    assert [each.name for each in found.stays] == ["d", "e", "f"]


def test_all_of_a_backup_but_keep_is_immutable() -> None:
    (rule,) = [each.cel for each in WALBackupSpec.RULES if "oldSelf" in each.cel]
    for name, found in WALBackupSpec.model_fields.items():
        assert (f"self.{found.alias} == oldSelf.{found.alias}" in rule) is (name not in MUTABLE), name


# --- a policy over time


def declared(**spec: Any) -> PolicyWorld:
    world = PolicyWorld()
    world.declare_backups(**{**FULLS, **spec})
    return world


def made(world: PolicyWorld, count: int, topic: str = "wal_1") -> PolicyWorld:
    """As many backups more; in between nothing happens."""
    for _ in range(count):
        since = world.time.time.replace(minute=0, second=0, microsecond=0)
        world.time.time = since + TEN * ((world.time.time - since) // TEN + 1)
        world.write(topic, 3)
        world.live(timedelta(minutes=3))
    return world


def chains(world: PolicyWorld) -> list[str]:
    """Those in the store, the oldest first."""
    return list(dict.fromkeys(chain for chain, _ in world.stored))


def condition(world: PolicyWorld) -> tuple[str, str, str]:
    found = find_condition(world.policy().status.conditions, ConditionType.RETENTION_APPLIED)
    return ("", "", "") if found is None else (found.status, found.reason, found.message)


def test_chains_go_whole_with_their_objects_and_the_status_says_what_is_left() -> None:
    world = declared(**DECLARED)
    made(world, 11)
    world.live(TEN / 2)
    status = world.policy().status
    assert len(world.deleted) >= 2
    assert [each.name for each in status.chains] == chains(world)
    assert (status.chain_count, status.stored_bytes) == (len(chains(world)), 3 * len(world.stored))
    assert not [each for each in world.backups() if each.status.chain in world.deleted]
    assert condition(world) == ("True", "Applied", f"{len(chains(world))} chains are in the store")
    assert world.condition() == ("True", "BackedUp")
    told = [event.message for event in world.kube.events if event.reason == "ChainDeleted"]
    assert told == [f"Chain {name} is deleted in the store" for name in world.deleted]


def test_without_a_retention_nothing_goes() -> None:
    world = made(declared(retention=None), 6)
    assert world.deleted == []
    assert condition(world) == ("", "", "")


def test_nothing_goes_while_no_backup_is_made() -> None:
    world = made(declared(retention={"recoveryWindow": "2h", "minimumFulls": 1}), 4)
    world.declare_backups(**FULLS, suspend=True)
    world.live(HOUR)
    world.time.time += YEARS
    world.live(TEN)
    assert world.deleted == []


@pytest.mark.parametrize("is_of_all", [False, True], ids=["the operator's", "everybody's"])
def test_nothing_goes_when_the_clock_jumps_ten_years(*, is_of_all: bool) -> None:
    world = made(declared(retention={"recoveryWindow": "2h", "minimumFulls": 1}), 4)
    ahead = YEARS
    world.time.time += ahead
    if not is_of_all:
        world.kube._now = lambda: world.time.now() - ahead
    made(world, 2)
    assert world.deleted == []
    assert len(chains(world)) >= 5


def keep(world: PolicyWorld, backup: WALBackup, *, keeps: bool = True) -> None:
    """Somebody edits it."""
    raw = world.kube._objects["WALBackup", backup.metadata.key]
    raw["spec"] = {**raw["spec"], "keep": keeps}
    world.kube._touch(raw)


def test_what_is_kept_stays_with_its_object_until_that_is_taken_back() -> None:
    world = made(declared(), 2)
    first = world.backups()[0]
    keep(world, first)
    made(world, 5)
    assert first.status.chain or "" in chains(world)
    assert world.backups()[0].metadata.name == first.metadata.name
    assert chains(world)[0] == world.backups()[0].status.chain
    assert condition(world)[2].endswith("1 of them by keep")
    keep(world, first, keeps=False)
    made(world, 2)
    assert world.deleted[-1] == world.policy().status.chains[0].name or chains(world)[0] != world.deleted[-1]
    assert all(name not in chains(world) for name in world.deleted)
    assert first.metadata.name not in {each.metadata.name for each in world.backups()}


def test_what_is_kept_stays_when_its_spec_cannot_be_read_any_more() -> None:
    """A newer Seawall wrote it, say: whether it is kept is not known, and that is no word to delete."""
    world = made(declared(), 2)
    first = world.backups()[0]
    keep(world, first)
    settle(world.planner(), POLICY)
    raw = world.kube._objects["WALBackup", first.metadata.key]
    raw["spec"] = {**raw["spec"], "keep": "for ever"}
    world.kube._touch(raw)
    made(world, 5)
    assert first.metadata.name in {each.metadata.name for each in world.backups()}
    assert chains(world)[0] == world.backups()[0].status.chain
    assert world.deleted, "others go"


def test_what_was_kept_stays_also_if_its_object_is_deleted() -> None:
    world = made(declared(), 2)
    first = world.backups()[0]
    keep(world, first)
    settle(world.planner(), POLICY)
    world.kube.remove(first.metadata.key, WALBackup)
    kept = world.policy().status.chains[0].name
    made(world, 5)
    assert kept in chains(world)
    assert world.deleted


def restore(world: PolicyWorld, chain: str | None) -> None:
    """Somebody makes one."""
    source = {"clusterId": "fake-cluster", **({} if chain is None else {"chain": chain})}
    spec = {"clusterRef": {"name": "wal"}, "source": source, "target": {"latest": True}}
    world.kube.apply(Key(NAMESPACE, "back"), spec, kind=WALRestore)


@pytest.mark.parametrize("is_named", [True, False])
def test_what_a_restore_needs_that_is_not_over_stays(*, is_named: bool) -> None:
    world = made(declared(), 2)
    first = chains(world)[0]
    restore(world, first if is_named else None)
    made(world, 4)
    assert first in chains(world)
    assert bool(world.deleted) is is_named
    world.kube.write_raw_status(Key(NAMESPACE, "back"), WALRestore, {"stage": "Completed"})
    made(world, 2)
    assert first in world.deleted


def test_a_restore_that_appears_when_the_list_is_in_the_status_takes_its_chain_off_it() -> None:
    world = made(declared(), 4)
    world.live(TEN / 2)
    world.time.time += TEN / 2
    settle(world.planner(), POLICY)
    (active,) = [each for each in world.backups() if not each.status.is_over]
    process = world.backer()
    for _ in range(200):
        if world.walbackup(active.metadata.key).status.expiring:
            break
        world.settle_backup(active.metadata.key, process, ticks=1)
    (chain,) = world.walbackup(active.metadata.key).status.expiring
    restore(world, chain)
    world.live(TEN / 2)
    assert world.walbackup(active.metadata.key).status.expiring == ()
    assert world.deleted == []


def test_a_lock_is_a_sentence_and_no_failure_and_ends_with_the_lock() -> None:
    world = declared()
    world.locked = True
    made(world, 5)
    assert world.deleted == []
    assert condition(world)[:2] == ("False", "Locked")
    assert world.condition() == ("True", "BackedUp")
    world.locked = False
    made(world, 2)
    assert condition(world)[:2] == ("True", "Applied")
    assert world.deleted


def test_chains_of_another_place_stay() -> None:
    world = made(declared(), 2)
    first = chains(world)
    world.declare({**BACKUP, "storage": {"s3": {"bucket": "elsewhere"}}})
    made(world, 5)
    assert set(first) <= set(chains(world))
    assert world.deleted


def test_chains_of_others_stay() -> None:
    world = made(declared(), 1)
    world.back_up(Key(NAMESPACE, "by-hand"))
    world.settle_backup(Key(NAMESPACE, "by-hand"))
    foreign = world.walbackup(Key(NAMESPACE, "by-hand")).status.chain
    made(world, 5)
    assert foreign in chains(world)
    assert world.deleted


def cut(world: PolicyWorld, to: int) -> None:
    """Somebody else deletes, and a person says that the log is right, so that it can be held."""
    world.foreign.add("wal_1")
    world.kafka.topics["wal_1"].log.log_start = to
    watching = watch(world)
    look(world, watching, times=3)
    world.annotate(readopt=until(world, 1))
    look(world, watching, times=3)


def flush(world: PolicyWorld) -> None:
    """The database flushes all."""
    for region in list(world.data_plane.regions):
        world.flush(region)


def proved(world: PolicyWorld) -> list[str]:
    """The chains whose full backup counts."""
    return [each.name for each in world.policy().status.chains if each.verified is not BackupLevel.NONE]


def test_while_regions_read_what_the_log_has_no_more_the_chains_that_have_it_stay() -> None:
    world = made(declared(), 2)
    whole = chains(world)
    cut(world, 20)
    made(world, 4)
    assert (world.deleted, chains(world)[:2], len(chains(world))) == ([], whole, 6)
    assert condition(world)[:2] == ("False", "WALNotIntact")
    assert condition(world)[2].startswith(f"{world.backups()[-1].metadata.name} found 1 logs that begin")
    assert world.condition() == ("True", "BackedUp")
    assert proved(world) == whole
    flush(world)
    made(world, 1)
    assert condition(world)[:2] == ("True", "Applied")
    assert (world.deleted, proved(world)) == ([], [*whole, chains(world)[-1]])
    made(world, 1)
    assert world.deleted == whole[:1]  # before the window one goes back to the second: no newer one then has all
    made(world, 3)
    assert whole[1] in world.deleted
    assert proved(world) == chains(world)


def fall_silent(world: PolicyWorld) -> tuple[int, FakeRegion]:
    """A region of the log that is cut reports no more: its datanode was restarted, and cannot open it."""
    region = next(each for topic, each in world.store.snapshot().region_keys if topic == "wal_1")
    return region, world.data_plane.regions.pop(region)


def made_patiently(world: PolicyWorld, count: int) -> None:
    """As many backups more, each of which waits for reports in vain."""
    for _ in range(count):
        made(world, 1, "wal_2")
        world.live(timedelta(minutes=5))


def test_a_region_that_reports_no_more_may_read_what_the_log_has_no_more() -> None:
    world = made(declared(), 2)
    whole = chains(world)
    cut(world, 20)
    region, state = fall_silent(world)
    flush(world)  # the others read nothing that is gone
    made_patiently(world, 4)
    assert (world.deleted, chains(world)[:2], len(chains(world))) == ([], whole, 6)
    assert proved(world) == whole
    assert condition(world)[:2] == ("False", "WALNotIntact")
    assert f"(topic wal_1, region {region}: let it open, drop its table, or name it in" in condition(world)[2]
    world.data_plane.regions[region] = state
    flush(world)
    made(world, 1)
    assert condition(world)[:2] == ("True", "Applied")
    assert len(proved(world)) == 3


def test_a_region_that_reports_no_more_stops_nothing_where_the_log_has_all_that_it_may_read() -> None:
    world = made(declared(), 2)
    fall_silent(world)
    world.foreign.add("wal_1")  # the world does not ask what a region needs that is not there
    made_patiently(world, 1)
    assert condition(world)[:2] == ("True", "Applied")
    assert proved(world) == chains(world)
    assert len(proved(world)) == 3


def test_while_regions_read_what_the_log_has_no_more_not_even_what_is_too_old_goes() -> None:
    """Metadata of an older copy may read from before the newest chain that was whole when it was made."""
    world = made(declared(), 4)
    before = list(world.deleted)
    old = chains(world)
    cut(world, 20)
    made(world, 4)
    assert (world.deleted, chains(world)[: len(old)]) == (before, old)
    assert condition(world)[:2] == ("False", "WALNotIntact")


def test_an_api_server_of_yesterday_keeps_what_it_does_not_know() -> None:
    world = made(declared(), 4)
    yesterday = copy.deepcopy(world.kube._objects)
    made(world, 4)
    young = chains(world)[-2:]
    world.kube._objects = yesterday
    world.kube._parsed.clear()
    world.forged |= set(world.stored)
    made(world, 6)
    assert set(young) <= set(chains(world))
    proved = {each.name for each in world.policy().status.chains if each.verified is not BackupLevel.NONE}
    assert len(proved & set(chains(world))) >= 2


def test_a_retry_only_backs_up() -> None:
    world = made(declared(), 4)
    world.dies_late = 1
    made(world, 1)
    assert world.backups()[-1].status.attempt == 2
    assert world.backups()[-1].status.expiring == ()


def end_state(world: PolicyWorld) -> Any:
    """UIDs, which are in the names of chains, differ."""
    status = world.policy().status
    return (
        world.modes(),
        world.holds(),
        [name[:-9] for name in world.deleted],
        [name[:-9] for name in chains(world)],
        [(each.name[:-9], each.backups, each.stored_bytes, each.gone, each.kept_by) for each in status.chains],
        [(found.type, found.status, found.reason) for found in status.conditions],
    )


@pytest.mark.parametrize("who", ["planner", "backer"])
def test_a_death_at_any_call_changes_nothing_about_what_goes(who: str) -> None:
    world = made(declared(), 4)
    world.time.time += TEN - timedelta(minutes=3)
    end = world.time.time + timedelta(minutes=3)

    def live(each: PolicyWorld, guard: Any) -> None:
        processes: dict[str, Callable[..., Any]] = {"planner": each.planner, "backer": each.backer}
        each.live_until(end, **{who: processes[who](guard)})

    assert die_at_every_call(world, live, end_state, frozenset({"create", "delete", "replace_status"})) > 8
    assert world.deleted
