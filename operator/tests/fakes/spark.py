"""SparkApplications in memory, with drivers that end when a test says so. It passes the SparkApplications contract."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from seawall.api.meta import Key
from seawall.api.resource import AnyResource
from seawall.domain.errors import Conflict, Forbidden, Refused
from seawall.domain.spark_job.application import Driver, SparkApplication

LINGERS = 3
"""Rounds for which a driver goes on whose application is deleted: the garbage collector ends it, a while later."""
_START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@dataclass
class FakeSparkApplications:
    """The SparkApplications port.

    Attributes:
        installed: whether there is a Spark Operator.
        service_accounts: those of the namespace.
        specs: what was made, by name, also of those that are gone.
        made: the names of all that were made, in that order.
    """

    now: Callable[[], datetime] = lambda: _START
    installed: bool = True
    service_accounts: set[Key] = field(default_factory=set)
    applications: dict[Key, SparkApplication] = field(default_factory=dict)
    drivers: dict[Key, Driver] = field(default_factory=dict)
    specs: dict[Key, Mapping[str, Any]] = field(default_factory=dict)
    made: list[Key] = field(default_factory=list)
    lingering: dict[Key, int] = field(default_factory=dict)
    """The drivers whose application is deleted, and for how many rounds they go on."""
    refuses: str | None = None
    """What the API server says while the operator may not read them."""
    _uids: itertools.count[int] = field(default_factory=itertools.count)

    def get(self, key: Key) -> SparkApplication | None:
        """Reads an application."""
        if self.refuses is not None:
            raise Forbidden(self.refuses)
        return self.applications.get(key)

    def create(self, owner: AnyResource, key: Key, spec: Mapping[str, Any], service_account: str) -> str:
        """Creates an application."""
        if not self.installed:
            raise Refused("the API server knows no SparkApplications: install the Spark Operator")
        if Key(key.namespace, service_account) not in self.service_accounts:
            raise Refused(f"there is no ServiceAccount {service_account} in namespace {key.namespace}")
        if key in self.applications:
            raise Conflict(f"SparkApplication {key} exists")
        made = SparkApplication(key, f"app-{next(self._uids)}", self.now(), owner.metadata.uid)
        self.applications[key], self.specs[key] = made, spec
        self.made.append(key)
        return made.uid

    def delete(self, application: SparkApplication) -> None:
        """Deletes an application."""
        found = self.applications.get(application.key)
        if found is None:
            return
        if found.uid != application.uid:
            raise Conflict(f"SparkApplication {application.key} is another")
        if found.state == "RUNNING":
            self.lingering[application.key] = LINGERS
        del self.applications[application.key]
        self.drivers.pop(application.key, None)

    def describe_driver(self, application: SparkApplication) -> Driver:
        """What the test says."""
        return None if application.driver_pod is None else self.drivers.get(application.key)

    # --- what the Spark Operator and the kubelet do

    def outliving(self) -> list[Key]:
        """The drivers that go on for this round although their application is deleted."""
        found = list(self.lingering)
        self.lingering = {key: rounds - 1 for key, rounds in self.lingering.items() if rounds > 1}
        return found

    def report(
        self, key: Key, state: str, error: str = "", driver: Driver = None, executors: tuple[str, ...] = ()
    ) -> None:
        """The Spark Operator writes its status, the kubelet the driver pod's."""
        pod = f"{key.name}-driver"
        found = self.applications[key]
        self.applications[key] = replace(found, state=state, error=error, driver_pod=pod, executors=executors)
        if driver is not None:
            self.drivers[key] = driver
