"""SparkApplications and their drivers, as values, and how the SparkApplication of an attempt is built.

Source: sparkoperator.k8s.io/v1beta2 of kubeflow's Spark Operator 2.4.

Everything that a pod needs is in its pod template, which Spark itself reads, so the Spark Operator's webhook is not
needed. The pods fit Pod Security `restricted`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from seawall.api.meta import Key
from seawall.api.quantity import MI
from seawall.api.v1alpha1.kafka_access import ExternalKafka
from seawall.api.v1alpha1.spark_spec import SparkSpec
from seawall.domain.spark_job.request import KAFKA_FOLDER

OVER = frozenset({"COMPLETED", "FAILED"})
"""The states in which nothing happens any more: with restartPolicy Never, a submission that fails ends in FAILED."""
RERUN = "PENDING_RERUN"
"""The state in which the driver before goes, and another begins."""

NEEDS_PERSON = frozenset(
    {
        "CreateContainerConfigError",
        "ErrImageNeverPull",
        "ErrImagePull",
        "ImageInspectError",
        "ImagePullBackOff",
        "InvalidImageName",
    }
)
"""Why a container does not start, in the kubelet's words, where waiting alone does not help."""

SNAPSHOT_FOLDER = "/snapshot"
"""Where pods have the volume of a snapshot."""
_MISSING_CLAIM = re.compile(r'persistentvolumeclaim "[^"]*" (not found|is being deleted)')
"""What the scheduler says of a pod with a claim that somebody has to make first."""


@dataclass(frozen=True, slots=True)
class SparkApplication:
    """A SparkApplication as the API server has it."""

    key: Key
    uid: str
    created_at: datetime
    controller_uid: str | None = None
    state: str = ""
    """The Spark Operator's word; empty: it has not looked at it yet."""
    error: str = ""
    """Why it failed, in the Spark Operator's words, which may be many lines of a log."""
    driver_pod: str | None = None
    executors: tuple[str, ...] = ()
    """In what states its executors' pods are, in the Spark Operator's words, sorted."""

    @property
    def is_over(self) -> bool:
        """Whether it has ended, well or not."""
        return self.state in OVER

    def progress(self) -> str:
        """How far it is, as a clause: a driver whose executors do not come waits, and nobody else says so."""
        if self.state != "RUNNING" or "RUNNING" in self.executors:
            return f"is {self.state}"
        states = ", ".join(self.executors) or "none has a pod"
        return f"is {self.state}, and no executor of it runs ({states})"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a driver's container ended: its exit code, and what it wrote as its termination message."""

    exit_code: int
    message: str
    finished_at: datetime | None = None
    """When, by its node's clock; None: nobody says."""


@dataclass(frozen=True, slots=True)
class Stuck:
    """Why a driver does not start, in one word and in one sentence of the kubelet's or the scheduler's."""

    reason: str
    message: str

    @property
    def needs_person(self) -> bool:
        """Whether it cannot pass by itself."""
        return self.reason in NEEDS_PERSON or _MISSING_CLAIM.search(self.message) is not None


@dataclass(frozen=True, slots=True)
class Works:
    """A driver that runs, whatever the Spark Operator says of its application.

    Where the API server is away when it has just begun an application anew, its word for good is PENDING_RERUN, and it
    waits for that very driver to go (kubeflow/spark-operator 2.4, `reconcilePendingRerunSparkApplication`).
    """


Driver = Ended | Stuck | Works | None
"""A driver; None: there is none, or it begins, or goes."""


def works(application: SparkApplication | None, driver: Driver) -> bool:
    """Whether there is one that does what it is for."""
    if application is None or application.is_over:
        return False
    return application.state == "RUNNING" or isinstance(driver, Works)


SPARK_VERSION = "4.0.0"
REQUEST_FOLDER = "/etc/seawall/request"
SUMMARY_FILE = "/dev/termination-log"
USER = 185
"""Spark's user in its images; it has a name there, without which Hadoop cannot log in."""

CONF = {
    "spark.ui.enabled": "false",
    # So the driver needs no right but on pods. With one to delete ConfigMaps it could delete Seawall's own intents.
    "spark.kubernetes.executor.disableConfigMap": "true",
    "spark.kubernetes.driver.service.deleteOnTermination": "false",
    "spark.kubernetes.driver.ownPersistentVolumeClaim": "false",
    "spark.kubernetes.driver.reusePersistentVolumeClaim": "false",
}

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Mount:
    """A volume and where a pod has it."""

    name: str
    source: Body
    folder: str
    read_only: bool = True

    def volume(self) -> Body:
        """As the pod names it."""
        return {"name": self.name, **self.source}

    def mount(self) -> Body:
        """As the container names it."""
        return {"name": self.name, "mountPath": self.folder, **({"readOnly": True} if self.read_only else {})}


@dataclass(frozen=True, slots=True)
class Program:
    """What runs, and what its pods need beside the request and Kafka's Secrets.

    Attributes:
        main_file: where the image has the application.
        shared: of driver and executors.
        private: of the driver alone.
    """

    main_file: str
    arguments: tuple[str, ...]
    shared: tuple[Mount, ...] = ()
    private: tuple[Mount, ...] = ()


def claim(name: str, claim_name: str, folder: str, *, read_only: bool = False) -> Mount:
    """A PersistentVolumeClaim."""
    source: Body = {"claimName": claim_name, **({"readOnly": True} if read_only else {})}
    return Mount(name, {"persistentVolumeClaim": source}, folder, read_only)


def secret(name: str, secret_name: str, files: Mapping[str, str], folder: str, *, optional: bool = False) -> Mount:
    """Keys of a Secret, and the files that they become; without an optional one a pod starts all the same."""
    items = [{"key": key, "path": path} for key, path in files.items()]
    source: Body = {"secretName": secret_name, "items": items, **({"optional": True} if optional else {})}
    return Mount(name, {"secret": source}, folder)


NEVER: Body = {"type": "Never"}
"""Who makes attempts of it, makes them himself."""


def build_application(
    key: Key, program: Program, spark: SparkSpec, *kafka: Mount, restart_policy: Mapping[str, Any] = NEVER
) -> Body:
    """The spec of a SparkApplication that works on the request in the ConfigMap of the same name.

    `kafka` are the Secrets by which it reaches Kafka: `kafka_secrets`.
    """
    shared = [Mount("tmp", {"emptyDir": {}}, "/tmp", read_only=False), *program.shared]  # noqa: S108 - of its own pod
    request = Mount("request", {"configMap": {"name": key.name}}, REQUEST_FOLDER)
    private = [request, *kafka, *program.private]
    cpu = {} if spark.cpu_request is None else {"coreRequest": spark.cpu_request}
    return {
        "type": "Python",
        "pythonVersion": "3",
        "mode": "cluster",
        "sparkVersion": SPARK_VERSION,
        "image": spark.image,
        "imagePullPolicy": spark.image_pull_policy,
        **({"imagePullSecrets": list(spark.image_pull_secrets)} if spark.image_pull_secrets else {}),
        "mainApplicationFile": program.main_file,
        "arguments": list(program.arguments),
        "restartPolicy": dict(restart_policy),
        "sparkConf": {**spark.conf, **CONF},
        "driver": {
            "cores": 1,
            **cpu,
            "memory": _memory(spark.driver_memory),
            "serviceAccount": spark.service_account_name,
            "template": _pod("spark-kubernetes-driver", [*shared, *private]),
        },
        "executor": {
            "instances": spark.executors,
            "cores": spark.cores,
            **cpu,
            "memory": _memory(spark.memory),
            "template": _pod("spark-kubernetes-executor", shared),
        },
    }


def _memory(size: int) -> str:
    """As the JVM writes it, in whole MiB."""
    return f"{size // MI}m"


def _pod(container: str, mounts: list[Mount]) -> Body:
    return {
        "spec": {
            "automountServiceAccountToken": container == "spark-kubernetes-driver",
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": USER,
                "runAsGroup": USER,
                "fsGroup": USER,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                {
                    "name": container,
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "readOnlyRootFilesystem": True,
                        "capabilities": {"drop": ["ALL"]},
                    },
                    "volumeMounts": [each.mount() for each in mounts],
                }
            ],
            "volumes": [each.volume() for each in mounts],
        }
    }


def kafka_secrets(kafka: ExternalKafka, name: str = "kafka", folder: str = KAFKA_FOLDER) -> tuple[Mount, ...]:
    """Those of a connection to Kafka: their files are those that `request.paths_in` names for the folder."""
    found: dict[str, tuple[str, dict[str, str]]] = {}
    ca = kafka.tls.ca_secret_ref if kafka.tls else None
    cert = kafka.tls.client_cert_secret_ref if kafka.tls else None
    if ca is not None:
        found["ca"] = ca.name, {ca.key: "ca.crt"}
    if cert is not None:
        found["client"] = cert.name, {cert.cert_key: "tls.crt", cert.key_key: "tls.key"}
    if kafka.sasl is not None:
        ref = kafka.sasl.credentials_secret_ref
        user = {} if kafka.sasl.username is not None else {ref.username_key: "username"}
        found["sasl"] = ref.name, {**user, ref.password_key: "password"}
    return tuple(secret(f"{name}-{part}", of, files, f"{folder}/{part}") for part, (of, files) in found.items())
