"""WALClusters as a person on call may find them: objects as the API server has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from seawall.api.meta import Key
from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.backup_policy import WALBackupPolicy
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.policy import WALPurgePolicy
from seawall.api.v1alpha1.purge import WALPurge
from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.subscription import WALSubscription
from seawall.api.v1alpha1.verification import WALVerification
from tests.fakes.kube import FakeKube

NAMESPACE = "db"
WAL = Key(NAMESPACE, "wal")
LEASE: Mapping[str, Any] = {"spec": {"holderIdentity": "seawall-0", "renewTime": "2026-11-22T09:29:57.123456Z"}}
GI = 2**30
Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Story:
    """Objects, and the operator's Lease."""

    objects: tuple[Object, ...]
    lease: Mapping[str, Any] = field(default_factory=lambda: LEASE)


def at(kind: str, status: str, reason: str, message: str = "", *, since: str = "09:18:00") -> Object:
    """A condition."""
    time = f"2026-11-22T{since}Z"
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": time}


def kstatus(holds: str, reason: str, message: str) -> list[Object]:
    """Ready, Reconciling and Stalled, of which at most one holds."""
    return [
        at(kind, "True" if kind == holds else "False", reason, message) for kind in ("Ready", "Reconciling", "Stalled")
    ]


def cluster(conditions: list[Object], annotations: Mapping[str, str] | None = None, **status: Any) -> Object:
    """The WALCluster: three brokers, four topics, three datanodes."""
    numbers = {
        "observedGeneration": 2,
        "kafka": {
            "clusterId": "one",
            "brokers": {"total": 3, "online": 3},
            "quorum": {"leader": 1, "voters": [1, 2, 3], "maxLag": 0},
        },
        "topics": {
            "desired": 4,
            "ready": 4,
            "drifted": 0,
            "foreign": 0,
            "underReplicated": 0,
            "minInSyncReplicas": 2,
        },
        "dataPlane": {"datanodes": 3, "reporting": 3, "regions": 12, "topicsInUse": 4, "readsMarkerAtOpen": True},
        "wal": {"topics": 4, "purgeable": 3, "heldBack": 0, "bytes": 5 * GI, "purgeableBytes": 3 * GI // 2},
    }
    return {
        "kind": "WALCluster",
        "name": WAL.name,
        "annotations": dict(annotations or {}),
        "spec": {"kafka": {"external": {"bootstrapServers": ["kafka:9092"]}}, "topics": {"prefix": "wal", "count": 4}},
        "status": {**numbers, "conditions": conditions, **status},
    }


def of_cluster(kind: str, name: str, spec: Mapping[str, Any] | None = None, **status: Any) -> Object:
    """An object that refers to it."""
    return {"kind": kind, "name": name, "spec": {"clusterRef": {"name": WAL.name}, **(spec or {})}, "status": status}


def row(number: int, **more: Any) -> Object:
    """What a restart of a datanode would cost."""
    costs = {"entries": 20_000 * (number + 1), "replaySeconds": 12 * (number + 1), "startupSeconds": 18 * number + 48}
    return {"pod": f"datanode-{number}", "datanode": number, "probeSeconds": 300, **costs, **more}


ALL_WELL = [
    *kstatus("Ready", "Ready", "4 topics are ready"),
    at("KafkaReachable", "True", "Connected"),
    at("TopicsReady", "True", "Ready", "4 of 4 topics are ready"),
    at("DataPlaneReachable", "True", "Connected", "3 of 3 datanodes report"),
    at("WALIntact", "True", "Intact", "no region of 4 topics needs records that are gone"),
    at("ReplicationHealthy", "True", "InSync", "every replica is in sync"),
    at("QuorumHealthy", "True", "VotersKeepUp", "controller 1 leads, all 3 voters keep up"),
    at("DatanodesHealthy", "True", "Serving", "3 datanodes serve all their regions"),
]


def but(*others: Object) -> list[Object]:
    """All is well, but for these."""
    types = {other["type"] for other in others}
    return [condition for condition in ALL_WELL if condition["type"] not in types] + list(others)


POLICY = of_cluster(
    "WALPurgePolicy",
    "wal",
    {"schedule": "*/10 * * * *"},
    conditions=kstatus("Ready", "Ready", "runs begin at */10 * * * * (UTC)"),
    nextRunTime="2026-11-22T09:40:00Z",
)
PURGED = of_cluster(
    "WALPurge",
    "wal-20261122092000",
    stage="Completed",
    startTime="2026-11-22T09:20:01Z",
    completionTime="2026-11-22T09:22:31Z",
    conditions=[
        *kstatus("Ready", "Completed", "81200 entries of 3 topics were deleted, 0 topics were left alone"),
        at("Complete", "True", "Completed"),
        at("Failed", "False", "Completed"),
        at("Waiting", "False", "Completed"),
    ],
)
HELD = of_cluster(
    "WALHold",
    "nightly-backup",
    {"topics": {"wal_0": 1200, "wal_1": 90}, "reason": "backup of the night"},
    state="Extended",
    topics=2,
    lagBytes=700 * 2**20,
    expireTime="2026-11-22T21:29:00Z",
    conditions=kstatus("Ready", "Extended", "the hold is Extended"),
)
ROLL = {
    "stage": "Replaying",
    "reason": "Replaying",
    "message": "datanode-1 replays: 15000 of 40000 entries",
    "startTime": "2026-11-22T09:25:00Z",
    "restarted": 1,
    "maintenance": {"takenTime": "2026-11-22T09:25:20Z", "expiryTime": "2026-11-22T09:41:20Z", "wasOn": False},
    "progress": {"done": 15_000, "total": 40_000, "eta": "2026-11-22T09:30:33Z"},
    "datanodes": [row(0), row(1), row(2, due=True)],
}
DISRUPTION = {
    "kind": "DatanodeRestart",
    "name": "datanode-1",
    "uid": "uid-1",
    "startTime": "2026-11-22T09:29:30Z",
    "goneTime": "2026-11-22T09:29:40Z",
    "budgetSeconds": 720,
    "datanode": {"id": 1, "entries": 40_000, "expectedSeconds": 24},
}

STORIES: Mapping[str, Story] = {
    "new": Story(({**cluster([]), "status": {}},)),
    "healthy": Story((cluster(ALL_WELL, restart={"datanodes": [row(0), row(1), row(2)]}), POLICY, PURGED)),
    "topics_only": Story(
        (
            {
                **cluster(ALL_WELL[:5]),
                "status": {
                    "observedGeneration": 2,
                    "conditions": ALL_WELL[:5],
                    "topics": cluster([])["status"]["topics"],
                },
            },
        )
    ),
    "roll": Story(
        (
            cluster(
                but(at("DatanodesHealthy", "True", "Restarting", "datanode-1 restarts")),
                restart=ROLL,
                disruption=DISRUPTION,
            ),
            POLICY,
            of_cluster(
                "WALPurge",
                "wal-20261122093000",
                stage="Purge",
                startTime="2026-11-22T09:29:40Z",
                seenTime="2026-11-22T09:29:50Z",
                topics={"total": 4, "purged": 1},
                frozen={"topics": 4, "digest": "0" * 32, "parts": 1},
                conditions=[
                    *kstatus("Reconciling", "Seeing", "3 topics: every region has to report twice since it was seen"),
                    at("Waiting", "True", "Seeing", "3 topics: every region has to report twice since it was seen"),
                ],
            ),
            of_cluster(
                "WALVerification",
                "wal-verify-1",
                {"level": "Coverage", "spark": {"image": "verify:1"}},
                stage="Running",
                startTime="2026-11-22T09:20:00Z",
                conditions=kstatus("Reconciling", "Running", "its Spark application is RUNNING"),
            ),
        )
    ),
    "moving": Story(
        (
            cluster(
                but(
                    *kstatus("Reconciling", "Reassigning", "6 of 10 partitions have their replicas, 4 are on their way")
                ),
                reassignment={
                    "stage": "Ongoing",
                    "message": "6 of 10 partitions have their replicas, 4 are on their way",
                    "partitions": {"total": 10, "done": 6, "inFlight": 4},
                    "bytes": 4 * GI,
                    "bytesLeft": GI,
                    "estimatedSeconds": 80,
                    "startTime": "2026-11-22T09:27:00Z",
                    "digest": "abcd",
                },
            ),
            HELD,
        )
    ),
    "kafka_down": Story(
        (
            cluster(
                but(
                    *kstatus("Reconciling", "KafkaUnreachable", "no broker answers at kafka:9092"),
                    at("KafkaReachable", "False", "KafkaUnreachable", "no broker answers at kafka:9092"),
                    at("TopicsReady", "Unknown", "KafkaUnreachable", "no broker answers at kafka:9092"),
                    at("ReplicationHealthy", "Unknown", "NotAsked", "no broker answers at kafka:9092 (replication)"),
                ),
                kafka={
                    "clusterId": "one",
                    "brokers": {
                        "total": 3,
                        "online": 1,
                        "items": [
                            {
                                "id": number,
                                "state": state,
                                "leaders": 0,
                                "replicas": 0,
                                "underReplicated": 0,
                                "underMinInSyncReplicas": 0,
                            }
                            for number, state in ((1, "Online"), (2, "Fenced"), (3, "Offline"))
                        ],
                    },
                    "quorum": {"leader": 1, "voters": [1, 2, 3], "behind": [2, 3], "maxLag": 1000},
                },
            ),
        ),
        lease={"spec": {"holderIdentity": "seawall-0", "renewTime": "2026-11-22T08:00:00.000000Z"}},
    ),
    "trouble": Story(
        (
            cluster(
                but(
                    at(
                        "WALIntact",
                        "False",
                        "LogStartBeyondReplay",
                        "topic wal_3: The log starts after the first offset that a region would read.",
                    ),
                    at("DatanodesHealthy", "False", "MissingKey", "datanode-0: A record crashes the reader."),
                    at("VerificationScheduled", "False", "Suspended", "verification.suspend is set"),
                    at("QuorumHealthy", "Unknown", "NotAsked", "nobody could look"),
                ),
                {"seawall.dev/stop-deletes": "incident 7", "seawall.dev/restart": "monday"},
                observedGeneration=0,
                disruption={**DISRUPTION, "name": "datanode-0"},
                restart={
                    **ROLL,
                    "stage": "Stalled",
                    "restarted": 0,
                    "reason": "RestartTookTooLong",
                    "message": "datanode-0 does not serve after 720 s, and no other datanode is restarted.",
                    "progress": {"done": 0, "total": 20_000, "eta": "2026-11-22T09:20:00Z"},
                    "datanodes": [row(0, ailment="MissingKey"), row(1, due=True, probeSeconds=60), row(2, due=True)],
                },
            ),
            {**POLICY, "spec": {**POLICY["spec"], "suspend": True}},
            PURGED,
            of_cluster(
                "WALPurge",
                "wal-20261122092900",
                stage="Failed",
                startTime="2026-11-22T09:29:00Z",
                completionTime="2026-11-22T09:29:10Z",
                conditions=[
                    *kstatus("Stalled", "Deadline", "Kafka did not answer in time"),
                    at("Failed", "True", "Deadline", "Kafka did not answer in time", since="09:29:10"),
                ],
            ),
            of_cluster(
                "WALHold",
                "replica",
                {"topics": {"*": "earliest"}},
                state="AtRisk",
                topics=4,
                lagBytes=5 * GI,
                expireTime="2026-11-22T09:31:30Z",
                conditions=[
                    *kstatus("Ready", "AtRisk", "it expires soon: renew it"),
                    at("AtRisk", "True", "AtRisk", "it expires soon: renew it"),
                ],
            ),
            of_cluster("WALHold", "asked", {"topics": {"wal_0": 5}}),
            of_cluster(
                "WALHold",
                "gone",
                {"topics": {"wal_0": 5}},
                state="Lost",
                conditions=kstatus("Stalled", "Lost", "it expired"),
            ),
            of_cluster("WALHold", "let-go", {"topics": {"wal_0": 5}}, state="Released"),
        )
    ),
    "subscriptions": Story(
        (
            cluster(ALL_WELL),
            of_cluster(
                "WALSubscription",
                "dr",
                {"sink": {"mirror": {"target": "dr"}}, "lagBudget": {"maxBytes": "20Gi"}},
                state="Stopped",
                counts={"total": 64, "stopped": 1},
                lag={"entries": 4096, "bytes": 3 * GI, "seconds": 75},
                conditions=[
                    *kstatus("Stalled", "TopicsStopped", "1 of 64 topics stopped, the others go on: wal_3 is gone"),
                    at("WithinBudget", "False", "AtRisk", "WALHold dr: 3 GiB of 4 GiB are used up"),
                    at("TargetSafe", "Unknown", "BrokersUnknown", "it is not known when the target forgets producers"),
                ],
            ),
            of_cluster(
                "WALSubscription",
                "far",
                {"sink": {"mirror": {"target": "far"}}, "lagBudget": {"maxAge": "24h"}, "suspend": True},
                state="Stopped",
                conditions=kstatus("Ready", "Suspended", "suspend is set"),
            ),
            of_cluster(
                "WALSubscription", "new", {"sink": {"mirror": {"target": "dr"}}, "lagBudget": {"maxAge": "24h"}}
            ),
        )
    ),
    "backups": Story(
        (
            cluster(ALL_WELL),
            of_cluster(
                "WALBackupPolicy",
                "hourly",
                {"schedule": "0 * * * *"},
                conditions=[
                    *kstatus("Ready", "Scheduled", "backups begin at 0 * * * * (UTC)"),
                    at("BackedUp", "False", "ChainEnded", "WALBackup hourly-2611220800: topic wal_0 was made again"),
                ],
            ),
            of_cluster(
                "WALBackup",
                "hourly-2611220800",
                {"parentRef": {"name": "hourly-2611220700"}},
                stage="Failed",
                completionTime="2026-11-22T08:01:00Z",
                conditions=[
                    *kstatus("Stalled", "ChainEnded", "topic wal_0 was made again"),
                    at("Failed", "True", "ChainEnded", "topic wal_0 was made again"),
                ],
            ),
            of_cluster(
                "WALBackup",
                "hourly-2611220900",
                {},
                stage="Running",
                startTime="2026-11-22T09:00:00Z",
                conditions=kstatus("Reconciling", "Running", "SparkApplication hourly-2611220900-1 is RUNNING"),
            ),
        )
    ),
    "restores": Story(
        (
            cluster(ALL_WELL),
            of_cluster(
                "WALRestore",
                "first",
                {"source": {"clusterId": "c"}, "target": {"latest": True}},
                stage="Failed",
                completionTime="2026-11-22T08:01:00Z",
                conditions=[
                    *kstatus(
                        "Stalled", "TopicNotEmpty", "Kafka has wal_0: nothing is written to a topic that is there"
                    ),
                    at(
                        "Failed",
                        "True",
                        "TopicNotEmpty",
                        "Kafka has wal_0: nothing is written to a topic that is there",
                    ),
                ],
            ),
            of_cluster(
                "WALRestore",
                "second",
                {"source": {"clusterId": "c"}, "target": {"latest": True}},
                stage="AwaitingApproval",
                startTime="2026-11-22T09:00:00Z",
                conditions=[
                    *kstatus("Paused", "AwaitingApproval", "7 records of 1 topics come back"),
                    at("Waiting", "True", "AwaitingApproval", "7 records of 1 topics come back"),
                ],
            ),
        )
    ),
}

KINDS = {
    "WALCluster": WALCluster,
    "WALPurgePolicy": WALPurgePolicy,
    "WALPurge": WALPurge,
    "WALHold": WALHold,
    "WALVerification": WALVerification,
    "WALBackup": WALBackup,
    "WALBackupPolicy": WALBackupPolicy,
    "WALRestore": WALRestore,
    "WALSubscription": WALSubscription,
}


def api_server(story: Story) -> FakeKube:
    """An API server with the objects of a story."""
    kube = FakeKube()
    for found in story.objects:
        key, kind = Key(NAMESPACE, found["name"]), KINDS[found["kind"]]
        kube.apply(key, found["spec"], found.get("annotations"), kind)
        if "status" in found:
            kube.write_raw_status(key, kind, found["status"])
    return kube
