"""What every IntentStore does: the fake, and ConfigMaps on a real API server."""

from __future__ import annotations

import base64
import json
import uuid
from typing import Any

import pytest

from seawall.adapters.kube.intents import DATA_KEY, PREFIX_ANNOTATION, ConfigMapIntentStore
from seawall.domain.errors import Conflict, Refused
from seawall.domain.ledger.intents import FenceRecord, encode_shard, name_hash
from seawall.domain.ledger.shards import SHARDS, IntentShard, PoolId, UnreadableShard, shard_of, shards_of
from seawall.ports import IntentStore
from seawall_e2e.loopback import ApiServer
from tests.fakes.intents import LARGEST, FakeIntentStore
from tests.support.kube import KubeClient
from tests.support.patient import kube_api

pytestmark = pytest.mark.xdist_group("api-server")

POOL = PoolId("ns", "_5L6g3nShT-eMCtK--X86_", "Greptime_WAL.topic-")
"""Kafka takes more characters than Kubernetes does."""


class Bed:
    """A store, and a namespace that no other test has."""

    def __init__(self, store: IntentStore, namespace: str, kube: KubeClient | None = None) -> None:
        self.store = store
        self.namespace = namespace
        self.kube = kube
        self.pool = self.pool_of(POOL.cluster_id, POOL.prefix)

    def pool_of(self, cluster_id: str, prefix: str) -> PoolId:
        return PoolId(self.namespace, cluster_id, prefix)

    def read(self, shard: int = 0, pool: PoolId | None = None) -> IntentShard:
        found = self.store.read(pool or self.pool, [shard])[shard]
        assert isinstance(found, IntentShard), found
        return found


def config_map_path(bed: Bed, shard: int) -> str:
    key = bed.pool.config_map(shard)
    return f"/api/v1/namespaces/{key.namespace}/configmaps/{key.name}"


def real_bed(api_server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> Bed:
    monkeypatch.setenv("KUBECONFIG", str(api_server.kubeconfig))
    kube = KubeClient(api_server)
    namespace = f"intents-{uuid.uuid4().hex[:8]}"
    kube.make_namespace(namespace)
    return Bed(ConfigMapIntentStore(kube_api(2)), namespace, kube)


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.integration)])
def bed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Bed:
    if request.param == "fake":
        return Bed(FakeIntentStore(), "ns")
    return real_bed(request.getfixturevalue("api_server"), monkeypatch)


@pytest.fixture
def real(api_server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> Bed:
    return real_bed(api_server, monkeypatch)


def test_shards_that_were_never_written_are_empty(bed: Bed) -> None:
    assert bed.store.read(bed.pool, range(SHARDS)) == dict.fromkeys(range(SHARDS), IntentShard(b"", None))
    assert bed.store.read(bed.pool, []) == {}


def test_what_is_written_is_read_byte_by_byte(bed: Bed) -> None:
    data = bytes(range(256))
    bed.store.write(bed.pool, 3, IntentShard(data, None))
    assert bed.read(3).data == data
    assert bed.read(3).version is not None
    assert bed.read(4) == IntentShard(b"", None)


def test_only_the_version_that_was_read_is_replaced(bed: Bed) -> None:
    bed.store.write(bed.pool, 0, IntentShard(b"one", None))
    first = bed.read()
    bed.store.write(bed.pool, 0, IntentShard(b"two", first.version))
    assert bed.read().data == b"two"
    for version in (first.version, None):
        with pytest.raises(Conflict):
            bed.store.write(bed.pool, 0, IntentShard(b"late", version))
    assert bed.read().data == b"two"


def test_a_shard_that_was_removed_is_not_written_blindly(bed: Bed) -> None:
    with pytest.raises(Conflict):
        bed.store.write(bed.pool, 0, IntentShard(b"late", "1"))
    assert bed.read() == IntentShard(b"", None)


def test_pools_do_not_know_each_other(bed: Bed) -> None:
    bed.store.write(bed.pool, 0, IntentShard(b"ours", None))
    for other in (bed.pool_of(POOL.cluster_id, "other"), bed.pool_of("another-cluster", POOL.prefix)):
        assert bed.read(pool=other) == IntentShard(b"", None)


def test_the_largest_pool_fits(bed: Bed) -> None:
    """10,000 topics, each with the longest record that there is."""
    shards: dict[int, dict[bytes, FenceRecord]] = {number: {} for number in range(SHARDS)}
    largest = 2**63 - 1
    for number in range(10_000):
        topic = f"greptimedb_wal_topic_{number}"
        record = FenceRecord(f"{number:022}", 2**31 - 1, 0, largest, largest, 0, largest, broken=True, readopted=number)
        shards[shard_of(topic)][name_hash(topic)] = record
    written = {number: encode_shard(records) for number, records in shards.items()}
    for number, data in written.items():
        bed.store.write(bed.pool, number, IntentShard(data, None))
    read = bed.store.read(bed.pool, range(SHARDS))
    assert {number: found.data for number, found in read.items() if isinstance(found, IntentShard)} == written
    assert max(map(len, written.values())) < LARGEST / 10


def test_a_shard_that_is_too_large_is_refused_and_the_old_one_stays(bed: Bed) -> None:
    bed.store.write(bed.pool, 0, IntentShard(b"old", None))
    with pytest.raises(Refused):
        bed.store.write(bed.pool, 0, IntentShard(bytes(2_000_000), bed.read().version))
    assert bed.read().data == b"old"


@pytest.mark.integration
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"metadata": {"annotations": {PREFIX_ANNOTATION: "other"}}}, "is not about topics"),
        ({"metadata": {"annotations": None}}, "is not about topics"),
        ({"binaryData": None}, f"has no binary data {DATA_KEY}"),
        ({"binaryData": {DATA_KEY: None, "x": base64.b64encode(b"x").decode()}}, "has no binary data"),
    ],
)
def test_a_config_map_that_somebody_changed_is_unreadable(real: Bed, change: dict[str, Any], sentence: str) -> None:
    real.store.write(real.pool, 0, IntentShard(b"ours", None))
    assert real.kube is not None
    real.kube.merge(config_map_path(real, 0), change)
    found = real.store.read(real.pool, [0, 1])
    assert isinstance(found[0], UnreadableShard)
    assert sentence in found[0].message
    assert found[1] == IntentShard(b"", None)


@pytest.mark.integration
def test_people_find_the_config_maps_and_no_owner_takes_them_along(real: Bed) -> None:
    real.store.write(real.pool, 11, IntentShard(b"ours", None))
    assert real.kube is not None
    selected = real.kube.request(
        "GET",
        f"/api/v1/namespaces/{real.namespace}/configmaps?labelSelector=app.kubernetes.io/component=intents",
    )
    (found,) = selected["items"]
    assert found["metadata"]["name"] == "seawall-intents-1f6c2bd137c7f56d-11"
    assert "ownerReferences" not in found["metadata"]
    assert {POOL.cluster_id, POOL.prefix} <= set(found["metadata"]["annotations"].values())
    assert "b3Vycw==" in json.dumps(found)


def test_the_shard_of_a_topic_never_changes() -> None:
    """Records would be looked for where they are not."""
    known = {"greptimedb_wal_topic_0": 14, "greptimedb_wal_topic_1": 15, "a": 0, "": 4}
    assert {topic: shard_of(topic) for topic in known} == known
    assert shards_of(["a", "a"]) == {shard_of("a")}
    assert POOL.config_map(3).name == "seawall-intents-1f6c2bd137c7f56d-03"
