"""Too few brokers: some come back by themselves, and of a managed Kafka some by a person only."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from seawall.api.meta import Condition, ConditionType
from seawall.api.v1alpha1.managed_kafka_status import ManagedKafkaStatus
from seawall.domain.conditions import find_condition
from seawall.domain.managed_kafka.reasons import Reason as NodesReason
from seawall.domain.step import Record
from tests.domain.builders import NOW, PINNED, make_cluster, make_kafka, make_spec, make_topic, next_step, observe


@pytest.mark.parametrize(
    ("nodes", "reason", "stalled"),
    [
        (NodesReason.ROLL_STALLED, "RollStalled", "True"),
        (NodesReason.VOLUME_LOST, "VolumeLost", "True"),
        (NodesReason.NOT_ONLINE, "BrokersMissing", "False"),
    ],
)
def test_a_managed_broker_that_a_person_has_to_bring_back_is_not_just_waited_for(
    nodes: NodesReason, reason: str, stalled: str
) -> None:
    """As many nodes as replicas are usual, and SeawallStalled does not fire on what goes on by itself."""
    said = Condition(
        type=ConditionType.KAFKA_NODES_HEALTHY,
        status="False",
        reason=nodes,
        message="node 3",
        last_transition_time=NOW,
    )
    status = PINNED.model_copy(update={"managed_kafka": ManagedKafkaStatus(), "conditions": (said,)})
    kafka = make_kafka(make_topic("wal_0"), make_topic("wal_1"), online=(1, 2))
    step = next_step(make_cluster(status=status), observe(make_spec(), kafka))
    assert isinstance(step, Record)
    ready, found = (
        cast("Condition", find_condition(step.status.conditions, kind))
        for kind in (ConditionType.READY, ConditionType.STALLED)
    )
    assert (ready.status, ready.reason, found.status) == ("False", reason, stalled)


def test_a_managed_broker_that_is_away_and_needs_nobody_yet_has_an_alert_of_its_own() -> None:
    """Topics are Ready with a replica less, and the WALCluster is not Stalled: no other alert fires."""
    rules = (Path(__file__).parents[3] / "charts/seawall/templates/prometheusrule.yaml").read_text()
    assert f'type="{ConditionType.KAFKA_NODES_HEALTHY}", status="False"' in rules
