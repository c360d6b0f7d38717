"""One run for each Kafka cluster at a time: whose goes first among the WALClusters of one operator."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.api.v1alpha1.kafka_brokers import BrokersStatus, KafkaStatus
from seawall.api.v1alpha1.reassignment import RatesBefore, ReassignmentStage, ReassignmentStatus
from seawall.domain.reassignment.observed import Line, find_line
from tests.domain.builders import make_cluster

PENDING, ONGOING = ReassignmentStage.PENDING, ReassignmentStage.ONGOING


def one(
    name: str, stage: ReassignmentStage | None, *, age: int = 0, kafka: str = "same", has_turn: bool = False
) -> WALCluster:
    """A WALCluster that was made so many seconds after the first one."""
    before = RatesBefore() if has_turn else None
    run = None if stage is None else ReassignmentStatus(stage=stage, rates_before=before)
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
    assert find_line(mine, [mine, other]).ahead == expected


def test_of_two_that_began_at_once_the_older_waits_until_the_other_has_gone_back() -> None:
    older, younger = one("older", ONGOING), one("younger", ONGOING, age=5)
    both = [older, younger]
    assert find_line(older, both) == Line(contender=younger.metadata.key)
    assert find_line(younger, both) == Line(ahead=older.metadata.key)


def test_of_two_that_have_begun_the_one_goes_first_that_has_the_turn() -> None:
    older, younger = one("older", ONGOING), one("younger", ONGOING, age=5, has_turn=True)
    both = [older, younger]
    assert find_line(older, both) == Line(ahead=younger.metadata.key)
    assert find_line(younger, both) == Line(contender=older.metadata.key)


def test_what_waits_to_begin_contends_with_nobody() -> None:
    mine = one("mine", ONGOING)
    assert find_line(mine, [mine, one("other", PENDING, age=-5)]) == Line()
