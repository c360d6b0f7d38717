"""The plan of a reassignment, frozen or not: for `seawall plan`."""

from __future__ import annotations

from dataclasses import dataclass

from seawall.api.meta import InvalidSpec, Key
from seawall.controllers.reassignment import ReplicationController
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.reassignment.preview import PlannedReassignment, preview


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
