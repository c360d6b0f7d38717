"""Real Kafka, real etcd and the database's roles as processes on loopback."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from refdb.wal.log import WalLog
from refdb.wal.options import WalOptions
from seawall_e2e import guide as the_guide
from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.etcd import EtcdProcess
from seawall_e2e.loopback.refdb import RefDbProcesses


@pytest.fixture(scope="session")
def one_kafka(beds: str) -> Iterator[KafkaProcesses]:
    """One broker."""
    with KafkaProcesses(brokers=1) as processes:
        yield processes


@pytest.fixture(scope="module")
def log(one_kafka: KafkaProcesses) -> Iterator[WalLog]:
    """The log of regions that are opened without a database, with batches so small that rows are split."""
    log = WalLog(WalOptions(kafka={"bootstrap.servers": one_kafka.bootstrap_servers[0]}, max_batch_bytes=2000))
    yield log
    log.close()


@pytest.fixture(scope="session")
def etcd(beds: str) -> Iterator[EtcdProcess]:
    """One etcd; databases on it have prefixes of their own."""
    with EtcdProcess() as process:
        yield process


@pytest.fixture
def make_db(one_kafka: KafkaProcesses, etcd: EtcdProcess) -> Iterator[Callable[..., RefDbProcesses]]:
    """Makes databases that end with the test."""
    made: list[RefDbProcesses] = []

    def make(**options: object) -> RefDbProcesses:
        made.append(RefDbProcesses(one_kafka.bootstrap_servers, etcd, **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for db in made:
        db.close()


@pytest.fixture
def db(make_db: Callable[..., RefDbProcesses]) -> RefDbProcesses:
    """One metasrv, one frontend, three datanodes."""
    return make_db()


@pytest.fixture
def guide(db: RefDbProcesses) -> RefDbProcesses:
    """The same with the guide's table and its twelve rows."""
    assert "code" not in db.sql(the_guide.CREATE_TABLE)
    for statement in the_guide.INSERTS:
        assert db.sql(statement)["output"] == [{"affectedrows": 1}]
    return db
