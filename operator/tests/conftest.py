"""Test beds for the whole session, started when a test first asks for them."""

from collections.abc import Iterator

import pytest

from seawall_e2e.loopback import ApiServer, KafkaProcesses
from seawall_e2e.loopback.etcd import EtcdProcess
from seawall_e2e.loopback.refdb import RefDbProcesses

GROUPS = {"operator": "operator", "api_server": "api-server", "refdb": "kafka", "kafka": "kafka", "etcd": "etcd"}
"""Bed → group of the tests that use it; the first counts: what the shared operator brings is dearest."""
LONGEST = ("cluster", "operator", "kafka", "api-server", "spark", "refdb")
"""Groups that take minutes, longest first: the tests on the cluster take a third of all time."""
LONG = ("test_mutants", "test_simulation", "test_crash_at_every_call")
"""Files without beds that take half a minute."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Keeps tests that share beds on one worker of xdist (--dist loadgroup), so that beds start once.

    A test that brings its beds itself stays with those of its file. What takes long begins first, and single tests fill
    what is left: no worker waits for the others at the end. Without --no-loadscope-reorder, xdist would begin with the
    groups of the most tests.
    """
    for item in items:
        if item.get_closest_marker("integration") and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(_group(item)))
    yield
    items.sort(key=_order)


def _group(item: pytest.Item) -> str:
    fixtures = set(getattr(item, "fixturenames", ()))
    return next((group for bed, group in GROUPS.items() if bed in fixtures), item.path.stem)


def _order(item: pytest.Item) -> tuple[bool, int, str]:
    marker = item.get_closest_marker("xdist_group")
    if marker is None:
        return True, int(item.path.stem not in LONG), ""
    group = str(marker.args[0])
    return False, LONGEST.index(group) if group in LONGEST else len(LONGEST), group


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaProcesses]:
    """Three brokers, plaintext. Tests share it: names of topics are their own, and all brokers run when a test ends."""
    with KafkaProcesses(brokers=3) as processes:
        yield processes


@pytest.fixture(scope="session")
def sasl_kafka() -> Iterator[KafkaProcesses]:
    """One broker with SASL_SSL and mutual TLS listeners."""
    with KafkaProcesses(brokers=1, sasl_ssl=True) as processes:
        yield processes


@pytest.fixture(scope="session")
def api_server() -> Iterator[ApiServer]:
    """An API server without controllers. Tests share it: their namespaces are their own."""
    with ApiServer() as server:
        yield server


@pytest.fixture(scope="session")
def etcd() -> Iterator[EtcdProcess]:
    """A metadata store that is open to everybody. Tests share it: their prefixes are their own."""
    with EtcdProcess() as process:
        yield process


@pytest.fixture(scope="session")
def secure_etcd() -> Iterator[EtcdProcess]:
    """One with mutual TLS and users."""
    with EtcdProcess(secure=True) as process:
        yield process


@pytest.fixture(scope="session")
def refdb(kafka: KafkaProcesses, etcd: EtcdProcess) -> Iterator[RefDbProcesses]:
    """A database: a metasrv, a frontend and three datanodes, all of which run when a test ends."""
    with RefDbProcesses(kafka.bootstrap_servers, etcd) as processes:
        yield processes
