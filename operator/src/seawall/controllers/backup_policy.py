"""The WALBackupPolicy controller."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, assert_never

from seawall.api.meta import ConditionType, Key
from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.backup_policy import WALBackupPolicy, WALBackupPolicyStatus
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.restore import WALRestore
from seawall.controllers.controller import Controller
from seawall.domain.backup.drills import CreateDrill, DrillAction, RemoveDrill, expected_drills, expects_drills
from seawall.domain.backup.policy import BackupPolicyDecision, decide, expected_period, expects_backups
from seawall.domain.backup.policy_case import Observed
from seawall.domain.backup.runs import ChangeHold, CreateBackup, HoldForNext, PolicyAction, RemoveBackup
from seawall.domain.conditions import find_condition
from seawall.domain.spark_job.actions import ReleaseHold
from seawall.domain.step import Event
from seawall.observe.opened_cluster import named_cluster
from seawall.ports import BackupPolicyMeter, Clock, Kube


@dataclass(frozen=True, slots=True)
class WALBackupPolicyController(
    Controller[WALBackupPolicy, Observed, WALBackupPolicyStatus, PolicyAction | DrillAction]
):
    """Observes and acts for WALBackupPolicies."""

    resource: ClassVar = WALBackupPolicy

    kube: Kube
    clock: Clock
    meter: BackupPolicyMeter
    kind: str = WALBackupPolicy.KIND.kind

    def forget(self, key: Key) -> None:
        """Removes the metrics of a policy that is gone."""
        self.meter.forget_backup_policy(key)

    def observe(self, obj: WALBackupPolicy) -> Observed:
        """Reads the WALCluster, backups and holds."""
        namespace = obj.metadata.namespace
        self._measure(obj)
        return Observed(
            self.clock.now(),
            named_cluster(self.kube, obj),
            self.kube.list(WALBackup, namespace).items,
            self.kube.list(WALHold, namespace).items,
            self.kube.list(WALRestore, namespace).items,
        )

    def record(self, obj: WALBackupPolicy, status: WALBackupPolicyStatus) -> None:
        """Replaces the status; the metrics say the same at once, and not a resync later."""
        self.kube.replace_status(obj, status)
        self._measure(replace(obj, status=status))

    def _measure(self, obj: WALBackupPolicy) -> None:
        key, last = obj.metadata.key, obj.status.last
        since = obj.status.last_success_time or (obj.metadata.creation_timestamp if last is None else last.time)
        expected = since if expects_backups(obj) else None
        period = expected_period(obj, self.clock.now())
        self.meter.measure_backup_policy(key, expected, period, obj.status.lag_bytes)
        self._measure_drills(obj)

    def _measure_drills(self, obj: WALBackupPolicy) -> None:
        drill = obj.status.drill
        at = find_condition(obj.status.conditions, ConditionType.DRILL_PASSED)
        passed = None if at is None else at.status == "True"
        since = drill.last_passed_time or drill.since if drill is not None and expects_drills(obj) else None
        period = expected_drills(obj, self.clock.now())
        self.meter.measure_drills(obj.metadata.key, since, period, passed=passed)

    def decide(self, obj: WALBackupPolicy, observed: Observed) -> BackupPolicyDecision:
        """Decides (pure)."""
        return decide(obj, observed)

    def perform(self, obj: WALBackupPolicy, action: PolicyAction | DrillAction) -> Event:
        """Does one action."""
        match action:
            case CreateBackup():
                self.kube.create(WALBackup, action.key, action.spec, owner=obj)
            case CreateDrill():
                self.kube.create(WALRestore, action.key, action.spec, owner=obj)
            case RemoveDrill():
                self.kube.delete(action.drill)
            case HoldForNext():
                self.kube.create(WALHold, action.key, action.spec, owner=obj)
            case ChangeHold():
                self.kube.replace_spec(action.hold, action.spec)
            case RemoveBackup():
                self.kube.delete(action.backup)
            case ReleaseHold():
                self.kube.delete(action.hold)
            case _:
                assert_never(action)
        return action.event()
