"""The WALSubscription controller."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, assert_never

from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.subscription import WALSubscription
from seawall.api.v1alpha1.subscription_status import WALSubscriptionStatus
from seawall.controllers.controller import Controller
from seawall.controllers.job_secrets import require_secrets
from seawall.domain.conditions import Verdict
from seawall.domain.errors import Conflict, Refused
from seawall.domain.spark_job.actions import (
    FreezeRequest,
    PlaceHold,
    ReleaseHold,
    RemoveApplication,
    Submit,
)
from seawall.domain.step import Event
from seawall.domain.subscription.actions import (
    AddPartitions,
    AppendNulls,
    GuardTargets,
    MakeTargets,
    MoveHold,
    RemoveRequest,
    SubscriptionAction,
)
from seawall.domain.subscription.case import Observed, SubscriptionDecision
from seawall.domain.subscription.decide import BEGINS, case_of, decide, weigh
from seawall.domain.subscription.logs import LogsNow
from seawall.observe.opened_cluster import named_cluster
from seawall.observe.subscription import SubscriptionObserver, Wanted
from seawall.observe.subscription_parts import SubscriptionReader, target_of
from seawall.ports import Clock, Kube, SparkApplications, SubscriptionMeter


@dataclass(frozen=True, slots=True)
class WALSubscriptionController(Controller[WALSubscription, Observed, WALSubscriptionStatus, SubscriptionAction]):
    """Observes and acts for WALSubscriptions."""

    resource: ClassVar = WALSubscription

    kube: Kube
    applications: SparkApplications
    kafkas: SubscriptionObserver
    reader: SubscriptionReader
    clock: Clock
    meter: SubscriptionMeter
    kind: str = WALSubscription.KIND.kind

    def forget(self, key: Key) -> None:
        """Closes its connections, and removes its metrics."""
        self.reader.forget(key)
        self.meter.forget_subscription(key)

    def observe(self, obj: WALSubscription) -> Observed:
        """Reads its parts, then the target, then the source; and the ledger when something is to be held anew."""
        if obj.metadata.deletion_timestamp is not None:
            return Observed(self.clock.now())
        try:
            return self.reader.read(obj)
        except Refused as error:
            return Observed(self.clock.now(), obstacle=str(error))

    def decide(self, obj: WALSubscription, observed: Observed) -> SubscriptionDecision:
        """Decides (pure); configs of the target that are right need not be looked at again for a while."""
        (decision, changes_configs), target = weigh(obj, observed), observed.target
        if isinstance(target, LogsNow) and target.configs and not changes_configs:
            self.reader.configs_are_right(obj.metadata.key)
        return decision

    def record(self, obj: WALSubscription, status: WALSubscriptionStatus) -> None:
        """Replaces the status, and measures it."""
        self.kube.replace_status(obj, status)
        self.meter.measure_subscription(obj.metadata.key, status, _most_bytes(obj))

    def perform(self, obj: WALSubscription, action: SubscriptionAction) -> Event:
        """Does one action; what begins something only if right now it would be decided again."""
        if isinstance(action, BEGINS | AppendNulls):
            self._ask_again(obj, action, decide)
        match action:
            case PlaceHold():
                self.kube.create(WALHold, action.key, action.spec, owner=obj)
            case MoveHold():
                self.kube.replace_spec(action.hold, action.spec.model_copy(update={"renew_time": self._second()}))
            case ReleaseHold():
                self.kube.delete(action.hold)
            case MakeTargets() | AddPartitions() | GuardTargets():
                self._change_targets(obj, action)
            case FreezeRequest() | RemoveRequest():
                self._change_requests(obj, action)
            case Submit():
                require_secrets(self.kube, obj.metadata.namespace, action.secrets, "subscription")
                self.applications.create(obj, action.key, action.spec, action.service_account)
            case AppendNulls():
                self.kafkas.append_nulls(obj, self._wanted(obj), action.nulls)
            case RemoveApplication():
                self.applications.delete(action.application)
            case _:
                assert_never(action)
        return action.event()

    def _change_requests(self, obj: WALSubscription, action: FreezeRequest | RemoveRequest) -> None:
        match action:
            case FreezeRequest():
                self.kube.write_config_map(obj, action.config_map)
            case RemoveRequest():
                self.kube.delete_config_map(action.request)

    def _second(self) -> datetime:
        return self.clock.now().replace(microsecond=0)

    def _wanted(self, obj: WALSubscription) -> Wanted:
        """The target, which was asked a moment ago, when an action was decided again."""
        cluster = named_cluster(self.kube, obj)
        case = case_of(obj, Observed(self.clock.now(), cluster))
        wanted = None if cluster is None or isinstance(case, Verdict) else target_of(obj, cluster, case)
        if wanted is None:
            raise Conflict(f"the WALCluster of WALSubscription {obj.metadata.key} changed")
        return wanted

    def _change_targets(self, obj: WALSubscription, action: MakeTargets | AddPartitions | GuardTargets) -> None:
        admin = self.kafkas.admin(obj, self._wanted(obj))
        match action:
            case MakeTargets():
                admin.create_topics(action.topics)
            case AddPartitions():
                admin.add_partitions({action.topic: action.total})
            case GuardTargets():
                admin.alter_configs(action.changes)


def _most_bytes(obj: WALSubscription) -> int | None:
    return None if isinstance(obj.spec, InvalidSpec) else obj.spec.lag_budget.max_bytes
