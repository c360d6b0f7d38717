"""A world for subscriptions: that of the verifications, with a second Kafka, and a Spark whose job copies.

The job is no kinder than a real one: it copies a part at a time, ends when a topic must not go on, dies, and an old one
may still write for a while after its application is gone. As the broker does, the target takes records only at its end.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import lru_cache
from hashlib import sha256
from typing import Any

from seawall.api.meta import Key
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.subscription import WALSubscription
from seawall.api.v1alpha1.subscription_status import SubscriptionState
from seawall.controllers.hold import WALHoldController
from seawall.controllers.subscription import WALSubscriptionController
from seawall.domain.ledger.observation import read_shards
from seawall.domain.ledger.shards import PoolId, shards_of
from seawall.domain.spark_job.application import Ended
from seawall.observe.chains import ChainObserver
from seawall.observe.subscription import SubscriptionObserver
from seawall.observe.subscription_parts import SubscriptionReader
from seawall.ports import KafkaClusters
from seawall.reconciler import Outcome, Reconciler
from tests.fakes.kafka import FakeKafka, FakeKafkaClusters
from tests.fakes.kafka_log import FakeLog
from tests.fakes.object_store import FakeObjectStores
from tests.worlds.purge_world import NAMESPACE, TOPICS, WAL, Calls, Guard
from tests.worlds.verification_world import VerificationWorld

DR = Key(NAMESPACE, "dr")
TARGET = {"name": "dr", "kafka": {"bootstrapServers": ["dr:9092"]}}
DECLARED: dict[str, Any] = {"spark": {"image": "wal-subscription:1"}, "targets": [TARGET]}
SPEC: dict[str, Any] = {
    "clusterRef": {"name": "wal"},
    "sink": {"mirror": {"target": "dr"}},
    "lagBudget": {"maxBytes": "1Mi"},
}
CHANGES = frozenset(
    {
        "create",
        "delete",
        "replace_spec",
        "replace_status",
        "write_config_map",
        "delete_config_map",
        "write",
        "create_topics",
        "alter_configs",
        "take_producer_id",
        "append_nulls",
        "add_partitions",
    }
)
WAITS = 5.0
MAX_TICKS = 150
"""Nothing that an honest story waits for takes longer; a mutant that never comes there costs all of them."""


@lru_cache(maxsize=16)
def _unpacked(packed: bytes) -> tuple[bytes, str]:
    """A request and its digest: its job asks for it again and again."""
    raw = gzip.decompress(packed)
    return raw, sha256(raw).hexdigest()


@dataclass
class SubscriptionWorld(VerificationWorld):
    """All that outlives a process.

    Attributes:
        target: the second Kafka.
        declared: what the WALCluster says of subscriptions; None: nothing.
        stride: how many records a job copies of each topic at a time.
        diverged: topics of which the job finds other content in the target.
        foreign_words: what the next drivers that end say, instead of the truth.
        copied: by id of a topic of the target the id of the one that it is a copy of.
        mirrored: by id of a topic of the target up to where jobs have copied it, whoever else writes to it.
        is_blind: jobs do not see what somebody else wrote.
        holder: who looks after holds all the time; None: a new process each time.
    """

    target: FakeKafka = field(default_factory=lambda: FakeKafka(cluster_id="fake-target"))
    declared: dict[str, Any] | None = field(default_factory=lambda: dict(DECLARED))
    stride: int = 25
    diverged: set[str] = field(default_factory=set)
    foreign_words: list[str] = field(default_factory=list)
    copied: dict[str, str] = field(default_factory=dict)
    mirrored: dict[str, int] = field(default_factory=dict)
    is_blind: bool = False
    holder: Reconciler[Any, Any, Any, Any] | None = None
    pool_size: int = len(TOPICS)
    gone_with_holes: set[str] = field(default_factory=set)
    first_spec: dict[str, Any] = field(default_factory=lambda: dict(SPEC))
    buckets: FakeObjectStores = field(default_factory=FakeObjectStores)

    def spec(self, **greptimedb: Any) -> dict[str, Any]:
        """The WALCluster says where its log may go."""
        found = super().spec(**greptimedb)
        found = {**found, "topics": {**found["topics"], "count": self.pool_size}}
        return found if self.declared is None else {**found, "subscription": self.declared}

    # --- what people, Kafka and the job do

    def declare(self, declared: dict[str, Any] | None) -> None:
        """Its owner edits what it says of subscriptions."""
        self.declared = declared
        self.kube.apply(WAL, self.spec())

    def subscribe(self, **spec: Any) -> None:
        """Somebody makes a subscription, or edits it."""
        found = self.kube._objects.get(("WALSubscription", DR))
        before = self.first_spec if found is None else found["spec"]
        self.kube.apply(DR, {**before, **spec}, kind=WALSubscription)

    def lose_target(self, topic: str) -> None:
        """Somebody deletes a topic of the target."""
        del self.target.topics[topic]

    def recreate(self, topic: str, kafka: FakeKafka | None = None) -> None:
        """Somebody deletes a topic, and makes it again."""
        kafka = kafka or self.kafka
        self.foreign.add(topic)
        del kafka.topics[topic]
        kafka.add_topic(topic, replicas=(1, 2, 3), configs={"min.insync.replicas": "2"})

    def purged(self, topic: str, before: int) -> None:
        """Records that nobody needs any more are deleted, by a purge that wrote its intent."""
        for region in [region for name, region in self.store.snapshot().region_keys if name == topic]:
            self.flush(region)
        self.store.put_topic(topic, before - 1)
        self.kafka.topics[topic].log.delete_before(before)
        records = read_shards(self.intents.read(PoolId(NAMESPACE, "fake-cluster", "wal"), shards_of([topic])))
        if topic in records.of_topics([topic]):
            changed = records.changed({topic: replace(records.of_topics([topic])[topic], intent=before)})
            for number, shard in changed.items():
                self.intents.write(PoolId(NAMESPACE, "fake-cluster", "wal"), number, shard)

    def write_to_target(self, topic: str, records: int) -> None:
        """Somebody else writes to a topic of the target."""
        log = self.target.topics[topic].log
        self.mirrored[log.topic_id] = self.copied_to(log)
        log.append(records)

    def forget_producers(self, topic: str) -> None:
        """Nobody has written to a topic of the target for a day: its leader forgets who did."""
        self.target.topics[topic].log.producers.clear()

    def grow(self, topic: str) -> None:
        """The pool gets another topic."""
        self.pool_size += 1
        self.kube.apply(WAL, self.spec())
        made = self.kafka.add_topic(topic, replicas=(1, 2, 3), configs={"min.insync.replicas": "2"})
        made.log.now = self.time.now
        self.store.put_topic(topic, 0)
        self.add_region(topic, 9 << 32, datanode=0)
        self.write(topic, 8)

    def run_spark(self) -> None:
        """The Spark Operator goes on with each application by one state; one that runs copies."""
        for key, application in list(self.spark.applications.items()) if self.spark_operator_runs else ():
            match application.state:
                case "":
                    self.spark.report(key, "SUBMITTED")
                case "SUBMITTED":
                    self.spark.report(key, "RUNNING", executors=("RUNNING",))
                case "RUNNING":
                    self._work(key)

    def request_of(self, key: Key) -> tuple[Mapping[str, Any], str] | None:
        """What a job was told, and its digest; None: its pod cannot mount it."""
        found = self.kube.get_config_map(key)
        if found is None or "request.json.gz" not in found.binary_data:
            return None
        raw, digest = _unpacked(found.binary_data["request.json.gz"])
        return json.loads(raw), digest

    def _work(self, key: Key) -> None:
        found = self.request_of(key)
        if found is None:
            return
        request, digest = found
        if self.dies:
            self.dies -= 1
            self.spark.report(key, "SUBMITTED")  # OnFailure: it begins again
            return
        stopped = self.work_on(request)
        if self.foreign_words:
            self.spark.report(key, "COMPLETED", driver=Ended(0, self.foreign_words.pop()))
        elif stopped:
            body = {"version": 1, "requestDigest": digest, "outcome": "Stopped", "message": stopped[0]["message"]}
            text = json.dumps({**body, "stoppedTopics": len(stopped), "stopped": stopped})
            self.spark.report(key, "COMPLETED", driver=Ended(0, text))

    def work_on(self, request: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Does a part of what a request says; which topics must not go on."""
        return [stop for topic in request["topics"] if (stop := self.copy(topic, request["producer"])) is not None]

    def copy(self, topic: Mapping[str, Any], producer: Mapping[str, int]) -> dict[str, Any] | None:
        """Copies a part of one topic; why it must not go on."""
        name = topic["name"]
        source, target = self.kafka.topics.get(name), self.target.topics.get(name)

        def stop(reason: str, offset: int | None) -> dict[str, Any]:
            return {"topic": name, "reason": reason, "offset": offset, "message": f"{name}: {reason}"}

        if target is None or target.log.topic_id != topic["targetTopicId"]:
            return stop("TargetLost", None)
        log = target.log
        if source is None or source.log.topic_id != topic["sourceTopicId"]:
            return stop("IdentityFenceBroken", log.end)
        ours = self.copied_to(log)
        if name in self.diverged or log.end > min(ours, source.log.end):
            return None if self.is_blind else stop("Diverged", min(ours, source.log.end))
        if max(log.end, topic["from"]) < source.log.log_start:
            return stop("SourceGap", log.end)
        count = max(topic["from"] - log.end, min(self.stride, source.log.end - log.end))
        if count and self._append(log, producer, count):
            return stop("Fenced", log.end)
        self.mirrored[log.topic_id] = log.end
        assert self.copied.setdefault(log.topic_id, topic["sourceTopicId"]) == topic["sourceTopicId"], (
            "one copy of two logs"
        )
        return None

    def copied_to(self, log: FakeLog) -> int:
        """Up to where a topic of the target has what jobs wrote."""
        return min(self.mirrored.get(log.topic_id, 0), log.end)

    def _append(self, log: FakeLog, producer: Mapping[str, int], count: int) -> bool:
        """On condition, as the broker takes it: whether it is refused."""
        epoch, last = log.producers.get(producer["id"], (producer["epoch"], log.end - 1))
        if epoch == producer["epoch"]:  # where the log was cut, its leader rebuilds what it remembers
            log.producers[producer["id"]] = epoch, min(last, log.end - 1)
        return log.append_as(producer["id"], producer["epoch"], log.end, count) is not None

    # --- the operator

    def subscriber(self, calls: Guard | None = None) -> Reconciler[Any, Any, Any, Any]:
        """A new operator process that looks after subscriptions."""
        calls = calls or Calls(self.check, CHANGES)
        kube = calls.guard(self.kube)
        clusters, observer = calls.guard(self.both_kafkas()), self.observer(calls)
        spark, kafkas = calls.guard(self.spark), SubscriptionObserver(kube, clusters, observer.clusters)
        chains = ChainObserver(kube, calls.guard(self.buckets))
        reader = SubscriptionReader(kube, spark, kafkas, chains, observer, self.time, self.time)
        controller = WALSubscriptionController(kube, spark, kafkas, reader, self.time, self.meters)
        return Reconciler(controller, may_write=lambda: True)

    def both_kafkas(self) -> KafkaClusters:
        """What the addresses lead to."""
        return FakeKafkaClusters({"kafka:9092": self.kafka, "dr:9092": self.target})

    def granter(self) -> Reconciler[Any, Any, Any, Any]:
        """The controller of holds."""
        return Reconciler(WALHoldController(self.kube, self.observer(), self.time, self.meters), lambda: True)

    def live(
        self,
        until: Callable[[], bool] = lambda: False,
        process: Reconciler[Any, Any, Any, Any] | None = None,
        ticks: int = MAX_TICKS,
        waits: float = WAITS,
    ) -> WALSubscription:
        """Ticks until it is so and the operator waits, or as often as told; the others work while it waits."""
        process, granter = process or self.subscriber(), self.holder or self.granter()
        for _ in range(ticks):
            ticked = process.tick(DR)
            is_idle = ticked.outcome in {Outcome.WAITING, Outcome.GONE, Outcome.FAILED}
            if is_idle and until():
                break
            for hold in self.kube.list(WALHold, NAMESPACE).items:
                granter.tick(hold.metadata.key)
            if is_idle or ticked.after:
                self.run_spark()
            self.time.time += timedelta(seconds=waits if is_idle or ticked.after else 0.05)
        else:
            assert ticks != MAX_TICKS, f"it never is so: {self.kube.get(WALSubscription, DR)}"
        return self.subscription()

    def live_until(
        self, state: SubscriptionState, process: Reconciler[Any, Any, Any, Any] | None = None
    ) -> WALSubscription:
        """Until it is in this state."""
        return self.live(lambda: self.subscription().status.state is state, process)

    def streaming(self) -> WALSubscription:
        """A subscription, from its beginning until all is copied and the hold has followed."""
        self.subscribe()
        return self.live(self.is_even)

    def runs(self, number: int) -> bool:
        """Whether this run copies, and no other."""
        return [(key.name, each.state) for key, each in self.spark.applications.items()] == [
            (f"dr-{number}", "RUNNING")
        ]

    def is_even(self) -> bool:
        """Whether the target has all, the hold knows it, and people read it."""
        hold = self.kube.get(WALHold, DR)
        ends = {name: topic.log.end for name, topic in self.kafka.topics.items()}
        copies = {name: topic.log.end for name, topic in self.target.topics.items()}
        is_streaming = self.subscription().status.state is SubscriptionState.STREAMING
        return is_streaming and ends == copies and hold is not None and hold.status.granted == ends

    # --- what is true

    def subscription(self) -> WALSubscription:
        """The subscription."""
        found = self.kube.get(WALSubscription, DR)
        assert found is not None
        return found

    def requests(self) -> list[Mapping[str, Any]]:
        """What the jobs were told, in the order of their runs."""
        keys = sorted((key for key in self.kube.config_maps() if key.name.startswith("dr-")), key=lambda key: key.name)
        return [found[0] for key in keys if (found := self.request_of(key)) is not None]

    def check(self, after: str = "") -> None:
        """S2: a hold of a subscription begins nowhere beyond what the target has, of topics that are copied."""
        if not self.store.is_silent:  # else nobody can say what rows need
            super().check(after)
        wrong = self.wrong_with_hold()
        assert wrong is None, f"{wrong}, after {after}"

    def wrong_with_hold(self) -> str | None:
        """A record that the source does not keep, and the target does not have; None: there is none."""
        obj, hold = self.kube.get(WALSubscription, DR), self.kube.get(WALHold, DR)
        if obj is None or hold is None or hold.status.is_final or hold.metadata.controller_uid != obj.metadata.uid:
            return None
        for row in obj.status.topics:
            target = self.target.topics.get(row.name)
            if target is None or target.log.topic_id != row.target_id or row.name in self.gone_with_holes:
                continue
            for held in (hold.status.granted.get(row.name), hold.spec.topics.get(row.name)):  # type: ignore[union-attr]
                if isinstance(held, int) and held > max(self.copied_to(target.log), row.start):
                    return f"S2: {row.name} is held from {held} on, and copied up to {self.copied_to(target.log)}"
        return None
