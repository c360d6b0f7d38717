"""One run for each Kafka cluster at a time: whose goes first among the WALClusters of one operator."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from seawall.api.meta import Key
from seawall.api.v1alpha1.reassignment import ReassignmentStage, ReassignmentStatus
from seawall.api.v1alpha1.wal_cluster import BrokersStatus, KafkaStatus, WALCluster, WALClusterStatus
from seawall.domain.reassignment.elder import find_elder
from tests.domain.builders import make_cluster

PENDING, ONGOING = ReassignmentStage.PENDING, ReassignmentStage.ONGOING


def one(name: str, stage: ReassignmentStage | None, *, age: int = 0, kafka: str = "same") -> WALCluster:
    """A WALCluster that was made so many seconds after the first one."""
    run = None if stage is None else ReassignmentStatus(stage=stage)
    pinned = KafkaStatus(cluster_id=kafka, brokers=BrokersStatus(total=3, online=3))
    made = make_cluster(status=WALClusterStatus(kafka=pinned, reassignment=run))
    at = made.metadata.creation_timestamp + timedelta(seconds=age)
    metadata = made.metadata.model_copy(update={"name": name, "uid": name, "creation_timestamp": at})
    return replace(made, metadata=metadata)


@pytest.mark.parametrize(
    ("other", "waits"),
    [
        (one("other", ONGOING, age=5), True),
        (one("other", ReassignmentStage.VERIFYING, age=5), True),
        (one("other", ReassignmentStage.ABORTING, age=5), True),
        (one("other", PENDING, age=-5), True),
        (one("other", PENDING, age=5), False),
        (one("other", ReassignmentStage.AWAITING_APPROVAL, age=-5), False),
        (one("other", ReassignmentStage.COMPLETED, age=-5), False),
        (one("other", None, age=-5), False),
        (one("other", ONGOING, age=-5, kafka="another"), False),
    ],
)
def test_a_run_that_waits_to_begin_lets_those_go_first_that_have_begun_or_are_older(
    other: WALCluster, *, waits: bool
) -> None:
    mine = one("mine", PENDING)
    expected = Key(mine.metadata.namespace, "other") if waits else None
    assert find_elder(mine, [mine, other]) == expected


def test_of_two_that_began_at_once_the_older_goes_on_and_the_other_waits() -> None:
    older, younger = one("older", ONGOING), one("younger", ONGOING, age=5)
    both = [older, younger]
    assert find_elder(older, both) is None
    assert find_elder(younger, both) == older.metadata.key
