"""What the API server makes of our CRDs: verdicts, defaults, transition rules, columns."""

from __future__ import annotations

import uuid
from http import HTTPStatus
from pathlib import Path

import pytest
import yaml

from seawall.api.v1alpha1.kinds import KINDS
from seawall_e2e.waiting import wait_until
from tests.support.kube import CRD_PATH, OBJECTS, KubeClient, Object, Refusal, crd_condition
from tests.support.site import Site

pytestmark = pytest.mark.integration

PLURALS = {kind.kind: kind.plural for kind in KINDS}
EXAMPLES = Path(__file__).parents[3] / "crds/examples"
VALID, INVALID = (sorted((EXAMPLES / verdict).glob("*.yaml")) for verdict in ("valid", "invalid"))


def apply_dry(kube: KubeClient, body: Object) -> Object:
    """What `kubectl apply --dry-run=server --validate=strict` sends for a new object."""
    path = OBJECTS.format("default", PLURALS[body["kind"]])
    return kube.create(f"{path}?dryRun=All&fieldManager=test&fieldValidation=Strict", body)


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


@pytest.mark.parametrize(
    ("example", "field", "value", "sentence"),
    [
        ("purge-policy", "schedule", "every day", "schedule is no cron expression with the five fields"),
        ("purge-policy", "schedule", "0 24 * * *", "schedule is no cron expression with the five fields"),
        ("purge-policy", "timeZone", "Mars/Olympus", "unknown time zone Mars/Olympus"),
        ("backup-policy", "fullSchedule", "@weekly", "fullSchedule is no cron expression with the five fields"),
        ("backup-policy", "drill", {"schedule": "61 * * * *"}, "schedule is no cron expression with the five fields"),
    ],
)
def test_a_schedule_that_nobody_can_read_is_refused_in_one_sentence(
    example: str, field: str, value: object, sentence: str, kube: KubeClient
) -> None:
    body: Object = yaml.safe_load((EXAMPLES / f"valid/{example}.yaml").read_text())
    body["spec"][field] = value
    with pytest.raises(Refusal) as refused:
        apply_dry(kube, body)
    assert sentence in str(refused.value)


@pytest.mark.parametrize("plural", PLURALS.values())
def test_the_crds_are_established_and_structural(plural: str, kube: KubeClient) -> None:
    crd = kube.request("GET", f"{CRD_PATH}/{plural}.seawall.dev")
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


SUBSCRIPTION: Object = {
    "clusterRef": {"name": "wal"},
    "sink": {"mirror": {"target": "dr"}},
    "lagBudget": {"maxBytes": "20Gi"},
}


@pytest.fixture
def namespace(kube: KubeClient) -> str:
    """A namespace of its own, for objects that need no Kafka."""
    name = f"crds-{uuid.uuid4().hex[:12]}"
    kube.make_namespace(name)
    return name


def make(kube: KubeClient, namespace: str, kind: str, spec: Object) -> str:
    """Creates an object of any of our kinds; returns its path."""
    body = {"apiVersion": "seawall.dev/v1alpha1", "kind": kind, "metadata": {"name": "one"}, "spec": spec}
    path = OBJECTS.format(namespace, PLURALS[kind])
    kube.create(path, body)
    return f"{path}/one"


def test_a_run_gets_its_defaults(kube: KubeClient) -> None:
    raw: Object = yaml.safe_load((EXAMPLES / "valid/purge-run.yaml").read_text())
    assert apply_dry(kube, raw)["spec"] == {
        "clusterRef": {"name": "wal"},
        "topics": ["*"],
        "flush": {"whenBehindEntries": 10_000, "whenBehindBytes": "64Mi", "maxConcurrent": 10, "timeout": "2m"},
        "safety": {"keepEntries": 0, "staleAfter": "60s", "openGrace": "2m", "countFollowers": True},
        "dryRun": True,
    }


def test_the_spec_of_a_run_is_immutable(kube: KubeClient, namespace: str) -> None:
    path = make(kube, namespace, "WALPurge", {"clusterRef": {"name": "wal"}, "dryRun": True})
    with pytest.raises(Refusal, match="the spec of a run is immutable"):
        kube.merge(path, {"spec": {"dryRun": False}})
    with pytest.raises(Refusal, match="the spec of a run is immutable"):
        kube.merge(path, {"spec": {"safety": {"openGrace": "3m"}}})
    kube.merge(path, {"metadata": {"labels": {"a": "b"}}})


def test_of_a_backup_only_keep_may_be_edited(kube: KubeClient, namespace: str) -> None:
    path = make(kube, namespace, "WALBackup", {"clusterRef": {"name": "wal"}})
    for edit in ({"topics": ["a"]}, {"parentRef": {"name": "full"}}, {"verify": {"level": "None"}}):
        with pytest.raises(Refusal, match="immutable but for keep"):
            kube.merge(path, {"spec": edit})
    kube.merge(path, {"spec": {"keep": True}})
    kube.merge(path, {"spec": {"keep": False}})


@pytest.mark.parametrize(
    ("kind", "more", "edit"),
    [
        ("WALPurgePolicy", {"interval": "1h"}, {"interval": "2h"}),
        ("WALHold", {"topics": {"wal_0": 5}}, {"topics": {"wal_1": 7}}),
    ],
)
def test_what_refers_to_a_walcluster_refers_to_it_for_ever(
    kind: str, more: Object, edit: Object, kube: KubeClient, namespace: str
) -> None:
    path = make(kube, namespace, kind, {"clusterRef": {"name": "wal"}, **more})
    with pytest.raises(Refusal, match="clusterRef is immutable"):
        kube.merge(path, {"spec": {"clusterRef": {"name": "other"}}})
    kube.merge(path, {"spec": edit})


def test_a_hold_can_name_ten_thousand_topics(kube: KubeClient, namespace: str) -> None:
    topics: Object = {f"greptimedb_wal_topic_{index}": 10**12 + index for index in range(10_000)}
    path = make(kube, namespace, "WALHold", {"clusterRef": {"name": "wal"}, "topics": topics})
    status = {"observedGeneration": 1, "state": "Active", "granted": topics, "topics": len(topics)}

    def write() -> Object | None:
        """The operator of other tests looks after this hold, too, and may have written just before."""
        try:
            return kube.request("PUT", f"{path}/status", {**kube.request("GET", path), "status": status})
        except Refusal as refusal:
            if refusal.status == HTTPStatus.CONFLICT:
                return None
            raise

    written = wait_until(write, "the status is written")["status"]
    assert written.keys() == status.keys()
    assert len(written["granted"]) == len(topics)
    kube.delete(path)
    with pytest.raises(Refusal, match=r"[Tt]oo many"):
        make(kube, namespace, "WALHold", {"clusterRef": {"name": "wal"}, "topics": {**topics, "another": 1}})


def test_kubectl_get_shows_the_columns(site: Site) -> None:
    site.declare()
    site.wait_ready()
    header, row = site.kube.server.kubectl("get", "walc", "-n", site.namespace, "-o", "wide").splitlines()
    assert header.split() == ["NAME", "READY", "REASON", "TOPICS", "DESIRED", "RF", "BROKERS", "AGE", "MESSAGE"]
    assert row.split()[:7] == ["wal", "True", "Ready", "2", "2", "3", "3"]
    assert row.endswith("2 topics are ready")


def test_a_promotion_cannot_be_taken_back_and_a_subscription_keeps_its_target(kube: KubeClient, namespace: str) -> None:
    path = make(kube, namespace, "WALSubscription", SUBSCRIPTION)
    with pytest.raises(Refusal, match="target is immutable"):
        kube.merge(path, {"spec": {"sink": {"mirror": {"target": "elsewhere"}}}})
    kube.merge(path, {"spec": {"promote": "Failover"}})
    for other in ("Switchover", None):
        with pytest.raises(Refusal, match="promote cannot be taken back"):
            kube.merge(path, {"spec": {"promote": other}})
