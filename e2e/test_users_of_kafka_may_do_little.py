"""Users of a secured Kafka with few rights: the job of a verification, and the operator on a managed Kafka.

Both tests do with one database, in any order.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from seawall_e2e import guide, kafka_users
from seawall_e2e.cluster import REPOSITORY, SASL_SSL, WALCluster, make_kafka_secrets
from seawall_e2e.commands import CommandFailed, Object, kubectl
from seawall_e2e.objects import apply, find, get, items
from seawall_e2e.purges import Purges
from seawall_e2e.refdb import RefDb, RefDbImages, in_sight
from seawall_e2e.shell import Shell
from seawall_e2e.site import Site
from seawall_e2e.toolbox import Toolbox
from seawall_e2e.verifications import Verifications
from seawall_e2e.waiting import wait_until

READER, MANAGED, KAFKA_USER = "kafka-reader", "kafka-managed", "kafka-user"
NOT_SUPPORTED = "NotSupportedByKafka"
REFUSED = "TOPIC_AUTHORIZATION_FAILED"
SCRIPT = Path(kafka_users.__file__)
SAMPLE = REPOSITORY / "docs/examples/managed-kafka"


def sample(secret: str) -> Object:
    """The WALCluster of docs/install.md for a managed Kafka, at this cluster's addresses and as another user."""
    (found,) = yaml.safe_load_all((SAMPLE / "walcluster.yaml").read_text())
    external = found["spec"]["kafka"]["external"]
    assert external["sasl"]["credentialsSecretRef"] == {"name": KAFKA_USER}
    external |= {"bootstrapServers": list(SASL_SSL), "tls": {"caSecretRef": {"name": "kafka-ca"}}}
    external["sasl"]["credentialsSecretRef"]["name"] = secret
    return dict(found)


@dataclass(frozen=True, slots=True)
class Secured:
    """A site whose WALCluster looks at a database with rows, and clients in the toolbox."""

    site: Site
    database: RefDb
    shell: Shell

    def connect(self, secret: str) -> None:
        """The WALCluster goes on with this user, over TLS."""
        kafka = sample(secret)["spec"]["kafka"]
        kubectl(*self.site.wal_cluster().patch_command(json.dumps({"spec": {"kafka": kafka}})))

    @contextmanager
    def user(self, verb: str, secret: str) -> Iterator[User]:
        """A user of its own, and its Secret; the user is gone afterwards."""
        name, password = f"{self.site.prefix}-{secret}", secrets.token_hex(16)
        metadata = {"name": secret, "namespace": self.site.namespace}
        values = {"username": name, "password": password}
        apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": values})
        self.shell.ask(verb, name, password, f"{self.site.prefix}_")
        try:
            yield User(self.shell, self.site.namespace, secret)
        finally:
            self.shell.ask("forget", name)


@dataclass(frozen=True, slots=True)
class User:
    """A user of Kafka, whose name and password are in a Secret."""

    shell: Shell
    namespace: str
    secret: str

    def ask(self, verb: str, *words: str) -> object:
        """What Kafka says to it."""
        user = _secret(self.namespace, self.secret)
        who = (",".join(SASL_SSL), user["username"], user["password"], _secret(self.namespace, "kafka-ca")["ca.crt"])
        return self.shell.ask(verb, *words, *who)


@pytest.fixture(scope="module")
def secured(shared_site: Site, refdb_images: RefDbImages, toolbox: Toolbox) -> Iterator[Secured]:
    """The operator may read the Secrets of its own connections; that of the jobs only the kubelet mounts."""
    site = shared_site
    site.install("replayVerification.create=true", f"secrets.names={{kafka-ca,{KAFKA_USER},{MANAGED}}}")
    make_kafka_secrets(site.namespace)
    wal = site.wal_cluster()
    wal.apply(site.pool(4, maxMessageBytes="16Ki"), dataPlane=in_sight(site.namespace))
    wal.wait("Ready")
    database = RefDb(site.namespace, refdb_images)
    database.start()
    execute(database, guide.CREATE_TABLE, *guide.INSERTS)
    with closing(Shell(toolbox.namespace, "toolbox", ("python", "-c", SCRIPT.read_text()))) as shell:
        yield Secured(site, database, shell)


def execute(database: RefDb, *statements: str) -> None:
    """Statements that must work."""
    answers = database.execute(*statements)
    assert not [answer for answer in answers if "code" in answer], answers


# `make test` tries the rights of docs/kafka-acls.md on real brokers (integration/test_kafka_acls.py); here, pods do.
@pytest.mark.soak
def test_a_verification_reads_as_a_user_that_cannot_delete_and_one_with_its_own_image_is_refused(
    secured: Secured, verification_image: str
) -> None:
    wal = secured.site.wal_cluster()
    secured.connect(KAFKA_USER)
    wal.wait("Ready")
    execute(secured.database, *guide.INSERTS)  # a purge may have flushed those of before
    with secured.user("let_read", READER) as reader:
        verify_as(reader, secured, Verifications(wal, verification_image, READER))


# `make test` has such a user beside the operator's process (integration/test_managed_kafka.py).
@pytest.mark.soak
def test_a_user_of_a_managed_kafka_has_a_pool_and_holds_and_is_told_what_it_may_not(secured: Secured) -> None:
    site, wal = secured.site, secured.site.wal_cluster()
    purges = Purges(wal, site.operator)
    with secured.user("let_manage", MANAGED) as user:
        pool = WALCluster(site.namespace, "pool")
        pool.apply({**site.pool(2), "prefix": f"{site.prefix}_own"}, kafka=sample(MANAGED)["spec"]["kafka"]["external"])
        pool.wait("Ready")
        site.wait_for_topics(4 + 2)
        secured.connect(MANAGED)
        wal.wait("Ready")
        wal.wait("NotAllowed", kind="ReplicationHealthy")
        wal.wait("Connected", kind="DataPlaneReachable")
        before = site.log_starts()
        run = purges.purge_once("refused", flush={"whenBehindEntries": 1, "timeout": "20s"})
        assert (run.stage, run.entries_deleted, run.topics["purged"]) == ("Completed", 0, 0), purges.explain()
        refused = [topic for topic, reason in run.skipped.items() if reason == NOT_SUPPORTED]
        assert len(refused) == run.topics["failed"] > 0, purges.explain()
        assert site.log_starts() == before
        assert user.ask("delete_as", refused[0], str(before[refused[0]] + 1)) == REFUSED
        purges.hold("reader", {"*": "earliest"})
        purges.let_go("reader")
        wal.wait("Ready")
        pool.delete()


def verify_as(reader: User, secured: Secured, verifications: Verifications) -> None:
    """A verification passes, with a user who may read and nothing else."""
    verifications.request("reads")
    seen = verifications.wait_until_over("reads")

    assert (seen.stage, seen.outcome) == ("Completed", "Passed"), verifications.explain()
    assert seen.verified
    assert seen.counts["records"] > 0
    assert verifications.driver_secrets(seen) == {"kafka-ca", READER}
    user = verifications.condition("reads", "OwnKafkaUser")
    assert user is not None
    assert (user["status"], user["reason"]) == ("True", "OwnUser")
    assert_cannot_delete(secured, reader, min(seen.verified))
    assert_refused(verifications)


def assert_cannot_delete(secured: Secured, reader: User, topic: str) -> None:
    """Kafka knows the user, and shows it the log; what the platform's own user may, it refuses."""
    site = secured.site
    before, owner = site.log_starts()[topic], User(secured.shell, site.namespace, KAFKA_USER)
    wait_until(lambda: isinstance(reader.ask("end_as", topic), int), "the brokers know the user")
    assert owner.ask("delete_as", topic, str(before)) == kafka_users.DONE
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
