"""A verification on secured Kafka: its job reads as a user that cannot delete, and nobody brings code of his own."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from seawall_e2e import guide, kafka_users
from seawall_e2e.cluster import SASL_SSL, make_kafka_secrets
from seawall_e2e.commands import CommandFailed, kubectl
from seawall_e2e.objects import apply, find, get, items
from seawall_e2e.refdb import RefDb
from seawall_e2e.shell import Shell
from seawall_e2e.site import Site
from seawall_e2e.toolbox import Toolbox
from seawall_e2e.verifications import Verifications
from seawall_e2e.waiting import wait_until

SECRET = "kafka-reader"  # noqa: S105 - a name
REFUSED = "TOPIC_AUTHORIZATION_FAILED"
SCRIPT = Path(kafka_users.__file__)


@dataclass(frozen=True, slots=True)
class Reader:
    """A user of Kafka who may read the topics of a site; and clients in the toolbox, as whoever has a Secret."""

    shell: Shell
    namespace: str
    name: str

    def ask(self, verb: str, *words: str, secret: str = SECRET) -> object:
        """What Kafka says to somebody with the user name and password of a Secret."""
        user = _secret(self.namespace, secret)
        who = (",".join(SASL_SSL), user["username"], user["password"], _secret(self.namespace, "kafka-ca")["ca.crt"])
        return self.shell.ask(verb, *words, *who)


@pytest.fixture
def reader(site: Site, toolbox: Toolbox) -> Iterator[Reader]:
    """A user of its own for the test, and its Secret; both are gone afterwards."""
    name, password = f"{site.prefix}-reader", secrets.token_hex(16)
    make_kafka_secrets(site.namespace)
    metadata = {"name": SECRET, "namespace": site.namespace}
    apply(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata,
            "stringData": {"username": name, "password": password},
        }
    )
    with closing(Shell(toolbox.namespace, "toolbox", ("python", "-c", SCRIPT.read_text()))) as shell:
        shell.ask("let_read", name, password, f"{site.prefix}_")
        try:
            yield Reader(shell, site.namespace, name)
        finally:
            shell.ask("forget", name)


def test_a_verification_reads_as_a_user_that_cannot_delete_and_one_with_its_own_image_is_refused(
    site: Site, database_in_sight: RefDb, reader: Reader, verification_image: str
) -> None:
    # The operator may read the Secrets of its own connection, and not that of the jobs: only the kubelet mounts it.
    site.install("replayVerification.create=true", "secrets.names={kafka-ca,kafka-user}")
    wal = site.wal_cluster()
    secured = {
        "bootstrapServers": list(SASL_SSL),
        "tls": {"caSecretRef": {"name": "kafka-ca"}},
        "sasl": {"mechanism": "SCRAM-SHA-512", "credentialsSecretRef": {"name": "kafka-user"}},
    }
    kubectl(*wal.patch_command(json.dumps({"spec": {"kafka": {"external": secured}}})))
    wal.wait("Ready")
    answers = database_in_sight.execute(guide.CREATE_TABLE, *guide.INSERTS)
    assert not [answer for answer in answers if "code" in answer], answers
    verifications = Verifications(wal, verification_image, SECRET)

    verifications.request("reads")
    seen = verifications.wait_until_over("reads")

    assert (seen.stage, seen.outcome) == ("Completed", "Passed"), verifications.explain()
    assert seen.verified
    assert seen.counts["records"] > 0
    assert verifications.driver_secrets(seen) == {"kafka-ca", SECRET}
    user = verifications.condition("reads", "OwnKafkaUser")
    assert user is not None
    assert (user["status"], user["reason"]) == ("True", "OwnUser")
    assert_cannot_delete(site, reader, min(seen.verified))
    assert_refused(verifications)


def assert_cannot_delete(site: Site, reader: Reader, topic: str) -> None:
    """Kafka knows the user, and shows it the log; what the platform's own user may, it refuses."""
    before = site.log_starts()[topic]
    wait_until(lambda: isinstance(reader.ask("end_as", topic), int), "the brokers know the user")
    assert reader.ask("delete_as", topic, str(before), secret="kafka-user") == kafka_users.DONE  # noqa: S106 - a name
    assert reader.ask("delete_as", topic, str(before + 1)) == REFUSED
    assert site.log_starts()[topic] == before


def assert_refused(verifications: Verifications) -> None:
    """By the controller, which knows what the WALCluster declares, before anything is made; and by admission."""
    namespace = verifications.wal.namespace
    verifications.request("brings-code", spark={"image": "registry.example/other:1"})
    seen = verifications.wait_until_over("brings-code")
    ready = verifications.condition("brings-code", "Ready")
    assert ready is not None
    assert (seen.stage, seen.application, ready["reason"]) == ("Failed", None, "SparkNotAllowed")
    assert ready["message"] == (
        "spark.image is not what WALCluster wal declares in spec.verification.spark, "
        "and nothing else gets its user of Kafka: leave out what the WALCluster says"
    )
    assert find(namespace, "configmaps", "brings-code-1") is None
    assert [each["metadata"]["name"] for each in items(namespace, "walholds")] == []
    with pytest.raises(CommandFailed, match="conf of a verification takes only"):
        verifications.request("loads-code", spark={"conf": {"spark.plugins": "other.Plugin"}})


def _secret(namespace: str, name: str) -> dict[str, str]:
    data = get(namespace, "secrets", name)["data"]
    return {key: base64.b64decode(value).decode() for key, value in data.items()}
