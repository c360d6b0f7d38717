"""Test beds for a group of tests (`beds`), started when one first asks for them."""

import logging
from collections.abc import Iterator

import pytest

from seawall_e2e.loopback import ApiServer, KafkaProcesses
from seawall_e2e.loopback.etcd import EtcdProcess
from seawall_e2e.loopback.mysql import MysqlProcess
from seawall_e2e.loopback.postgresql import PostgresProcess
from seawall_e2e.loopback.refdb import RefDbProcesses
from tests.support.leftovers import clear_shared, shared_api_server
from tests.support.rights import AUTHORIZER


@pytest.fixture
def quiet() -> Iterator[None]:
    """What the operator logs of each damage is much, and nobody reads it."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="session")
def kafka(beds: str) -> Iterator[KafkaProcesses]:
    """Three brokers, plaintext. Tests share it: names of topics are their own, and all brokers run when a test ends."""
    with KafkaProcesses(brokers=3) as processes:
        yield processes


@pytest.fixture(scope="session")
def sasl_kafka(beds: str) -> Iterator[KafkaProcesses]:
    """One broker with SASL_SSL and mutual TLS listeners. It knows rights, and its users need none."""
    users = "User:ANONYMOUS;User:seawall;User:CN=client"
    with KafkaProcesses(brokers=1, sasl_ssl=True, properties={**AUTHORIZER, "super.users": users}) as processes:
        yield processes


@pytest.fixture(scope="module", autouse=True)
def leaves_nothing() -> Iterator[None]:
    """What a file's tests made is gone when the next file begins."""
    yield
    clear_shared()


@pytest.fixture(scope="session")
def api_server(beds: str) -> Iterator[ApiServer]:
    """An API server without controllers. Tests share it: their namespaces are their own."""
    with shared_api_server() as client:
        yield client.server


@pytest.fixture(scope="session")
def etcd(beds: str) -> Iterator[EtcdProcess]:
    """A metadata store that is open to everybody. Tests share it: their prefixes are their own."""
    with EtcdProcess() as process:
        yield process


@pytest.fixture(scope="session")
def secure_etcd(beds: str) -> Iterator[EtcdProcess]:
    """One with mutual TLS and users."""
    with EtcdProcess(secure=True) as process:
        yield process


@pytest.fixture(scope="session")
def postgresql(beds: str) -> Iterator[PostgresProcess]:
    """A PostgreSQL without TLS. Tests share it: their prefixes are their own."""
    with PostgresProcess() as process:
        yield process


@pytest.fixture(scope="session")
def secure_postgresql(beds: str) -> Iterator[PostgresProcess]:
    """One with TLS that wants client certificates."""
    with PostgresProcess(secure=True) as process:
        yield process


@pytest.fixture(scope="session")
def mysql(beds: str) -> Iterator[MysqlProcess]:
    """A MySQL to which nobody must come by TLS. Tests share it: their prefixes are their own."""
    with MysqlProcess() as process:
        yield process


@pytest.fixture(scope="session")
def secure_mysql(beds: str) -> Iterator[MysqlProcess]:
    """One with TLS that wants client certificates."""
    with MysqlProcess(secure=True) as process:
        yield process


@pytest.fixture(scope="session")
def refdb(kafka: KafkaProcesses, etcd: EtcdProcess) -> Iterator[RefDbProcesses]:
    """A database: a metasrv, a frontend and three datanodes, all of which run when a test ends."""
    with RefDbProcesses(kafka.bootstrap_servers, etcd) as processes:
        yield processes
