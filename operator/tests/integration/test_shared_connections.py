"""Objects whose connections are equal share one client; ticks of different objects use it at the same time."""

from __future__ import annotations

import itertools
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from seawall.adapters.kafka.admin import ConfluentKafkaAdmin
from seawall.adapters.kafka.clusters import ConfluentKafkaClusters
from seawall.api.meta import Key
from seawall.domain.kafka import ConfigChange, KafkaConnection, KafkaView, NewTopic, NoKafka, Unreachable
from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.waiting import wait_until
from tests.support.kafka import topic_ids
from tests.support.secure_kafka import by_password

pytestmark = pytest.mark.integration

KEYS = [Key("wal", f"db-{number}") for number in range(8)]
DEADLINE = 6.0


def clients() -> set[str]:
    """The librdkafka clients that this process has: each has one thread of this name, known by its id.

    A thread that one of these has just begun has its name for a moment, too.
    """
    found: set[str] = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError):  # it has just ended
            if (task / "comm").read_text().strip() == "rdk:main":
                found.add(task.name)
    return found


def wait_for_one_client(before: set[str], what: str) -> None:
    """Waits until this process has exactly one client that it did not have before."""
    wait_until(lambda: len(clients() - before) == 1, what)


@pytest.fixture
def clients_before() -> set[str]:
    """The clients of other tests and their fixtures: those of a test that is over may end in the middle of this one."""
    return clients()


def test_equal_connections_are_one_client_until_nobody_uses_it(kafka: KafkaProcesses, clients_before: set[str]) -> None:
    clusters = ConfluentKafkaClusters()
    for key in KEYS:
        assert isinstance(clusters.connect(key, KafkaConnection(kafka.bootstrap_servers)).view(), KafkaView)
    wait_for_one_client(clients_before, "all have one client")
    for key in KEYS[1:]:
        clusters.forget(key)
    clusters.forget(Key("wal", "never-seen"))
    assert isinstance(clusters.connect(KEYS[0], KafkaConnection(kafka.bootstrap_servers)).view(), KafkaView)
    wait_for_one_client(clients_before, "the last one has the same client")
    clusters.forget(KEYS[0])
    wait_until(lambda: clients() <= clients_before, "the last client has ended")


def test_a_changed_password_moves_only_the_objects_that_have_it(
    sasl_kafka: KafkaProcesses, clients_before: set[str]
) -> None:
    secure = sasl_kafka.secure
    right = by_password(secure)
    wrong = replace(right, password="not-it")
    clusters, (one, other, *_) = ConfluentKafkaClusters(view_timeout=DEADLINE), KEYS
    for key in (one, other):
        assert isinstance(clusters.connect(key, right).view(), KafkaView)
    refused = clusters.connect(one, wrong).view()
    assert isinstance(refused, NoKafka)
    assert refused.why is Unreachable.AUTHENTICATION_FAILED
    assert isinstance(clusters.connect(other, right).view(), KafkaView)
    assert isinstance(clusters.connect(one, right).view(), KafkaView)
    wait_for_one_client(clients_before, "only the right connection is left")
    clusters.forget(one)
    clusters.forget(other)


def test_many_threads_use_one_client_at_once(kafka: KafkaProcesses) -> None:
    admin = ConfluentKafkaAdmin(KafkaConnection(kafka.bootstrap_servers))

    def live(key: Key, number: int) -> None:
        topics = [f"shared-{key.name}-{number}-{index}" for index in range(20)]
        admin.create_topics([NewTopic(topic, 1, {"retention.ms": "-1"}) for topic in topics])
        admin.alter_configs([ConfigChange(topic, {"segment.bytes": "1048576"}) for topic in topics])
        expected = {topic: {"retention.ms": "-1", "segment.bytes": "1048576"} for topic in topics}
        wait_until(lambda: admin.describe_configs(topics) == expected, "its configs are set")
        wait_until(lambda: shown(admin).topics.keys() >= set(topics), "its topics are shown")
        admin.delete_topics(topic_ids(admin.logs, topics))

    def live_twice(key: Key) -> None:
        live(key, 0)
        live(key, 1)

    with ThreadPoolExecutor(len(KEYS)) as pool:
        list(pool.map(live_twice, KEYS))


def shown(admin: ConfluentKafkaAdmin) -> KafkaView:
    view = admin.view()
    assert isinstance(view, KafkaView), view
    return view


@pytest.fixture
def silent() -> Iterator[KafkaConnection]:
    """A listener that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        yield KafkaConnection((f"127.0.0.1:{listener.getsockname()[1]}",))


def test_a_kafka_that_did_not_answer_is_asked_by_one_thread_while_the_others_hear_of_it(
    silent: KafkaConnection,
) -> None:
    admin = ConfluentKafkaAdmin(silent, view_timeout=DEADLINE)
    first = admin.view()
    assert isinstance(first, NoKafka)
    with ThreadPoolExecutor(len(KEYS)) as pool:
        asked = [pool.submit(admin.view) for _ in KEYS]
        heard = list(itertools.islice(as_completed(asked), len(KEYS) - 1))
        asking = [future for future in asked if not future.done()]
        assert len(asking) == 1, "nobody but one waited for the deadline"
        assert {future.result() for future in heard} == {first}


def test_threads_that_ask_at_once_all_hear_why_there_is_no_answer(
    sasl_kafka: KafkaProcesses, silent: KafkaConnection
) -> None:
    secure = sasl_kafka.secure
    wrong = KafkaConnection(secure.sasl_ssl_servers, tls=True, ca_pem=secure.ca_pem, sasl_mechanism="SCRAM-SHA-512")
    wrong = replace(wrong, username="nobody", password="not-it")
    for connection, why in ((wrong, Unreachable.AUTHENTICATION_FAILED), (silent, Unreachable.NOT_ANSWERING)):
        admin = ConfluentKafkaAdmin(connection, view_timeout=DEADLINE)
        with ThreadPoolExecutor(len(KEYS)) as pool:
            answers = set(pool.map(lambda _, admin=admin: admin.view(), KEYS))
        (answer,) = answers
        assert isinstance(answer, NoKafka)
        assert answer.why is why


def test_a_kafka_that_answers_again_is_seen_by_all(sasl_kafka: KafkaProcesses) -> None:
    admin = ConfluentKafkaAdmin(KafkaConnection(sasl_kafka.bootstrap_servers), view_timeout=DEADLINE)

    def all_see_it() -> bool:
        with ThreadPoolExecutor(len(KEYS)) as pool:
            return all(isinstance(answer, KafkaView) for answer in pool.map(lambda _: admin.view(), KEYS))

    assert all_see_it()
    sasl_kafka.stop(0)  # of one that is killed, the controller waits for its session's end before it may come back
    try:
        assert isinstance(admin.view(), NoKafka)
    finally:
        sasl_kafka.start(0)
    wait_until(all_see_it, "every thread sees Kafka again")
