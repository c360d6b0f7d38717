"""All metadata stores do the same."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from refdb.datanode.identity import Home, claim_node_id
from refdb.errors import Unavailable
from refdb.meta import keys
from refdb.meta.etcd import Etcd
from refdb.meta.mysql import Mysql
from refdb.meta.postgresql import Postgresql
from refdb.meta.store import KeyValue, Store
from refdb.meta.values import Peer
from seawall_e2e.loopback.etcd import EtcdProcess
from seawall_e2e.loopback.mysql import MysqlProcess
from seawall_e2e.loopback.postgresql import PostgresProcess


@pytest.fixture(scope="module")
def postgresql() -> Iterator[PostgresProcess]:
    with PostgresProcess() as process:
        yield process


@pytest.fixture(scope="module")
def mysql() -> Iterator[MysqlProcess]:
    with MysqlProcess() as process:
        yield process


@pytest.fixture(
    params=[
        pytest.param("etcd", marks=pytest.mark.integration),
        pytest.param("postgresql", marks=pytest.mark.integration),
        pytest.param("mysql", marks=pytest.mark.integration),
    ]
)
def store(request: pytest.FixtureRequest) -> Store:
    server: EtcdProcess | PostgresProcess | MysqlProcess = request.getfixturevalue(request.param)
    prefix = f"{uuid.uuid4().hex}/"
    match server:
        case EtcdProcess():
            return Etcd(server.url, prefix)
        case PostgresProcess():
            return Postgresql(server.url, prefix)
        case MysqlProcess():
            return Mysql(server.url, prefix)


def test_a_datanodes_epoch_rises_also_where_its_claim_is_of_an_older_copy(store: Store, tmp_path: Path) -> None:
    home, peer = Home(tmp_path), Peer(0, "dn-0:4000")
    first = claim_node_id(store, peer, home)
    copy = store.get(keys.datanode_claim(peer.id))
    epochs = [first, claim_node_id(store, peer, home), claim_node_id(store, peer, home)]
    assert store.txn([], {copy.key: copy.value})
    time.sleep(0.01)  # as a start takes, or longer
    epochs.append(claim_node_id(store, peer, home))
    assert epochs == sorted(set(epochs))


def test_a_key_is_what_was_written_until_it_is_removed(store: Store) -> None:
    assert store.get("k") == KeyValue("k")
    assert store.txn([], {"k": "", "l": "1"})
    found = store.get("k")
    assert found.exists
    assert found.value == ""
    assert store.txn([found], {"k": None})
    assert not store.get("k").exists


def test_a_range_has_its_keys_and_no_others(store: Store) -> None:
    store.txn([], {"_a/2": "2", "_a/1": "1", "ba/1": "3", "_a": "4"})
    found = store.range("_a/")
    assert [(pair.key, pair.value) for pair in found.pairs] == [("_a/1", "1"), ("_a/2", "2")]
    assert all(0 < pair.mod_revision <= found.revision for pair in found.pairs)


def test_nothing_is_written_when_a_key_changed(store: Store) -> None:
    before = store.get("k")
    assert store.txn([before], {"k": "1"})
    assert not store.txn([before], {"k": "2", "l": "2"})
    assert store.get("k").value == "1"
    assert not store.get("l").exists


def test_nothing_is_written_when_a_range_has_something_new(store: Store) -> None:
    store.txn([], {"r/1": "1"})
    before = store.range("r/")
    assert store.txn([before], {"other": "1"})
    store.txn([], {"r/2": "2"})
    assert not store.txn([before], {"other": "2"})


def test_of_many_at_once_one_wins(store: Store) -> None:
    before = store.get("k")
    with ThreadPoolExecutor(4) as threads:
        won = list(threads.map(lambda number: store.txn([before], {"k": str(number)}), range(4)))
    assert won.count(True) == 1


@pytest.mark.parametrize(
    "silent",
    [
        Etcd("http://127.0.0.1:1"),
        Postgresql("postgresql://postgres@127.0.0.1:1/metadata"),
        Mysql("mysql://root@127.0.0.1:1/metadata"),
    ],
    ids=["etcd", "postgresql", "mysql"],
)
def test_silence_is_told(silent: Store) -> None:
    with pytest.raises(Unavailable, match="does not answer"):
        silent.get("k")
    with pytest.raises(Unavailable, match="does not answer"):
        silent.txn([], {"k": "1"})
