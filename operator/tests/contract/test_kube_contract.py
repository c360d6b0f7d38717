"""The Kube port: the same promises from the real API server and from the fake."""

import base64
import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from seawall.adapters.kube import KubeAdapter
from seawall.adapters.kube_api import KubeApi
from seawall.api.meta import TOPICS_FINALIZER, InvalidSpec, Key
from seawall.api.v1alpha1.topic_pool import TopicsSpec
from seawall.api.v1alpha1.wal_cluster import BrokersStatus, KafkaStatus, WALCluster, WALClusterStatus
from seawall.domain.errors import Conflict, SeawallError
from seawall.domain.step import Event, EventType
from seawall.domain.wal_cluster.rival import Claims
from seawall.domain.walconfig.config_map import ConfigMap
from seawall.ports import Kube
from seawall_e2e.loopback import ApiServer
from tests.fakes.kube import FakeKube

SPEC: dict[str, Any] = {"kafka": {"external": {"bootstrapServers": ["kafka:9092"]}}, "topics": {"count": 2}}
STATUS = WALClusterStatus(kafka=KafkaStatus(cluster_id="c", brokers=BrokersStatus(total=3, online=2)))
CRDS = Path(__file__).parents[3] / "crds"


class Bed(Protocol):
    """A Kube and a person beside it."""

    @property
    def kube(self) -> Kube: ...
    @property
    def namespace(self) -> str: ...

    def apply(self, name: str, spec: dict[str, Any]) -> None: ...
    def delete(self, name: str) -> None: ...
    def put_secret(self, name: str, data: dict[str, bytes]) -> None: ...
    def put_config_map(self, name: str, data: dict[str, str]) -> None: ...


class FakeBed:
    def __init__(self) -> None:
        self.kube = FakeKube()
        self.namespace = "default"

    def apply(self, name: str, spec: dict[str, Any]) -> None:
        self.kube.apply(Key(self.namespace, name), spec)

    def delete(self, name: str) -> None:
        self.kube.delete(Key(self.namespace, name))

    def put_secret(self, name: str, data: dict[str, bytes]) -> None:
        self.kube.secrets[Key(self.namespace, name)] = data

    def put_config_map(self, name: str, data: dict[str, str]) -> None:
        self.kube.put_config_map(Key(self.namespace, name), data)


class RealBed:
    def __init__(self, server: ApiServer, kube: KubeAdapter, namespace: str) -> None:
        self._server = server
        self.kube = kube
        self.namespace = namespace

    def apply(self, name: str, spec: dict[str, Any]) -> None:
        self._apply({"apiVersion": "seawall.dev/v1alpha1", "kind": "WALCluster", "spec": spec}, name)

    def delete(self, name: str) -> None:
        self._server.kubectl("-n", self.namespace, "delete", "walcluster", name, "--wait=false")

    def put_secret(self, name: str, data: dict[str, bytes]) -> None:
        encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
        self._apply({"apiVersion": "v1", "kind": "Secret", "data": encoded}, name)

    def put_config_map(self, name: str, data: dict[str, str]) -> None:
        self._apply({"apiVersion": "v1", "kind": "ConfigMap", "data": data}, name)

    def _apply(self, body: dict[str, Any], name: str) -> None:
        body = {**body, "metadata": {"name": name}}
        self._server.kubectl("-n", self.namespace, "apply", "-f", "-", stdin=json.dumps(body))


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.integration)])
def bed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bed]:
    """A namespace of its own."""
    if request.param == "fake":
        yield FakeBed()
        return
    server: ApiServer = request.getfixturevalue("api_server")
    monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig))
    server.kubectl("apply", "-f", str(CRDS))
    server.kubectl("wait", "--for=condition=Established", "crd/walclusters.seawall.dev", "--timeout=30s")
    namespace = f"kube-contract-{uuid.uuid4().hex[:8]}"
    server.kubectl("create", "namespace", namespace)
    yield RealBed(server, KubeAdapter(KubeApi(connections=2), [namespace]), namespace)


def read(bed: Bed, name: str) -> WALCluster:
    found = bed.kube.get_wal_cluster(Key(bed.namespace, name))
    assert found is not None
    return found


def test_what_is_not_there_is_none(bed: Bed) -> None:
    key = Key(bed.namespace, "absent")
    assert bed.kube.get_wal_cluster(key) is None
    assert bed.kube.get_config_map(key) is None
    assert bed.kube.get_secret(key) is None
    assert bed.kube.list_claims("wal") == Claims([], complete=True)


def test_an_object_is_read_with_its_defaults(bed: Bed) -> None:
    bed.apply("db", SPEC)
    found = read(bed, "db")
    assert not isinstance(found.spec, InvalidSpec)
    assert (found.spec.topics.count, found.spec.topics.replication_factor) == (2, 3)
    assert found.status == WALClusterStatus()


def test_claims_are_the_objects_with_the_prefix_given_or_default(bed: Bed) -> None:
    bed.apply("default", SPEC)
    bed.apply("ours", {**SPEC, "topics": {"count": 2, "prefix": "ours"}})
    bed.apply("theirs", {**SPEC, "topics": {"count": 2, "prefix": "theirs"}})
    for name, prefix in (("default", TopicsSpec().prefix), ("ours", "ours")):
        claims = bed.kube.list_claims(prefix)
        assert claims.complete
        assert [each.metadata.key.name for each in claims.clusters] == [name]
    assert bed.kube.list_claims("our").clusters == []


def test_the_status_is_replaced_whole_and_only_at_the_version_that_was_read(bed: Bed) -> None:
    bed.apply("db", SPEC)
    before = read(bed, "db")
    bed.kube.replace_wal_cluster_status(before, STATUS)
    after = read(bed, "db")
    assert after.status == STATUS
    assert after.metadata.generation == before.metadata.generation
    with pytest.raises(Conflict):
        bed.kube.replace_wal_cluster_status(before, WALClusterStatus())
    bed.kube.replace_wal_cluster_status(after, WALClusterStatus())
    assert read(bed, "db").status.kafka is None


def test_an_identical_status_changes_nothing(bed: Bed) -> None:
    bed.apply("db", SPEC)
    bed.kube.replace_wal_cluster_status(read(bed, "db"), STATUS)
    before = read(bed, "db")
    bed.kube.replace_wal_cluster_status(before, STATUS)
    assert read(bed, "db").metadata.resource_version == before.metadata.resource_version


def test_an_edit_of_the_spec_raises_the_generation(bed: Bed) -> None:
    bed.apply("db", SPEC)
    before = read(bed, "db")
    bed.apply("db", {**SPEC, "topics": {"count": 3}})
    assert read(bed, "db").metadata.generation == before.metadata.generation + 1


def test_finalizers_are_set_at_the_version_that_was_read_and_hold_the_object(bed: Bed) -> None:
    bed.apply("db", SPEC)
    before = read(bed, "db")
    bed.kube.set_finalizers(before, [TOPICS_FINALIZER])
    with pytest.raises(Conflict):
        bed.kube.set_finalizers(before, [])
    bed.delete("db")
    held = read(bed, "db")
    assert held.metadata.deletion_timestamp is not None
    assert held.metadata.finalizers == (TOPICS_FINALIZER,)
    bed.kube.set_finalizers(held, [])
    assert bed.kube.get_wal_cluster(held.metadata.key) is None


def test_an_object_without_finalizers_goes_at_once(bed: Bed) -> None:
    bed.apply("db", SPEC)
    gone = read(bed, "db")
    bed.delete("db")
    assert bed.kube.get_wal_cluster(gone.metadata.key) is None


@pytest.mark.parametrize(
    "write",
    [
        lambda kube, gone: kube.replace_wal_cluster_status(gone, STATUS),
        lambda kube, gone: kube.set_finalizers(gone, []),
    ],
)
def test_writes_to_an_object_that_was_made_anew_do_not_reach_it(
    bed: Bed, write: Callable[[Kube, WALCluster], None]
) -> None:
    bed.apply("db", SPEC)
    gone = read(bed, "db")
    bed.delete("db")
    bed.apply("db", SPEC)
    before = read(bed, "db")
    with pytest.raises(SeawallError):
        write(bed.kube, gone)
    assert read(bed, "db") == before


def test_a_config_map_is_created_once_and_replaced_at_the_version_that_was_read(bed: Bed) -> None:
    bed.apply("db", SPEC)
    owner, key = read(bed, "db"), Key(bed.namespace, "wal")
    bed.kube.write_config_map(owner, ConfigMap(key, {"a": "1"}))
    with pytest.raises(Conflict):
        bed.kube.write_config_map(owner, ConfigMap(key, {"a": "2"}))
    made = bed.kube.get_config_map(key)
    assert made is not None
    assert (made.data, made.controller_uid) == ({"a": "1"}, owner.metadata.uid)
    bed.kube.write_config_map(owner, ConfigMap(key, {"b": "2"}, resource_version=made.resource_version))
    with pytest.raises(Conflict):
        bed.kube.write_config_map(owner, ConfigMap(key, {"c": "3"}, resource_version=made.resource_version))
    replaced = bed.kube.get_config_map(key)
    assert replaced is not None
    assert replaced.data == {"b": "2"}


def test_somebody_elses_config_map_has_no_controller(bed: Bed) -> None:
    bed.put_config_map("theirs", {"a": "1"})
    found = bed.kube.get_config_map(Key(bed.namespace, "theirs"))
    assert found is not None
    assert found.controller_uid is None


def test_a_secret_is_read_as_bytes(bed: Bed) -> None:
    bed.put_secret("user", {"password": b"\xffp"})
    assert bed.kube.get_secret(Key(bed.namespace, "user")) == {"password": b"\xffp"}


def test_a_living_namespace_is_not_terminating_and_events_can_be_posted(bed: Bed) -> None:
    bed.apply("db", SPEC)
    bed.kube.post_event(read(bed, "db"), Event(EventType.NORMAL, "Tested", "x" * 2000))
    assert not bed.kube.is_terminating(bed.namespace)
