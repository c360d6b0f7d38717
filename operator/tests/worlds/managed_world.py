"""A world for the nodes of a managed Kafka: an API server with a kubelet, disks, and a Kafka that keeps real logs.

The entrypoint's rules stand here once more, in Python, and Kafka's on leaders: an ISR, eligible leader replicas, and
that whoever leads has the log that all others truncate to. It is judged by disks: what was acknowledged and is
still on one must not go, and no directory id may be on two. Time passes only when the operator waits.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from seawall.api.meta import ConditionType, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.controllers.cluster import WALClusterController
from seawall.controllers.managed_kafka import ManagedKafkaController
from seawall.controllers.topic_deletion import TopicDeletion
from seawall.domain.conditions import find_condition
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.managed_kafka.found import FoundPod, Record
from seawall.domain.managed_kafka.identity import IDENTITY, Identity, found_nodes
from seawall.domain.managed_kafka.names import (
    CERTIFICATE_ANNOTATION,
    SPEC_HASH_ANNOTATION,
    format_name,
    identity_name,
    token_key,
)
from seawall.domain.managed_kafka.network import network_policy
from seawall.domain.managed_kafka.node import Node
from seawall.domain.managed_kafka.objects import ObjectKind
from seawall.domain.managed_kafka.pods import CONFIG_VOLUME
from seawall.observe.kafka_nodes import why_forming
from seawall.observe.ledger import LedgerObserver
from seawall.observe.opened_cluster import ClusterOpener
from seawall.ports import DataPlaneParts
from seawall.reconciler import Reconciler
from tests.fakes.dataplane import FakeDataPlane, FakeDataPlanes, FakeMetadataStore
from tests.fakes.ids import new_topic_id, new_uid
from tests.fakes.intents import FakeIntentStore
from tests.fakes.kafka import FakeKafka, FakeKafkaClusters, FakeTopic
from tests.fakes.kafka_objects import FakeKafkaObjects
from tests.fakes.kube import FakeKube
from tests.fakes.ledgers import FakeLedgers
from tests.fakes.meters import FakeMeters
from tests.support.clock import Time
from tests.worlds.purge_world import Guard

WAL = Key("db", "wal")
CONTROLLERS, BROKERS = (100, 101, 102), (0, 1, 2)
TOPICS = {"three": ((0, 1, 2), 2), "two": ((1, 2), 1), "one": ((2,), 1)}
"""Replicas and min.insync.replicas."""
WAITS = 4.0
OPERATOR = "seawall"
"""The namespace of operators."""
POLICY = (ObjectKind.NETWORK_POLICY, Key(WAL.namespace, "wal-kafka"))
CHANGES = frozenset(
    {
        "create",
        "change_budget",
        "change_policy",
        "delete",
        "write_record",
        "replace_status",
        "add_acls",
        "remove_acls",
        "set_password",
        "alter_default_configs",
    }
)


def pool(name: str, role: str, first: int, count: int) -> dict[str, Any]:
    return {"name": name, "roles": [role], "firstId": first, "replicas": count, "storage": {"size": "1Gi"}}


SPEC: dict[str, Any] = {
    "kafka": {
        "managed": {
            "version": "4.3.1",
            "nodePools": [
                pool("controllers", "controller", CONTROLLERS[0], len(CONTROLLERS)),
                pool("brokers", "broker", BROKERS[0], len(BROKERS)),
            ],
            "security": {"insecure": True},
        }
    },
    "topics": {"count": 1},
}


@dataclass
class Disk:
    """What is on a volume: nothing, or a node's data."""

    node: int | None = None
    cluster_id: str = ""
    directory: str = ""
    logs: dict[str, int] = field(default_factory=dict)

    def wipe(self) -> None:
        """Somebody puts an empty disk in its place."""
        self.node, self.cluster_id, self.directory, self.logs = None, "", "", {}


@dataclass
class Log:
    """A partition as Kafka's controller knows it."""

    replicas: tuple[int, ...]
    min_isr: int
    isr: set[int]
    elr: set[int] = field(default_factory=set)
    leader: int | None = None
    last: int | None = None
    """Who led last: Kafka elects it when nobody is in sync or eligible any more."""
    acknowledged: int = 0


class LoggingKafka(FakeKafka):
    """A FakeKafka whose replicas are on disks."""

    def __init__(self) -> None:
        super().__init__(brokers=0)
        self.logs: dict[str, Log] = {}

    def led(self, topic: FakeTopic, partition: int) -> tuple[tuple[int, ...], int | None]:
        """As the controller knows it; topics of the pool have no logs here."""
        found = self.logs.get(topic.name)
        if found is None:
            return super().led(topic, partition)
        return tuple(sorted(found.isr)), found.leader

    def eligible(self, topic: FakeTopic, partition: int) -> frozenset[int]:
        """As the controller knows it."""
        found = self.logs.get(topic.name)
        return super().eligible(topic, partition) if found is None else frozenset(found.elr)


class OneApiServer(FakeKube):
    """The records of a managed Kafka are ConfigMaps as others are."""

    def __init__(self) -> None:
        super().__init__()
        self.records: dict[Key, Record] = {}

    def get_config_map(self, key: Key) -> ConfigMap | None:
        """A record, too."""
        record = self.records.get(key)
        return super().get_config_map(key) if record is None else ConfigMap(key, record.data, None, record.version)


@dataclass
class ManagedWorld:
    """All that outlives a process.

    Attributes:
        disks: by the UID of the PersistentVolumeClaim.
        running: nodes whose process runs.
        violations: what must never be, and was.
        unavoidable: disks that went between their first format and the look that would have found their node
            (docs/adr/0056-format-tokens.md, Left).
        once: pods that have formatted, and
        questions: what pods ask; both are files of the pods.
        behind: nodes whose replicas, or whose metadata, lack records, and for how many looks still.
        formats_everything: the control: the entrypoint formats whatever is empty.
        owners: by the UID of a pod that of its StatefulSet.
    """

    time: Time = field(default_factory=Time)
    kube: OneApiServer = field(default_factory=OneApiServer)
    objects: FakeKafkaObjects = field(default_factory=FakeKafkaObjects)
    kafka: LoggingKafka = field(default_factory=LoggingKafka)
    intents: FakeIntentStore = field(default_factory=FakeIntentStore)
    disks: dict[str, Disk] = field(default_factory=dict)
    running: set[int] = field(default_factory=set)
    held: set[int] = field(default_factory=set)
    behind: dict[int, int] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)
    formats_everything: bool = False
    unavoidable: int = 0
    once: set[str] = field(default_factory=set)
    questions: dict[str, str] = field(default_factory=dict)
    formatted: list[tuple[int, str]] = field(default_factory=list)
    templates: dict[str, Any] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    spec: dict[str, Any] = field(default_factory=lambda: dict(SPEC))
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        self.kube.records, self.objects.time = self.objects.records, self.time
        self.kube.apply(WAL, self.spec)

    # --- the operator

    def processes(self, calls: Guard | None = None) -> list[Reconciler[Any, Any, Any, Any]]:
        """The controllers of a new operator process that have something to do."""
        return [self.process(calls)]

    def process(self, calls: Guard | None = None) -> Reconciler[Any, Any, Any, Any]:
        """The controller of nodes, of a new operator process."""

        def guard(port: Any) -> Any:
            return port if calls is None else calls.guard(port)

        clusters = guard(self.clusters())
        ids = (f"id{number:020}" for number in self._numbers)
        controller = ManagedKafkaController(
            guard(self.kube), guard(self.objects), clusters, self.time, self.time, OPERATOR, new_id=lambda: next(ids)
        )
        return Reconciler(controller, may_write=lambda: True)

    def topics(self) -> Reconciler[Any, Any, Any, Any]:
        """The controller of WALClusters, which makes the pool's topics."""
        no_database = FakeDataPlanes(DataPlaneParts(FakeDataPlane(), FakeMetadataStore()))
        opener = ClusterOpener(self.kube, self.clusters(), no_database)
        deletion = TopicDeletion(self.kube, LedgerObserver(opener, self.intents, self.time, self.time))
        ports = (self.kube, self.clusters(), FakeLedgers(), self.time, FakeMeters(), deletion)
        return Reconciler(WALClusterController(*ports), may_write=lambda: True)

    def clusters(self) -> FakeKafkaClusters:
        """Kafka at the addresses of its brokers."""
        return FakeKafkaClusters({f"wal-{node}.db.svc:{port}": self.kafka for node in BROKERS for port in (9091, 9092)})

    def live(self, calls: Guard | None = None, *, ticks: int = 400, until: Callable[[], bool] | None = None) -> None:
        """A process ticks, and the world goes on, until nothing is to be done for a while."""
        processes, quiet = self.processes(calls), 0
        for _ in range(ticks):
            is_waiting = True
            for process in processes:
                ticked = process.tick(WAL)
                is_waiting = is_waiting and (ticked.after is None or ticked.after > 0)
            if is_waiting:
                self.go_on()
                self.time.time += timedelta(seconds=WAITS)
            quiet = quiet + 1 if is_waiting else 0
            if until() if until is not None else quiet > 10:
                return
        if until is not None:
            raise AssertionError(f"never so: {self.condition()}")

    def go_on(self) -> None:
        """Garbage collector, kubelet, Kafka and writers do what is to be done."""
        found = self.kube.get(WALCluster, WAL)
        lives = None if found is None else found.metadata.uid
        owners = {meta.owner_uid for meta in self.objects.meta.values() if meta.owner_uid is not None}
        for owner in owners - {lives}:
            self.objects.collect_garbage(owner)
        self.kubelet()
        self.elect()
        self.write()
        self.check("")

    # --- Kubernetes

    @property
    def nodes(self) -> tuple[Node, ...]:
        """As declared, and those that leave."""
        found = self.kube.get(WALCluster, WAL)
        spec = WALCluster.KIND.spec.model_validate(self.spec) if found is None else found.spec
        return found_nodes(WAL, spec.kafka.managed, self.objects.find(WAL))  # type: ignore[union-attr]

    def kubelet(self) -> None:
        """Makes pods, and runs their entrypoints."""
        for node in self.nodes:
            pods, is_made = self.objects.pods.setdefault(WAL, {}), (ObjectKind.STATEFUL_SET, node.name) in self._made()
            if not is_made or node.id in self.held or self._makes_none(node):
                continue
            owner = self.objects.meta[ObjectKind.STATEFUL_SET, Key(WAL.namespace, node.name)].uid
            if node.id in pods and self.owners.get(pods[node.id].uid, owner) != owner:
                self.kill(node.id)  # the garbage collector: its StatefulSet is another one
                continue
            if node.id not in pods:
                self.objects.put_pod(WAL, self._new_pod(node))
                self.owners[pods[node.id].uid] = owner
            self.provision(node)
            if node.id not in self.running:
                self._start(node)
        brokers, online = set(self.brokers), self._online()
        for number in self.running:
            is_ready = number not in brokers or number in online
            self.objects.update_pod(WAL, number, is_started=True, is_ready=is_ready, said="", trouble="")

    def _makes_none(self, node: Node) -> bool:
        return self.objects.meta[ObjectKind.STATEFUL_SET, Key(WAL.namespace, node.name)].replicas == 0

    def provision(self, node: Node) -> None:
        """The storage driver makes the volume of a pod as large as its claim asks for."""
        place = (ObjectKind.VOLUME, Key(WAL.namespace, node.volume))
        meta = self.objects.meta.get(place)
        if meta is not None and meta.size is not None:
            self.objects.resize(place, capacity=meta.size.requested)

    def _new_pod(self, node: Node) -> FoundPod:
        """As the StatefulSet says."""
        template = self.objects.made[ObjectKind.STATEFUL_SET, Key(WAL.namespace, node.name)].body["spec"]["template"]
        volumes = template["spec"]["volumes"]
        (config,) = (each["configMap"]["name"] for each in volumes if each["name"] == CONFIG_VOLUME)
        annotations, made_of = template["metadata"]["annotations"], config.removeprefix(f"{node.name}-")
        spec_hash, certificate = (annotations.get(name) for name in (SPEC_HASH_ANNOTATION, CERTIFICATE_ANNOTATION))
        pod, uid = f"{node.name}-0", new_uid()
        return FoundPod(node.id, pod, uid, template=made_of, spec_hash=spec_hash, certificate=certificate)

    def _made(self) -> set[tuple[ObjectKind, str]]:
        return {(kind, key.name) for kind, key in self.objects.made}

    def disk_of(self, node: int) -> Disk | None:
        """The disk of a node's volume, if there is a volume."""
        meta = self.objects.meta.get((ObjectKind.VOLUME, Key(WAL.namespace, f"data-wal-{node}")))
        return None if meta is None else self.disks.setdefault(meta.uid, Disk())

    def _start(self, node: Node) -> None:
        disk = self.disk_of(node.id)
        if disk is None:
            self.objects.update_pod(WAL, node.id, trouble="persistentvolumeclaim not found")
            return
        if (ObjectKind.CONFIG_MAP, f"{node.name}-{self.objects.pods[WAL][node.id].template}") not in self._made():
            return  # ContainerCreating, for as long as its files are not there
        placed = self.objects.pods[WAL][node.id].placed or self.time.time
        self.objects.update_pod(WAL, node.id, placed=placed)
        refusal = self._prepare(node, disk)
        self.objects.update_pod(WAL, node.id, said=refusal, is_started=False, is_ready=False, trouble="")
        if not refusal:
            self.running.add(node.id)

    def _prepare(self, node: Node, disk: Disk) -> str:
        """The entrypoint."""
        template = self.objects.made[ObjectKind.STATEFUL_SET, Key(WAL.namespace, node.name)]
        pod = self.objects.pods[WAL][node.id]
        environment = {
            each["name"]: each.get("value")
            for each in template.body["spec"]["template"]["spec"]["containers"][0]["env"]
        }
        cluster_id = environment["CLUSTER_ID"]
        if disk.node is not None:
            is_own = (disk.node, disk.cluster_id) == (node.id, cluster_id)
            return "" if is_own else "ForeignVolume: it is of another"
        record = self.objects.records.get(Key(WAL.namespace, format_name(WAL.name)))
        token = (record.data if record is not None else {}).get(token_key(node.id), "")
        kind, _, rest = token.partition(" ")
        voters, _, question = rest.partition(" ") if kind == "initial" else ("", "", rest)
        asked = self.questions.get(pod.uid)
        is_answered = question == asked if question else pod.uid not in self.once
        if self.formats_everything:
            kind, is_answered = kind or "join", True
        if kind not in {"initial", "join"} or not is_answered:
            asked = self.questions.setdefault(pod.uid, f"question-{next(self._numbers)}")
            return f"VolumeEmpty {asked}: nothing is on it"
        mine = (each.rpartition(":")[2] for each in voters.split(",") if each.startswith(f"{node.id}@"))
        self._format(node, disk, cluster_id, next(mine) if kind == "initial" else new_topic_id())
        self.once.add(pod.uid)
        self.questions.pop(pod.uid, None)
        return ""

    def _format(self, node: Node, disk: Disk, cluster_id: str, directory: str) -> None:
        disk.node, disk.cluster_id, disk.directory = node.id, cluster_id, directory
        if directory in {other for _, other in self.formatted}:
            if self._has_registered(node.id):
                self.violations.append(f"K4: directory {directory} is on a second disk, of node {node.id}")
            self.unavoidable += 1
        self.formatted.append((node.id, directory))
        self._forget_unclean(node.id)

    def _has_registered(self, node: int) -> bool:
        """Whether the operator has written down that Kafka heard from it."""
        record = self.objects.records.get(Key(WAL.namespace, identity_name(WAL.name)))
        if record is None:
            return True
        found = Identity.model_validate_json(record.data[IDENTITY]).nodes.get(node)
        return found is not None and found.registered

    # --- Kafka

    def _forget_unclean(self, node: int) -> None:
        """A broker with another disk is no eligible leader any more (KIP-966), but stays the last in sync."""
        for log in self.kafka.logs.values():
            log.elr.discard(node)

    @property
    def brokers(self) -> tuple[int, ...]:
        """The nodes that are declared brokers."""
        return tuple(node.id for node in self.nodes if node.pool.is_broker)

    def _online(self) -> set[int]:
        """Brokers that Kafka hears from: there is a quorum."""
        return {node for node in self.brokers if node in self.running} if self.has_quorum() else set()

    def has_quorum(self) -> bool:
        """Whether more than half of the voters run."""
        return 2 * len([node for node in CONTROLLERS if node in self.running]) > len(CONTROLLERS)

    def hear_controllers(self) -> None:
        """In this world the voters are the nodes, whatever disks they have."""
        moves = self.kafka.moves
        moves.controllers = CONTROLLERS
        moves.controllers_down = set(CONTROLLERS) - self.running
        for number in CONTROLLERS:
            disk = self.disk_of(number)
            if disk is not None and disk.directory:
                moves.directories[number] = disk.directory
        moves.unheard = {node for node in CONTROLLERS if node not in moves.directories}

    def elect(self) -> None:
        """The controller hears who is there, and each partition gets its leader."""
        kafka, online = self.kafka, self._online()
        for number in self.brokers:
            disk = self.disk_of(number)
            if number in online and number not in kafka.brokers and disk is not None:
                kafka.brokers = tuple(sorted({*kafka.brokers, number}))
                kafka.cluster_id = disk.cluster_id
        kafka.offline = set(kafka.brokers) - online
        self.hear_controllers()
        if online and len(kafka.brokers) >= len(BROKERS) and not kafka.logs and self._may_have_topics():
            for name, (replicas, min_isr) in TOPICS.items():
                kafka.add_topic(name, replicas=replicas, configs={"min.insync.replicas": str(min_isr)})
                kafka.logs[name] = Log(replicas, min_isr, set(replicas))
        for joined in set(kafka.brokers) - {*BROKERS}:  # somebody makes a topic there
            if (name := f"late-{joined}") not in kafka.logs and kafka.logs:
                kafka.add_topic(name, replicas=(joined, 0), configs={"min.insync.replicas": "1"})
                kafka.logs[name] = Log((joined, 0), 1, {joined, 0})
        for name, log in kafka.logs.items():
            self._lead(name, log, online)

    def _lead(self, name: str, log: Log, online: set[int]) -> None:
        for gone in sorted(log.isr - online):
            if len(log.isr) == 1 and log.min_isr == 1:
                break  # the last one stays
            log.isr.discard(gone)
            if len(log.isr) < log.min_isr:
                log.elr.add(gone)
        candidates = sorted(log.isr & online) or sorted(log.elr & online)
        if not log.isr and not log.elr and log.last in online:
            candidates = [log.last]
        log.leader = candidates[0] if candidates else None
        if log.leader is None:
            return
        log.last = log.leader
        log.isr.add(log.leader)
        log.elr.discard(log.leader)
        lead = self._log(log.leader, name)
        if lead < log.acknowledged and any(self._log(other, name) > lead for other in log.replicas):
            self.violations.append(f"K4: {name} is led by {log.leader} with {lead} of {log.acknowledged} records")
        for follower in sorted((set(log.replicas) & online) - self.behind.keys()):
            self._put(follower, name, lead)
            log.isr.add(follower)
        if len(log.isr) >= log.min_isr:
            log.elr.clear()

    def _may_have_topics(self) -> bool:
        """As the controller of WALClusters asks before it makes them."""
        found = self.kube.get(WALCluster, WAL)
        return self.formats_everything or (found is not None and why_forming(self.kube, found) is None)

    def _log(self, node: int, topic: str) -> int:
        disk = self.disk_of(node)
        return 0 if disk is None else disk.logs.get(topic, 0)

    def _put(self, node: int, topic: str, end: int) -> None:
        disk = self.disk_of(node)
        if disk is not None and disk.node == node:
            disk.logs[topic] = end

    def write(self) -> None:
        """Producers write one record to each partition that takes it, and remember what was acknowledged."""
        for name, log in self.kafka.logs.items():
            if log.leader is None or len(log.isr) < log.min_isr:
                continue
            end = self._log(log.leader, name) + 1
            for replica in log.isr:
                self._put(replica, name, end)
            log.acknowledged = max(end, log.acknowledged)

    def check(self, after: str) -> None:
        """What must be true after each change."""
        for (kind, key), manifest in self.objects.made.items():
            if kind is ObjectKind.STATEFUL_SET:
                template = manifest.body["spec"]["template"]
                before = self.templates.setdefault(self.objects.meta[kind, key].uid, template)
                if before != template and not self.may_change(key.name):
                    self.violations.append(f"K7: {key.name} was changed {after}")
                self.templates[self.objects.meta[kind, key].uid] = template
        for group in ("brokers", "controllers"):
            self._check_budget(group, after)
        assert not self.violations, self.violations

    def _check_budget(self, group: str, after: str) -> None:
        """It counts each node that is there, so that one eviction at most passes."""
        budget = self.objects.made.get((ObjectKind.BUDGET, Key(WAL.namespace, f"wal-kafka-{group}")))
        if budget is None:
            return
        running = {meta.name for meta in self.objects.meta.values() if meta.replicas}
        count = sum(node.budget == group and node.name in running for node in self.nodes)
        pods = sum((node // 100 == 1) == (group == "controllers") for node in self.objects.pods.get(WAL, {}))
        if not self.says("NodesNotDeclared"):
            count = max(count, pods)  # also those of nodes that the operator does not remember
        if budget.body["spec"]["minAvailable"] < count - 1:
            self.violations.append(f"K1: {budget.name} lets more than one of {count} go {after}")

    def may_change(self, statefulset: str) -> bool:  # noqa: ARG002 - of a world with rolls
        """Whether its template may be another one now."""
        return False

    # --- what happens to machines, and what people do

    def kill(self, node: int) -> None:
        """Its pod goes; another one is made."""
        self.running.discard(node)
        self.objects.pods.get(WAL, {}).pop(node, None)

    def lose_disk(self, node: int) -> None:
        """Its pod goes, and the disk of its volume is another one, an empty one."""
        self.kill(node)
        disk = self.disk_of(node)
        if disk is not None:
            disk.wipe()

    def scale_set(self, node: int, replicas: int = 0) -> None:
        """Somebody scales the StatefulSet of a node, as those do who free a volume, or save at night."""
        place = (ObjectKind.STATEFUL_SET, Key(WAL.namespace, f"wal-{node}"))
        if place in self.objects.meta:
            self.objects.scale(place, replicas)
            if not replicas:
                self.kill(node)

    def scale_back(self) -> None:
        """They scale back what they scaled, and nothing that was taken out."""
        for kind, key in list(self.objects.meta):
            found = self.objects.meta[kind, key]
            if found.replicas == 0 and not found.is_taken_out and found.node is not None:
                self.scale_set(found.node, 1)

    def empty_disk(self, node: int) -> None:
        """The disk is emptied under a pod that stays: its container begins anew."""
        self.running.discard(node)
        disk = self.disk_of(node)
        if disk is not None:
            disk.wipe()

    def lose_volume(self, node: int) -> None:
        """Its pod goes, and its PersistentVolumeClaim with it."""
        self.kill(node)
        self.objects.remove(ObjectKind.VOLUME, Key(WAL.namespace, f"data-wal-{node}"))

    def restore_volume(self, node: int) -> None:
        """Its pod goes; its PersistentVolumeClaim is another one, with the disk that it had."""
        self.kill(node)
        self.replace_claim(node)

    def delete_claim(self, node: int) -> None:
        """Somebody deletes its PersistentVolumeClaim, which waits for its pod."""
        place = (ObjectKind.VOLUME, Key(WAL.namespace, f"data-wal-{node}"))
        self.objects.meta[place] = replace(self.objects.meta[place], is_terminating=True)

    def replace_claim(self, node: int) -> None:
        """Its PersistentVolumeClaim is another one, with the disk that it had."""
        place = (ObjectKind.VOLUME, Key(WAL.namespace, f"data-wal-{node}"))
        meta = self.objects.meta.get(place)
        if meta is not None:
            self.objects.meta[place] = replace(meta, uid=new_uid(), created=self.time.time)
            self.disks[self.objects.meta[place].uid] = self.disks.pop(meta.uid, Disk())

    def scale(self, brokers: int, **pools: int) -> None:
        """Somebody wants so many brokers, and these pools of more."""
        first = {name: 200 + 100 * number for number, name in enumerate(pools)}
        made = [
            pool("controllers", "controller", CONTROLLERS[0], len(CONTROLLERS)),
            pool("brokers", "broker", BROKERS[0], brokers),
            *(pool(name, "broker", first[name], count) for name, count in pools.items()),
        ]
        self.spec = {**self.spec, "kafka": {"managed": {**self.spec["kafka"]["managed"], "nodePools": made}}}
        self.kube.apply(WAL, self.spec)

    def network(self, **policy: Any) -> None:
        """Somebody says who may connect."""
        managed = {**self.spec["kafka"]["managed"], "networkPolicy": policy}
        self.spec = {**self.spec, "kafka": {"managed": managed}}
        self.kube.apply(WAL, self.spec)

    def open_policy(self) -> None:
        """Somebody edits the NetworkPolicy itself."""
        found = self.objects.meta.get(POLICY)
        if found is not None:
            open_to_all = {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{}]}
            self.objects.change_policy(
                found, WAL.namespace, replace(self.objects.made[POLICY], body={"spec": open_to_all})
            )

    def remove_policy(self) -> None:
        """Somebody deletes it."""
        self.objects.remove(*POLICY)

    def lose_record(self, name: str) -> None:
        """Somebody deletes a record."""
        self.objects.records.pop(Key(WAL.namespace, name), None)

    def delete_and_apply(self) -> None:
        """The CRDs are deleted, and all that the WALCluster owned with them; then all is applied again."""
        found = self.kube.get(WALCluster, WAL)
        if found is None:
            return
        self.kube.remove(WAL)
        self.objects.collect_garbage(found.metadata.uid)
        self.running.clear()
        self.objects.pods.pop(WAL, None)
        self.kube.apply(WAL, self.spec)

    def forget_status(self) -> None:
        """Somebody empties the status."""
        self.kube.write_raw_status(WAL, WALCluster, {})

    # --- what is true

    def found(self) -> WALCluster:
        """As the API server has it."""
        found = self.kube.get(WALCluster, WAL)
        assert found is not None
        return found

    def condition(self) -> tuple[str, str, str] | None:
        """Status, reason and message of KafkaNodesHealthy."""
        found = self.kube.get(WALCluster, WAL)
        now = None if found is None else find_condition(found.status.conditions, ConditionType.KAFKA_NODES_HEALTHY)
        return None if now is None else (now.status, now.reason, now.message)

    def is_policy_as_declared(self) -> bool:
        """Whether there is one that says what the spec says, or none if that is what it says."""
        cluster, made = self.found(), self.objects.made.get(POLICY)
        kafka = cluster.spec.kafka.managed  # type: ignore[union-attr]
        assert kafka is not None
        if not kafka.network_policy.enabled:
            return made is None
        return made is not None and made.body == network_policy(WAL, kafka, OPERATOR).body

    def says(self, reason: str) -> bool:
        """Whether that is the reason now."""
        found = self.condition()
        return found is not None and found[1] == reason

    def pinned(self) -> str:
        """The id of the Kafka that is meant."""
        found = self.kube.get(WALCluster, WAL)
        status = None if found is None else found.status.managed_kafka
        return "" if status is None or status.cluster_id is None else status.cluster_id

    def tokens(self) -> dict[str, str]:
        """Those that are there."""
        found = self.objects.records.get(Key(WAL.namespace, format_name(WAL.name)))
        return {} if found is None else dict(found.data)

    def bring_up(self) -> ManagedWorld:
        """All nodes are Online, and tokens are back."""
        self.live(until=lambda: self.says("AllOnline") and not self.tokens() and bool(self.kafka.logs))
        return self
