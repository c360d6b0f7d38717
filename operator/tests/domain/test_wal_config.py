"""The rendered `[wal]` configuration, parsed back and held against what GreptimeDB accepts."""

import tomllib
from typing import Any

import pytest

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALClusterSpec
from seawall.domain.walconfig.render import readable_size, render_wal_config
from tests.domain.builders import make_spec

# GreptimeDB's keys and their types, by the roles that read them (facts/greptimedb.md §2).
SHARED: dict[str, type] = {"provider": str, "broker_endpoints": list, "sasl": dict, "tls": dict}
METASRV: dict[str, type] = {
    "auto_create_topics": bool,
    "num_topics": int,
    "topic_name_prefix": str,
    "replication_factor": int,
}
DATANODE: dict[str, type] = {"max_batch_bytes": str}
KEYS: dict[str, dict[str, type]] = {
    "metasrv.toml": SHARED | METASRV,
    "datanode.toml": SHARED | DATANODE,
    "standalone.toml": SHARED | METASRV | DATANODE,
}
SECURE: dict[str, Any] = {
    "bootstrapServers": ["kafka-0:9093", "kafka-1:9093"],
    "tls": {"caSecretRef": {"name": "ca"}, "clientCertSecretRef": {"name": "client"}},
    "sasl": {"credentialsSecretRef": {"name": "user", "passwordKey": "secret-key"}},
}


def wal_spec(external: dict[str, Any] | None = None, **wal_config: Any) -> WALClusterSpec:
    return make_spec(external=external or {}, dataPlane={"walConfig": {"configMapName": "wal", **wal_config}})


@pytest.mark.parametrize("file", KEYS)
@pytest.mark.parametrize("external", [{}, SECURE], ids=["plain", "secure"])
def test_every_key_is_one_that_the_role_reads(file: str, external: dict[str, Any]) -> None:
    document = tomllib.loads(render_wal_config(Key("default", "db"), wal_spec(external))[file])
    assert set(document) == {"wal"}
    assert {key: type(value) for key, value in document["wal"].items()}.items() <= KEYS[file].items()
    wanted = set(KEYS[file]) - ({"sasl", "tls"} if not external else set())
    assert set(document["wal"]) == wanted


@pytest.mark.parametrize(
    ("version", "auto_prune", "expected"),
    [
        ("1.1", "Logical", {"auto_prune_interval": "30m", "auto_prune_logical_delete": True}),
        ("1.2", "Logical", {"auto_prune_interval": "30m", "auto_prune_logical_delete": True}),
        ("1.0", "Logical", {"auto_prune_interval": "0s"}),
        ("0.17", "Logical", {"auto_prune_interval": "0s"}),
        ("1.1", "Disabled", {"auto_prune_interval": "0s"}),
        ("0.16", "Disabled", {"auto_prune_interval": "0s"}),
        ("1.1", "Physical", {}),
    ],
)
def test_who_prunes_is_as_declared_and_a_version_that_knows_no_logical_prune_has_none(
    version: str, auto_prune: str, expected: dict[str, Any]
) -> None:
    database = {
        "version": version,
        "autoPrune": auto_prune,
        "metasrv": "http://metasrv:4000",
        "frontend": "http://frontend:4000",
        "metadataStore": {"etcd": {"endpoints": ["http://etcd:2379"]}},
    }
    files = render_wal_config(
        Key("default", "db"), make_spec(dataPlane={"walConfig": {"configMapName": "wal"}, "greptimedb": database})
    )
    found = {file: tomllib.loads(text)["wal"] for file, text in files.items()}
    assert {key: value for key, value in found["metasrv.toml"].items() if key.startswith("auto_prune")} == expected
    others = found["datanode.toml"].keys() | found["standalone.toml"].keys()
    assert not any(key.startswith("auto_prune") for key in others), "a datanode and a standalone server never prune"


def test_the_values_are_those_of_the_spec() -> None:
    files = render_wal_config(Key("default", "db"), wal_spec(SECURE, maxBatchBytes="512Ki"))
    wal = tomllib.loads(files["standalone.toml"])["wal"]
    assert wal == {
        "provider": "kafka",
        "broker_endpoints": ["kafka-0:9093", "kafka-1:9093"],
        "auto_create_topics": False,
        "num_topics": 2,
        "topic_name_prefix": "wal",
        "replication_factor": 3,
        "max_batch_bytes": "512KB",
        "sasl": {"type": "SCRAM-SHA-512"},
        "tls": {
            "server_ca_cert_path": "/etc/greptimedb/wal-tls/ca.crt",
            "client_cert_path": "/etc/greptimedb/wal-tls/tls.crt",
            "client_key_path": "/etc/greptimedb/wal-tls/tls.key",
        },
    }
    assert "GREPTIMEDB_STANDALONE__WAL__SASL__PASSWORD from Secret user, key secret-key." in files["standalone.toml"]


def test_a_user_whose_name_is_in_the_spec_is_named_by_the_comment_too() -> None:
    text = render_wal_config(
        Key("default", "db"), wal_spec({**SECURE, "sasl": {**SECURE["sasl"], "username": "seawall"}})
    )["datanode.toml"]
    assert "# Set GREPTIMEDB_DATANODE__WAL__SASL__USERNAME to seawall.\n" in text


@pytest.mark.parametrize(
    ("external", "text"),
    [
        (
            {},
            """\
# Written by Seawall: edit the WALCluster instead.

[wal]
provider = "kafka"
broker_endpoints = [
    "kafka:9092",
]
max_batch_bytes = "1MB"
""",
        ),
        (
            SECURE,
            """\
# Written by Seawall: edit the WALCluster instead.
# Set GREPTIMEDB_DATANODE__WAL__SASL__USERNAME from Secret user, key username.
# Set GREPTIMEDB_DATANODE__WAL__SASL__PASSWORD from Secret user, key secret-key.
# Mount Secrets ca and client at /etc/greptimedb/wal-tls, as one projected volume.

[wal]
provider = "kafka"
broker_endpoints = [
    "kafka-0:9093",
    "kafka-1:9093",
]
max_batch_bytes = "1MB"

[wal.sasl]
type = "SCRAM-SHA-512"

[wal.tls]
server_ca_cert_path = "/etc/greptimedb/wal-tls/ca.crt"
client_cert_path = "/etc/greptimedb/wal-tls/tls.crt"
client_key_path = "/etc/greptimedb/wal-tls/tls.key"
""",
        ),
    ],
    ids=["plain", "secure"],
)
def test_what_datanodes_get_is_the_same_text_in_every_release(external: dict[str, Any], text: str) -> None:
    """Another one, if only in a comment, restarts all datanodes of everybody who upgrades: its hash is of the text."""
    assert render_wal_config(Key("default", "db"), wal_spec(external))["datanode.toml"] == text


@pytest.mark.parametrize(
    ("message", "batch", "rendered"), [("512Ki", None, "512KB"), ("4Mi", None, "1MB"), ("4Mi", "3Mi", "3MB")]
)
def test_a_batch_never_exceeds_what_the_topics_accept(message: str, batch: str | None, rendered: str) -> None:
    wal_config = {"configMapName": "wal", **({"maxBatchBytes": batch} if batch else {})}
    spec = make_spec({"maxMessageBytes": message}, dataPlane={"walConfig": wal_config})
    assert (
        tomllib.loads(render_wal_config(Key("default", "db"), spec)["datanode.toml"])["wal"]["max_batch_bytes"]
        == rendered
    )


@pytest.mark.parametrize(
    ("size", "text"), [(1, "1B"), (1000, "1000B"), (2048, "2KB"), (2**20, "1MB"), (3 << 19, "1536KB")]
)
def test_sizes_are_exact(size: int, text: str) -> None:
    assert readable_size(size) == text


def test_no_path_is_mounted_twice() -> None:
    """A pod that mounts two volumes at one path is refused."""
    both = {"caSecretRef": {"name": "wal-tls"}, "clientCertSecretRef": {"name": "wal-tls"}}
    for tls in (both, SECURE["tls"], {"caSecretRef": {"name": "ca"}}):
        text = render_wal_config(Key("default", "db"), wal_spec({**SECURE, "tls": tls}))["datanode.toml"]
        assert text.count("# Mount Secret") == 1
        assert all(ref["name"] in text for ref in tls.values())
