"""A subscription with an adversary: the source keeps what the target lacks, and nothing of others is written to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.subscription import WALSubscription
from seawall.domain.kafka import NoKafka, Unreachable
from seawall.domain.spark_job.application import CONF
from tests.adversary.arena import tick
from tests.adversary.clocks import Clocks
from tests.adversary.judge import Violation
from tests.adversary.leader_moves import OF_READERS
from tests.adversary.lives import ALL, CLOCK, Adversary, Move
from tests.fakes.kafka import FakeTopic
from tests.support.watched import watched
from tests.worlds.purge_world import NAMESPACE, WAL
from tests.worlds.subscription_world import CHANGES, DECLARED, DR, SubscriptionWorld
from tests.worlds.verification_world import SERVICE_ACCOUNT

CLUSTER, SUBSCRIPTION, HOLD, TOPIC = "kube:WALCluster", "kube:WALSubscription", "kube:WALHold", "wal_0"
ROUNDS, LATER = 26, 12


@dataclass
class SubscriptionReferee:
    """Judges each change of the operator on the world, never on what Seawall says of it."""

    arena: SubscriptionArena
    jobs: set[Key] = field(default_factory=set)

    def guard(self, port: Any) -> Any:
        """The same port, judged."""
        return watched(self, port)

    def call(self, function: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        """One call of the operator, and what it did."""
        found = self.arena.kube.get(WALSubscription, DR)
        pinned = None if found is None else found.status.target_cluster_id
        if name in {"create_topics", "alter_configs"} and pinned not in {None, self.arena.target.cluster_id}:
            raise Violation(f"T: {name} in another Kafka than the target")
        try:
            return function(*args, **kwargs)
        finally:
            if name in CHANGES:
                self.judge(name)

    def judge(self, after: str) -> None:
        """What is held, what was made, and by which code."""
        arena = self.arena
        wrong = arena.wrong_with_hold()
        if wrong is not None:
            raise Violation(f"{wrong}, by {after}")
        for key in arena.spark.specs.keys() - self.jobs:
            self.jobs.add(key)
            made, cluster = arena.spark.specs[key], arena.kube.get(WALCluster, WAL)
            declared = None if cluster is None or isinstance(cluster.spec, InvalidSpec) else cluster.spec.subscription
            if declared is None:
                raise Violation("J: a job of a WALCluster that declares none")
            runs = made["image"], made["driver"]["serviceAccount"], dict(made["sparkConf"])
            if runs != (declared.spark.image, SERVICE_ACCOUNT.name, CONF):
                raise Violation(f"J: {after} of a job with {runs}")
            self._judge_grant(key)

    def _judge_grant(self, key: Key) -> None:
        """All that a job reads is granted before it is made."""
        found, hold = self.arena.request_of(key), self.arena.kube.get(WALHold, DR)
        if found is None:
            raise Violation("R: a job without a request")
        granted = {} if hold is None or hold.status.is_final else hold.status.granted
        lacking = [topic["name"] for topic in found[0]["topics"] if topic["name"] not in granted]
        if lacking:
            raise Violation(f"H: a job reads {lacking[0]}, which is not held")

    def moved(self) -> None:
        """The adversary made a move: what it broke itself is not the operator's doing."""
        arena = self.arena
        held = arena.wrong_with_hold()
        if held is not None:
            arena.gone_with_holes.add(held.split()[1])
        if arena.is_blind:
            # What others wrote stands in the place of records that are gone from the source, and nothing shows it.
            arena.gone_with_holes |= {
                name for name, source in arena.kafka.topics.items() if self._has_hole(name, source)
            }

    def _has_hole(self, name: str, source: FakeTopic) -> bool:
        copy = self.arena.target.topics.get(name)
        return copy is not None and self.arena.copied_to(copy.log) < source.log.log_start


@dataclass
class SubscriptionArena(SubscriptionWorld):
    """All that outlives a process.

    Attributes:
        others: ids of topics of the target that have records of somebody else.
    """

    time: Clocks = field(default_factory=Clocks)
    others: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.referee = SubscriptionReferee(self)
        super().__post_init__()
        self.kube._now = self.spark.now = self.data_plane.now = self.time.true
        for topic in self.kafka.topics.values():
            topic.log.now = self.time.true

    def check(self, after: str = "") -> None:
        """The referee sees every change by itself."""

    def copy(self, topic: Mapping[str, Any], producer: Mapping[str, int]) -> dict[str, Any] | None:
        """A job must never be asked to write to what is somebody else's."""
        if topic["targetTopicId"] in self.others:
            raise Violation(f"W: a job writes to {topic['name']}, which has records of others")
        log, found = self.target.topics.get(topic["name"]), self.kube.get(WALSubscription, DR)
        before = None if log is None else log.log.end
        stop = super().copy(topic, producer)
        promotion = None if found is None else found.status.promotion
        fenced = promotion is not None and promotion.time is not None and found is not None
        ids = {row.target_id for row in found.status.topics} if fenced and found is not None else set()
        if log is not None and log.log.topic_id in ids and log.log.end != before:
            raise Violation(f"Z: an old driver writes to {topic['name']}, which is promoted")
        return stop


def begun() -> SubscriptionArena:
    """A subscription that nobody has looked at yet."""
    arena = SubscriptionArena()
    arena.subscribe()
    return arena


def even() -> SubscriptionArena:
    """One that has copied all; then rows are written."""
    arena = SubscriptionArena()
    arena.streaming()
    arena.write(TOPIC, 30)
    arena.referee.jobs = set(arena.spark.specs)
    return arena


def copy(arena: SubscriptionArena, adversary: Adversary) -> None:
    """It copies for a while; then the adversary is gone, and a person repairs what a person must."""
    process = adversary.acting(arena.subscriber(adversary))
    for _ in range(ROUNDS):
        tick(process, DR, most=1)
        beside(arena)
        arena.time.time += timedelta(seconds=2)
        adversary.between()
    calm = arena.subscriber(arena.referee)
    for _ in range(LATER):
        tick(calm, DR)
        beside(arena)
        arena.time.time += timedelta(seconds=5)
    arena.referee.judge("the end")


def beside(arena: SubscriptionArena) -> None:
    """What others do meanwhile."""
    for hold in arena.kube.list(WALHold, NAMESPACE).items:
        tick(arena.granter(), hold.metadata.key)
    arena.run_spark()


# --- moves


def lose_target_topic(arena: SubscriptionArena) -> None:
    arena.target.topics.pop(TOPIC, None)


def recreate_target_topic(arena: SubscriptionArena) -> None:
    if arena.target.topics.pop(TOPIC, None) is not None:
        arena.target.add_topic(TOPIC, replicas=(1, 2, 3))


def foreign_target_topic(arena: SubscriptionArena) -> None:
    """Somebody else has, or makes, a topic of this name there, with records."""
    known = {row.target_id for row in _rows(arena)}
    before = arena.target.topics.get(TOPIC)
    if before is not None and before.log.topic_id in known:
        del arena.target.topics[TOPIC]
    if TOPIC not in arena.target.topics:
        made = arena.target.add_topic(TOPIC, replicas=(1, 2, 3))
        made.log.append(9)
        arena.others.add(made.log.topic_id)


def cut_target(arena: SubscriptionArena) -> None:
    """An unclean election there."""
    topic = arena.target.topics.get(TOPIC)
    if topic is not None and topic.log.end > 3:
        topic.log.truncate(topic.log.end - 3)


def somebody_else_writes(arena: SubscriptionArena) -> None:
    """To a topic of the target; jobs die before they see it."""
    if TOPIC in arena.target.topics:
        arena.is_blind = True
        arena.write_to_target(TOPIC, 7)


def forget_producers(arena: SubscriptionArena) -> None:
    """As the leaders of the target do, when nothing is appended for a day."""
    for topic in arena.target.topics:
        arena.forget_producers(topic)


def forget_and_write(arena: SubscriptionArena) -> None:
    forget_producers(arena)
    somebody_else_writes(arena)


def short_retention(arena: SubscriptionArena) -> None:
    for topic in arena.target.topics.values():
        topic.configs["retention.ms"] = "1000"


def other_target(arena: SubscriptionArena) -> None:
    arena.target.cluster_id = "another"


def target_is_source(arena: SubscriptionArena) -> None:
    arena.target.cluster_id = "fake-cluster"


def target_is_silent(arena: SubscriptionArena) -> None:
    arena.target.unreachable = NoKafka(Unreachable.NOT_ANSWERING, "No broker of Kafka answered.")


def recreate_source_topic(arena: SubscriptionArena) -> None:
    arena.recreate(TOPIC)


def cut_source(arena: SubscriptionArena) -> None:
    topic = arena.kafka.topics[TOPIC]
    arena.foreign.add(TOPIC)
    topic.log.truncate(max(topic.log.log_start, topic.log.end - 5))


def delete_from_source(arena: SubscriptionArena) -> None:
    """By Kafka's own tools, through any hold."""
    topic = arena.kafka.topics[TOPIC]
    arena.foreign.add(TOPIC)
    topic.log.delete_before(topic.log.end)


def pool_grows(arena: SubscriptionArena) -> None:
    if "wal_3" not in arena.kafka.topics and ("WALCluster", WAL) in arena.kube._objects:
        arena.grow("wal_3")


def delete_cluster(arena: SubscriptionArena) -> None:
    if ("WALCluster", WAL) in arena.kube._objects:
        arena.kube.remove(WAL)


def pause_cluster(arena: SubscriptionArena) -> None:
    if ("WALCluster", WAL) in arena.kube._objects:
        arena.annotate(paused="true")


def declares(**declared: Any) -> Callable[[SubscriptionArena], None]:
    def make(arena: SubscriptionArena) -> None:
        if ("WALCluster", WAL) in arena.kube._objects:
            arena.declare({**DECLARED, **declared} if declared else None)

    return make


def edits(**spec: Any) -> Callable[[SubscriptionArena], None]:
    def make(arena: SubscriptionArena) -> None:
        if ("WALSubscription", DR) in arena.kube._objects:
            arena.subscribe(**spec)

    return make


def delete_subscription(arena: SubscriptionArena) -> None:
    """And what it owns with it."""
    if arena.kube._objects.pop(("WALSubscription", DR), None) is not None:
        arena.spark.applications.clear()
        arena.kube._objects.pop(("WALHold", DR), None)
        for key in list(arena.kube.config_maps()):
            if key.name.startswith("dr-"):
                arena.kube.remove_config_map(key)


def recreate_subscription(arena: SubscriptionArena) -> None:
    raw = arena.kube._objects.get(("WALSubscription", DR))
    if raw is not None:
        known = {row.target_id for row in _rows(arena)}
        ends = {topic.log.topic_id: topic.log.end for topic in arena.target.topics.values()}
        delete_subscription(arena)
        arena.others |= {topic_id for topic_id in known if topic_id is not None and ends.get(topic_id)}
        arena.kube.apply(DR, raw["spec"], kind=WALSubscription)


def delete_hold(arena: SubscriptionArena) -> None:
    if ("WALHold", DR) in arena.kube._objects:
        arena.kube.remove(DR, WALHold)


def release_hold(arena: SubscriptionArena) -> None:
    raw = arena.kube._objects.get(("WALHold", DR))
    if raw is not None:
        arena.kube.apply(DR, {**raw["spec"], "release": True}, kind=WALHold)


def foreign_hold(arena: SubscriptionArena) -> None:
    """Somebody else has, or makes, a hold of this name."""
    delete_hold(arena)
    arena.kube.apply(DR, {"clusterRef": {"name": "wal"}, "topics": {TOPIC: 0}}, kind=WALHold)


def delete_requests(arena: SubscriptionArena) -> None:
    for key in list(arena.kube.config_maps()):
        if key.name.startswith("dr-"):
            arena.kube.remove_config_map(key)


def delete_application(arena: SubscriptionArena) -> None:
    arena.spark.applications.clear()


def driver_dies(arena: SubscriptionArena) -> None:
    arena.dies += 1


def job_finds_a_difference(arena: SubscriptionArena) -> None:
    arena.diverged.add(TOPIC)


def old_drivers_wake_up(arena: SubscriptionArena) -> None:
    """All that ever ran copies once more, by its own request."""
    for request in arena.requests():
        for topic in request["topics"]:
            arena.copy(topic, request["producer"])


def second_operator(arena: SubscriptionArena) -> None:
    process = arena.subscriber(arena.referee)
    for _ in range(4):
        tick(process, DR, most=1)
        beside(arena)


def sleep_long(arena: SubscriptionArena) -> None:
    arena.time.time += timedelta(hours=30)


def skew(hours: int) -> Callable[[SubscriptionArena], None]:
    def make(arena: SubscriptionArena) -> None:
        arena.time.ahead = timedelta(hours=hours)

    return make


def _rows(arena: SubscriptionArena) -> Any:
    found = arena.kube.get(WALSubscription, DR)
    return () if found is None else found.status.topics


def _move(make: Callable[[SubscriptionArena], object], *touches: str, name: str = "") -> Move:
    return Move(name or make.__name__, frozenset(touches), make)


OF_TARGETS = (
    *(lose_target_topic, recreate_target_topic, foreign_target_topic, cut_target, short_retention, other_target),
    *(somebody_else_writes, forget_producers, forget_and_write),
)
OF_SUBSCRIPTIONS = (
    *(_move(make, "kafka") for make in (*OF_TARGETS, target_is_source, target_is_silent)),
    *(_move(make, "kafka") for make in (recreate_source_topic, cut_source, delete_from_source)),
    _move(pool_grows, "kafka", CLUSTER),
    *(_move(make, CLUSTER) for make in (delete_cluster, pause_cluster)),
    _move(declares(spark={"image": "wal-subscription:2"}), CLUSTER, name="declare_other_code"),
    _move(declares(), CLUSTER, name="declare_nothing"),
    *(_move(make, ALL) for make in (delete_subscription, recreate_subscription, second_operator, sleep_long)),
    _move(edits(suspend=True), SUBSCRIPTION, name="suspend"),
    _move(edits(promote="Failover"), SUBSCRIPTION, name="promote"),
    _move(edits(promote="Switchover"), SUBSCRIPTION, name="switch over"),
    _move(edits(resync="again"), SUBSCRIPTION, name="resync"),
    _move(edits(lagBudget={"maxBytes": 100}), SUBSCRIPTION, name="small_budget"),
    *(_move(make, HOLD) for make in (delete_hold, release_hold, foreign_hold)),
    _move(delete_requests, "kube:ConfigMap"),
    *(_move(make, "spark") for make in (delete_application, driver_dies, job_finds_a_difference)),
    _move(old_drivers_wake_up, "kafka"),
    *OF_READERS,
    _move(skew(2), CLOCK, name="clock is 2 h ahead"),
    _move(skew(-2), CLOCK, name="clock is 2 h behind"),
)
