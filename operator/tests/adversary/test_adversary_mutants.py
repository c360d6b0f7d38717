"""Guards are taken away one by one: the adversary must then break an invariant, with a move that is in the table.

A guard that is added gets a line here: what takes it away, and the scenario and the moves that need it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from seawall import observe
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.spark_spec import SparkOverrides, SparkSpec
from seawall.controllers import backup as wal_backup
from seawall.controllers import cluster as wal_cluster
from seawall.controllers import permission, topic_deletion
from seawall.controllers import purge as wal_purge
from seawall.controllers import reassignment as replication
from seawall.controllers import verification as wal_verification
from seawall.domain.clocks import ServerTime, TrustedTime
from seawall.domain.cluster import deletion, needed
from seawall.domain.cluster.going import PoolNow
from seawall.domain.columns import Numbers
from seawall.domain.datanodes import health
from seawall.domain.dataplane import flush, mapped_regions
from seawall.domain.dataplane.metadata import MetadataSnapshot
from seawall.domain.dataplane.metadata_tables import Routes
from seawall.domain.dataplane.region_reports import RegionReports
from seawall.domain.ledger import assess, fence, held, holds, mode, policy, regions
from seawall.domain.min_isr import NO_LIMITS
from seawall.domain.purge import state
from seawall.domain.reassignment import stages
from seawall.domain.reassignment.tracker import Progress
from seawall.domain.restore import attempt as restore_attempt
from seawall.domain.spark_job import attempt, decide
from seawall.domain.spark_job import case as job_case
from tests.adversary.clocks import Clocks
from tests.adversary.judge import Violation
from tests.adversary.lives import (
    COMPARES,
    Adversary,
    Finding,
    Pair,
    Scenario,
    calm_life,
    live,
    pairs_of,
    undisturbed,
)
from tests.adversary.reports import sample_of
from tests.adversary.scenarios import SCENARIOS
from tests.cluster.test_pool_mutants import kept_in_memory_only
from tests.datanodes.test_restart_mutants import address_not_remembered, any_answer_believed
from tests.fakes.dataplane import FakeDataPlane
from tests.fakes.kafka_logs import FakeKafkaLogs
from tests.restore.test_scratch_mutants import unknown_ids_do_not_go
from tests.subscription.test_foreign_writer_mutants import a_forgotten_producer_wrote_all, all_is_ours
from tests.verification.test_verification_mutants import any_config_map, digest_of_what_is_there, verdict_alone
from tests.worlds.backup_world import BackupWorld

pytestmark = pytest.mark.usefixtures("quiet")

Patch = pytest.MonkeyPatch
PURGE, UNUSED, HOLD = "purge in mode B", "purge of an unused topic", "hold"
CONTRACT = "purge by the contract"
VERIFICATION = "verification and its gate"
BACKUP = "incremental backup"
BEFORE_AN_ACT = 16
"""Calls before something goes at which moves are made."""
EARLY = 8
"""How many more of them are made at any time before."""


def scenario_of(name: str) -> Scenario:
    """By its name."""
    return next(each for each in SCENARIOS if each.name == name)


def chosen(scenario: Scenario, calm: Adversary, moves: tuple[str, ...]) -> list[Pair]:
    """These moves at the beginning, and right before something is announced or goes."""
    acts = [at for at, call in enumerate(calm.names) if call in COMPARES]
    pairs = [pair for pair in pairs_of(scenario, calm) if pair.move.name in moves]
    assert {pair.move.name for pair in pairs} == set(moves), "such a move is not made"
    late = [each for each in pairs if any(0 <= act - each.at < BEFORE_AN_ACT for act in acts)]
    return pairs[:: max(1, len(pairs) // EARLY)] + late


def damage_of(name: str, moves: tuple[str, ...]) -> Finding | None:
    """The first damage that one of these moves does, or that is done without any.

    Calls are numbered anew: who lacks a guard asks less. Were they those of a guarded life, the comparison of the two
    would fail, and the mutant count as killed though nothing was harmed.
    """
    scenario = scenario_of(name)
    start, _ = calm_life(scenario)
    try:
        calm = undisturbed(scenario, start)
    except Violation as violation:
        return Finding((), "", str(violation))
    lives = (live(scenario, start, calm, [pair]) for pair in chosen(scenario, calm, moves))
    return next((found for found in lives if found is not None and not found.is_unavoidable), None)


def require_harmless(name: str, moves: tuple[str, ...], damaging: tuple[Pair, ...]) -> None:
    """With all guards these moves do none: right before an act, and where they did damage without one."""
    scenario = scenario_of(name)
    start, calm = calm_life(scenario)
    lives: list[tuple[Pair, ...]] = [(pair,) for pair in sample_of(scenario, calm) if pair.move.name in moves]
    lives += [damaging] if damaging and damaging[0].at < len(calm.names) else []
    for pairs in lives:
        found = live(scenario, start, calm, pairs)
        assert found is None or found.is_unavoidable, f"{pairs[0].move.name} before call {pairs[0].at}: {found.what}"


def no_reread(patch: Patch) -> None:
    """Neither run nor WALCluster are read again before a change."""

    def unread(self: wal_purge.WALPurgeController, obj: Any, *_: Any, **__: Any) -> WALCluster:
        found = self.kube.get(WALCluster, wal_purge._cluster_key(obj))
        assert found is not None
        return found

    patch.setattr(wal_purge.WALPurgeController, "_still_may", unread)


def no_licence(patch: Patch) -> None:
    """Declarations are not read again before a change."""
    patch.setattr(wal_purge, "require_licence", lambda kube, _, key, __: kube.get(WALCluster, key))


def restored_store_taken(patch: Patch) -> None:
    """That the metadata store went back since the look is not seen right before the delete."""
    original: Any = observe.opened_cluster.ClusterOpener.require_same
    patch.setattr(observe.opened_cluster.ClusterOpener, "require_same", lambda *args: original(*args[:3], 0))


def no_intents(patch: Patch) -> None:
    """Intents are not read again before the delete."""
    patch.setattr(wal_purge, "require_intents", lambda *_: None)


def no_flushed(patch: Patch) -> None:
    """What regions have flushed is asked before the announcement, and nobody listens."""
    patch.setattr(permission, "why_less_flushed", lambda *_: None)


def new_leaders_unasked(patch: Patch) -> None:
    """The reports are asked for before the announcement, and who else says to lead by then is not compared."""
    patch.setattr(flush, "_is_new", lambda *_: False)


def who_says_so_leads(patch: Patch) -> None:
    """Of all that say to lead a region the one with the highest ids is believed, whoever the route names."""

    def highest(reported: RegionReports, _: Routes) -> tuple[RegionReports, Numbers]:
        rows = np.flatnonzero(reported.claims_to_lead)
        rows = rows[np.lexsort((reported.flushed.ids().numbers[rows], reported.region[rows]))]
        last = np.append(reported.region[rows][1:] != reported.region[rows][:-1], [True] * bool(len(rows)))
        return reported, rows[last]

    patch.setattr(regions, "_of_leaders", highest)


def unled_ignored(patch: Patch) -> None:
    """What nobody leads needs nothing."""
    original: Any = mapped_regions.map_regions

    def only_led(snapshot: MetadataSnapshot, topics: Any) -> Any:
        unled = {region for region, route in snapshot.routes.items() if route.leader is None}
        keys = {key: found for key, found in snapshot.region_keys.items() if key[1] not in unled}
        wal_topics = {region: found for region, found in snapshot.wal_topics.items() if region not in unled}
        return original(replace(snapshot, region_keys=keys, wal_topics=wal_topics), topics)

    patch.setattr(regions, "map_regions", only_led)


def standbys_need_nothing(patch: Patch) -> None:
    """Followers do not count."""
    patch.setattr(policy, "counts_followers", lambda _: False)
    for module in (assess, state):
        patch.setattr(module, "counts_followers", lambda _: False)


def no_topic_id(patch: Patch) -> None:
    """Neither is the topic's id compared right before the delete, nor by the port; either would be enough."""
    original = FakeKafkaLogs._delete
    patch.setattr(wal_purge, "_of_same_logs", lambda _, action: dict(action.before))
    patch.setattr(FakeKafkaLogs, "_delete", lambda self, name, at, _, epoch: original(self, name, at, None, epoch))


def declared_version_believed(patch: Patch) -> None:
    """What runs is not asked."""
    patch.setattr(observe.database, "weakest_version", lambda *_: "1.1.0")


def no_contender(patch: Patch) -> None:
    """Who else claims the topics is not asked."""
    patch.setattr(observe.opened_cluster, "find_contender", lambda *_: None)


def no_identity(patch: Patch) -> None:
    """The metadata store may be another; neither log nor record is asked: each would be enough here."""
    no_witness(patch)
    patch.setattr(fence, "is_of_other_database", lambda *_: False)
    for module in (observe.database, observe.opened_cluster):
        patch.setattr(module, "why_other_database", lambda *_: None)


def no_witness(patch: Patch) -> None:
    """The log is not asked who wrote it."""
    patch.setattr(observe.memory.LogWitnesses, "ask", lambda _self, _logs, found, _read: found)


def no_holds(patch: Patch) -> None:
    """Holds are not listed."""
    patch.setattr(observe.reading, "read_holds", lambda *_: [])


def grants_what_is_gone(patch: Patch) -> None:
    """Where the log starts is not asked before a hold is granted."""
    patch.setattr(held.HeldTopic, "is_foreign", lambda _: False)
    patch.setattr(holds, "_below", lambda *_: None)


def one_clock(patch: Patch) -> None:
    """The API server's clock is taken for the operator's, and a hold that nobody observed to be due expires."""
    patch.setattr(held, "was_recorded_unrenewed", lambda *_: True)
    patch.setattr(
        Clocks, "trusted", lambda self: TrustedTime(self.now(), ServerTime(self.now(), timedelta(0), timedelta(0)))
    )


def regions_ignored(patch: Patch) -> None:
    """A deletion does not ask the database who needs the topics."""
    patch.setattr(needed, "_used", lambda *_: None)


def topics_made_anew_ignored(patch: Patch) -> None:
    """A deletion takes a topic by its name: whether it is the one that was decided is not asked."""
    for module in (topic_deletion, deletion):
        patch.setattr(module, "why_remade", lambda *_: None)
    patch.setattr(topic_deletion, "why_written", lambda *_: None)
    patch.setattr(topic_deletion, "ids_to_delete", _ids_of_now)


def _ids_of_now(_: WALCluster, names: Sequence[str], pool: PoolNow, _doubted: object) -> dict[str, str]:
    return {name: pool.logs[name].topic_id for name in names if name in pool.logs}


def forged_requests_taken(patch: Patch) -> None:
    """Neither the ConfigMap nor the verdict is compared with the request that the status names; one would be enough."""
    for take in (any_config_map, digest_of_what_is_there, verdict_alone):
        take(patch)


def maintenance_given_back_elsewhere(patch: Patch) -> None:
    """It is given back where the spec says now, whoever answers there."""
    for take in (address_not_remembered, any_answer_believed):
        take(patch)


def forgotten_unasked(patch: Patch) -> None:
    """Records are forgotten whatever the WALCluster is by then."""

    def forget(self: topic_deletion.TopicDeletion, *args: Any) -> frozenset[str]:
        with pytest.MonkeyPatch.context() as unasked:
            unasked.setattr(topic_deletion.TopicDeletion, "_require_same", lambda *_: None)
            return original(self, *args)

    original = topic_deletion.TopicDeletion.forget
    patch.setattr(topic_deletion.TopicDeletion, "forget", forget)


def any_code(patch: Patch) -> None:
    """A verification's own image and account are taken; either guard would be enough."""
    patch.setattr(decide, "why_not_allowed", lambda *_: None)
    patch.setattr(attempt, "effective_spark", _as_asked)


def _as_asked(asked: SparkOverrides, declared: SparkSpec) -> SparkSpec:
    return declared.model_copy(update={k: v for k, v in asked.model_dump().items() if v})


def declared_settings_believed(patch: Patch) -> None:
    """What the metasrv runs with is not asked."""
    patch.setattr(mode, "database_deletes", lambda _: False)
    patch.setattr(mode, "_runs_as_declared", lambda *_: True)


def settings_asked_once(patch: Patch) -> None:
    """What the metasrv runs with is not asked again right before the act."""
    patch.setattr(permission, "require_settings", lambda *_: None)


def job_asked_once(patch: Patch) -> None:
    """What a job may run is not read again right before it is made."""
    patch.setattr(wal_verification.WALVerificationController, "_ask_again", lambda *_: None)


def backup_asked_once(patch: Patch) -> None:
    """What a backup's job may run is not read again right before it is made."""
    patch.setattr(wal_backup.WALBackupController, "_ask_again", lambda *_: None)


def forks_allowed(patch: Patch) -> None:
    """Two backups continue one parent, and no job looks who else wrote to the chain; either guard would be enough."""
    patch.setattr(wal_backup.WALBackupController, "sibling", lambda *_: None)
    patch.setattr(BackupWorld, "others_of", lambda *_: [])


def deleted_jobs_made_again(patch: Patch) -> None:
    """A job whose application is deleted is made again as the same attempt."""
    patch.setattr(job_case, "why_lost", lambda *_: None)
    patch.setattr(restore_attempt, "why_lost", lambda *_: None)


def maintenance_forgotten(patch: Patch) -> None:
    """Nobody hears of maintenance that the status does not have."""
    patch.setattr(health, "is_of_others", lambda *_: False)


def object_read_once(patch: Patch) -> None:
    """The WALCluster is not read again right before its topics go."""
    patch.setattr(topic_deletion.TopicDeletion, "_require_same", lambda *_: None)


def replicas_not_counted(patch: Patch) -> None:
    """min.insync.replicas is raised for replicas that a run takes back, and not asked when it does."""
    patch.setattr(wal_cluster, "observe_limits", lambda *_: NO_LIMITS)
    patch.setattr(stages, "may_cancel", lambda sight: (tuple(m.id for m in sight.moves_in(Progress.TO_CANCEL)), ""))
    patch.setattr(replication, "require_cancel", lambda *_: None)


SERVICES_SWAPPED = "addresses lead to twin: metasrv+frontend"
ALL_SWAPPED = f"{SERVICES_SWAPPED}+etcd"
MUTANTS: tuple[tuple[Callable[[Patch], None], str, tuple[str, ...]], ...] = (
    (no_reread, PURGE, ("stop_deletes",)),
    (no_licence, UNUSED, ("retract", "sleep_long")),
    (restored_store_taken, UNUSED, ("restore_etcd",)),
    (no_intents, PURGE, ("delete_intents_and_grant",)),
    (no_flushed, PURGE, ("older_manifest",)),
    (new_leaders_unasked, PURGE, ("leader_opens_older",)),
    (who_says_so_leads, CONTRACT, ("another_says_to_lead", "leader_moves", "new_leader_is_silent")),
    (unled_ignored, CONTRACT, ("leader_is_lost",)),
    (standbys_need_nothing, CONTRACT, ("standby_is_promoted",)),
    (settings_asked_once, CONTRACT, ("withdraws_starts",)),
    (no_topic_id, PURGE, ("recreate_topic_and_write",)),
    (declared_version_believed, PURGE, ("runs_older_version",)),
    (declared_settings_believed, PURGE, ("deletes_by_itself",)),
    (settings_asked_once, PURGE, ("deletes_by_itself",)),
    (no_contender, PURGE, ("make_rival",)),
    (no_identity, "purge in mode A", (ALL_SWAPPED,)),
    (no_witness, PURGE, (SERVICES_SWAPPED,)),
    (no_holds, PURGE, ("place_hold", "grant_hold")),
    (grants_what_is_gone, HOLD, ("delete_elsewhere",)),
    (one_clock, HOLD, ("clock is 2 h ahead",)),
    (regions_ignored, "topic deletion in use", ("edit_spec",)),
    (object_read_once, "topic deletion", ("retain",)),
    (topics_made_anew_ignored, "topic deletion", ("restore_terminating",)),
    (kept_in_memory_only, PURGE, ("delete_topic",)),
    (forged_requests_taken, VERIFICATION, ("forge_request",)),
    (maintenance_given_back_elsewhere, "roll of datanodes", ("spec names staging: metasrv",)),
    (forgotten_unasked, "topic deletion", ("restore_terminating",)),
    (any_code, VERIFICATION, ("ask_for_own_code",)),
    (job_asked_once, VERIFICATION, ("declare_other_code",)),
    (backup_asked_once, BACKUP, ("declare_other_code",)),
    (forks_allowed, BACKUP, ("continued_by_another",)),
    (maintenance_forgotten, "roll of datanodes", ("forget_the_roll",)),
    (deleted_jobs_made_again, "drill", ("application_goes",)),
    (unknown_ids_do_not_go, "drill", ("delete_drill",)),
    (all_is_ours, "subscription goes on", ("somebody_else_writes",)),
    (a_forgotten_producer_wrote_all, "subscription goes on", ("forget_and_write",)),
)


@pytest.mark.parametrize(("mutate", "name", "moves"), MUTANTS, ids=lambda value: getattr(value, "__name__", None))
def test_without_a_guard_the_adversary_does_damage(
    mutate: Callable[[Patch], None], name: str, moves: tuple[str, ...]
) -> None:
    calm_life(scenario_of(name))  # kept for all tests of a process: it has all guards
    with pytest.MonkeyPatch.context() as patch:
        mutate(patch)
        found = damage_of(name, moves)
    assert found is not None, "no move does damage without it"
    assert not found.what.startswith("E: "), f"the mutant does not run: {found.what}"
    print(f"mutants 1, killed 1: {mutate.__name__}: {found.what}")  # noqa: T201 - the count is the evidence
    require_harmless(name, moves, found.pair)


def test_a_bug_that_the_operator_takes_for_a_silent_part_of_the_database_is_found() -> None:
    calm_life(scenario_of(PURGE))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FakeDataPlane, "nodes", confused)
        found = damage_of(PURGE, ())
    assert found is not None
    assert found.what == "E: the database's nodes: KeyError: 'a bug'"


def confused(_: FakeDataPlane) -> Any:
    raise KeyError("a bug")


@pytest.mark.parametrize("move", ["abort", "delete_cluster", "recreate_cluster", "shrink_again"])
def test_the_short_sample_finds_a_growth_that_is_taken_back_with_min_insync_replicas_raised(move: str) -> None:
    scenario = scenario_of("reassignment, growth")
    start, calm = calm_life(scenario)

    def damage(calm: Adversary) -> list[str]:
        pairs = [pair for pair in sample_of(scenario, calm) if pair.move.name == move]
        found = [each for pair in pairs if (each := live(scenario, start, calm, [pair])) is not None]
        return [each.what for each in found if not each.is_unavoidable]

    assert not damage(calm)
    with pytest.MonkeyPatch.context() as patch:
        replicas_not_counted(patch)
        assert damage(undisturbed(scenario, start))
