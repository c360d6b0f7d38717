"""Whether a database that serves the contract says of itself what a WALCluster declares: DataPlaneConfigDiffers."""

from __future__ import annotations

from collections.abc import Callable

from seawall.api.meta import Condition, ConditionType
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.topic_pool import TopicsSpec
from seawall.domain.cluster.observed import Observed
from seawall.domain.cluster.reasons import Reason
from seawall.domain.conditions import find_condition
from seawall.domain.dataplane.connection import NoDataPlane
from seawall.domain.dataplane.view import DataPlaneView
from seawall.domain.dataplane.wal_settings import WALSettings
from seawall.domain.ledger.mode import STOP_DELETING

KIND = ConditionType.DATA_PLANE_CONFIG_DIFFERS


def contract_conditions(
    cluster: WALCluster, topics: TopicsSpec, observed: Observed, build: Callable[..., Condition]
) -> tuple[Condition, ...]:
    """The condition. Before the first look ended, what was known of this generation stands."""
    before = find_condition(cluster.status.conditions, KIND)
    match observed.data_plane:
        case DataPlaneView(wal=WALSettings() as said):
            return (_compared(said, topics, build),)
        case None if before is not None and before.observed_generation == cluster.metadata.generation:
            return (before,)
        case None:
            return (build(KIND, "Unknown", Reason.NOT_ASKED, "the first look at the data plane has not ended yet"),)
        case DataPlaneView() | NoDataPlane():
            return (build(KIND, "Unknown", Reason.SETTINGS_UNKNOWN, "the database does not answer"),)


def _compared(said: WALSettings, topics: TopicsSpec, build: Callable[..., Condition]) -> Condition:
    if said.deletes:
        message = f"the database deletes records by itself, through any hold: {STOP_DELETING}"
        return build(KIND, "True", Reason.SECOND_PRUNER, message)
    declared = {
        "wal.topicPrefix": (said.topic_name_prefix, topics.prefix),
        "wal.topicCount": (said.num_topics, topics.count),
    }
    found = [
        f"{key} is {is_so} and {wanted} is declared" for key, (is_so, wanted) in declared.items() if is_so != wanted
    ]
    if found:
        return build(KIND, "True", Reason.CONFIG_DIFFERS, f"of the database {'; '.join(found)}")
    return build(KIND, "False", Reason.AS_DECLARED, "the database says what is declared")
