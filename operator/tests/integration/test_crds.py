"""What the API server makes of our CRD: verdicts, defaults, transition rules, columns."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.support.kube import CRD_PATH, WAL_CLUSTERS, KubeClient, Object, Refusal, crd_condition
from tests.support.site import Site

pytestmark = pytest.mark.integration

EXAMPLES = Path(__file__).parents[3] / "crds/examples"
VALID, INVALID = (sorted((EXAMPLES / verdict).glob("*.yaml")) for verdict in ("valid", "invalid"))


def apply_dry(kube: KubeClient, body: Object) -> Object:
    """What `kubectl apply --dry-run=server --validate=strict` sends for a new object."""
    return kube.create(f"{WAL_CLUSTERS.format('default')}?dryRun=All&fieldManager=test&fieldValidation=Strict", body)


def with_topics(**topics: object) -> Object:
    body: Object = yaml.safe_load((EXAMPLES / "valid/minimal.yaml").read_text())
    body["spec"]["topics"] = topics
    return body


@pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
def test_valid_examples_are_accepted(path: Path, kube: KubeClient) -> None:
    apply_dry(kube, yaml.safe_load(path.read_text()))


@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_invalid_examples_are_refused(path: Path, kube: KubeClient) -> None:
    with pytest.raises(Refusal) as refused:
        apply_dry(kube, yaml.safe_load(path.read_text()))
    assert refused.value.status in {400, 422}, refused.value


def test_the_crd_is_established_and_structural(kube: KubeClient) -> None:
    crd = kube.request("GET", f"{CRD_PATH}/walclusters.seawall.dev")
    assert crd_condition(crd, "Established") == "True"
    assert crd_condition(crd, "NonStructuralSchema") in {None, "False"}


def test_kubectl_knows_the_short_name_and_explains_fields(kube: KubeClient) -> None:
    assert "How many topics the pool has" in kube.server.kubectl("explain", "walc.spec.topics.count")


def test_defaults_are_filled_in(kube: KubeClient) -> None:
    minimal: Object = yaml.safe_load((EXAMPLES / "valid/minimal.yaml").read_text())
    assert apply_dry(kube, minimal)["spec"]["topics"] == {
        "prefix": "greptimedb_wal_topic",
        "count": 64,
        "replicationFactor": 3,
        "maxMessageBytes": "1Mi",
        "segmentBytes": "64Mi",
        "deletionPolicy": "Retain",
    }


def test_a_status_cannot_be_declared(site: Site) -> None:
    found = site.declare()
    assert "status" not in found


@pytest.mark.parametrize(
    ("topics", "sentence"),
    [
        ({"replicationFactor": 0}, "should be greater than or equal to 1"),
        ({"count": 0}, "should be greater than or equal to 1"),
        ({"replicationFactor": 3, "minInSyncReplicas": 3}, "otherwise one lost broker stops all writes"),
        ({"config": {"retention.ms": 1000}}, "Seawall guards them on every WAL topic"),
        ({"config": {"preallocate": True}}, "must be of type"),
    ],
    ids=["no replicas", "no topics", "isr equals rf", "guarded config", "unquoted boolean"],
)
def test_a_bad_spec_is_refused_with_its_reason(topics: Object, sentence: str, kube: KubeClient) -> None:
    with pytest.raises(Refusal, match=sentence):
        apply_dry(kube, with_topics(**topics))


def test_a_quoted_boolean_is_accepted(kube: KubeClient) -> None:
    assert apply_dry(kube, with_topics(config={"preallocate": "true"}))


def test_the_count_cannot_shrink(site: Site) -> None:
    site.declare(topics={"count": 3})
    with pytest.raises(Refusal, match="count only grows"):
        site.edit(count=2)
    site.edit(count=4)


def test_the_prefix_is_immutable(site: Site) -> None:
    site.declare()
    with pytest.raises(Refusal, match="prefix is immutable"):
        site.edit(prefix="another")


def test_the_count_cannot_shrink_by_leaving_it_to_its_default(site: Site) -> None:
    site.declare(topics={"count": 65})
    with pytest.raises(Refusal, match="count only grows"):
        site.edit(count=None)


def test_kubectl_get_shows_the_columns(site: Site) -> None:
    site.declare()
    site.wait_ready()
    header, row = site.kube.server.kubectl("get", "walc", "-n", site.namespace, "-o", "wide").splitlines()
    assert header.split() == ["NAME", "READY", "REASON", "TOPICS", "DESIRED", "RF", "BROKERS", "AGE", "MESSAGE"]
    assert row.split()[:7] == ["wal", "True", "Ready", "2", "2", "3", "3"]
    assert row.endswith("2 topics are ready")
