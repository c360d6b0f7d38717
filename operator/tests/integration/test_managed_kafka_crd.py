"""What the API server lets be edited of a managed Kafka: what this version does not roll out is immutable."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
import yaml

from tests.integration.test_crds import EXAMPLES
from tests.support.kube import OBJECTS, KubeClient, Object, Refusal

pytestmark = pytest.mark.integration

SECURED = yaml.safe_load((EXAMPLES / "valid/managed-kafka-secured.yaml").read_text())["spec"]["kafka"]["managed"][
    "security"
]
MORE = {"name": "more", "roles": ["broker"], "firstId": 200, "replicas": 1, "storage": {"size": "200Gi"}}
Edit = Callable[[Object], object]
"""Changes `spec.kafka` in place."""


def pool(kafka: Object, number: int) -> Object:
    found: Object = kafka["managed"]["nodePools"][number]
    return found


@pytest.fixture(scope="module")
def path(kube: KubeClient) -> str:
    """A WALCluster in a namespace that no operator serves."""
    namespace = f"crds-{uuid.uuid4().hex[:12]}"
    kube.make_namespace(namespace)
    collection = OBJECTS.format(namespace, "walclusters")
    kube.create(collection, yaml.safe_load((EXAMPLES / "valid/managed-kafka.yaml").read_text()))
    return f"{collection}/managed"


def edit(kube: KubeClient, path: str, change: Edit) -> None:
    kafka = kube.request("GET", path)["spec"]["kafka"]
    change(kafka)
    kube.merge(path, {"spec": {"kafka": kafka}})


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda kafka: pool(kafka, 1).update(replicas=0), "replicas"),
        (lambda kafka: pool(kafka, 0).update(replicas=1), "three or five controllers do not become one"),
        (lambda kafka: pool(kafka, 0).update(replicas=4), "controllers are 1, 3 or 5"),
        (
            lambda kafka: kafka["managed"]["nodePools"].append({**MORE, "roles": ["controller"]}),
            "exactly one has the role controller",
        ),
        (lambda kafka: pool(kafka, 0).update(firstId=200), "roles and firstId are immutable"),
        (lambda kafka: pool(kafka, 0).update(roles=["controller", "broker"]), "roles and firstId are immutable"),
        (lambda kafka: pool(kafka, 1)["storage"].update(size="100Gi"), "size may only grow: a volume does not shrink"),
        (lambda kafka: pool(kafka, 1)["storage"].update(className="fast"), "className is immutable"),
        (lambda kafka: pool(kafka, 1).update(name="others"), "may only become more"),
        (
            lambda kafka: kafka["managed"].update(security={**SECURED, "insecure": False}),
            "security.insecure and security.authentication",
        ),
        (
            lambda kafka: kafka.update(managed=None, external={"bootstrapServers": ["kafka:9092"]}),
            "external and managed are not switched",
        ),
    ],
)
def test_what_is_not_rolled_out_yet_is_refused_in_one_sentence(
    change: Edit, sentence: str, kube: KubeClient, path: str
) -> None:
    with pytest.raises(Refusal, match=sentence):
        edit(kube, path, change)


@pytest.mark.parametrize(
    "change",
    [
        lambda kafka: kafka["managed"].update(image="mirror.example.org/kafka:4.3.1"),
        lambda kafka: kafka["managed"].update(version="4.2.0"),
        lambda kafka: kafka["managed"].update(config={"num.io.threads": "8"}),
        lambda kafka: pool(kafka, 1).update(heap="3Gi"),
        lambda kafka: pool(kafka, 1)["storage"].update(size=str(200 * 2**30)),
    ],
    ids=["image", "version", "config", "heap", "the same size in other words"],
)
def test_what_the_status_shows_as_outdated_may_be_edited(change: Edit, kube: KubeClient, path: str) -> None:
    edit(kube, path, change)


def test_volumes_may_be_declared_larger_and_never_smaller_again(kube: KubeClient, path: str) -> None:
    edit(kube, path, lambda kafka: pool(kafka, 0)["storage"].update(size="20Gi"))
    with pytest.raises(Refusal, match="size may only grow"):
        edit(kube, path, lambda kafka: pool(kafka, 0)["storage"].update(size="10Gi"))


def test_a_short_dwell_is_for_a_kafka_that_is_not_secured(kube: KubeClient, path: str) -> None:
    edit(kube, path, lambda kafka: kafka["managed"].update(rollout={"dwell": "2s"}))
    namespaced, name = path.rsplit("/", 1)
    declared = yaml.safe_load((EXAMPLES / "valid/managed-kafka-secured.yaml").read_text())
    declared["metadata"]["name"] = f"{name}-secured"
    declared["spec"]["kafka"]["managed"]["rollout"] = {"dwell": "10s"}
    kube.create(namespaced, declared)
    with pytest.raises(Refusal, match="dwell must be at least 10s"):
        edit(kube, f"{path}-secured", lambda kafka: kafka["managed"].update(rollout={"dwell": "9s"}))


def test_brokers_may_become_more_and_fewer_and_pools_of_brokers_may_be_added(kube: KubeClient, path: str) -> None:
    edit(kube, path, lambda kafka: pool(kafka, 1).update(replicas=4))
    edit(kube, path, lambda kafka: kafka["managed"]["nodePools"].append(MORE))
    edit(kube, path, lambda kafka: pool(kafka, 1).update(replicas=3))
    with pytest.raises(Refusal, match="may only become more"):
        edit(kube, path, lambda kafka: kafka["managed"]["nodePools"].pop())


def test_controllers_may_become_more_and_three_again_and_not_one(kube: KubeClient) -> None:
    namespace = f"crds-{uuid.uuid4().hex[:12]}"
    kube.make_namespace(namespace)
    collection = OBJECTS.format(namespace, "walclusters")
    kube.create(collection, yaml.safe_load((EXAMPLES / "valid/managed-kafka.yaml").read_text()))
    edit(kube, f"{collection}/managed", lambda kafka: pool(kafka, 0).update(replicas=5))
    with pytest.raises(Refusal, match="three or five controllers do not become one"):
        edit(kube, f"{collection}/managed", lambda kafka: pool(kafka, 0).update(replicas=1))
    edit(kube, f"{collection}/managed", lambda kafka: pool(kafka, 0).update(replicas=3))


def test_a_pool_with_both_roles_keeps_its_size(kube: KubeClient) -> None:
    namespace = f"crds-{uuid.uuid4().hex[:12]}"
    kube.make_namespace(namespace)
    collection = OBJECTS.format(namespace, "walclusters")
    both = yaml.safe_load((EXAMPLES / "valid/managed-kafka.yaml").read_text())
    both["spec"]["kafka"]["managed"]["nodePools"] = [{**MORE, "roles": ["controller", "broker"], "replicas": 3}]
    kube.create(collection, both)
    with pytest.raises(Refusal, match="a pool with both roles is immutable"):
        edit(kube, f"{collection}/managed", lambda kafka: pool(kafka, 0).update(replicas=5))
