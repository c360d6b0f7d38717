"""What the adversary disturbs: lives of a part of the operator, from worlds with a history."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from seawall.api.meta import Key
from seawall.api.v1alpha1.backup_policy import WALBackupPolicy
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.verification import WALVerification
from seawall.domain.spark_job.application import CONF
from seawall.reconciler import Reconciler
from tests.adversary import records
from tests.adversary.arena import RUNS, Arena, granter_of, tick
from tests.adversary.backups import (
    OF_BACKUPS,
    OF_POINTS,
    OF_POLICIES,
    OFTEN,
    application_goes,
    backs_up,
    backups_over,
    check_backups,
    is_over,
    judge_end,
)
from tests.adversary.contracts import OF_CONTRACTS, ContractArena
from tests.adversary.drills import OF_DRILLS, declared_drill, drill
from tests.adversary.judge import Violation
from tests.adversary.leader_moves import OF_LEADERS
from tests.adversary.lives import Adversary, Scenario
from tests.adversary.managed import OF_MANAGED, edited, roll_it_out
from tests.adversary.moves import COMMON, move
from tests.adversary.people_moves import RUN_PAUSED
from tests.adversary.records import OF_RECORDS, OF_TABLES
from tests.adversary.replicas import OF_REPLICAS, balancing, growing, reassign
from tests.adversary.restores import OF_RESTORES, approved_plan, restore
from tests.adversary.roll import roll, rollable
from tests.adversary.special_moves import OF_DEAD, OF_DECLARATIONS, OF_DELETIONS, OF_ROLLS, OF_RUNS, OF_VERIFICATIONS
from tests.adversary.subscriptions import OF_SUBSCRIPTIONS, begun, copy, even
from tests.adversary.world_moves import TOPIC, region_of
from tests.cluster.test_topic_deletion import controller
from tests.worlds.backup_world import BACKUP, FULL, NEXT, POLICY
from tests.worlds.point_world import BRACKET, Snapshots
from tests.worlds.purge_world import NAMESPACE, REGIONS, SAFETY, TOPICS, WAL
from tests.worlds.verification_world import CHECK, SERVICE_ACCOUNT, SPEC

HOLD = Key(NAMESPACE, "kept")
TOMORROW = "2026-11-22T11:00:00Z"
GATED = {**SAFETY, "requireVerification": {"level": "Integrity", "maxAge": "24h"}}
MINUTE = 60.0


def with_history(auto_prune: str = "Disabled") -> Arena:
    """A day passed: records were written, a run deleted, and the database wrote and flushed since."""
    return a_day_of(Arena(auto_prune=auto_prune))


def contracted() -> ContractArena:
    """The same of a database that serves the contract; a region has a standby."""
    arena = ContractArena()
    arena.follow(region_of(TOPIC), 2)
    return a_day_of(arena)


A = TypeVar("A", bound=Arena)


def a_day_of(arena: A) -> A:
    """What happened yesterday."""
    arena.referee.moved()
    arena.operate()
    arena.wait()
    arena.remember()
    arena.run_of(RUNS[1])
    arena.live(arena.process(arena.referee), RUNS[1], lambda: arena.is_over(RUNS[1]), 40)
    arena.kube._objects.pop(("WALPurge", RUNS[1]))
    arena.work(40)
    arena.beside.clear()
    return arena


def afterwards(arena: Arena, **spec: Any) -> None:
    """Life goes on: topics are tended, rows are written, and another run deletes what it may."""
    banned = arena.referee.forbidden
    arena.referee.forbidden = {call: why for call, why in banned.items() if why != RUN_PAUSED}
    arena.manage()
    arena.work()
    arena.run_of(RUNS[1], **spec)
    arena.live(arena.process(arena.referee), RUNS[1], lambda: arena.is_over(RUNS[1]), 14)
    arena.work()


def watched_by(arena: Arena, adversary: Adversary) -> None:
    """The other controllers work while the one whose calls are numbered waits."""
    arena.operate()
    arena.beside.insert(0, adversary.between)


def purge(arena: Arena, adversary: Adversary, **spec: Any) -> None:
    """A run, with flushes, then another one."""
    watched_by(arena, adversary)
    arena.run_of(RUNS[0], **spec)
    arena.live(adversary.acting(arena.process(adversary)), RUNS[0], lambda: arena.is_over(RUNS[0]), 14)
    adversary.between()
    del arena.beside[0]
    afterwards(arena, **spec)


def unused() -> Arena:
    """The tables of a topic were dropped long ago, and a person said so."""
    arena = with_history()
    for index in range(REGIONS):
        arena.prod.bury(TOPIC, region_of(TOPIC, index))
        arena.store.drop_region(TOPIC, region_of(TOPIC, index))
    arena.annotate(purge_unused_topics=f"{TOPIC}: table dropped@{TOMORROW}")
    return arena


def dead() -> Arena:
    """A datanode that nobody knows of leads a region and died; a person gave up its rows."""
    arena, region = with_history(), region_of(TOPIC, REGIONS - 1)
    arena.data_plane.regions[region].datanode = 9
    arena.store.put_region(TOPIC, region, leader=9, checkpoint=None)
    arena.referee.written_off |= {("prod", region, *row) for row in arena.prod.rows[region]}
    arena.annotate(dead_regions=f"{region}: disk lost@{TOMORROW}")
    return arena


def hold(arena: Arena, adversary: Adversary) -> None:
    """A hold is granted, renewed, and keeps its records; then nobody renews it any more."""
    watched_by(arena, adversary)
    granting = adversary.acting(granter_of(arena, adversary))
    claim = {topic: start + 2 for topic, start in arena.log_starts().items()}
    spec = {"clusterRef": {"name": "wal"}, "topics": claim, "ttl": "10m"}
    arena.place(HOLD, spec)
    arena.live(granting, HOLD, lambda: True, 4)
    arena.wait(4 * MINUTE)
    arena.renew(HOLD)
    arena.live(granting, HOLD, lambda: True, 4)
    arena.run_of(RUNS[0])
    arena.live(arena.process(arena.referee), RUNS[0], lambda: arena.is_over(RUNS[0]), 10)
    arena.live(granting, HOLD, lambda: True, 4)
    for _ in range(3):
        arena.wait(4 * MINUTE)
        arena.live(granting, HOLD, lambda: True, 4)
    del arena.beside[0]
    afterwards(arena)


def deletion(*, used: bool = False) -> Arena:
    """The WALCluster is deleted with its topics; all tables were dropped before, or none was."""
    arena = with_history()
    for topic in () if used else TOPICS:
        for index in range(REGIONS):
            arena.prod.bury(topic, region_of(topic, index))
            arena.store.drop_region(topic, region_of(topic, index))
    arena.edit(topics={**arena.cluster_spec["topics"], "deletionPolicy": "Delete"})
    arena.manage()
    arena.kube.deletes_at = arena.time.true()
    arena.kube.remove(WAL)
    arena.remember()
    return arena


def delete_topics(arena: Arena, adversary: Adversary) -> None:
    """The topics go."""
    watched_by(arena, adversary)
    process: Reconciler[Any, Any, Any, Any] = Reconciler(controller(arena, adversary), may_write=lambda: True)
    arena.live(adversary.acting(process), WAL, lambda: arena.kube.get(WALCluster, WAL) is None, 14)
    adversary.between()
    del arena.beside[0]
    arena.work()
    arena.manage()
    arena.work()


def verified(bad: frozenset[str] = frozenset()) -> Arena:
    """A world in which runs wait for proof."""
    arena = with_history()
    arena.referee.honest = {log.topic_id: log.log_start for log in (t.log for t in arena.kafka.topics.values())}
    arena.bad |= bad
    arena.declare_policy(safety=GATED)
    return arena


def gated() -> Arena:
    """One of the logs does not replay."""
    return verified(frozenset({"wal_2"}))


def check_jobs(arena: Arena, known: set[Key], call: str) -> None:
    """Code, account and settings of a job that was just made are those that the WALCluster declares."""
    for key in arena.spark.specs.keys() - known:
        known.add(key)
        made, declared = arena.spark.specs[key], arena.cluster_spec["verification"]["spark"]
        runs = made["image"], made["driver"]["serviceAccount"], dict(made["sparkConf"])
        if runs != (declared["image"], SERVICE_ACCOUNT.name, CONF):
            raise Violation(f"J: {call} of a job with {runs}")


def verify(arena: Arena, adversary: Adversary) -> None:
    """A verification runs what its WALCluster declares; then a run deletes what it licenses."""
    watched_by(arena, adversary)
    arena.referee.beside = [partial(check_jobs, arena, set())]
    arena.kube.apply(CHECK, SPEC, kind=WALVerification)

    def is_over() -> bool:
        found = arena.kube.get(WALVerification, CHECK)
        return found is None or found.status.is_over

    arena.live(adversary.acting(arena.verifier(adversary)), CHECK, is_over, 14)
    judge_end(arena, adversary)
    purge(arena, adversary)


def backing_up() -> Arena:
    """A full backup is there, and the database wrote since."""
    arena = with_history()
    arena.edit(backup=BACKUP)
    arena.operate()
    arena.back_up(FULL)
    arena.live(arena.backer(arena.referee), FULL, lambda: is_over(arena, FULL), 40)
    arena.work()
    arena.remember()
    arena.beside.clear()
    return arena


def back_up(arena: Arena, adversary: Adversary) -> None:
    """An incremental backup, and then a run that deletes what it may."""
    watched_by(arena, adversary)
    arena.referee.beside = [partial(check_backups, arena, set(arena.spark.specs))]
    arena.back_up(NEXT, parentRef={"name": FULL.name})
    arena.live(adversary.acting(arena.backer(adversary)), NEXT, lambda: is_over(arena, NEXT), 14)
    adversary.between()
    judge_end(arena, adversary)
    del arena.beside[0]
    afterwards(arena)


def unbacked() -> Arena:
    """Nothing is backed up yet."""
    arena = with_history("Logical")
    arena.edit(backup=BACKUP)
    arena.remember()
    return arena


def make_point(arena: Arena, adversary: Adversary) -> None:
    """A restore point: somebody takes a snapshot while the database goes on, and a run deletes what it may."""
    watched_by(arena, adversary)
    people = Snapshots(arena, arena.work)
    arena.beside.append(people.work)

    def check(call: str) -> None:
        check_backups(arena, known, call)
        wrong = people.wrong_with_points()
        if wrong is not None:
            raise Violation(f"K: {wrong}, by {call}")

    known = set(arena.spark.specs)
    arena.referee.beside = [check]
    arena.back_up(FULL, bracket=BRACKET)
    arena.run_of(RUNS[0])
    purging = arena.process(arena.referee)
    arena.beside.append(lambda: tick(purging, RUNS[0]))
    arena.live(adversary.acting(arena.backer(adversary)), FULL, lambda: is_over(arena, FULL), 20)
    adversary.between()
    judge_end(arena, adversary)
    del arena.beside[0]
    afterwards(arena)


def planned() -> Arena:
    """A policy has made a full backup, and the database wrote since."""
    arena = with_history()
    arena.edit(backup=BACKUP)
    arena.operate()
    arena.beside.append(backs_up(arena))
    arena.kube.apply(POLICY, OFTEN, kind=WALBackupPolicy)
    arena.live(arena.planner(arena.referee), POLICY, lambda: backups_over(arena) > 0, 40)
    arena.work()
    arena.remember()
    arena.beside.clear()
    return arena


def plan_backups(arena: Arena, adversary: Adversary) -> None:
    """A policy makes another backup, and a run deletes what it may."""
    watched_by(arena, adversary)
    arena.beside.append(backs_up(arena))
    arena.referee.beside = [partial(check_backups, arena, set(arena.spark.specs))]
    arena.live(adversary.acting(arena.planner(adversary)), POLICY, lambda: False, 8)
    adversary.between()
    judge_end(arena, adversary)
    del arena.beside[0]
    afterwards(arena)
    arena.live(arena.planner(arena.referee), POLICY, lambda: False, 4)


def scenario(name: str, start: Callable[[], Arena], live: Any, *moves: Any) -> Scenario:
    """One scenario."""
    return Scenario(name, start, live, tuple(COMMON + sum(moves, ())))


SCENARIOS = (
    scenario("purge in mode B", with_history, purge, OF_RUNS, OF_LEADERS),
    scenario("purge in mode A", lambda: with_history("Logical"), purge, OF_RUNS, OF_LEADERS),
    Scenario("purge by the contract", contracted, purge, OF_CONTRACTS),
    scenario("purge of an unused topic", unused, purge, OF_RUNS, OF_DECLARATIONS),
    scenario("purge beside a dead region", dead, purge, OF_RUNS, OF_DECLARATIONS, OF_DEAD),
    scenario("hold", with_history, hold, OF_LEADERS),
    scenario("roll of datanodes", rollable, roll, OF_ROLLS, OF_LEADERS),
    Scenario("roll of a GreptimeDBCluster", edited, roll_it_out, OF_MANAGED),
    scenario("topic deletion in use", lambda: deletion(used=True), delete_topics, OF_DELETIONS),
    scenario("topic deletion", deletion, delete_topics, OF_DELETIONS),
    Scenario("reassignment, growth", growing, reassign, OF_REPLICAS),
    Scenario("reassignment, balance", balancing, reassign, OF_REPLICAS),
    scenario(
        "verification and its gate",
        lambda: verified(frozenset({"wal_2"})),
        verify,
        OF_RUNS,
        OF_VERIFICATIONS,
        (move(application_goes, "spark"),),
        OF_LEADERS,
    ),
    scenario("incremental backup", backing_up, back_up, OF_BACKUPS),
    scenario("restore point", unbacked, make_point, OF_POINTS),
    scenario("policy of backups", planned, plan_backups, OF_POLICIES),
    Scenario("restore", approved_plan, restore, OF_RESTORES),
    Scenario("restore that is tried again", partial(approved_plan, half_written=1), restore, OF_RESTORES),
    Scenario("drill", declared_drill, drill, OF_DRILLS),
    Scenario("subscription begins", begun, copy, OF_SUBSCRIPTIONS),
    Scenario("subscription goes on", even, copy, OF_SUBSCRIPTIONS),
    Scenario("rows begin", records.begun, records.hand_on, OF_RECORDS),
    Scenario("rows go on", records.even, records.hand_on, OF_RECORDS),
    Scenario("rows go to a bucket", records.tabled, records.hand_on, OF_TABLES),
)
