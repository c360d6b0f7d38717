"""The WALPurgePolicy controller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, assert_never

from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.policy import WALPurgePolicy, WALPurgePolicyStatus
from seawall.api.v1alpha1.purge import WALPurge
from seawall.controllers.controller import Controller
from seawall.domain.ledger.observation import Unavailable
from seawall.domain.ledger.page import LedgerPage
from seawall.domain.policy.decide import PolicyDecision, decide
from seawall.domain.policy.plan import Observed, expected_period, expects_runs
from seawall.domain.policy.runs import CreateRun, DeleteRun, PolicyAction
from seawall.domain.step import Event
from seawall.observe.opened_cluster import named_cluster
from seawall.ports import Clock, Kube, Ledgers, PolicyMeter


@dataclass(frozen=True, slots=True)
class WALPurgePolicyController(Controller[WALPurgePolicy, Observed, WALPurgePolicyStatus, PolicyAction]):
    """Observes and acts for WALPurgePolicies."""

    resource: ClassVar = WALPurgePolicy

    kube: Kube
    clock: Clock
    ledgers: Ledgers
    meter: PolicyMeter
    kind: str = WALPurgePolicy.KIND.kind

    def forget(self, key: Key) -> None:
        """Removes the metrics of a policy that is gone."""
        self.meter.forget_policy(key)

    def observe(self, obj: WALPurgePolicy) -> Observed:
        """Reads runs, policies and the WALCluster, and for a trigger its topics' sizes."""
        runs = self.kube.list(WALPurge, obj.metadata.namespace).items
        policies = self.kube.list(WALPurgePolicy, obj.metadata.namespace).items
        cluster, now = named_cluster(self.kube, obj), self.clock.now()
        last_success = obj.status.last_successful_time or obj.metadata.creation_timestamp
        expected = last_success if expects_runs(obj) else None
        self.meter.measure_policy(obj.metadata.key, expected, expected_period(obj, now))
        return Observed(
            now,
            runs,
            has_cluster=cluster is not None,
            policies=policies,
            topics=_topics(cluster),
            ledger=self._latest(obj, cluster),
        )

    def decide(self, obj: WALPurgePolicy, observed: Observed) -> PolicyDecision:
        """Decides (pure)."""
        return decide(obj, observed)

    def perform(self, obj: WALPurgePolicy, action: PolicyAction) -> Event:
        """Does one action."""
        match action:
            case CreateRun():
                self.kube.create(WALPurge, action.key, action.spec, owner=obj)
            case DeleteRun():
                self.kube.delete(action.run)
            case _:
                assert_never(action)
        return action.event()

    def _latest(self, obj: WALPurgePolicy, cluster: WALCluster | None) -> LedgerPage | Unavailable | None:
        """The newest look; what it costs is paid by the ledger's watch."""
        if cluster is None or isinstance(obj.spec, InvalidSpec) or obj.spec.trigger is None:
            return None
        return self.ledgers.latest(cluster.metadata.key, cluster.metadata.uid)


def _topics(cluster: WALCluster | None) -> Sequence[str]:
    """The names of its topics, as far as it says."""
    return () if cluster is None or isinstance(cluster.spec, InvalidSpec) else cluster.spec.topics.topic_names()
