"""What the database says by itself, where the ledger cannot be observed: it lives on when its Kafka is dead."""

from __future__ import annotations

from collections.abc import Mapping

from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.cluster.identity import why_other_database
from seawall.domain.dataplane.connection import PartRefused, PartUnavailable
from seawall.domain.dataplane.identity import find_contradiction
from seawall.domain.errors import SeawallError
from seawall.domain.ledger.needs import ids_of
from seawall.observe.database import DatabaseAnswers
from seawall.observe.opened_cluster import ClusterOpener
from seawall.ports import DataPlaneParts


def read_database_ids(clusters: ClusterOpener, cluster: WALCluster) -> Mapping[str, int]:
    """By topic the greatest id that the pinned database speaks of; none where it does not answer, or is another one."""
    try:
        parts = clusters.open_database(cluster)
        if not isinstance(parts, DataPlaneParts):
            return {}
        answers = DatabaseAnswers(parts)
        reports, snapshot = answers.reports(), answers.snapshot()
    except (SeawallError, PartUnavailable, PartRefused):
        return {}
    other = why_other_database(cluster, snapshot.store_id, snapshot.claims)
    is_one = find_contradiction(reports, snapshot, None, None) is None
    return ids_of(reports, snapshot) if other is None and is_one else {}
