"""Whoever may create a WALVerification chooses sizes; what runs, and as which user of Kafka, its WALCluster says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from seawall.api.meta import ConditionType, Key
from seawall.api.v1alpha1.spark_job import JobStage, Outcome
from seawall.domain.conditions import find_condition
from seawall.domain.errors import Forbidden
from tests.worlds.purge_world import NAMESPACE
from tests.worlds.verification_world import SERVICE_ACCOUNT, VerificationWorld, why

FIRST = Key(NAMESPACE, "check-1")
SECURED: dict[str, Any] = {
    "tls": {"caSecretRef": {"name": "kafka-ca"}},
    "sasl": {"mechanism": "SCRAM-SHA-512", "credentialsSecretRef": {"name": "kafka-user"}},
}
MUTUAL: dict[str, Any] = {"tls": {"clientCertSecretRef": {"name": "kafka-client"}}}
OWN: dict[str, Any] = {"kafkaCredentialsSecretRef": {"name": "kafka-reader", "usernameKey": "user"}}
OWN_CERT: dict[str, Any] = {"kafkaClientCertSecretRef": {"name": "reader-cert"}}
DECLARED: dict[str, Any] = {"spark": {"image": "replay-verification:1"}}
SECRETS = {
    "kafka-ca": {"ca.crt": b"ca"},
    "kafka-user": {"username": b"seawall", "password": b"secret"},
    "kafka-client": {"tls.crt": b"crt", "tls.key": b"key"},
    "kafka-reader": {"user": b"reader", "password": b"other"},
    "reader-cert": {"tls.crt": b"crt", "tls.key": b"key"},
}


def verified(world: VerificationWorld, verification: dict[str, Any], kafka: dict[str, Any]) -> dict[str, Any]:
    """A verification that passes; the Secrets that its driver mounts, by folder."""
    for name, data in SECRETS.items():
        world.kube.secrets.setdefault(Key(NAMESPACE, name), data)
    world.edit_cluster(verification, **kafka)
    world.start()
    assert world.settle_verification().status.outcome is Outcome.PASSED
    return secrets_of(world, "driver")


def secrets_of(world: VerificationWorld, part: str) -> dict[str, Any]:
    volumes = world.spark.specs[FIRST][part]["template"]["spec"]["volumes"]
    return {each["name"]: each["secret"] for each in volumes if "secret" in each}


def user_condition(world: VerificationWorld) -> tuple[str, str, str] | None:
    found = find_condition(world.verification().status.conditions, ConditionType.OWN_KAFKA_USER)
    return None if found is None else (found.status, found.reason, found.message)


# --- what runs


def assert_refused(world: VerificationWorld, **spark: Any) -> str:
    """Refused before anything is made; the sentence."""
    world.start(spark=spark)
    found = world.settle_verification()
    reason, message = why(found)
    assert (found.status.stage, found.status.attempt, reason) == (JobStage.FAILED, 0, "SparkNotAllowed")
    assert (world.holds(), world.kube.get_config_map(FIRST), world.spark.specs) == ([], None, {})
    return message


def test_a_verification_with_its_own_image_is_refused_in_one_sentence() -> None:
    assert assert_refused(VerificationWorld(), image="other/x:1") == (
        "spark.image is not what WALCluster wal declares in spec.verification.spark, "
        "and nothing else gets its user of Kafka: leave out what the WALCluster says"
    )


def test_a_verification_with_its_own_account_is_refused() -> None:
    assert "spark.serviceAccountName is not what WALCluster" in assert_refused(
        VerificationWorld(), image="replay-verification:1", serviceAccountName="seawall"
    )


def test_all_that_differs_is_named() -> None:
    said = assert_refused(
        VerificationWorld(), image="x", imagePullPolicy="Always", imagePullSecrets=["a"], serviceAccountName="b"
    )
    assert said.startswith(
        "spark.image and spark.imagePullPolicy and spark.imagePullSecrets and spark.serviceAccountName are not what"
    )


def test_without_a_declaration_nothing_runs() -> None:
    world = VerificationWorld()
    cluster = world.cluster()
    spec = cluster.spec.model_dump(mode="json", by_alias=True, exclude_none=True)  # type: ignore[union-attr]
    world.kube.apply(cluster.metadata.key, {name: value for name, value in spec.items() if name != "verification"})
    assert assert_refused(world, image="replay-verification:1") == (
        "WALCluster wal does not say what may verify it: set its spec.verification.spark.image"
    )


@pytest.mark.parametrize(
    "conf",
    [
        {"spark.jars": "https://other/x.jar"},
        {"spark.plugins": "other.Plugin"},
        {"spark.executor.defaultJavaOptions": "-javaagent:/tmp/x.jar"},
        {"spark.hadoop.fs.s3a.endpoint": "other"},
        {"spark.driver.port": "7077"},
        {"spark.sql.shuffle.partitions": "${env:PASSWORD}"},
    ],
)
def test_settings_that_could_do_more_than_size_are_refused(conf: dict[str, str]) -> None:
    world = VerificationWorld()
    world.start(spark={"conf": conf})
    found = world.settle_verification()
    assert (found.status.stage, why(found)[0]) == (JobStage.FAILED, "InvalidSpec")
    assert "conf of a verification takes" in why(found)[1]
    assert (world.holds(), world.spark.specs) == ([], {})


def test_what_the_walcluster_declares_runs_in_the_sizes_that_the_verification_asks_for() -> None:
    world = VerificationWorld()
    account = Key(NAMESPACE, "other-account")
    world.spark.service_accounts.add(account)
    declared = {
        "image": "replay-verification:7",
        "serviceAccountName": account.name,
        "executors": 4,
        "cores": 2,
        "conf": {"spark.executor.defaultJavaOptions": "-XX:+UseSerialGC", "spark.sql.shuffle.partitions": "8"},
    }
    world.edit_cluster({"spark": declared})
    # Naming the same image is no harm: verifications of before did.
    asked = {"image": "replay-verification:7", "executors": 1, "memory": "2Gi"}
    world.start(spark={**asked, "conf": {"spark.sql.shuffle.partitions": "64", "spark.executor.memoryOverhead": "1g"}})
    assert world.settle_verification().status.outcome is Outcome.PASSED
    made = world.spark.specs[FIRST]
    assert (made["image"], made["driver"]["serviceAccount"]) == ("replay-verification:7", "other-account")
    assert (made["executor"]["instances"], made["executor"]["cores"]) == (1, 2)
    assert made["executor"]["memory"] == "2048m"
    conf = made["sparkConf"]
    assert conf["spark.executor.defaultJavaOptions"] == "-XX:+UseSerialGC"
    assert (conf["spark.sql.shuffle.partitions"], conf["spark.executor.memoryOverhead"]) == ("64", "1g")


def test_an_edit_of_the_walcluster_before_the_job_is_made_is_heeded() -> None:
    world = VerificationWorld()
    world.spark.service_accounts.clear()
    world.start(spark={"image": "replay-verification:1"})
    assert "no ServiceAccount" in why(world.settle_verification(ticks=40))[1]
    world.edit_cluster({"spark": {"image": "replay-verification:2"}})
    world.spark.service_accounts.add(SERVICE_ACCOUNT)
    found = world.settle_verification()
    assert (found.status.stage, why(found)[0]) == (JobStage.FAILED, "SparkNotAllowed")
    assert (world.holds(), world.spark.specs) == ([], {})


# --- as which user


def test_the_driver_has_the_user_of_verifications_and_no_other() -> None:
    world = VerificationWorld()
    secrets = verified(world, {**DECLARED, **OWN}, SECURED)
    assert {name: secret["secretName"] for name, secret in secrets.items()} == {
        "kafka-ca": "kafka-ca",
        "kafka-sasl": "kafka-reader",
    }
    assert {item["key"]: item["path"] for item in secrets["kafka-sasl"]["items"]} == {
        "user": "username",
        "password": "password",
    }
    assert secrets_of(world, "executor") == {}
    assert user_condition(world) == ("True", "OwnUser", "the job reads the log as the user of Secret kafka-reader")


def test_a_user_whose_name_is_in_the_spec_is_in_the_request_and_only_the_password_is_mounted() -> None:
    """As a Strimzi KafkaUser's Secret: it has a password and no name."""
    world = VerificationWorld()
    world.kube.secrets[Key(NAMESPACE, "kafka-user")] = {"password": b"secret"}
    world.kube.secrets[Key(NAMESPACE, "kafka-reader")] = {"password": b"other"}
    own = {"kafkaUsername": "wal-reader", "kafkaCredentialsSecretRef": {"name": "kafka-reader"}}
    named = {"sasl": {**SECURED["sasl"], "username": "seawall"}, "tls": SECURED["tls"]}
    secrets = verified(world, {**DECLARED, **own}, named)
    assert secrets["kafka-sasl"]["secretName"] == "kafka-reader"
    assert secrets["kafka-sasl"]["items"] == [{"key": "password", "path": "password"}]
    sasl = world.request()["kafka"]["sasl"]
    assert sasl == {
        "mechanism": "SCRAM-SHA-512",
        "username": "wal-reader",
        "passwordFile": "/etc/seawall/kafka/sasl/password",
    }


def test_a_job_with_a_secret_of_its_own_does_not_have_seawalls_name() -> None:
    world = VerificationWorld()
    world.kube.secrets[Key(NAMESPACE, "kafka-user")] = {"password": b"secret"}
    verified(world, {**DECLARED, **OWN}, {**SECURED, "sasl": {**SECURED["sasl"], "username": "seawall"}})
    assert "username" not in world.request()["kafka"]["sasl"]


def test_the_driver_has_the_certificate_of_verifications_and_no_other() -> None:
    world = VerificationWorld()
    secrets = verified(world, {**DECLARED, **OWN_CERT}, MUTUAL)
    assert {name: secret["secretName"] for name, secret in secrets.items()} == {"kafka-client": "reader-cert"}
    assert user_condition(world) == ("True", "OwnUser", "the job reads the log as the user of Secret reader-cert")


def test_a_job_that_has_seawalls_own_user_is_warned_about() -> None:
    world = VerificationWorld()
    secrets = verified(world, DECLARED, SECURED)
    assert secrets["kafka-sasl"]["secretName"] == "kafka-user"
    sentence = (
        "the job reads the log as Seawall's own user (Secret kafka-user), which may delete records: "
        "set spec.verification.kafkaCredentialsSecretRef of WALCluster wal"
    )
    assert user_condition(world) == ("False", "SeawallsUser", sentence)
    warned = [(event.type.value, event.message) for event in world.kube.events if event.reason == "SeawallsUser"]
    assert warned == [("Warning", sentence)]


@pytest.mark.parametrize(("name", "reason"), [("seawall", "SeawallsUser"), ("reader", "OwnUser")])
def test_a_copy_of_the_secret_is_still_seawalls_own_user(name: str, reason: str) -> None:
    """Whoever says the same name twice has one user, however many Secrets have the password."""
    world = VerificationWorld()
    for secret in ("kafka-user", "kafka-copy"):
        world.kube.secrets[Key(NAMESPACE, secret)] = {"password": b"secret"}
    copy = {"kafkaUsername": name, "kafkaCredentialsSecretRef": {"name": "kafka-copy"}}
    verified(world, {**DECLARED, **copy}, {**SECURED, "sasl": {**SECURED["sasl"], "username": "seawall"}})
    found = user_condition(world)
    assert found is not None
    assert found[1] == reason


def test_one_identity_of_two_that_is_seawalls_is_warned_about() -> None:
    world = VerificationWorld()
    both = {"tls": MUTUAL["tls"], "sasl": SECURED["sasl"]}
    verified(world, {**DECLARED, **OWN}, both)
    found = user_condition(world)
    assert found is not None
    assert found[:2] == ("False", "SeawallsUser")
    assert "(Secret kafka-client)" in found[2]
    assert "kafkaClientCertSecretRef" in found[2]


def test_the_same_secret_once_more_is_no_user_of_its_own() -> None:
    world = VerificationWorld()
    verified(world, {**DECLARED, "kafkaCredentialsSecretRef": {"name": "kafka-user"}}, SECURED)
    assert (user_condition(world) or ("",))[0] == "False"


def test_a_kafka_that_asks_nobody_who_they_are_has_no_users_to_speak_of() -> None:
    world = VerificationWorld()
    verified(world, DECLARED, {})
    assert user_condition(world) is None


def test_a_secret_of_the_job_that_is_missing_stalls_it_until_somebody_makes_it() -> None:
    world = VerificationWorld()
    world.kube.secrets = {Key(NAMESPACE, name): SECRETS[name] for name in ("kafka-ca", "kafka-user")}
    world.edit_cluster({**DECLARED, **OWN}, **SECURED)
    world.start()
    found = world.settle_verification(ticks=40)
    assert why(found) == (
        "ChangeRefused",
        "there is no Secret kafka-reader, which spec.verification of the WALCluster names for the job",
    )
    assert world.spark.specs == {}
    world.kube.secrets[Key(NAMESPACE, "kafka-reader")] = SECRETS["kafka-reader"]
    assert world.settle_verification().status.outcome is Outcome.PASSED


def test_a_secret_of_the_job_that_the_operator_may_not_read_is_left_to_the_kubelet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = VerificationWorld()
    read = world.kube.get_secret

    def refuse(key: Key) -> Mapping[str, bytes] | None:
        if key.name == "kafka-reader":
            raise Forbidden(f"secrets {key.name} is forbidden")
        return read(key)

    monkeypatch.setattr(world.kube, "get_secret", refuse)
    secrets = verified(world, {**DECLARED, **OWN}, SECURED)
    assert secrets["kafka-sasl"]["secretName"] == "kafka-reader"
