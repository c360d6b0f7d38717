"""What a person declared, who claims the topics and what was intended are asked again right before the act.

A leader freezes (SIGSTOP, a long collection, a lost network) after it decided and before it acts, and meanwhile the
world goes on. `World.check` judges each change that it then makes.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import Key
from seawall.api.resource import Listing
from seawall.api.v1alpha1 import cluster, record_shards
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.hold import WALHold
from seawall.controllers import purge as wal_purge
from seawall.controllers.permission import require_policies
from seawall.controllers.purge import WALPurgeController
from seawall.domain.errors import Conflict
from seawall.domain.ledger import rules
from seawall.domain.ledger.observation import Observation
from seawall.domain.ledger.reasons import Reason
from seawall.domain.purge.actions import Announce, DeleteRecords
from seawall.observe import claims
from seawall.observe.opened_cluster import ClusterOpener
from tests.fakes.dataplane import FakeRegion
from tests.hold.test_wal_hold import granter
from tests.ledger.test_ledger_watch import look, watch
from tests.purge import test_purge_dead as dead
from tests.purge import test_purge_unused as unused
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.purge_world import NAMESPACE, REGIONS, ROWS, TOPICS, WAL, Calls, World

OTHER = Key("other", "wal")
LATER = timedelta(hours=30)


def freeze(kind: type, meanwhile: Callable[[], None]) -> pytest.MonkeyPatch:
    """The next process freezes between its decision and its first action of a kind, and wakes up `meanwhile` later."""
    patch, real = pytest.MonkeyPatch(), WALPurgeController.perform
    is_over: list[object] = []

    def perform(self: WALPurgeController, obj: Any, action: Any) -> Any:
        if isinstance(action, kind) and not is_over:
            is_over.append(action)
            meanwhile()
        return real(self, obj, action)

    patch.setattr(WALPurgeController, "perform", perform)
    return patch


def settle_frozen(world: World, kind: type, meanwhile: Callable[[], None], calls: Calls | None = None) -> None:
    """A run whose process freezes on the way."""
    world.start_run()
    patch = freeze(kind, meanwhile)
    try:
        world.settle(world.process(calls))
    finally:
        patch.undo()


def retract(world: World, *, by_time: bool) -> None:
    """The person takes it back, or it expires."""
    if by_time:
        world.time.time += LATER
    else:
        world.annotate()


@pytest.mark.parametrize("by_time", [False, True], ids=["retracted", "expired"])
def test_a_topic_whose_declaration_is_over_at_the_act_is_not_purged(*, by_time: bool) -> None:
    world = unused.abandoned()
    world.annotate(purge_unused_topics=f"{unused.TOPIC}: table dropped@{unused.TOMORROW}")
    settle_frozen(world, DeleteRecords, lambda: retract(world, by_time=by_time))
    assert world.log_starts()[unused.TOPIC] == 0


def test_a_table_that_is_restored_while_the_leader_is_frozen_keeps_its_rows() -> None:
    world = unused.abandoned()
    world.annotate(purge_unused_topics=f"{unused.TOPIC}: table dropped@{unused.TOMORROW}")

    def restore() -> None:
        retract(world, by_time=False)
        for index in range(REGIONS):
            region = (1024 + 1) << 32 | index
            world.data_plane.regions[region] = FakeRegion(index % 3, -1, ROWS - 1, 100)
            world.store.put_region(unused.TOPIC, region, leader=index % 3, checkpoint=None)

    # Its marker was announced while the declaration stood, and cannot be taken back: judged is the log alone.
    settle_frozen(world, DeleteRecords, restore, Calls(lambda _: None))
    assert world.log_starts()[unused.TOPIC] == 0


@pytest.mark.parametrize("kind", [Announce, DeleteRecords])
def test_a_dead_region_that_comes_back_while_the_leader_is_frozen_keeps_its_rows(kind: type) -> None:
    """The disk was found: the person retracts first, as the documentation says, then starts the datanode."""
    world = dead.orphaned()
    dead.declare(world)

    def found() -> None:
        retract(world, by_time=False)
        world.time.time += LATER
        dead.comes_back(world)
        world.rows[dead.REGION].extend([3, 7, 11, 15])
        world.data_plane.regions[dead.REGION].memtable_bytes = 400

    if kind is Announce:
        settle_frozen(world, kind, found)
    else:
        settle_frozen(world, kind, lambda: retract(world, by_time=True), Calls(lambda _: None))
    assert world.log_starts()[dead.TOPIC] == 0


def test_rows_of_a_younger_walcluster_are_not_purged_with_ours() -> None:
    """Its database writes to the same topics, whatever its WALCluster says of itself: both leave them alone."""
    world = World()
    world.time.time += timedelta(minutes=5)
    world.kube.apply(OTHER, world.spec(metasrv="http://other:4000"))
    theirs = {}
    for topic in TOPICS:
        theirs[topic] = world.kafka.topics[topic].log.end
        world.kafka.topics[topic].log.append(1)
        world.write(topic, 200)
        for region in [region for (name, region) in world.store.snapshot().region_keys if name == topic]:
            world.flush(region)
    world.start_run()
    run = world.settle()
    assert all(world.log_starts()[topic] <= offset for topic, offset in theirs.items())
    assert {one.reason for one in run.status.skipped} == {Reason.CONTESTED.value}
    assert "other/wal" in {line.message for line in look(world, watch(world)).lines}.pop()


@pytest.mark.parametrize("kind", [Announce, DeleteRecords])
def test_a_walcluster_that_claims_the_topics_while_the_leader_is_frozen_stops_it(kind: type) -> None:
    world = World()
    world.time.time += timedelta(minutes=5)
    settle_frozen(world, kind, lambda: world.kube.apply(OTHER, world.spec(metasrv="http://other:4000")))
    assert set(world.log_starts().values()) == {0}


def make_policy(world: World) -> None:
    world.declare_policy("late", safety={"staleAfter": "60s", "openGrace": "70s", "keepEntries": 1000})


def edit_policy(world: World) -> None:
    world.declare_policy(safety={"staleAfter": "60s", "openGrace": "70s", "keepEntries": 1000})


@pytest.mark.parametrize("kind", [Announce, DeleteRecords])
@pytest.mark.parametrize("declare", [make_policy, edit_policy], ids=lambda declare: declare.__name__)
def test_a_policy_that_is_declared_while_the_leader_is_frozen_counts(
    kind: type, declare: Callable[[World], None]
) -> None:
    world = World()
    world.declare_policy(safety={"staleAfter": "60s", "openGrace": "70s"})
    settle_frozen(world, kind, lambda: declare(world))
    assert set(world.log_starts().values()) == {0}
    markers = {marker.pruned_entry_id for marker in world.store.snapshot().topics.values()}
    assert kind is DeleteRecords or markers == {0}


def test_policies_that_cannot_all_be_read_at_the_act_stop_it(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    found = world.observer().observe(world.cluster())
    assert isinstance(found, Observation)
    require_policies(world.kube, world.cluster(), found.cluster)
    monkeypatch.setattr(world.kube, "list", lambda *_: Listing([], unreadable=("db",)))
    with pytest.raises(Conflict, match="could not all be read"):
        require_policies(world.kube, world.cluster(), found.cluster)


def test_intents_that_are_removed_while_a_delete_is_frozen_stop_it() -> None:
    """Else a hold would be granted by intents that nobody knows any more, and then be overtaken."""
    world = World()

    def remove() -> None:
        world.intents.__init__()  # type: ignore[misc] # somebody deletes the ConfigMaps
        world.deleted_to.clear()
        world.hold("h", {"wal_0": 10})
        process = granter(world)
        for _ in range(8):
            process.tick(Key(NAMESPACE, "h"))
            world.time.time += timedelta(seconds=5)

    settle_frozen(world, DeleteRecords, remove)
    hold = world.kube.get(WALHold, Key(NAMESPACE, "h"))
    assert hold is not None
    assert not hold.status.granted or world.log_starts()["wal_0"] <= 10


def test_intents_that_are_gone_are_a_finding_and_no_first_contact() -> None:
    """The status says that there were some; a readoption begins them anew."""
    world = World()
    watcher = watch(world)
    look(world, watcher, times=10)
    remember_shards(world)
    world.intents.__init__()  # type: ignore[misc] # somebody deletes the ConfigMaps
    assert {line.reason for line in look(world, watcher, times=2).lines} == {Reason.INTENTS_LOST}
    assert not world.records(), "nothing is recorded anew by itself"
    world.annotate(readopt="restored by hand@2026-11-21T18:00:00Z")
    assert Reason.INTENTS_LOST not in {line.reason for line in look(world, watcher, times=3).lines}
    assert world.records().keys() == set(TOPICS)


FITS_NOT = [{}, {"topics": "many"}, {"recordShards": [0, 99]}, {"recordShards": None}, "many"]


@pytest.mark.parametrize("wal", FITS_NOT, ids=str)
def test_a_status_of_which_a_part_does_not_fit_still_says_which_intents_there_were(wal: Any) -> None:
    """By another version, say. Where nobody can read which there were, none is a first contact."""
    world = World()
    look(world, watch(world), times=10)
    remember_shards(world)
    found = dict(world.kube.raw_status(WAL, WALCluster))
    damaged = {**found["wal"], **wal} if isinstance(wal, dict) else wal
    world.kube.write_raw_status(WAL, WALCluster, {**found, "topics": "many", "wal": damaged})
    world.intents.__init__()  # type: ignore[misc] # somebody deletes the ConfigMaps
    assert {line.reason for line in look(world, watch(world), times=2).lines} == {Reason.INTENTS_LOST}
    assert not world.records(), "nothing is recorded anew by itself"


def test_a_status_of_which_a_part_does_not_fit_and_that_knows_no_intents_is_a_first_contact() -> None:
    world = World()
    found = world.kube.raw_status(WAL, WALCluster)
    world.kube.write_raw_status(WAL, WALCluster, {**found, "topics": "many"})
    look(world, watch(world), times=2)
    assert world.records().keys() == set(TOPICS)


def remember_shards(world: World) -> None:
    """What the controller of the WALCluster writes of the newest page."""
    from seawall.api.v1alpha1.cluster import WALStatus  # noqa: PLC0415 - one test's
    from seawall.domain.ledger.shards import shards_of  # noqa: PLC0415

    cluster = world.cluster()
    status = WALStatus(topics=3, purgeable=0, held_back=0, record_shards=tuple(sorted(shards_of(TOPICS))))
    world.kube.replace_status(cluster, cluster.status.model_copy(update={"wal": status}))


def test_every_question_at_the_act_is_missed_when_it_is_not_asked() -> None:
    def no_licence(patch: pytest.MonkeyPatch) -> None:
        def lenient(kube: Any, _clock: Any, key: Any, _decided: Any) -> Any:
            return kube.get(WALCluster, key)

        patch.setattr(wal_purge, "require_licence", lenient)

    def no_claims(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(ClusterOpener, "require_same", lambda *_: None)

    def younger_ignored(patch: pytest.MonkeyPatch) -> None:
        kept = tuple(rule for rule in rules.LEFT_ALONE if rule[0] is not Reason.CONTESTED)
        patch.setattr(rules, "LEFT_ALONE", kept)
        no_claims(patch)

    def no_policies(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(wal_purge, "require_policies", lambda *_: None)

    def no_intents(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(wal_purge, "require_intents", lambda *_: None)

    def lost_is_first_contact(patch: pytest.MonkeyPatch) -> None:
        from seawall.domain.ledger.observation import ReadShards  # noqa: PLC0415 - what is patched

        patch.setattr(ReadShards, "lost_topics", lambda *_: frozenset())

    assert not find_survivors(
        [
            (no_licence, lambda: test_a_topic_whose_declaration_is_over_at_the_act_is_not_purged(by_time=False)),
            (no_licence, lambda: test_a_topic_whose_declaration_is_over_at_the_act_is_not_purged(by_time=True)),
            (no_licence, test_a_table_that_is_restored_while_the_leader_is_frozen_keeps_its_rows),
            (
                no_licence,
                lambda: test_a_dead_region_that_comes_back_while_the_leader_is_frozen_keeps_its_rows(DeleteRecords),
            ),
            (younger_ignored, test_rows_of_a_younger_walcluster_are_not_purged_with_ours),
            (
                no_claims,
                lambda: test_a_walcluster_that_claims_the_topics_while_the_leader_is_frozen_stops_it(DeleteRecords),
            ),
            (
                no_policies,
                lambda: test_a_policy_that_is_declared_while_the_leader_is_frozen_counts(Announce, make_policy),
            ),
            (
                no_policies,
                lambda: test_a_policy_that_is_declared_while_the_leader_is_frozen_counts(DeleteRecords, edit_policy),
            ),
            (
                rewritten(claims, "_versions", "policy.metadata.generation", "0"),
                lambda: test_a_policy_that_is_declared_while_the_leader_is_frozen_counts(DeleteRecords, edit_policy),
            ),
            (no_intents, test_intents_that_are_removed_while_a_delete_is_frozen_stop_it),
            (
                rewritten(record_shards, "read_record_shards", "if wal is None:", "if wal:", cluster),
                lambda: test_a_status_of_which_a_part_does_not_fit_still_says_which_intents_there_were(
                    {"topics": "many"}
                ),
            ),
            (
                rewritten(record_shards, "read_record_shards", "        return ALL\n", "        return ()\n", cluster),
                lambda: test_a_status_of_which_a_part_does_not_fit_still_says_which_intents_there_were(
                    {"recordShards": None}
                ),
            ),
            (lost_is_first_contact, test_intents_that_are_gone_are_a_finding_and_no_first_contact),
        ]
    )
