"""The Strimzi port: the same promises from a real API server with Strimzi's real CRDs, and from the fake."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import pytest

from seawall.adapters.kube.strimzi import KubeStrimzi
from seawall.api.meta import Key
from seawall.domain.errors import Forbidden
from seawall.domain.sharing import KafkaRebalance, KafkaTopic, StrimziKafka, StrimziView
from seawall.ports import Strimzi
from seawall_e2e.loopback import ApiServer
from tests.contract.kube_beds import Bed, FakeBed
from tests.fakes.strimzi import FakeStrimzi
from tests.support.kube import KubeClient
from tests.support.patient import kube_api
from tests.support.strimzi import StrimziRole, install_strimzi_crds, strimzi_crd

pytestmark = pytest.mark.xdist_group("api-server")


class Maker(Protocol):
    """Makes Strimzi's resources."""

    def put_kafka(self, key: Key, cluster_id: str | None) -> None: ...
    def put_topic(
        self, key: Key, topic: str | None = None, cluster: str | None = None, *, managed: str | None = None
    ) -> None: ...
    def put_rebalance(self, key: Key, cluster: str | None = None, state: str = "") -> None: ...
    def delete_topic(self, key: Key) -> None: ...


@dataclass(frozen=True, slots=True)
class StrimziBed:
    """The port, and who makes what it shows."""

    strimzi: Strimzi
    maker: Maker
    namespace: str

    def key(self, name: str) -> Key:
        """Of an object in the namespace."""
        return Key(self.namespace, name)

    def view(self) -> StrimziView:
        """What it shows."""
        found = self.strimzi.observe()
        assert found is not None
        return found


@pytest.fixture
def strimzi(bed: Bed, request: pytest.FixtureRequest) -> Iterator[StrimziBed]:
    """A namespace of its own, where Strimzi is installed."""
    if isinstance(bed, FakeBed):
        fake = FakeStrimzi(is_installed=True)
        yield StrimziBed(fake, fake, bed.namespace)
        return
    server: ApiServer = request.getfixturevalue("api_server")
    client = KubeClient(server)
    install_strimzi_crds(client)
    yield StrimziBed(KubeStrimzi(kube_api(2), [bed.namespace]), StrimziRole(client), bed.namespace)


def sorted_topics(topics: Sequence[KafkaTopic]) -> list[KafkaTopic]:
    return sorted(topics, key=lambda each: each.key)


def test_where_nothing_is_there_is_nothing(strimzi: StrimziBed) -> None:
    view = strimzi.view()
    assert [len(found) for found in (view.kafkas, view.topics, view.rebalances)] == [0, 0, 0]


def test_a_topic_is_called_as_its_spec_says_or_as_its_resource_is(strimzi: StrimziBed) -> None:
    strimzi.maker.put_topic(strimzi.key("a"), "wal_0", "wal")
    strimzi.maker.put_topic(strimzi.key("wal-1"))
    assert sorted_topics(strimzi.view().topics) == [
        KafkaTopic(strimzi.key("a"), "wal_0", "wal"),
        KafkaTopic(strimzi.key("wal-1"), "wal-1", None),
    ]


@pytest.mark.parametrize(("annotation", "is_managed"), [("false", False), ("true", True), ("no", True)])
def test_only_false_lets_a_topic_go(strimzi: StrimziBed, annotation: str, *, is_managed: bool) -> None:
    strimzi.maker.put_topic(strimzi.key("a"), managed=annotation)
    (found,) = strimzi.view().topics
    assert found.is_managed is is_managed


def test_a_topic_that_is_deleted_is_gone(strimzi: StrimziBed) -> None:
    strimzi.maker.put_topic(strimzi.key("a"))
    strimzi.maker.delete_topic(strimzi.key("a"))
    assert list(strimzi.view().topics) == []


def test_a_cluster_has_an_id_once_it_is_known(strimzi: StrimziBed) -> None:
    strimzi.maker.put_kafka(strimzi.key("wal"), None)
    assert list(strimzi.view().kafkas) == [StrimziKafka(strimzi.key("wal"), None)]
    strimzi.maker.put_kafka(strimzi.key("wal"), "abc")
    assert list(strimzi.view().kafkas) == [StrimziKafka(strimzi.key("wal"), "abc")]


@pytest.mark.parametrize("state", ["", "ProposalReady", "Rebalancing", "Ready"])
def test_a_rebalance_says_how_far_it_is(strimzi: StrimziBed, state: str) -> None:
    strimzi.maker.put_rebalance(strimzi.key("even"), "wal", state)
    assert list(strimzi.view().rebalances) == [KafkaRebalance(strimzi.key("even"), "wal", state)]


def test_without_strimzi_nothing_is_shown() -> None:
    assert FakeStrimzi().observe() is None


@pytest.mark.integration
def test_without_its_crds_nothing_is_shown_and_an_old_version_is_read_too(
    beds: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to 0.48 Strimzi served v1beta2 alone; here the CRD of KafkaTopics is called so, and there is no other."""
    with ApiServer() as server:
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig))
        strimzi, client = KubeStrimzi(kube_api(), []), KubeClient(server)
        assert strimzi.observe() is None
        crd = strimzi_crd("kafkatopics")
        crd["spec"]["versions"][0]["name"] = "v1beta2"
        client.install_crd(crd)
        topics = "/apis/kafka.strimzi.io/v1beta2/namespaces/default/kafkatopics"
        body = {"apiVersion": "kafka.strimzi.io/v1beta2", "kind": "KafkaTopic", "spec": {"topicName": "wal_0"}}
        client.create(topics, {**body, "metadata": {"name": "first"}})
        assert strimzi.observe() == StrimziView([], [KafkaTopic(Key("default", "first"), "wal_0")], [])


def test_without_the_right_to_list_it_is_refused() -> None:
    fake = FakeStrimzi(is_installed=True)
    fake.is_forbidden = True
    with pytest.raises(Forbidden, match="is forbidden"):
        fake.observe()


@pytest.mark.integration
def test_whom_the_api_server_lets_list_nothing_is_refused(
    api_server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = KubeClient(api_server)
    install_strimzi_crds(client)
    account = f"nobody-{uuid.uuid4().hex[:8]}"
    client.create("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": account}})
    monkeypatch.setenv("KUBECONFIG", str(api_server.kubeconfig_of("default", account)))
    with pytest.raises(Forbidden, match=r"kafka\.strimzi\.io"):
        KubeStrimzi(kube_api(), ["default"]).observe()
