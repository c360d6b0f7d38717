"""SparkApplications and their drivers, as values, and the SparkApplication of an attempt.

Source: sparkoperator.k8s.io/v1beta2 of kubeflow's Spark Operator 2.4.

Everything that a pod needs is in its pod template, which Spark itself reads, so the Spark Operator's webhook is not
needed. The pods fit Pod Security `restricted`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from seawall.api.meta import Key
from seawall.api.quantity import MI
from seawall.api.v1alpha1.kafka_access import ExternalKafka
from seawall.api.v1alpha1.spark_spec import SparkSpec
from seawall.api.v1alpha1.verification_template import VerificationTemplate
from seawall.domain.verification.contract import FILE, KAFKA_FOLDER

OVER = frozenset({"COMPLETED", "FAILED"})
"""The states in which nothing happens any more: with restartPolicy Never, a submission that fails ends in FAILED."""

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


@dataclass(frozen=True, slots=True)
class Stuck:
    """Why a driver does not start, in one word and in one sentence of the kubelet's or the scheduler's."""

    reason: str
    message: str

    @property
    def needs_person(self) -> bool:
        """Whether it cannot pass by itself."""
        return self.reason in NEEDS_PERSON or _MISSING_CLAIM.search(self.message) is not None


Driver = Ended | Stuck | None
"""A driver; None: there is none, or it runs."""


SPARK_VERSION = "4.0.0"
MAIN_FILE = "local:///opt/seawall/verify.py"
"""Where the image has the application."""
REQUEST_FOLDER = "/etc/seawall/request"
REPORTS_FOLDER = "/reports"
SNAPSHOT_FOLDER = "/snapshot"
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


def report_uri(key: Key, template: VerificationTemplate) -> str | None:
    """Where the report of an attempt goes; None: nowhere."""
    report = template.report
    if report is None:
        return None
    if report.uri is not None:
        return f"{report.uri.rstrip('/')}/{key.name}.json"
    return f"file://{REPORTS_FOLDER}/{key.namespace}/{key.name}.json"


def build_application(
    key: Key, template: VerificationTemplate, spark: SparkSpec, kafka: ExternalKafka, digest: str
) -> Body:
    """The spec of a SparkApplication that works on the request in the ConfigMap of the same name, if it is this one."""
    volumes, mounts = _shared(template)
    private, private_mounts = _of_driver(key, template, kafka)
    driver = _pod("spark-kubernetes-driver", [*volumes, *private], [*mounts, *private_mounts])
    executor = _pod("spark-kubernetes-executor", volumes, mounts)
    cpu = {} if spark.cpu_request is None else {"coreRequest": spark.cpu_request}
    return {
        "type": "Python",
        "pythonVersion": "3",
        "mode": "cluster",
        "sparkVersion": SPARK_VERSION,
        "image": spark.image,
        "imagePullPolicy": spark.image_pull_policy,
        **({"imagePullSecrets": list(spark.image_pull_secrets)} if spark.image_pull_secrets else {}),
        "mainApplicationFile": MAIN_FILE,
        "arguments": [
            "--request",
            f"{REQUEST_FOLDER}/{FILE}",
            "--report",
            report_uri(key, template) or "-",
            "--summary",
            SUMMARY_FILE,
            "--digest",
            digest,
        ],
        "restartPolicy": {"type": "Never"},
        "sparkConf": {**spark.conf, **CONF},
        "driver": {
            "cores": 1,
            **cpu,
            "memory": _memory(spark.driver_memory),
            "serviceAccount": spark.service_account_name,
            "template": driver,
        },
        "executor": {
            "instances": spark.executors,
            "cores": spark.cores,
            **cpu,
            "memory": _memory(spark.memory),
            "template": executor,
        },
    }


def _memory(size: int) -> str:
    """As the JVM writes it, in whole MiB."""
    return f"{size // MI}m"


def _pod(container: str, volumes: list[Body], mounts: list[Body]) -> Body:
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
                    "volumeMounts": mounts,
                }
            ],
            "volumes": volumes,
        }
    }


def _shared(template: VerificationTemplate) -> tuple[list[Body], list[Body]]:
    """Volumes and mounts of driver and executors."""
    volumes: list[Body] = [{"name": "tmp", "emptyDir": {}}]
    mounts: list[Body] = [{"name": "tmp", "mountPath": "/tmp"}]  # noqa: S108 - in a pod of its own
    claim = None if template.snapshot is None else template.snapshot.persistent_volume_claim
    if claim is not None:
        volumes.append({"name": "snapshot", "persistentVolumeClaim": {"claimName": claim, "readOnly": True}})
        mounts.append({"name": "snapshot", "mountPath": SNAPSHOT_FOLDER, "readOnly": True})
    return volumes, mounts


def _of_driver(key: Key, template: VerificationTemplate, kafka: ExternalKafka) -> tuple[list[Body], list[Body]]:
    """Those of the driver alone: it reads the request and the Secrets, and writes the report."""
    volumes: list[Body] = [{"name": "request", "configMap": {"name": key.name}}]
    mounts: list[Body] = [{"name": "request", "mountPath": REQUEST_FOLDER, "readOnly": True}]
    for folder, secret, files in _secrets(kafka):
        items = [{"key": secret_key, "path": path} for secret_key, path in files.items()]
        volumes.append({"name": f"kafka-{folder}", "secret": {"secretName": secret, "items": items}})
        mounts.append({"name": f"kafka-{folder}", "mountPath": f"{KAFKA_FOLDER}/{folder}", "readOnly": True})
    claim = None if template.report is None else template.report.persistent_volume_claim
    if claim is not None:
        volumes.append({"name": "reports", "persistentVolumeClaim": {"claimName": claim}})
        mounts.append({"name": "reports", "mountPath": REPORTS_FOLDER})
    return volumes, mounts


def _secrets(kafka: ExternalKafka) -> list[tuple[str, str, dict[str, str]]]:
    """Folder, Secret, and its keys with the files that they become: those that `request.PATHS` names."""
    found: list[tuple[str, str, dict[str, str]]] = []
    ca = kafka.tls.ca_secret_ref if kafka.tls else None
    cert = kafka.tls.client_cert_secret_ref if kafka.tls else None
    credentials = kafka.sasl.credentials_secret_ref if kafka.sasl else None
    if ca is not None:
        found.append(("ca", ca.name, {ca.key: "ca.crt"}))
    if cert is not None:
        found.append(("client", cert.name, {cert.cert_key: "tls.crt", cert.key_key: "tls.key"}))
    if credentials is not None:
        keys = {credentials.username_key: "username", credentials.password_key: "password"}
        found.append(("sasl", credentials.name, keys))
    return found
