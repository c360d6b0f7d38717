"""refdb reads the command line and the file that greptimedb-operator writes for GreptimeDB."""

from __future__ import annotations

from pathlib import Path

import pytest

from refdb.errors import DatabaseError
from refdb.greptime import translated

META = """
backend = "etcd_store"
enable_region_failover = true
store_addrs = ["etcd:2379"]
store_key_prefix = "p/"
[wal]
provider = "kafka"
"""
DATANODE = """
node_id = 4294967297
[grpc]
bind_addr = "0.0.0.0:4001"
server_addr = "10.0.0.7:4001"
[storage]
data_home = "/data/greptimedb"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def test_a_metasrv(file: Path) -> None:
    file.write_text(META)
    words = "metasrv start --rpc-bind-addr 0.0.0.0:3002 --http-addr 0.0.0.0:4000 --rpc-server-addr 10.0.0.5:3002"
    assert translated([*words.split(), "--config-file", str(file)]) == [
        "metasrv",
        "--http=0.0.0.0:4000",
        "--also-http=0.0.0.0:3002",
        "--advertise=10.0.0.5:3002",
        f"--config={file}",
        "--etcd=http://etcd:2379",
        "--store-key-prefix=p/",
        "--enable-region-failover=true",
    ]


def test_a_datanode_whose_id_and_address_the_initializer_wrote(file: Path) -> None:
    file.write_text(DATANODE)
    words = f"datanode start --metasrv-addrs db-meta.ns:3002 --http-addr=0.0.0.0:4000 --config-file {file}"
    assert translated(words.split()) == [
        "datanode",
        "--http=0.0.0.0:4000",
        "--also-http=0.0.0.0:4001",
        "--advertise=10.0.0.7:4001",
        "--metasrv=db-meta.ns:3002",
        f"--config={file}",
        "--home=/data/greptimedb/refdb-home",
        "--node-id=4294967297",
    ]


def test_a_frontend(file: Path) -> None:
    file.write_text("")
    words = "frontend start --rpc-bind-addr 0.0.0.0:4001 --metasrv-addrs db-meta.ns:3002 --http-addr 0.0.0.0:4000"
    assert translated([*words.split(), "--mysql-addr", "0.0.0.0:4002", "--config-file", str(file)]) == [
        "frontend",
        "--http=0.0.0.0:4000",
        "--also-http=0.0.0.0:4001",
        "--metasrv=db-meta.ns:3002",
    ]


def test_its_own_words_stay_as_they_are() -> None:
    for words in (["metasrv", "--http", "127.0.0.1:1"], ["--help"], ["datanode"]):
        assert translated(words) == words


def test_a_file_that_is_not_there_is_said(file: Path) -> None:
    with pytest.raises(DatabaseError, match="--config-file"):
        translated(["datanode", "start", "--config-file", str(file)])
