"""What would be done that nobody made: a run for `seawall purge --dry-run`, and moves for `seawall plan`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.purge import WALPurge
from seawall.controllers.reassignment import ReplicationController
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.ledger.observation import Unavailable
from seawall.domain.purge.preview import PlannedRun, plan_run
from seawall.domain.reassignment.preview import PlannedReassignment, preview
from seawall.observe.ledger import LedgerObserver
from seawall.ports import Clock, Kube

NAME = "dry-run"


@dataclass(frozen=True, slots=True)
class PurgePreview:
    """Plans as a run made by hand does, with the defaults of a WALPurge."""

    kube: Kube
    observer: LedgerObserver
    clock: Clock

    def plan(self, cluster: Key, topics: Sequence[str]) -> PlannedRun | Unavailable | None:
        """Looks anew, which blocks for as long as that takes; None: there is no such WALCluster, or no look yet.

        Args:
            cluster: the WALCluster.
            topics: globs on topic names; empty means all.

        Raises:
            Refused: a glob is none.
            OutsideUnavailable: the API server did not answer.
        """
        run = self._run(cluster, topics)
        if isinstance(run.spec, InvalidSpec):
            raise Refused(run.spec.message)
        found = self.kube.get(WALCluster, cluster)
        observation = None if found is None else self.observer.preview(found, run)
        return (
            observation
            if observation is None or isinstance(observation, Unavailable)
            else plan_run(observation, run.spec)
        )

    def _run(self, cluster: Key, topics: Sequence[str]) -> WALPurge:
        metadata = {
            "namespace": cluster.namespace,
            "name": NAME,
            "uid": NAME,
            "generation": 1,
            "resourceVersion": "",
            "creationTimestamp": self.clock.now(),
        }
        spec = {"clusterRef": {"name": cluster.name}, "topics": list(topics) or ["*"]}
        return WALPurge.parse({"metadata": metadata, "spec": spec})


@dataclass(frozen=True, slots=True)
class ReassignmentPreview:
    """Plans as the controller does, from a look of its own."""

    replication: ReplicationController

    def plan(self, cluster: Key) -> PlannedReassignment | None:
        """Looks anew, which blocks for as long as that takes; None: there is no such WALCluster.

        Raises:
            Refused: its spec is none.
            OutsideUnavailable: Kafka or the API server did not answer, or nobody may look.
        """
        found = self.replication.read(cluster)
        if found is None:
            return None
        if isinstance(found.spec, InvalidSpec):
            raise Refused(found.spec.message)
        planned = preview(found, found.spec.reassignment, self.replication.observe(found))
        if isinstance(planned, str):
            raise OutsideUnavailable(planned)
        return planned
