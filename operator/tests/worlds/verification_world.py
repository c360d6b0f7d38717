"""A world for replay verifications: that of the purges, with a Spark whose jobs read the logs as they are.

The Spark Operator and its jobs are the outside's part. A job is no kinder than a real one: it fails when a record that
it was told to read is gone.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from hashlib import sha256
from typing import Any

from seawall.api.meta import ConditionType, Key
from seawall.api.resource import Resource
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.kafka_access import ExternalKafka
from seawall.api.v1alpha1.spark_job import Outcome
from seawall.api.v1alpha1.verification import WALVerification, WALVerificationSpec
from seawall.controllers.hold import WALHoldController
from seawall.controllers.verification import WALVerificationController
from seawall.domain.conditions import find_condition
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.spark_job.actions import attempt_key
from seawall.domain.spark_job.application import Ended, SparkApplication
from seawall.domain.spark_job.request import EXIT_CODES, FILE, Subject
from seawall.domain.spark_job.selection import TopicRange
from seawall.domain.verification.contract import write_request
from seawall.reconciler import Outcome as Tick
from seawall.reconciler import Reconciler
from tests.fakes.meters import FakeMeters
from tests.fakes.spark import FakeSparkApplications
from tests.worlds.purge_world import CLUSTER, NAMESPACE, WAL, Calls, Guard, World

CHECK = Key(NAMESPACE, "check")
SERVICE_ACCOUNT = Key(NAMESPACE, "seawall-replay-verification")
SPEC: dict[str, Any] = {"clusterRef": {"name": "wal"}}
WAITS = 5.0
KAFKA = ExternalKafka(bootstrap_servers=("kafka:9092",))


@dataclass
class VerificationWorld(World):
    """All that outlives a process.

    Attributes:
        bad: topics that do not replay.
        dies: how many of the next drivers die without a word.
        node_says_when: whether the node of a driver says when it ended.
    """

    bad: set[str] = field(default_factory=set)
    dies: int = 0
    slow: int = 0
    """How many times the Spark Operator looks at a job before it ends."""
    node_says_when: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.spark = FakeSparkApplications(now=self.time.now, service_accounts={SERVICE_ACCOUNT})
        self.meters = FakeMeters()
        self.observed_at: dict[Key, int] = {}
        self.fail_submissions = ""
        self.spark_operator_runs = True

    def start(self, name: str = "check", **spec: Any) -> Key:
        """Somebody makes a verification."""
        key = Key(NAMESPACE, name)
        self.kube.apply(key, {**SPEC, **spec}, kind=WALVerification)
        return key

    def edit_cluster(self, verification: dict[str, Any] | None = None, **kafka: Any) -> None:
        """Its owner edits how Kafka is reached, and what verifications may run (None: as it was)."""
        external = {"external": {**CLUSTER["kafka"]["external"], **kafka}}
        data_plane = {"greptimedb": {**self.greptimedb, "autoPrune": self.auto_prune}}
        declared = CLUSTER["verification"] if verification is None else verification
        self.kube.apply(WAL, {**CLUSTER, "kafka": external, "dataPlane": data_plane, "verification": declared})

    def start_anew(self) -> None:
        """Somebody deletes the verification, and makes another one of the same name."""
        self.kube.remove(CHECK, WALVerification)
        self.start()

    def forge_request(self) -> None:
        """Somebody who may write ConfigMaps has the attempt read one record of each topic, in the operator's name."""
        obj = self.verification()
        key = attempt_key(obj.metadata.key, obj.status.attempt)
        subject = Subject(NAMESPACE, CHECK.name, obj.metadata.uid, obj.status.attempt)
        logs = {name: topic.log for name, topic in self.kafka.topics.items()}
        topics = tuple(
            TopicRange(name, str(log.topic_id), log.log_start, log.end - 1, log.end, ()) for name, log in logs.items()
        )
        spec = WALVerificationSpec.model_validate(SPEC)
        data = write_request(subject, spec, KAFKA, "fake-cluster", topics, database_version="1.1")
        if self.kube.get_config_map(key) is not None:
            self.kube.remove_config_map(key)
        self.kube.write_config_map(obj, ConfigMap(key, {}, binary_data={FILE: data}, is_immutable=True))

    # --- the operator, and the Spark Operator

    def verifier(self, calls: Guard | None = None) -> Reconciler[Any, Any, Any, Any]:
        """A new operator process that looks after verifications."""
        calls = calls or Calls(self.check)
        controller = WALVerificationController(
            calls.guard(self.kube), calls.guard(self.spark), self.observer(calls), self.time, self.meters
        )
        return Reconciler(controller, may_write=lambda: True)

    def settle_verification(self, process: Reconciler[Any, Any, Any, Any] | None = None, ticks: int = 400) -> Any:
        """Ticks until the verification is over and waits for nothing, or as often as told; time goes by."""
        process = process or self.verifier()
        return self.settle_job(process, WALVerification, CHECK, ticks)

    def settle_job(
        self, process: Reconciler[Any, Any, Any, Any], kind: type[Resource[Any, Any]], job: Key, ticks: int = 400
    ) -> Any:
        """Ticks until an object is over and waits for nothing, or as often as told; time goes by."""
        granter = Reconciler(
            WALHoldController(self.kube, self.observer(), self.time, self.meters), may_write=lambda: True
        )
        for _ in range(ticks):
            ticked = process.tick(job)
            found = self.kube.get(kind, job)
            if found is None or (found.status.is_over and ticked.outcome is Tick.WAITING):
                return found
            for hold in self.kube.list(WALHold, NAMESPACE).items:
                granter.tick(hold.metadata.key)
            self.run_spark()
            self.time.time += timedelta(seconds=WAITS if ticked.after else 0.05)
        if ticks == 400:
            raise AssertionError(f"it does not end: {self.kube.get(kind, job)}")
        return self.kube.get(kind, job)

    def delete_application(self, name: str, state: str, settle: Callable[[], object]) -> SparkApplication:
        """Somebody deletes it when the operator has seen it, and it is in this state; `settle` is one tick."""
        key = Key(NAMESPACE, name)
        for _ in range(200):
            was_there = key in self.spark.applications
            settle()
            found = self.spark.applications.get(key)
            if was_there and found is not None and found.state == state:
                self.spark.delete(found)
                return found
        raise AssertionError(f"SparkApplication {name} is never {state}")

    def run_spark(self) -> None:
        """The Spark Operator goes on with each application by one state."""
        for key, application in list(self.spark.applications.items()) if self.spark_operator_runs else ():
            match application.state:
                case "" if self.fail_submissions:
                    self.spark.applications[key] = replace(application, state="FAILED", error=self.fail_submissions)
                case "":
                    self.spark.report(key, "SUBMITTED")
                case "SUBMITTED":
                    self.spark.report(key, "RUNNING")
                case "RUNNING" if self.observed_at.get(key, 0) < self.slow:
                    self.observed_at[key] = self.observed_at.get(key, 0) + 1
                case "RUNNING":
                    self._end(key)

    def _end(self, key: Key) -> None:
        if self.dies:
            self.dies -= 1
            self.spark.report(key, "FAILED", driver=Ended(137, ""))
            return
        text, code = self.judge(key)
        driver = Ended(code, text, self.time.time if self.node_says_when else None)
        self.spark.report(key, "COMPLETED" if code == 0 else "FAILED", driver=driver)

    def judge(self, key: Key) -> tuple[str, int]:
        """What the job says of its request: a topic replays if its records are there."""
        found = self.kube.get_config_map(key)
        assert found is not None
        raw = gzip.decompress(found.binary_data["request.json.gz"])
        request = json.loads(raw)
        lost = [t["name"] for t in request["topics"] if t["name"] in self.bad or not self._is_there(t)]
        outcome = Outcome.FAILED if lost else Outcome.PASSED
        findings = [
            {"kind": "MissingEntry", "severity": "Error", "topic": name, "offset": 7, "region": 2**63, "message": ""}
            for name in lost
        ]
        read = sum(t["to"] - t["from"] for t in request["topics"])
        summary = {
            "version": 1,
            "requestDigest": sha256(raw).hexdigest(),
            "level": request["level"],
            "outcome": outcome,
            "message": f"{len(lost)} of {len(request['topics'])} topics do not replay",
            "report": None,
            "counts": {
                "records": read,
                "bytes": read * 100,
                "entries": read,
                "errors": len(lost),
                "warnings": 0,
                "regionsNotCompared": 0,
            },
            "topicsNotVerified": lost,
            "topicsNotVerifiedTruncated": False,
            "findings": findings,
        }
        return json.dumps(summary), EXIT_CODES[outcome]

    def _is_there(self, topic: dict[str, Any]) -> bool:
        log = self.kafka.topics[topic["name"]].log
        return log.log_start <= int(topic["from"]) <= int(topic["to"]) <= log.end

    # --- what is true

    def verification(self) -> WALVerification:
        """The verification."""
        found = self.kube.get(WALVerification, CHECK)
        assert found is not None
        return found

    def holds(self) -> list[str]:
        """The holds that are there."""
        return sorted(each.metadata.name for each in self.kube.list(WALHold, NAMESPACE).items)

    def request(self, attempt: int = 1) -> dict[str, Any]:
        """What the job was told."""
        found = self.kube.get_config_map(Key(NAMESPACE, f"check-{attempt}"))
        assert found is not None
        read: dict[str, Any] = json.loads(gzip.decompress(found.binary_data["request.json.gz"]))
        return read


def why(obj: Resource[Any, Any]) -> tuple[str, str]:
    """Reason and sentence of Ready."""
    found = find_condition(obj.status.conditions, ConditionType.READY)
    assert found is not None
    return found.reason, found.message
