"""The SparkApplications port: the same promises from the real API server and from the fake."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from seawall.adapters.kube import spark as kube_spark
from seawall.adapters.kube.spark import KubeSparkApplications
from seawall.api.v1alpha1.spark_spec import SparkSpec
from seawall.api.v1alpha1.verification_template import VerificationTemplate
from seawall.domain.errors import Conflict, Refused
from seawall.domain.spark_job.application import Ended, Stuck, Works, build_application, kafka_secrets
from seawall.domain.verification.kind import build_program
from seawall_e2e.loopback import ApiServer
from tests.contract.kube_beds import Bed, FakeBed, RealBed
from tests.contract.spark_beds import SERVICE_ACCOUNT, FakeSparkBed, RealSparkBed, SparkBed
from tests.support.kube import KubeClient
from tests.support.patient import kube_api
from tests.support.spark import install_spark_crd
from tests.worlds.verification_world import KAFKA

pytestmark = pytest.mark.xdist_group("api-server")


@pytest.fixture
def spark(bed: Bed, request: pytest.FixtureRequest) -> Iterator[SparkBed]:
    """SparkApplications of a namespace of its own."""
    if isinstance(bed, FakeBed):
        yield FakeSparkBed(bed)
        return
    assert isinstance(bed, RealBed)
    server: ApiServer = request.getfixturevalue("api_server")
    client = KubeClient(server)
    install_spark_crd(client)
    yield RealSparkBed(bed, client, kube_api(2))


def make(spark: SparkBed, name: str = "check-1", account: str = SERVICE_ACCOUNT) -> str:
    key = spark.key(name)
    program = build_program(key, VerificationTemplate(), "0" * 64)
    settings = SparkSpec(image="replay-verification:1", cpu_request="100m")
    return spark.applications.create(
        spark.owner(), key, build_application(key, program, settings, *kafka_secrets(KAFKA)), account
    )


def test_what_was_never_made_is_not_there(spark: SparkBed) -> None:
    assert spark.applications.get(spark.key("nobody")) is None


def test_an_application_that_was_made_is_read_with_its_owner_and_no_state(spark: SparkBed) -> None:
    uid = make(spark)
    found = spark.applications.get(spark.key("check-1"))
    assert found is not None
    assert (found.uid, found.controller_uid) == (uid, spark.owner().metadata.uid)
    assert (found.state, found.driver_pod) == ("", None)
    assert not found.is_over
    assert spark.applications.describe_driver(found) is None


def test_a_name_is_given_once(spark: SparkBed) -> None:
    make(spark)
    with pytest.raises(Conflict):
        make(spark)


def test_without_the_drivers_account_nothing_is_made_and_the_sentence_names_it(spark: SparkBed) -> None:
    with pytest.raises(Refused, match="there is no ServiceAccount nobody"):
        make(spark, account="nobody")
    assert spark.applications.get(spark.key("check-1")) is None


def test_an_application_is_deleted_once(spark: SparkBed) -> None:
    make(spark)
    found = spark.applications.get(spark.key("check-1"))
    assert found is not None
    spark.report(found.key, "RUNNING")  # whatever is written meanwhile
    spark.applications.delete(found)
    assert spark.applications.get(found.key) is None
    spark.applications.delete(found)


def test_an_application_that_was_made_anew_is_not_deleted(spark: SparkBed) -> None:
    make(spark)
    gone = spark.applications.get(spark.key("check-1"))
    assert gone is not None
    spark.applications.delete(gone)
    make(spark)
    with pytest.raises(Conflict):
        spark.applications.delete(gone)
    assert spark.applications.get(gone.key) is not None


def test_what_the_spark_operator_says_is_read(spark: SparkBed) -> None:
    make(spark)
    spark.report(spark.key("check-1"), "FAILED", "failed to run spark-submit: no")
    found = spark.applications.get(spark.key("check-1"))
    assert found is not None
    assert (found.state, found.is_over) == ("FAILED", True)
    assert found.error == "failed to run spark-submit: no"


def test_the_states_of_executors_are_read(spark: SparkBed) -> None:
    make(spark)
    key = spark.key("check-1")
    spark.report(key, "RUNNING", executors=("PENDING", "RUNNING"))
    found = spark.applications.get(key)
    assert found is not None
    assert found.executors == ("PENDING", "RUNNING")


@pytest.mark.parametrize(
    "driver",
    [
        Ended(0, '{"version": 1}'),
        Ended(137, ""),
        Ended(0, "late", datetime(2026, 11, 22, 6, 0, 7, tzinfo=UTC)),
        Stuck("ImagePullBackOff", 'Back-off pulling image "x"'),
        Stuck("Unschedulable", "0/1 nodes are available"),
        Works(),
    ],
    ids=lambda driver: type(driver).__name__,
)
def test_what_becomes_of_the_driver_is_read(spark: SparkBed, driver: Ended | Stuck | Works) -> None:
    make(spark)
    spark.report(spark.key("check-1"), "SUBMITTED", driver=driver)
    found = spark.applications.get(spark.key("check-1"))
    assert found is not None
    assert spark.applications.describe_driver(found) == driver


@pytest.mark.integration
def test_without_the_spark_operator_the_sentence_says_what_to_install(
    api_server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version of its API stands for an API server without it: a group that is not served answers 404, too."""
    monkeypatch.setenv("KUBECONFIG", str(api_server.kubeconfig))
    monkeypatch.setattr(kube_spark, "API_VERSION", "sparkoperator.k8s.io/v1beta1")
    fake = FakeSparkBed(FakeBed())
    with pytest.raises(Refused, match="install kubeflow's Spark Operator"):
        KubeSparkApplications(kube_api()).create(fake.owner(), fake.key("check-1"), {}, SERVICE_ACCOUNT)
