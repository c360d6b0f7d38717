"""The rights that the contract names are enough; without one of them it is said at once which. Secrets may change."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AclOperation, AdminClient
from mirrors import Mirror, Side, side_of

from seawall_e2e import kafka_users
from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.waiting import wait_until
from sparkjob.errors import Refused
from wal_subscription import copier
from wal_subscription.batches import SOURCE_RIGHTS
from wal_subscription.micro_batches import TARGET_RIGHTS

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("mirror")]
README = (Path(__file__).parents[1] / "contract/README.md").read_text()
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",  # the plaintext listener of the bed
}
USER, PASSWORD, ROTATED = "mirror", "a-password", "another-password"
RECORDS = [(b"k", b"%d" % number) for number in range(40)]


@pytest.fixture(scope="module")
def strict(beds: str) -> Iterator[tuple[KafkaProcesses, KafkaProcesses]]:
    """Source and target that know rights."""
    with (
        KafkaProcesses(1, sasl_ssl=True, properties=AUTHORIZER) as source,
        KafkaProcesses(1, sasl_ssl=True, properties=AUTHORIZER) as target,
    ):
        yield source, target


@pytest.fixture(autouse=True)
def no_connection_is_left() -> Iterator[None]:
    """Each test begins as a process does."""
    yield
    copier.forget_connections()


def as_user(kafka: KafkaProcesses, folder: Path) -> dict[str, Any]:
    """A Kafka of a request, by TLS and with the user's files."""
    folder.mkdir(exist_ok=True)
    for name, text in {"ca.crt": kafka.secure.ca_pem, "username": USER, "password": PASSWORD}.items():
        (folder / name).write_text(text)
    return {
        "bootstrapServers": list(kafka.secure.sasl_ssl_servers),
        "clusterId": kafka.cluster_id,
        "tls": {"caFile": str(folder / "ca.crt"), "certFile": None, "keyFile": None},
        "sasl": {
            "mechanism": "SCRAM-SHA-512",
            "usernameFile": str(folder / "username"),
            "passwordFile": str(folder / "password"),
        },
    }


def let(
    side: Side, kafka: KafkaProcesses, name: str, rights: Collection[AclOperation], password: str = PASSWORD
) -> None:
    """Makes the user, with these rights and no more."""
    boss = AdminClient({"bootstrap.servers": ",".join(side.servers)})
    who = (kafka.secure.sasl_ssl_servers[0], USER, password, kafka.secure.ca_pem)
    kafka_users.allow(boss, USER, password, name, *rights)
    known = {0, side.of(name).end} if rights else {"TOPIC_AUTHORIZATION_FAILED"}
    wait_until(lambda: kafka_users.end_as(boss, name, *who) in known, "it knows the user")


def forget(side: Side) -> None:
    """The user is gone."""
    kafka_users.forget(AdminClient({"bootstrap.servers": ",".join(side.servers)}), USER)


def test_the_rights_of_the_contract_are_enough_and_without_any_of_them_nothing_is_mirrored(
    strict: tuple[KafkaProcesses, KafkaProcesses], tmp_path: Path
) -> None:
    (source, target), sides = strict, [side_of(kafka) for kafka in strict]
    mirror, name = Mirror(sides[0], sides[1]), "rights"
    mirror.make(name)
    sides[0].topics.append({name: RECORDS})
    request = {"source": as_user(source, tmp_path / "source"), "target": as_user(target, tmp_path / "target")}
    given = [set(SOURCE_RIGHTS), set(TARGET_RIGHTS)]
    assert "Source: Describe and Read on the topics. Target: Describe, Read and Write on the topics" in README

    for at, missing, word in (
        (0, AclOperation.READ, "Read"),
        (1, AclOperation.READ, "Read"),
        (1, AclOperation.WRITE, "Write"),
    ):
        for number, side in enumerate(sides):
            let(side, strict[number], name, given[number] - ({missing} if number == at else set()))
        with pytest.raises(
            Refused, match=f"the user of Kafka lacks {word} on topic {name}: a mirror needs Describe, Read"
        ):
            mirror.start(**request)
        for side in sides:
            forget(side)
    for number, side in enumerate(sides):
        let(side, strict[number], name, given[number])
    assert mirror.run(mirror.start(**request)) == []
    assert mirror.require_equal(name) == len(RECORDS)
    for side in sides:
        forget(side)


def test_a_right_that_is_taken_away_later_is_told_and_a_password_that_changes_is_read_anew(
    strict: tuple[KafkaProcesses, KafkaProcesses], tmp_path: Path
) -> None:
    (source, target), sides = strict, [side_of(kafka) for kafka in strict]
    mirror, name = Mirror(sides[0], sides[1]), "rotated"
    mirror.make(name)
    request = {"source": as_user(source, tmp_path / "source"), "target": as_user(target, tmp_path / "target")}
    for side, kafka, rights in zip(sides, strict, (SOURCE_RIGHTS, TARGET_RIGHTS), strict=True):
        let(side, kafka, name, rights)
    micro = mirror.start(**request)
    sides[0].topics.append({name: RECORDS})
    assert mirror.run(micro) == []

    forget(sides[1])
    let(sides[1], target, name, TARGET_RIGHTS, ROTATED)
    (tmp_path / "target/password").write_text(ROTATED)
    sides[0].topics.append({name: RECORDS})
    assert mirror.run(micro) == []
    assert mirror.require_equal(name) == 2 * len(RECORDS)

    forget(sides[1])
    let(sides[1], target, name, SOURCE_RIGHTS, ROTATED)  # no Write any more
    sides[0].topics.append({name: RECORDS})

    def refusal() -> str | None:
        try:
            micro.once()
        except Refused as refused:
            return str(refused)
        return None

    said = wait_until(refusal, "it is refused", within=60)
    assert said == f"the user of Kafka may not write to topic {name} of the target: it needs Write"
    for side in sides:
        forget(side)
