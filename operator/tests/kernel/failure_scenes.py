"""Scenes in which the next action of a controller fails: each controller that there is, on the in-memory ports."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from seawall.api.meta import MAINTENANCE_FINALIZER, Condition, ConditionType, Key
from seawall.api.resource import AnyResource
from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.backup_policy import WALBackupPolicy
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.policy import WALPurgePolicy
from seawall.api.v1alpha1.purge import WALPurge
from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.restore_status import RestoreStage
from seawall.api.v1alpha1.subscription import WALSubscription
from seawall.api.v1alpha1.verification import WALVerification
from seawall.controllers.brokers import BrokersController
from seawall.controllers.ledger import LedgerWatch
from seawall.domain.conditions import find_condition
from seawall.domain.times import MANAGED_KAFKA_LOST_SECONDS
from seawall.observe.shared_brokers import BrokersObserver
from seawall.reconciler import Reconciler, Ticked
from tests.backup import test_backup_policy as backups
from tests.brokers import test_brokers
from tests.fakes.kafka import FakeKafkaClusters
from tests.fakes.kube import FakeKube
from tests.fakes.meters import FakeMeters
from tests.hold import test_wal_hold as hold_world
from tests.kernel import test_crash_at_every_call as cluster_world
from tests.ledger import test_ledger_watch as watch_world
from tests.policy import test_purge_policy_world as policy_world
from tests.support.refusals import ACTIONS, Refusal
from tests.verification import test_verification_schedule as schedule_world
from tests.worlds import (
    backup_world,
    in_sync_world,
    kafka_config_world,
    kafka_removal_world,
    kafka_roll_world,
    kafka_volumes_world,
    kafka_voters_world,
    managed_world,
    purge_world,
    reassignment_world,
    restart_world,
    restore_world,
    secured_world,
    subscription_world,
    verification_world,
)

Process = Reconciler[Any, Any, Any, Any]


@dataclass
class Stage:
    """One controller whose next action fails.

    Attributes:
        process: the controller.
        told: the condition that tells of it, after others that write it had their tick.
        passes: lets time pass while the operator waits.
        own_pace: it looks when it always does, whatever fails.
        relapses: what was mended is broken again.
    """

    process: Process
    key: Key
    kube: FakeKube
    reported: Callable[[], Condition | None]
    passes: Callable[[float], None]
    own_pace: bool = False
    relapses: Callable[[], None] = lambda: None
    ticks: list[Ticked] = field(default_factory=list)

    def until_it_waits(self, after_each: Callable[[], None] = lambda: None) -> Ticked:
        """Ticks until it does not want to go on at once."""
        for _ in range(60):
            self.ticks.append(self.process.tick(self.key))
            after_each()
            if self.ticks[-1].after != 0.0:
                return self.ticks[-1]
        raise AssertionError(f"it never waits: {self.ticks[-5:]}")


Scene = Callable[[Refusal], Stage]
"""A world in which the next action of a controller is one of those that the refusal is about."""


def told_by(kube: FakeKube, resource: type[AnyResource], key: Key, kind: ConditionType) -> Condition | None:
    found = kube.get(resource, key)
    return None if found is None else find_condition(found.status.conditions, kind)


def ready_of(kube: FakeKube, resource: type[AnyResource], key: Key) -> Callable[[], Condition | None]:
    return lambda: told_by(kube, resource, key, ConditionType.READY)


def let_pass(time: Any) -> Callable[[float], None]:
    def passes(seconds: float) -> None:
        time.time += timedelta(seconds=seconds)

    return passes


def stand_still(_seconds: float) -> None:
    pass


def cluster(refusal: Refusal, world: cluster_world.World) -> Stage:
    process = world.process(refusal)  # type: ignore[arg-type]
    key = cluster_world.KEY
    return Stage(process, key, world.kube, ready_of(world.kube, WALCluster, key), stand_still)


def creates_topics(refusal: Refusal) -> Stage:
    world = cluster_world.new_world()
    cluster_world.create(world)
    return cluster(refusal, world)


def sets_its_finalizer(refusal: Refusal) -> Stage:
    world = cluster_world.new_world()
    world.kube.apply(cluster_world.KEY, cluster_world.spec(deletionPolicy="Delete"))
    return cluster(refusal, world)


def deletes_topics(refusal: Refusal) -> Stage:
    world = cluster_world.new_world()
    cluster_world.delete(world)
    return cluster(refusal, world)


def purges(refusal: Refusal) -> Stage:
    world = purge_world.World()
    world.start_run()
    found = ready_of(world.kube, WALPurge, purge_world.RUN)
    return Stage(world.process(refusal), purge_world.RUN, world.kube, found, stand_still)


def holds(refusal: Refusal) -> Stage:
    world = purge_world.World()
    hold_world.place(world, topics={"wal_0": 3})
    key = hold_world.HOLD
    process = hold_world.granter(world, refusal)
    return Stage(process, key, world.kube, ready_of(world.kube, WALHold, key), let_pass(world.time))


def follows_a_policy(refusal: Refusal) -> Stage:
    world = policy_world.World()
    policy_world.first_run(world)
    key = policy_world.NIGHTLY
    process = world.process(refusal)  # type: ignore[arg-type]
    return Stage(process, key, world.kube, ready_of(world.kube, WALPurgePolicy, key), stand_still)


def verifies(refusal: Refusal) -> Stage:
    world = verification_world.VerificationWorld()
    world.start()
    key = verification_world.CHECK
    for _ in range(4):  # until reports were seen to advance
        world.verifier().tick(key)
    process, found = world.verifier(refusal), ready_of(world.kube, WALVerification, key)
    return Stage(process, key, world.kube, found, let_pass(world.time))


def backs_up(refusal: Refusal) -> Stage:
    world = backup_world.BackupWorld()
    world.back_up()
    key = backup_world.FULL
    for _ in range(4):  # until reports were seen to advance
        world.backer().tick(key)
    process, found = world.backer(refusal), ready_of(world.kube, WALBackup, key)
    return Stage(process, key, world.kube, found, let_pass(world.time))


def restores(refusal: Refusal) -> Stage:
    world = restore_world.lost()
    world.bring_back()
    world.live_until(RestoreStage.AWAITING_APPROVAL)
    world.stop_database()
    world.approve()
    process, key = world.restorer(refusal), restore_world.BACK
    return Stage(process, key, world.kube, ready_of(world.kube, WALRestore, key), let_pass(world.time))


def subscribes(refusal: Refusal) -> Stage:
    world = subscription_world.SubscriptionWorld()
    world.subscribe()
    for _ in range(4):  # until the ledger was observed
        world.subscriber().tick(subscription_world.DR)
        world.kube.remove(subscription_world.DR, WALHold)
    process, key = world.subscriber(refusal), subscription_world.DR
    return Stage(process, key, world.kube, ready_of(world.kube, WALSubscription, key), let_pass(world.time))


def plans_backups(refusal: Refusal) -> Stage:
    world = backups.declared()
    world.live(timedelta(minutes=11))
    process = world.planner(refusal)
    found = ready_of(world.kube, WALBackupPolicy, backup_world.POLICY)
    return Stage(process, backup_world.POLICY, world.kube, found, let_pass(world.time), own_pace=True)


def watches_a_ledger(refusal: Refusal) -> Stage:
    world = purge_world.World()
    observer = world.observer(refusal)
    watching = LedgerWatch(world.kube, observer, lambda _: None, lambda _: None, FakeMeters())
    process: Process = Reconciler(watching, may_write=lambda: True)
    return Stage(
        process,
        purge_world.WAL,
        world.kube,
        lambda: watch_world.intact(world, watching),
        let_pass(world.time),
        own_pace=True,
    )


def keeps_a_schedule(refusal: Refusal) -> Stage:
    world = schedule_world.World()
    world.settle()
    world.time.time += schedule_world.DAY
    kind = ConditionType.VERIFICATION_SCHEDULED
    process = world.process(refusal)
    return Stage(process, world.key, world.kube, lambda: told_by(world.kube, WALCluster, world.key, kind), stand_still)


def moves_replicas(refusal: Refusal) -> Stage:
    world = reassignment_world.World()
    world.declare(replicationFactor=3)
    manages, _ = world.process()
    _, moves = world.process(refusal)
    key = reassignment_world.WAL

    def reported() -> Condition | None:
        while manages.tick(key).after == 0.0:
            pass
        return told_by(world.kube, WALCluster, key, ConditionType.READY)

    return Stage(moves, key, world.kube, reported, let_pass(world.time))


def throttles(refusal: Refusal) -> Stage:
    return moves_replicas(refusal)


def corrects_topics_of_kafka(refusal: Refusal) -> Stage:
    world = test_brokers.World()
    world.kafka.add_topic("__consumer_offsets", replicas=(1, 2, 3), configs={"min.insync.replicas": "3"})
    world.kube.apply(test_brokers.KEY, {**test_brokers.SPEC, "internalTopics": {"repair": True}})
    while world.topics.tick(test_brokers.KEY).after == 0.0:
        pass
    clusters = refusal.guard(FakeKafkaClusters({"kafka:9092": world.kafka}))
    controller = BrokersController(
        refusal.guard(world.kube), clusters, world.time, BrokersObserver(world.time), FakeMeters()
    )
    process: Process = Reconciler(controller, may_write=lambda: True)
    key, kind = test_brokers.KEY, ConditionType.REPLICATION_HEALTHY
    topic = world.kafka.topics["__consumer_offsets"]

    def relapses() -> None:
        topic.configs["min.insync.replicas"] = topic.described["min.insync.replicas"] = "3"

    return Stage(
        process,
        key,
        world.kube,
        lambda: told_by(world.kube, WALCluster, key, kind),
        let_pass(world.time),
        own_pace=True,
        relapses=relapses,
    )


def restarts(refusal: Refusal, until: Callable[[restart_world.World], bool] | None = None) -> Stage:
    world = restart_world.World()
    world.settle()
    world.annotate(restart="now")
    if until is not None:
        world.settle(until=lambda: until(world))
    world.kube.events.clear()
    kind = ConditionType.DATANODES_HEALTHY

    def passes(seconds: float) -> None:
        world.time.time += timedelta(seconds=seconds)

    return Stage(
        world.process(refusal),
        restart_world.WAL,
        world.kube,
        lambda: told_by(world.kube, WALCluster, restart_world.WAL, kind),
        passes,
        own_pace=True,
    )


def takes_maintenance(refusal: Refusal) -> Stage:
    return restarts(refusal)


def is_left_over(world: restart_world.World) -> bool:
    restart = world.restart()
    stands = MAINTENANCE_FINALIZER in world.cluster().metadata.finalizers
    return stands and restart.restarted > 0 and restart.maintenance is None


def takes_the_finalizer_off(refusal: Refusal) -> Stage:
    return restarts(refusal, is_left_over)


def lets_a_deleted_cluster_go(refusal: Refusal) -> Stage:
    stage = restarts(refusal, is_left_over)
    stage.kube.remove(stage.key)
    return stage


def of_a_managed_kafka(world: managed_world.ManagedWorld, process: Process, kind: ConditionType) -> Stage:
    """A process that is refused, and publishes that itself in a condition."""

    def passes(seconds: float) -> None:
        world.go_on()
        world.time.time += timedelta(seconds=seconds)

    return Stage(
        process,
        managed_world.WAL,
        world.kube,
        lambda: told_by(world.kube, WALCluster, managed_world.WAL, kind),
        passes,
    )


def beside_who_makes_nodes(world: managed_world.ManagedWorld, process: Process) -> Stage:
    """One whose failure stands in its own part of the status, and in the condition of who makes nodes."""
    world.kube.events.clear()
    nodes = world.process()

    def observes_nodes() -> None:
        for _ in range(6):
            if nodes.tick(managed_world.WAL).after != 0:
                break

    def reported() -> Condition | None:
        observes_nodes()
        return told_by(world.kube, WALCluster, managed_world.WAL, ConditionType.KAFKA_NODES_HEALTHY)

    def passes(seconds: float) -> None:
        """Who makes nodes looks at them more often than the other one waits: a volume is lost."""
        world.go_on()
        observes_nodes()
        while seconds > MANAGED_KAFKA_LOST_SECONDS:
            world.time.time += timedelta(seconds=MANAGED_KAFKA_LOST_SECONDS)
            seconds -= MANAGED_KAFKA_LOST_SECONDS
            observes_nodes()
        world.time.time += timedelta(seconds=seconds)

    return Stage(process, managed_world.WAL, world.kube, reported, passes, own_pace=True)


def makes_nodes_of_kafka(refusal: Refusal) -> Stage:
    world = managed_world.ManagedWorld()
    return of_a_managed_kafka(world, world.process(refusal), ConditionType.KAFKA_NODES_HEALTHY)


def keeps_records_of_kafka(refusal: Refusal) -> Stage:
    return makes_nodes_of_kafka(refusal)


def rolls_nodes_of_kafka(refusal: Refusal) -> Stage:
    """Its own status has the failure; the condition has it when who makes nodes has looked."""
    world = kafka_roll_world.RollWorld().bring_up()
    world.edit(config={"num.io.threads": "3"})
    world.kube.events.clear()

    def reported() -> Condition | None:
        world.look_at_nodes()
        return told_by(world.kube, WALCluster, managed_world.WAL, ConditionType.KAFKA_NODES_HEALTHY)

    def passes(seconds: float) -> None:
        world.go_on()
        world.time.time += timedelta(seconds=seconds)

    return Stage(world.process(refusal), managed_world.WAL, world.kube, reported, passes, own_pace=True)


def evicts_nodes_of_kafka(refusal: Refusal) -> Stage:
    return rolls_nodes_of_kafka(refusal)


def says_who_is_in_sync(refusal: Refusal) -> Stage:
    """All are in sync, and it may not be said of their pods."""
    world = in_sync_world.InSyncWorld().bring_up()
    world.kube.events.clear()
    return of_a_managed_kafka(world, world.gate_keeper(refusal), ConditionType.KAFKA_NODES_IN_SYNC)


def grows_volumes_of_kafka(refusal: Refusal) -> Stage:
    """Larger ones are declared, and their claims may not ask for it."""
    world = kafka_volumes_world.VolumesWorld().bring_up()
    world.grow("2Gi")
    world.kube.events.clear()
    return of_a_managed_kafka(world, world.grower(refusal), ConditionType.KAFKA_VOLUMES_SIZED)


def stops_a_node_of_kafka(refusal: Refusal) -> Stage:
    """Its own status has the failure; the condition has it when who makes nodes has looked."""
    world = kafka_removal_world.RemovalWorld().bring_up()
    world.scale(3)
    return beside_who_makes_nodes(world, world.remover(refusal))


def forgets_a_node_of_kafka(refusal: Refusal) -> Stage:
    return stops_a_node_of_kafka(refusal)


def clears_a_node_of_kafka_away(refusal: Refusal) -> Stage:
    return stops_a_node_of_kafka(refusal)


def takes_the_vote_of_a_lost_disk(refusal: Refusal) -> Stage:
    """Its own status has the failure; the condition has it when who makes nodes has looked."""
    world = kafka_voters_world.VotersWorld().bring_up()
    world.lose_disk(101)
    return changes_votes(world, refusal)


def lets_a_controller_vote(refusal: Refusal) -> Stage:
    world = kafka_voters_world.VotersWorld().bring_up()
    world.changes = False
    world.controllers(5)
    world.live(until=lambda: world.says("ChangingVoters") and not world.tokens())
    return changes_votes(world, refusal)


def changes_votes(world: kafka_voters_world.VotersWorld, refusal: Refusal) -> Stage:
    return beside_who_makes_nodes(world, world.voter(refusal))


def serves_users_of_kafka(refusal: Refusal) -> Stage:
    """The nodes are up; it is the users' controller that is refused."""
    world = secured_world.SecuredWorld()
    world.live(until=world.is_served)
    world.change_password()
    return of_a_managed_kafka(world, world.security(refusal), ConditionType.KAFKA_USERS_READY)


def sets_configs_of_kafka(refusal: Refusal) -> Stage:
    """The nodes are up, and another value is declared; it is the configs' controller that is refused."""
    world = kafka_config_world.KafkaConfigWorld()
    world.live(until=world.is_applied)
    world.set_config(message_max_bytes="3000000")
    return of_a_managed_kafka(world, world.config(refusal), ConditionType.KAFKA_CONFIG_APPLIED)


SCENES: tuple[tuple[str, Scene, Iterable[str]], ...] = (
    ("WALCluster", creates_topics, ACTIONS),
    ("WALCluster", sets_its_finalizer, ACTIONS),
    ("WALCluster", deletes_topics, ACTIONS),
    ("WALPurge", purges, ACTIONS),
    ("WALHold", holds, ACTIONS),
    ("WALPurgePolicy", follows_a_policy, ACTIONS),
    ("WALVerification", verifies, ACTIONS),
    ("WALBackup", backs_up, ACTIONS),
    ("WALBackupPolicy", plans_backups, ACTIONS),
    ("WALRestore", restores, ACTIONS),
    ("WALSubscription", subscribes, ACTIONS),
    ("Ledger", watches_a_ledger, ACTIONS),
    ("VerificationSchedule", keeps_a_schedule, ACTIONS),
    ("Replication", moves_replicas, ACTIONS),
    ("Replication", throttles, {"alter_throttles"}),
    ("Brokers", corrects_topics_of_kafka, ACTIONS),
    ("ManagedKafka", makes_nodes_of_kafka, {"create"}),
    ("ManagedKafka", keeps_records_of_kafka, ACTIONS),
    ("KafkaRoll", rolls_nodes_of_kafka, {"renew_template"}),
    ("KafkaRoll", evicts_nodes_of_kafka, {"evict"}),
    ("KafkaInSync", says_who_is_in_sync, {"say_in_sync"}),
    ("KafkaVolumes", grows_volumes_of_kafka, {"grow"}),
    ("KafkaRemoval", stops_a_node_of_kafka, {"stop"}),
    ("KafkaRemoval", forgets_a_node_of_kafka, {"unregister"}),
    ("KafkaRemoval", clears_a_node_of_kafka_away, {"delete"}),
    ("KafkaVoters", takes_the_vote_of_a_lost_disk, {"remove_voter"}),
    ("KafkaVoters", lets_a_controller_vote, {"add_voter"}),
    ("KafkaSecurity", serves_users_of_kafka, ACTIONS),
    ("KafkaConfig", sets_configs_of_kafka, ACTIONS),
    ("Restart", restarts, ACTIONS),
    ("Restart", takes_maintenance, {"set_finalizers"}),
    ("Restart", takes_the_finalizer_off, ACTIONS),
    ("Restart", lets_a_deleted_cluster_go, ACTIONS),
)
