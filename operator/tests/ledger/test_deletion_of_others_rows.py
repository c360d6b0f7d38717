"""`deletionPolicy: Delete` asks the pinned database, and does not take the rows of another WALCluster's."""

from __future__ import annotations

from datetime import timedelta

import pytest

from seawall import observe
from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.api.v1alpha1.kafka_brokers import BrokersStatus, KafkaStatus
from seawall.domain.cluster import needed
from seawall.domain.ledger import fence
from tests.cluster.test_topic_deletion import DELETE, controller, going, is_gone, live, reported
from tests.fakes.dataplane import FakeDataPlane, FakeMetadataStore
from tests.support.mutants import find_survivors
from tests.worlds.purge_world import CLUSTER, TOPICS, WAL, World

OTHER = Key("other", "wal")
STAGING_METASRV, STAGING_ETCD = "http://metasrv.staging:4000", "http://etcd.staging:2379"


def test_topics_that_a_younger_walcluster_with_a_database_claims_do_not_go() -> None:
    """The older one names no database: nobody else would ask the one that writes."""
    world = World()
    world.kube.apply(WAL, {key: value for key, value in DELETE.items() if key not in {"dataPlane", "verification"}})
    live(world, ticks=6)
    world.time.time += timedelta(minutes=5)
    world.kube.apply(OTHER, CLUSTER)
    found = world.kube.get(WALCluster, OTHER)
    assert found is not None
    met = KafkaStatus(cluster_id="fake-cluster", brokers=BrokersStatus(total=3, online=3))
    world.kube.replace_status(found, WALClusterStatus(kafka=met))
    world.kube.remove(WAL)
    live(world)
    assert set(TOPICS) <= world.kafka.topics.keys()
    assert reported(world).startswith("PrefixContested: WALCluster other/wal claims")
    world.kube.remove(OTHER)
    live(world)
    assert is_gone(world), "it goes on when the other one is gone"
    assert not set(TOPICS) & world.kafka.topics.keys()


def test_a_deletion_asks_no_database_that_was_swapped() -> None:
    """By a typo in `dataPlane` an empty database answers, to which none of the regions belongs."""
    world = going(used=True)
    live(world, controller(world), ticks=3)
    world.data_planes[STAGING_METASRV] = FakeDataPlane(now=world.time.now, domain=".staging")
    world.stores[STAGING_ETCD] = FakeMetadataStore(".staging")
    edited = world.spec(metasrv=STAGING_METASRV, metadataStore={"etcd": {"endpoints": [STAGING_ETCD]}})
    cluster = world.cluster()
    world.kube.apply(WAL, {**DELETE, "dataPlane": edited["dataPlane"]})
    assert world.cluster().metadata.deletion_timestamp == cluster.metadata.deletion_timestamp
    live(world, controller(world))
    assert set(TOPICS) <= world.kafka.topics.keys()
    assert "is pinned" in reported(world)


def test_both_guards_are_missed_when_they_are_taken_away() -> None:
    def claims_ignored(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(needed, "_contended", lambda _: None)

    def any_database(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(observe.database, "why_other_database", lambda *_: None)
        patch.setattr(fence, "CHECKS", tuple(check for check in fence.CHECKS if "database" not in check.__name__))

    assert not find_survivors(
        [
            (claims_ignored, test_topics_that_a_younger_walcluster_with_a_database_claims_do_not_go),
            (any_database, test_a_deletion_asks_no_database_that_was_swapped),
        ]
    )
