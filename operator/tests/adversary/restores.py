"""A restore with an adversary: nothing goes that is somebody else's, and what is adopted is whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from seawall.api.meta import RESTORE_ANNOTATION, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.restore_status import RestoreStage
from seawall.domain.spark_job.application import CONF
from seawall.reconciler import Reconciler
from tests.adversary.arena import tick
from tests.adversary.clocks import Clocks
from tests.adversary.judge import Violation
from tests.adversary.lives import ALL, CLOCK, Adversary, Move
from tests.cluster.test_topic_deletion import controller
from tests.restore.test_restore_crash import with_approval
from tests.support.watched import watched
from tests.worlds.backup_world import BACKUP
from tests.worlds.purge_world import NAMESPACE, WAL
from tests.worlds.restore_world import BACK, CHANGES, RestoreWorld, lose
from tests.worlds.verification_world import SERVICE_ACCOUNT

CLUSTER, RESTORE, TOPIC = "kube:WALCluster", "kube:WALRestore", "wal_0"
OTHER = Key(NAMESPACE, "other")
ROUNDS = 60


@dataclass
class RestoreReferee:
    """Judges each change of the operator on the world, never on what Seawall says of it."""

    arena: RestoreArena
    jobs: set[Key] = field(default_factory=set)

    def guard(self, port: Any) -> Any:
        """The same port, judged."""
        return watched(self, port)

    def call(self, function: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        """One call of the operator, and what it did."""
        before = dict(self.arena.kafka.topics)
        try:
            return function(*args, **kwargs)
        finally:
            if name in CHANGES:
                self.judge(name, before)

    def judge(self, after: str, before: dict[str, Any]) -> None:
        """No topic goes that no status named, nor one with a row of the database's; jobs are what is declared."""
        arena = self.arena
        for restore in arena.kube.list(WALRestore, NAMESPACE).items:
            arena.ours |= {row.topic_id for row in restore.status.topics if row.topic_id is not None}
        for name in before.keys() - arena.kafka.topics.keys():
            topic_id = str(before[name].log.topic_id)
            if topic_id not in arena.ours:
                raise Violation(f"F: {name}, which no restore made, was deleted")
            if topic_id in arena.fresh:
                raise Violation(f"F: {name} was deleted with rows of the database")
        for key in arena.spark.specs.keys() - self.jobs:
            self.jobs.add(key)
            made, cluster = arena.spark.specs[key], arena.kube.get(WALCluster, WAL)
            if cluster is None or cluster.spec.backup is None:  # type: ignore[union-attr]
                raise Violation("J: a job of a WALCluster that is gone")
            runs = made["image"], made["driver"]["serviceAccount"], dict(made["sparkConf"])
            if runs != (cluster.spec.backup.spark.image, SERVICE_ACCOUNT.name, CONF):  # type: ignore[union-attr]
                raise Violation(f"J: {after} of a job with {runs}")
        wrong = arena.wrong_with_logs()
        if wrong is not None and not arena.excused:
            raise Violation(f"L: {wrong}, by {after}")

    def moved(self) -> None:
        """The adversary made a move: what it broke itself is not the operator's doing."""
        if self.arena.wrong_with_logs() is not None:
            self.arena.excused = True


@dataclass
class RestoreArena(RestoreWorld):
    """All that outlives a process.

    Attributes:
        fresh: ids of topics to which the database has written since they were made.
        excused: the adversary itself broke what logs are judged by.
    """

    time: Clocks = field(default_factory=Clocks)
    fresh: set[str] = field(default_factory=set)
    excused: bool = False

    def __post_init__(self) -> None:
        self.referee = RestoreReferee(self)
        super().__post_init__()
        self.kube._now = self.spark.now = self.data_plane.now = self.datanodes.now = self.time.true
        for topic in self.kafka.topics.values():
            topic.log.now = self.time.true
        self.referee.jobs = set()

    def check(self, after: str = "") -> None:
        """The referee sees every change by itself."""

    def start_database(self) -> None:
        """It runs, and writes to each topic that there is."""
        super().start_database()
        for name, topic in self.kafka.topics.items():
            self.fresh.add(str(topic.log.topic_id))
            RestoreWorld.write(self, name, 1)


def approved_plan(**attributes: Any) -> RestoreArena:
    """A plan is approved, and the database is stopped."""
    arena = with_approval(lose(RestoreArena(), **attributes))
    arena.referee.jobs = set(arena.spark.specs)
    return arena


def restore(arena: RestoreArena, adversary: Adversary) -> None:
    """It goes on to its end; the controller of WALClusters and the watch of the ledger work while it waits."""
    process = adversary.acting(arena.restorer(adversary))
    for _ in range(ROUNDS):
        tick(process, BACK, most=1)
        found = arena.kube.get(WALRestore, BACK)
        if found is None or found.status.is_over:
            break
        arena.run_spark()
        beside(arena)
        arena.time.time += timedelta(seconds=2)
        adversary.between()
    if not arena.datanodes.running:
        arena.start_database()
    beside(arena)
    beside(arena)
    judge_end(arena, adversary)
    found = arena.kube.get(WALRestore, BACK)
    is_done = found is not None and str(found.status.stage) == "Completed"
    if is_done and not arena.excused and arena.wrong_with_logs() is not None:
        raise Violation(f"L: {arena.wrong_with_logs()}, at the end")


def beside(arena: RestoreArena) -> None:
    """What other controllers do meanwhile."""
    tending: Reconciler[Any, Any, Any, Any] = Reconciler(controller(arena, arena.referee), may_write=lambda: True)
    tick(tending, WAL)
    tick(arena.recorder(arena.referee), WAL)


# --- moves


def database_starts(arena: RestoreArena) -> None:
    if not arena.datanodes.running:
        arena.start_database()


def database_starts_and_stops(arena: RestoreArena) -> None:
    database_starts(arena)
    arena.stop_database()


def topic_appears(arena: RestoreArena) -> None:
    """The metasrv, say, makes it, empty."""
    if TOPIC not in arena.kafka.topics:
        arena.kafka.add_topic(TOPIC, replicas=(1, 2, 3))


def topic_appears_and_is_written(arena: RestoreArena) -> None:
    if TOPIC not in arena.kafka.topics:
        topic_appears(arena)
        arena.kafka.topics[TOPIC].log.append(3)
        arena.fresh.add(str(arena.kafka.topics[TOPIC].log.topic_id))
        arena.excused = True


def delete_topic(arena: RestoreArena) -> None:
    arena.kafka.topics.pop(TOPIC, None)


def recreate_topic(arena: RestoreArena) -> None:
    if arena.kafka.topics.pop(TOPIC, None) is not None:
        topic_appears(arena)


def recreate_topic_and_write(arena: RestoreArena) -> None:
    if arena.kafka.topics.pop(TOPIC, None) is not None:
        topic_appears_and_is_written(arena)


def other_kafka(arena: RestoreArena) -> None:
    """The addresses lead to another cluster, which has topics of these names."""
    arena.kafka.cluster_id = "another"


def delete_cluster(arena: RestoreArena) -> None:
    if ("WALCluster", WAL) in arena.kube._objects:
        arena.kube.remove(WAL)


def pause_cluster(arena: RestoreArena) -> None:
    if ("WALCluster", WAL) in arena.kube._objects:
        arena.annotate(paused="true")


def readopt(arena: RestoreArena) -> None:
    """A person lets the lost topics be made again, and gives up what they had; their controller does so."""
    if ("WALCluster", WAL) in arena.kube._objects:
        expires = arena.time.time + timedelta(hours=2)
        arena.annotate(readopt=f"a new log@{expires:%Y-%m-%dT%H:%M:%SZ}")
        arena.excused = True
        beside(arena)


def declare_other_code(arena: RestoreArena) -> None:
    if ("WALCluster", WAL) in arena.kube._objects:
        arena.declare({**BACKUP, "spark": {"image": "wal-backup:2"}})


def keep_elsewhere(arena: RestoreArena) -> None:
    if ("WALCluster", WAL) in arena.kube._objects:
        arena.declare({**BACKUP, "storage": {"s3": {"bucket": "elsewhere"}}})


def declare_nothing(arena: RestoreArena) -> None:
    if ("WALCluster", WAL) in arena.kube._objects:
        arena.declare(None)


def delete_restore(arena: RestoreArena) -> None:
    """And its application with it."""
    if arena.kube._objects.pop(("WALRestore", BACK), None) is not None:
        arena.spark.applications.clear()


def recreate_restore(arena: RestoreArena) -> None:
    raw = arena.kube._objects.get(("WALRestore", BACK))
    if raw is not None:
        delete_restore(arena)
        arena.kube.apply(BACK, raw["spec"], kind=WALRestore)


def take_the_approval_back(arena: RestoreArena) -> None:
    raw = arena.kube._objects.get(("WALRestore", BACK))
    if raw is not None:
        arena.kube.apply(BACK, raw["spec"], kind=WALRestore, annotations={RESTORE_ANNOTATION: "no"})


def pause_restore(arena: RestoreArena) -> None:
    raw = arena.kube._objects.get(("WALRestore", BACK))
    if raw is not None:
        arena.kube.apply(BACK, raw["spec"], kind=WALRestore, annotations={"seawall.dev/paused": "true"})


def second_restore(arena: RestoreArena) -> None:
    """Somebody makes another one, which gets as far as it may."""
    raw = arena.kube._objects.get(("WALRestore", BACK))
    if raw is None or ("WALRestore", OTHER) in arena.kube._objects:
        return
    arena.kube.apply(OTHER, raw["spec"], kind=WALRestore)
    process = arena.restorer(arena.referee)
    for _ in range(16):
        tick(process, OTHER, most=1)
        arena.run_spark()
        found = arena.walrestore(OTHER)
        if found.status.plan is not None:
            arena.approve(OTHER)


def second_operator(arena: RestoreArena) -> None:
    process = arena.restorer(arena.referee)
    for _ in range(4):
        tick(process, BACK, most=1)
        arena.run_spark()


def delete_records_of_logs(arena: RestoreArena) -> None:
    """Somebody deletes the ConfigMaps with Seawall's own records."""
    arena.intents._shards.clear()
    arena.deleted_to.clear()


def delete_request(arena: RestoreArena) -> None:
    found = arena.kube.get(WALRestore, BACK)
    if found is not None:
        key = Key(NAMESPACE, f"{BACK.name}-{found.status.attempt}")
        if arena.kube.get_config_map(key) is not None:
            arena.kube.remove_config_map(key)


def application_goes(arena: RestoreArena) -> None:
    """Somebody deletes it, as a script that tidies up; its driver goes on for a while."""
    found = arena.kube.get(WALRestore, BACK)
    for application in list(arena.spark.applications.values()):
        if found is not None and application.controller_uid == found.metadata.uid:
            arena.spark.delete(application)


def judge_end(arena: RestoreArena, adversary: Adversary) -> None:
    """Who has lost nothing but an application, once, is not over without success: another attempt works."""
    found, made = arena.kube.get(WALRestore, BACK), [move.make for _, move in adversary.made]
    if made == [application_goes] and found is not None and found.status.stage is RestoreStage.FAILED:
        raise Violation(f"C: it ends although another attempt would work: {found.status.message}")


def driver_dies(arena: RestoreArena) -> None:
    """The next one, with records in the first topic."""
    arena.half_written += 1


def sleep_long(arena: RestoreArena) -> None:
    arena.time.time += timedelta(hours=30)


def skew(hours: int) -> Callable[[RestoreArena], None]:
    def make(arena: RestoreArena) -> None:
        arena.time.ahead = timedelta(hours=hours)

    return make


def _move(make: Callable[[RestoreArena], object], *touches: str, name: str = "") -> Move:
    return Move(name or make.__name__, frozenset(touches), make)


OF_RESTORES = (
    *(_move(make, "pods", "kafka") for make in (database_starts, database_starts_and_stops)),
    *(_move(make, "kafka") for make in (topic_appears, topic_appears_and_is_written, delete_topic, recreate_topic)),
    *(_move(make, "kafka") for make in (recreate_topic_and_write, other_kafka)),
    *(_move(make, CLUSTER) for make in (delete_cluster, pause_cluster, declare_other_code, keep_elsewhere)),
    *(_move(make, CLUSTER) for make in (declare_nothing,)),
    _move(readopt, CLUSTER, "kafka", "intents"),
    *(_move(make, RESTORE, "spark") for make in (delete_restore, recreate_restore)),
    *(_move(make, RESTORE) for make in (take_the_approval_back, pause_restore)),
    *(_move(make, ALL) for make in (second_restore, second_operator, sleep_long)),
    _move(delete_records_of_logs, "intents"),
    _move(delete_request, "kube:ConfigMap"),
    *(_move(make, "spark") for make in (driver_dies, application_goes)),
    _move(skew(2), CLOCK, name="clock is 2 h ahead"),
    _move(skew(-2), CLOCK, name="clock is 2 h behind"),
)
