"""The KafkaUsers port: the same promises from a real broker with an authorizer, and from the fake."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from seawall.adapters.kafka.clusters import ConfluentKafkaClusters
from seawall.api.meta import Key
from seawall.domain.errors import OutsideUnavailable
from seawall.domain.kafka import KafkaConnection, KafkaView
from seawall.domain.kafka_users import Acl, Password
from seawall.ports import KafkaUsers
from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.waiting import wait_until
from tests.fakes.kafka_users import FakeKafkaUsers
from tests.support.secure_kafka import by_password

pytestmark = pytest.mark.xdist_group("sasl-kafka")
KEY = Key("wal", "users")
NOBODY = KafkaConnection(("127.0.0.1:1",))


@dataclass
class Bed:
    """Users of one Kafka, and of one that does not answer."""

    users: KafkaUsers
    silent: KafkaUsers
    login: KafkaConnection | None
    """As somebody logs in; None: of the fake."""

    def may_log_in(self, user: str, password: str) -> bool:
        if self.login is None:
            assert isinstance(self.users, FakeKafkaUsers)
            return self.users.may_log_in(user, password)
        clusters = ConfluentKafkaClusters(view_timeout=3, request_timeout=5)
        found = clusters.connect(KEY, replace(self.login, username=user, password=password)).view()
        clusters.forget(KEY)
        return isinstance(found, KafkaView)


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.integration)])
def bed(request: pytest.FixtureRequest) -> Iterator[Bed]:
    if request.param == "fake":
        yield Bed(FakeKafkaUsers(), FakeKafkaUsers(silent=True), None)
        return
    kafka: KafkaProcesses = request.getfixturevalue("sasl_kafka")
    clusters = ConfluentKafkaClusters(view_timeout=3, request_timeout=5)
    real = clusters.users(KEY, KafkaConnection(kafka.bootstrap_servers))
    impatient = ConfluentKafkaClusters(view_timeout=1, request_timeout=1)
    yield Bed(real, impatient.users(KEY, NOBODY), by_password(kafka.secure))
    for each in (clusters, impatient):
        each.forget(KEY)


def new_name() -> str:
    return f"u{uuid.uuid4().hex[:8]}"


def test_a_user_logs_in_by_the_password_that_was_set_last(bed: Bed) -> None:
    name, other = new_name(), new_name()
    assert bed.users.find([name, other], []).with_password == set()
    bed.users.set_password(name, Password("first"))
    assert bed.users.find([name, other], []).with_password == {name}
    bed.users.set_password(name, Password("second, with ünicode"))
    wait_until(lambda: bed.may_log_in(name, "second, with ünicode"), "the new one counts")
    assert not bed.may_log_in(name, "first")


def test_rights_are_given_and_taken_one_by_one_and_twice_is_no_error(bed: Bed) -> None:
    mine, other = f"User:{new_name()}", f"User:CN={new_name()},OU=db"
    acls = {Acl(who, what, "wal_") for who in (mine, other) for what in ("READ", "WRITE")}
    odd = {
        Acl(mine, "READ", "literal", pattern="LITERAL", permission="DENY", host="10.0.0.1"),
        Acl(mine, "READ", "group", resource="GROUP"),
        Acl(mine, "DESCRIBE", "kafka-cluster", resource="CLUSTER", pattern="LITERAL"),
    }
    bed.users.add_acls(acls | odd)
    bed.users.add_acls(acls)
    assert bed.users.find([], [mine, other]).acls == acls | odd
    assert bed.users.find([], [other]).acls == {acl for acl in acls if acl.principal == other}
    gone = Acl(mine, "READ", "wal_")
    bed.users.remove_acls({gone})
    bed.users.remove_acls({gone})
    assert bed.users.find([], [mine, other]).acls == (acls | odd) - {gone}
    bed.users.remove_acls(acls | odd)
    assert bed.users.find([], [mine, other]).acls == set()


def test_nothing_to_do_asks_nobody(bed: Bed) -> None:
    bed.silent.add_acls(())
    bed.silent.remove_acls(())


def test_silence_is_no_answer(bed: Bed) -> None:
    acl = Acl("User:nobody", "READ", "wal_")
    for ask in (
        lambda: bed.silent.find(["nobody"], []),
        lambda: bed.silent.find([], ["User:nobody"]),
        lambda: bed.silent.set_password("nobody", Password("x")),
        lambda: bed.silent.add_acls([acl]),
        lambda: bed.silent.remove_acls([acl]),
    ):
        with pytest.raises(OutsideUnavailable):
            ask()
