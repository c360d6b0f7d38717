"""What the contract tests of the SparkApplications port run on: a real API server with the real CRD, and the fake.

In both the test plays the Spark Operator and the kubelet: it writes the statuses of applications and of driver pods.
"""

from __future__ import annotations

from typing import Any, Protocol

from seawall.adapters.kube.api import KubeApi
from seawall.adapters.kube.spark import CONTAINER, KubeSparkApplications
from seawall.api.meta import Key
from seawall.api.v1alpha1.verification import WALVerification
from seawall.domain.spark_job.application import Driver, Ended, Stuck, Works
from seawall.ports import SparkApplications
from tests.contract.kube_beds import Bed, FakeBed, RealBed
from tests.fakes.spark import FakeSparkApplications
from tests.support.kube import KubeClient
from tests.support.spark import SparkOperatorRole

SERVICE_ACCOUNT = "driver"
SPEC: dict[str, Any] = {"clusterRef": {"name": "wal"}, "spark": {"image": "replay-verification:1"}}


class SparkBed(Protocol):
    """SparkApplications, and the Spark Operator beside them."""

    @property
    def applications(self) -> SparkApplications: ...

    def owner(self) -> WALVerification: ...
    def key(self, name: str) -> Key: ...
    def report(
        self, key: Key, state: str, error: str = "", driver: Driver = None, executors: tuple[str, ...] = ()
    ) -> None: ...


class FakeSparkBed:
    """In memory."""

    def __init__(self, bed: FakeBed) -> None:
        self._bed = bed
        self.applications = FakeSparkApplications(service_accounts={self.key(SERVICE_ACCOUNT)})

    def owner(self) -> WALVerification:
        return make_owner(self._bed)

    def key(self, name: str) -> Key:
        return Key(self._bed.namespace, name)

    def report(
        self, key: Key, state: str, error: str = "", driver: Driver = None, executors: tuple[str, ...] = ()
    ) -> None:
        self.applications.report(key, state, error, driver, executors)


class RealSparkBed:
    """A namespace of a real API server."""

    def __init__(self, bed: RealBed, client: KubeClient, api: KubeApi) -> None:
        self._bed, self._client = bed, client
        self._role = SparkOperatorRole(client, bed.namespace)
        self.applications = KubeSparkApplications(api)
        path = f"/api/v1/namespaces/{bed.namespace}/serviceaccounts"
        client.create(path, {"metadata": {"name": SERVICE_ACCOUNT}})

    def owner(self) -> WALVerification:
        return make_owner(self._bed)

    def key(self, name: str) -> Key:
        return Key(self._bed.namespace, name)

    def report(
        self, key: Key, state: str, error: str = "", driver: Driver = None, executors: tuple[str, ...] = ()
    ) -> None:
        self._role.report(key.name, state, error, executors)
        if driver is not None:
            self._role.report_driver(key.name, pod_status(driver))


def pod_status(driver: Ended | Stuck | Works) -> dict[str, Any]:
    """As the kubelet, or for a pod without a node the scheduler, writes it."""
    if isinstance(driver, Stuck) and driver.reason == "Unschedulable":
        condition = {"type": "PodScheduled", "status": "False", "reason": driver.reason, "message": driver.message}
        return {"phase": "Pending", "conditions": [condition]}
    if isinstance(driver, Ended):
        ended = {"exitCode": driver.exit_code, "message": driver.message}
        when = {} if driver.finished_at is None else {"finishedAt": driver.finished_at.isoformat()}
        state: dict[str, Any] = {"terminated": {**ended, **when}}
    elif isinstance(driver, Works):
        state = {"running": {"startedAt": "2026-11-22T06:00:00Z"}}
    else:
        state = {"waiting": {"reason": driver.reason, "message": driver.message}}
    container = {"name": CONTAINER, "image": "x", "imageID": "", "ready": False, "restartCount": 0, "state": state}
    phase = {Ended: "Failed", Works: "Running"}.get(type(driver), "Pending")
    return {"phase": phase, "containerStatuses": [container]}


def make_owner(bed: Bed) -> WALVerification:
    """A WALVerification that is there."""
    bed.apply("check", SPEC, WALVerification)
    found = bed.kube.get(WALVerification, Key(bed.namespace, "check"))
    assert found is not None
    return found
