"""Which of two WALClusters owns a pool."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.api.v1alpha1.kafka_brokers import BrokersStatus, KafkaStatus
from seawall.domain.cluster.ownership import find_conflicting_owner
from tests.domain.builders import NOW, PINNED, make_cluster, make_kafka, make_spec

KAFKA = make_kafka()


def other(name: str, seconds: int, uid: str = "uid-2", status: WALClusterStatus = PINNED, **spec: Any) -> WALCluster:
    created = NOW + timedelta(seconds=seconds)
    return make_cluster(make_spec(**spec), status, name=name, uid=uid, creationTimestamp=created)


def test_the_oldest_owns_the_pool() -> None:
    mine = make_cluster()
    found = find_conflicting_owner(mine, KAFKA, [mine, other("a", -1), other("b", -2), other("c", 1)])
    assert found == Key("default", "b")


def test_a_tie_is_broken_by_uid_so_that_exactly_one_owns() -> None:
    mine, theirs = make_cluster(), other("theirs", 0, uid="uid-0")
    assert find_conflicting_owner(mine, KAFKA, [theirs]) == Key("default", "theirs")
    assert find_conflicting_owner(theirs, KAFKA, [mine]) is None


def test_another_prefix_or_another_kafka_is_no_claim() -> None:
    elsewhere = WALClusterStatus(kafka=KafkaStatus(cluster_id="elsewhere", brokers=BrokersStatus(total=1, online=1)))
    others = [other("a", -1, topics={"prefix": "else"}), other("b", -1, status=elsewhere)]
    assert find_conflicting_owner(make_cluster(), KAFKA, others) is None


def test_an_older_one_that_has_not_reached_kafka_claims_by_its_addresses() -> None:
    fresh = WALClusterStatus()
    same, strange = (
        other("same", -1, status=fresh),
        other("strange", -1, status=fresh, external={"bootstrapServers": ["x:1"]}),
    )
    assert find_conflicting_owner(make_cluster(), KAFKA, [strange]) is None
    assert find_conflicting_owner(make_cluster(), KAFKA, [strange, same]) == Key("default", "same")


def test_an_older_one_whose_spec_became_invalid_still_owns_its_pool() -> None:
    invalid = replace(other("broken", -1), spec=InvalidSpec("spec.topics.new: unknown field", prefix="wal"))
    assert find_conflicting_owner(make_cluster(), KAFKA, [invalid]) == Key("default", "broken")
