"""Certificates and users of a managed Kafka in a world: who is let in, what is told, and what is not started."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from seawall.api.meta import PAUSED_ANNOTATION, ConditionType
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.conditions import Outlook
from seawall.domain.kafka_security.status import standing
from seawall.domain.kafka_users import Acl
from seawall.domain.managed_kafka.certificates import Certificates, expires_soon
from seawall.observe.certificates import read_certificates
from seawall.reconciler import Reconciler
from tests.fakes.kube import FakeKube
from tests.kafka_security.test_certificates import KAFKA
from tests.support.clock import START
from tests.worlds.managed_world import WAL
from tests.worlds.secured_world import (
    DATABASE,
    HOSTS,
    NODES,
    OPERATOR,
    READER,
    YEAR,
    SecuredWorld,
    authority,
    secret,
    secret_of,
)

CERTIFICATES, USERS = ConditionType.CERTIFICATES_VALID, ConditionType.KAFKA_USERS_READY


@pytest.fixture
def world() -> SecuredWorld:
    return brought_up()


def brought_up() -> SecuredWorld:
    found = SecuredWorld()
    found.live(until=found.is_served)
    return found


def rights(world: SecuredWorld, principal: str) -> set[str]:
    return {acl.operation for acl in world.kafka.users.acls if acl.principal == principal}


def test_users_get_their_rights_on_the_pool_and_their_passwords(world: SecuredWorld) -> None:
    reads = {"DESCRIBE", "DESCRIBE_CONFIGS", "READ"}
    assert rights(world, f"User:{DATABASE}") == rights(world, f"User:CN={DATABASE},OU=db") == reads | {"WRITE"}
    assert rights(world, f"User:{READER}") == reads
    assert {(acl.resource, acl.name, acl.pattern) for acl in world.kafka.users.acls} == {
        ("TOPIC", "greptimedb_wal_topic_", "PREFIXED")
    }
    assert world.kafka.users.may_log_in(DATABASE, "horse")
    assert world.kafka.users.may_log_in(READER, "staple")
    assert world.users() == (DATABASE, READER)
    told = world.told(CERTIFICATES)
    assert told is not None
    assert told[:2] == ("True", "CertificatesFit")


def test_a_user_that_leaves_the_spec_can_do_nothing_any_more(world: SecuredWorld) -> None:
    world.drop_reader()
    world.live()
    assert rights(world, f"User:{READER}") == rights(world, f"User:CN={READER},OU=db") == set()
    assert READER in world.kafka.users.passwords, "no user is ever removed: Kafka would forget the others, too"
    assert not world.kafka.users.may_log_in(READER, "staple")
    assert world.kafka.users.may_log_in(DATABASE, "horse")
    assert world.users() == (DATABASE,)
    assert world.is_served()


def test_rights_that_somebody_gave_a_declared_user_are_taken_and_those_of_others_are_left(world: SecuredWorld) -> None:
    more = Acl(f"User:{DATABASE}", "DELETE", "greptimedb_wal_topic_")
    foreign = Acl("User:somebody", "READ", "greptimedb_wal_topic_")
    world.kafka.users.acls |= {more, foreign}
    lost = Acl(f"User:{READER}", "READ", "greptimedb_wal_topic_")
    world.kafka.users.acls.discard(lost)
    world.strangers.add("User:somebody")
    world.live()
    assert more not in world.kafka.users.acls
    assert {foreign, lost} <= world.kafka.users.acls


def test_another_kafka_at_its_addresses_is_not_changed(world: SecuredWorld) -> None:
    own, world.kafka.cluster_id = world.kafka.cluster_id, "another"
    had = set(world.kafka.users.acls), dict(world.kafka.users.passwords)
    world.drop_reader()
    world.change_password()
    security = world.security()
    for _ in range(3):
        security.tick(WAL)
    assert world.told(USERS) == ("Unknown", "NotAsked", "another Kafka answers, of id another")
    assert (world.kafka.users.acls, world.kafka.users.passwords) == had
    world.kafka.cluster_id = own
    world.live(until=world.is_served)
    assert world.users() == (DATABASE,)


def test_a_password_that_changed_is_set_once(world: SecuredWorld) -> None:
    world.change_password()
    world.live()
    assert world.kafka.users.may_log_in(DATABASE, "battery")
    said = [event.message for event in world.kube.events if "password of user" in event.message]
    assert said.count(f"Set the password of user {DATABASE}") == 2, "once by each process: Kafka tells of none"


def test_a_user_whose_secret_is_missing_is_named_and_the_others_are_served() -> None:
    world = SecuredWorld()
    world.lose_secret("user-verifier")
    world.live()
    told = world.told(USERS)
    assert told == ("False", "PasswordMissing", f"user {READER}: Secret user-verifier does not exist")
    assert world.kafka.users.may_log_in(DATABASE, "horse")
    found = world.kube.get(WALCluster, WAL)
    assert found is not None
    verdict = standing(found)
    assert verdict is not None
    assert (verdict.outlook, verdict.reason) == (Outlook.STALLED, "PasswordMissing")


def test_an_empty_password_is_none() -> None:
    world = SecuredWorld()
    world.kube.secrets[secret("user-verifier")] = {"password": b"\n"}
    world.live()
    assert world.told(USERS) == (
        "False", "PasswordMissing", f"user {READER}: the password in Secret user-verifier is empty"
    )  # fmt: skip


@pytest.mark.parametrize("name", [NODES, OPERATOR])
def test_nothing_is_started_while_a_secret_is_missing(name: str) -> None:
    world = SecuredWorld()
    world.lose_secret(name)
    world.live()
    assert world.condition() == (
        "False", "CertificatesUnusable", f"Secret {name} does not exist; nothing is started"
    )  # fmt: skip
    assert not world.objects.made
    assert not world.objects.records
    world.put_secrets()
    world.live(until=world.is_served)


def test_nothing_is_started_by_a_certificate_of_another_authority() -> None:
    world = SecuredWorld()
    world.change_authority()
    world.live()
    said = f"no CA in ca.crt of Secret {NODES} signed the certificate in Secret {OPERATOR}; nothing is started"
    assert world.condition() == ("False", "CertificatesUnusable", said)
    assert not world.objects.made


def test_a_secret_that_goes_while_all_runs_ends_nothing_and_is_told(world: SecuredWorld) -> None:
    before = set(world.objects.made)
    world.lose_secret(NODES)
    world.live()
    assert world.says("AllOnline")
    told = world.told(CERTIFICATES)
    assert told is not None
    assert told[1:] == ("CertificatesUnusable", f"Secret {NODES} does not exist; no node is started")
    assert set(world.objects.made) == before


def test_a_lost_disk_gets_no_token_before_the_certificates_fit(world: SecuredWorld) -> None:
    world.lose_secret(NODES)
    world.lose_disk(0)
    world.live()
    assert world.tokens() == {}
    assert world.says("CertificatesUnusable")
    world.put_secrets()
    world.live(until=world.is_served)


def test_a_token_is_taken_back_whatever_the_certificates_are() -> None:
    world = SecuredWorld()
    world.live(until=lambda: len(world.tokens()) == 6)
    world.lose_secret(NODES)
    world.live()
    world.put_secrets()
    world.live(until=lambda: all(name in world.running for name in (0, 1, 2, 100, 101, 102)))
    world.lose_secret(NODES)
    world.live()
    assert world.tokens() == {}


def test_the_end_of_a_certificate_is_told_thirty_days_before(world: SecuredWorld) -> None:
    world.time.time += YEAR - timedelta(days=31)
    world.live()
    assert (world.told(CERTIFICATES) or ("",))[0] == "True"
    world.time.time += timedelta(days=2)
    world.live()
    told = world.told(CERTIFICATES)
    assert told is not None
    assert told[:2] == ("False", "CertificateExpires")
    assert "Secret wal-nodes expires at 2027-11-21T11:59:00Z" in told[2] or OPERATOR in told[2]
    world.time.time += timedelta(days=40)
    world.live()
    told = world.told(CERTIFICATES)
    assert told is not None
    assert told[1] == "CertificatesUnusable"
    assert "expired at 2027-11-21T11:59:00Z" in told[2]


def issued(begins: datetime, days: int) -> Certificates:
    """Both, for so many days."""
    kube = FakeKube()
    for name, role, hosts in ((NODES, "node", HOSTS), (OPERATOR, "operator", ())):
        made = authority().issue(f"seawall:wal:{role}", WAL.namespace, hosts, begins, timedelta(days=days))
        kube.secrets[secret(name)] = secret_of(made, authority())
    found = read_certificates(kube, WAL, KAFKA)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("days", "old", "is_well"),
    [
        (20, timedelta(hours=1), True),
        (20, timedelta(days=14, hours=23), True),
        (20, timedelta(days=15, hours=1), False),
        (90, timedelta(days=67), True),
        (90, timedelta(days=68), False),
        (200, timedelta(days=169), True),
        (200, timedelta(days=171), False),
    ],
)
def test_a_short_certificate_is_reported_in_the_last_quarter_of_its_life(
    days: int, old: timedelta, *, is_well: bool
) -> None:
    assert (expires_soon(issued(START, days), START + old) is None) is is_well


def test_a_ca_that_ends_is_reported_thirty_days_before_however_short_what_it_signs() -> None:
    """A certificate ends with its CA, and was renewed a week ago."""
    until = authority().certificate.not_valid_after_utc
    found = issued(until - timedelta(days=36), 90)
    assert expires_soon(found, until - timedelta(days=31)) is None
    assert "renew it" in (expires_soon(found, until - timedelta(days=29)) or "")


def test_a_paused_one_changes_no_user(world: SecuredWorld) -> None:
    world.kube.apply(WAL, world.spec, annotations={PAUSED_ANNOTATION: "true"})
    world.kafka.users.acls.clear()
    world.live()
    assert not world.kafka.users.acls
    assert (world.told(USERS) or ("", ""))[:2] == ("Unknown", "Paused")


def test_while_kafka_does_not_answer_nobody_knows_of_users(world: SecuredWorld) -> None:
    world.kafka.users.silent = True
    world.live()
    assert world.told(USERS) == ("Unknown", "NotAsked", "Kafka does not answer")


def ticks(process: Reconciler[Any, Any, Any, Any], count: int = 8) -> None:
    """One process goes on, and nobody else."""
    for _ in range(count):
        process.tick(WAL)


def test_a_user_that_comes_back_after_an_answer_was_lost_gets_its_password_again(world: SecuredWorld) -> None:
    """It was taken out and put back: whether Kafka has discarded its password meanwhile nobody knows."""
    process, users = world.security(), world.kafka.users
    ticks(process)
    users.loses_answers = True
    world.drop_reader()
    while users.may_log_in(READER, "staple"):
        process.tick(WAL)
    users.loses_answers = False
    world.kube.apply(WAL, world.spec)
    ticks(process)
    assert users.may_log_in(READER, "staple")
    assert (world.told(USERS) or ("",))[0] == "True"


def test_a_password_whose_answer_was_lost_is_set_again(world: SecuredWorld) -> None:
    process, users = world.security(), world.kafka.users
    ticks(process)
    users.loses_answers = True
    world.change_password()
    while not users.may_log_in(DATABASE, "battery"):
        process.tick(WAL)
    world.put_secrets()
    users.loses_answers = False
    ticks(process)
    assert users.may_log_in(DATABASE, "horse")


def test_an_operator_that_begins_anew_sets_passwords_again_and_tells_of_no_change(world: SecuredWorld) -> None:
    world.kafka.users.passwords[READER] = "lost"
    before, process = world.told(USERS), world.security()
    for _ in range(5):
        process.tick(WAL)
        assert world.told(USERS) == before
    assert world.kafka.users.may_log_in(READER, "staple")
