"""What hinders a connection is told in a sentence of its own; and what only real brokers can show."""

import os
import socket
import ssl
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from multiprocessing import get_context
from typing import IO

import pytest
from confluent_kafka.admin import NewTopic as ClientNewTopic

from seawall.adapters.kafka.admin import ConfluentKafkaAdmin
from seawall.adapters.kafka.client import SharedClient
from seawall.adapters.kafka.clusters import ConfluentKafkaClusters
from seawall.api.meta import Key
from seawall.domain.errors import OutsideUnavailable
from seawall.domain.kafka import ConfigChange, KafkaConnection, KafkaView, NewTopic, NoKafka, Unreachable
from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.pki import CertificateAuthority
from seawall_e2e.loopback.processes import free_ports
from seawall_e2e.waiting import wait_until
from tests.support.kafka import topic_ids
from tests.support.secure_kafka import by_certificate, by_password

pytestmark = pytest.mark.integration

DEADLINE = 6.0
SLACK = 10.0
"""What a busy machine may add to a deadline, and the 5 s that librdkafka sleeps after a name that nobody knows."""


def asked(connection: KafkaConnection, deadline: float = DEADLINE) -> KafkaView | NoKafka:
    admin = ConfluentKafkaAdmin(connection, view_timeout=deadline)
    start = time.monotonic()
    answer = admin.view()
    assert time.monotonic() - start < deadline + SLACK
    return answer


def refused(connection: KafkaConnection, deadline: float = DEADLINE) -> NoKafka:
    answer = asked(connection, deadline)
    assert isinstance(answer, NoKafka), answer
    assert connection.bootstrap_servers[0] in answer.message
    assert answer.message.endswith(".")
    for secret in (connection.password, connection.client_key_pem):
        assert not secret or secret not in answer.message
    return answer


def _keep_output() -> None:
    """From now on what this process writes, also what C code does, goes into a file."""
    global _OUTPUT  # noqa: PLW0603 - of a process that is made for it
    _OUTPUT = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
    for stream in (1, 2):
        os.dup2(_OUTPUT.fileno(), stream)


def _kept_output() -> str:
    _OUTPUT.seek(0)
    return _OUTPUT.read().decode()


_OUTPUT: IO[bytes]


@pytest.fixture(scope="module")
def sasl(sasl_kafka: KafkaProcesses) -> KafkaConnection:
    """A connection that works."""
    return by_password(sasl_kafka.secure)


@pytest.fixture(scope="module")
def mutual_tls(sasl_kafka: KafkaProcesses) -> KafkaConnection:
    """A connection that works."""
    return by_certificate(sasl_kafka.secure)


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> CertificateAuthority:
    """An authority that nobody trusts."""
    return CertificateAuthority(tmp_path_factory.mktemp("foreign"), "foreign")


def test_sasl_over_tls_works(sasl: KafkaConnection, sasl_kafka: KafkaProcesses) -> None:
    answer = asked(sasl)
    assert isinstance(answer, KafkaView), answer
    assert answer.cluster_id == sasl_kafka.cluster_id
    admin = ConfluentKafkaAdmin(sasl)
    admin.create_topics([NewTopic("over_tls", 1, {"retention.ms": "-1"})])
    wait_until(
        lambda: admin.describe_configs(["over_tls"]) == {"over_tls": {"retention.ms": "-1"}}, "it has its configs"
    )


def test_mutual_tls_works(mutual_tls: KafkaConnection) -> None:
    assert isinstance(asked(mutual_tls), KafkaView)


def test_a_wrong_password(sasl: KafkaConnection) -> None:
    answer = refused(replace(sasl, password="not-it"))
    assert answer.why is Unreachable.AUTHENTICATION_FAILED
    assert "refused the user name or password" in answer.message
    assert "sasl.credentialsSecretRef" in answer.message


def test_an_empty_user_name(sasl: KafkaConnection) -> None:
    answer = refused(replace(sasl, username=""))
    assert answer.why is Unreachable.SECRET_MISSING
    assert "sasl.username and sasl.password must be set" in answer.message


def test_another_mechanism(sasl: KafkaConnection) -> None:
    answer = refused(replace(sasl, sasl_mechanism="PLAIN"))
    assert answer.why is Unreachable.AUTHENTICATION_FAILED
    assert "does not offer SASL PLAIN" in answer.message
    assert "supported mechanisms: SCRAM-SHA-512" in answer.message


def test_a_missing_ca(sasl: KafkaConnection) -> None:
    answer = refused(replace(sasl, ca_pem=None))
    assert answer.why is Unreachable.TLS_FAILED
    assert "No CA that this system trusts" in answer.message
    assert "set tls.caSecretRef" in answer.message


def test_a_wrong_ca(sasl: KafkaConnection, foreign: CertificateAuthority) -> None:
    answer = refused(replace(sasl, ca_pem=foreign.cert.read_text()))
    assert answer.why is Unreachable.TLS_FAILED
    assert "does not fit the CA in tls.caSecretRef" in answer.message


@pytest.fixture
def impostor(foreign: CertificateAuthority) -> Iterator[str]:
    """The address of somebody whose certificate is good, but for another host."""
    issued = foreign.issue("elsewhere", "/CN=elsewhere", "DNS:elsewhere.example")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(issued.cert, issued.key)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return  # closed: the test is over
                with client, suppress(OSError):
                    context.wrap_socket(client, server_side=True).close()

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(10)


def test_a_certificate_for_another_host(impostor: str, foreign: CertificateAuthority) -> None:
    answer = refused(KafkaConnection((impostor,), tls=True, ca_pem=foreign.cert.read_text()))
    assert answer.why is Unreachable.TLS_FAILED
    assert "must be valid for the address" in answer.message


@pytest.mark.parametrize(
    ("field", "what"),
    [("ca_pem", "CA certificate"), ("client_cert_pem", "client certificate"), ("client_key_pem", "private key")],
)
@pytest.mark.parametrize(
    "text", ["", "hello", "-----BEGIN CERTIFICATE-----\nhello\n-----END CERTIFICATE-----\n"], ids=["empty", "no", "bad"]
)
def test_a_malformed_pem(mutual_tls: KafkaConnection, field: str, what: str, text: str) -> None:
    pems = {
        "ca_pem": mutual_tls.ca_pem,
        "client_cert_pem": mutual_tls.client_cert_pem,
        "client_key_pem": mutual_tls.client_key_pem,
        field: text,
    }
    answer = refused(KafkaConnection(mutual_tls.bootstrap_servers, tls=True, **pems))
    assert answer.why is Unreachable.TLS_FAILED
    assert f"The {what} (tls." in answer.message
    assert "cannot be read" in answer.message


def test_a_key_that_is_not_the_certificates(mutual_tls: KafkaConnection, foreign: CertificateAuthority) -> None:
    other = foreign.issue("other", "/CN=other")
    answer = refused(replace(mutual_tls, client_key_pem=other.key.read_text()))
    assert answer.why is Unreachable.TLS_FAILED
    assert "key values mismatch" in answer.message


def test_no_client_certificate(mutual_tls: KafkaConnection) -> None:
    answer = refused(replace(mutual_tls, client_cert_pem=None, client_key_pem=None))
    assert answer.why is Unreachable.TLS_FAILED
    assert "set tls.clientCertSecretRef" in answer.message


def test_a_client_certificate_of_another_ca(mutual_tls: KafkaConnection, foreign: CertificateAuthority) -> None:
    client = foreign.issue("stranger", "/CN=stranger")
    cert, key = client.cert.read_text(), client.key.read_text()
    answer = refused(replace(mutual_tls, client_cert_pem=cert, client_key_pem=key))
    assert answer.why is Unreachable.TLS_FAILED
    assert "refused the client certificate" in answer.message


def test_tls_to_a_plaintext_listener(sasl: KafkaConnection, sasl_kafka: KafkaProcesses) -> None:
    answer = refused(replace(sasl, bootstrap_servers=sasl_kafka.bootstrap_servers))
    assert answer.why is Unreachable.TLS_FAILED
    assert "does not speak TLS" in answer.message


NOBODY, NO_HOST, MANY, PLAINTEXT, NO_USER = "nobody", "no host", "many", "plaintext", "no user"


@pytest.fixture(scope="module")
def unanswered(sasl: KafkaConnection) -> dict[str, tuple[KafkaConnection, NoKafka]]:
    """Those who say nothing until the deadline, and what is told of them: they are asked side by side."""
    servers = tuple(f"127.0.0.1:{port}" for port in free_ports(6))
    connections = {
        NOBODY: KafkaConnection(servers[:1]),
        NO_HOST: KafkaConnection(("kafka.invalid:9092",)),
        MANY: KafkaConnection(servers[1:]),
        PLAINTEXT: KafkaConnection(sasl.bootstrap_servers),
        NO_USER: KafkaConnection(sasl.bootstrap_servers, tls=True, ca_pem=sasl.ca_pem),
    }
    with ThreadPoolExecutor(len(connections)) as pool:
        answers = pool.map(refused, connections.values())
        return {who: (connections[who], answer) for who, answer in zip(connections, answers, strict=True)}


Unanswered = Mapping[str, tuple[KafkaConnection, NoKafka]]


def test_plaintext_to_a_tls_listener(unanswered: Unanswered) -> None:
    _, answer = unanswered[PLAINTEXT]
    assert answer.why is Unreachable.NOT_ANSWERING
    assert "closes connections" in answer.message
    assert "other tls or sasl settings" in answer.message


def test_no_user_where_one_is_wanted(unanswered: Unanswered) -> None:
    _, answer = unanswered[NO_USER]
    assert answer.why is Unreachable.NOT_ANSWERING
    assert "other tls or sasl settings" in answer.message


def test_nobody_listens(unanswered: Unanswered) -> None:
    _, answer = unanswered[NOBODY]
    assert answer.why is Unreachable.NOT_ANSWERING
    assert "Connection refused" in answer.message
    assert f"within {DEADLINE:g} s" in answer.message


def test_a_host_that_does_not_exist(unanswered: Unanswered) -> None:
    _, answer = unanswered[NO_HOST]
    assert answer.why is Unreachable.NOT_ANSWERING
    assert "has no IP address" in answer.message


def test_many_servers_are_not_all_listed(unanswered: Unanswered) -> None:
    connection, answer = unanswered[MANY]
    servers = connection.bootstrap_servers
    assert f"{servers[2]} and 2 more" in answer.message
    assert servers[3] not in answer.message.partition(" answered")[0]


def test_one_wrong_address_of_several_does_no_harm(kafka: KafkaProcesses) -> None:
    wrong = tuple(f"127.0.0.1:{port}" for port in free_ports(3))
    assert isinstance(asked(KafkaConnection((*wrong, kafka.bootstrap_servers[2]))), KafkaView)


def test_the_same_trouble_has_the_same_sentence_at_every_look(
    sasl: KafkaConnection, foreign: CertificateAuthority
) -> None:
    nobody = KafkaConnection(tuple(f"127.0.0.1:{port}" for port in free_ports(3)))

    def sentences(connection: KafkaConnection, deadline: float) -> set[object]:
        admin = ConfluentKafkaAdmin(connection, view_timeout=deadline)
        return {admin.view() for _ in range(4)}

    troubles = {
        replace(sasl, ca_pem=foreign.cert.read_text()): DEADLINE,
        replace(sasl, password="not-it"): DEADLINE,
        nobody: 2.0,  # it takes all of it
    }
    with ThreadPoolExecutor(len(troubles)) as pool:
        assert [len(said) for said in pool.map(sentences, troubles, troubles.values())] == [1, 1, 1]


def test_a_corrected_password_works_at_once(sasl: KafkaConnection) -> None:
    clusters, key = ConfluentKafkaClusters(view_timeout=DEADLINE), Key("wal", "orders")
    assert isinstance(clusters.connect(key, replace(sasl, password="not-it")).view(), NoKafka)
    assert isinstance(clusters.connect(key, sasl).view(), KafkaView)


def test_librdkafka_writes_nothing_to_stderr(sasl: KafkaConnection) -> None:
    """In a process of its own: clients of other tests, whose Kafka is gone, write to this one's."""
    wrong, plain = replace(sasl, password="not-it"), KafkaConnection(sasl.bootstrap_servers)
    with ProcessPoolExecutor(1, get_context("spawn"), _keep_output) as process:
        process.submit(refused, wrong).result()
        process.submit(refused, plain, 2).result()
        assert process.submit(_kept_output).result() == ""


@pytest.fixture
def broken_kafka(kafka: KafkaProcesses) -> Iterator[KafkaProcesses]:
    """The shared brokers; those that the test leaves dead are started again."""
    yield kafka
    dead = [index for index in range(len(kafka.bootstrap_servers)) if not kafka.is_running(index)]
    kafka.start_together(*dead)


def test_killed_brokers_leave_the_view_and_come_back_and_writes_without_a_quorum_are_unavailable_and_end(
    broken_kafka: KafkaProcesses,
) -> None:
    admin = ConfluentKafkaAdmin(
        KafkaConnection(broken_kafka.bootstrap_servers), view_timeout=DEADLINE, request_timeout=5
    )
    admin.create_topics([NewTopic("killed", 3, {"min.insync.replicas": "2"})])

    def recorded(online: set[int]) -> KafkaView | None:
        """As brokers show it that have heard of who is online, and that each of them has a replica."""
        view = admin.view()
        if not isinstance(view, KafkaView) or "killed" not in view.topics:
            return None
        return view if view.online == online and len(view.topics["killed"].isr) == len(online) else None

    wait_until(lambda: recorded({1, 2, 3}), "all brokers are there")
    broken_kafka.kill(0)
    view = wait_until(lambda: recorded({2, 3}), "one broker is gone")
    assert view.known_brokers() == {1, 2, 3}
    assert view.topics["killed"].leader in {2, 3}
    admin.alter_configs([ConfigChange("killed", {"retention.ms": "-1"})])
    broken_kafka.kill(1)
    start = time.monotonic()
    with pytest.raises(OutsideUnavailable, match="topic orphan"):
        admin.create_topics([NewTopic("orphan", 1, {})])
    assert time.monotonic() - start < 5 + SLACK
    broken_kafka.start_together(0, 1)
    wait_until(lambda: recorded({1, 2, 3}), "all brokers are there")
    admin.create_topics([NewTopic("orphan", 1, {})])


def test_who_was_heard_of_as_the_controller_and_has_gone_is_not_waited_for(broken_kafka: KafkaProcesses) -> None:
    shared = SharedClient(KafkaConnection(broken_kafka.bootstrap_servers), DEADLINE)
    first = shared.get()
    assert not isinstance(first, NoKafka)
    wait_until(lambda: first.list_topics(timeout=DEADLINE).controller_id == 3, "brokers name any of them")
    broken_kafka.kill(2)

    def is_answered() -> bool:
        client = shared.get()
        assert not isinstance(client, NoKafka)
        asked = client.create_topics([ClientNewTopic("heard", 1)], request_timeout=DEADLINE)
        values, _ = shared.wait_for(client, asked, DEADLINE)  # on a busy machine a topic takes seconds to be made
        return bool(values)

    wait_until(is_answered, "whoever leads now answers")


def test_a_thousand_topics_are_created_in_one_call_and_led(kafka: KafkaProcesses) -> None:
    admin = ConfluentKafkaAdmin(KafkaConnection(kafka.bootstrap_servers), view_timeout=DEADLINE)
    configs = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1", "min.insync.replicas": "2"}
    names = [f"thousand_{index}" for index in range(1000)]
    admin.create_topics([NewTopic(name, 3, configs) for name in names])

    def all_led() -> bool:
        view = admin.view()
        assert isinstance(view, KafkaView), view
        topics = [view.topics[name] for name in names if name in view.topics]
        return len(topics) == 1000 and all(topic.leader is not None and len(topic.isr) == 3 for topic in topics)

    wait_until(all_led, "all have leaders and replicas")
    # Whichever broker is asked: not the one, perhaps, that told of their leaders.
    wait_until(lambda: admin.describe_configs(names) == dict.fromkeys(names, configs), "their configs are known")
    admin.alter_configs([ConfigChange(name, {"flush.ms": "5"}, ("retention.bytes",)) for name in names])
    changed = {"cleanup.policy": "delete", "retention.ms": "-1", "min.insync.replicas": "2", "flush.ms": "5"}
    wait_until(lambda: admin.describe_configs(names) == dict.fromkeys(names, changed), "all are altered")
    admin.delete_topics(topic_ids(admin.logs, names))


def test_another_cluster_behind_the_same_address_shows_its_own_id() -> None:
    with KafkaProcesses() as first:
        admin = ConfluentKafkaAdmin(KafkaConnection(first.bootstrap_servers), view_timeout=DEADLINE)
        before = admin.view()
        assert isinstance(before, KafkaView)
        assert before.cluster_id == first.cluster_id
        first.kill(0)
        with KafkaProcesses(instead_of=first) as second:
            assert second.bootstrap_servers == first.bootstrap_servers
            after = admin.view()
            assert isinstance(after, KafkaView), after
            assert after.cluster_id == second.cluster_id != first.cluster_id
