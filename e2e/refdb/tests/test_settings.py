"""refdb reads the [wal] that a WALCluster renders."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import yaml

from refdb.errors import DatabaseError
from refdb.wal.options import duration, size, wal_options
from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALClusterSpec
from seawall.domain.walconfig.render import render_wal_config

EXAMPLES = Path(__file__).parents[3] / "crds/examples/valid"


def test_the_config_that_a_walcluster_renders() -> None:
    spec = WALClusterSpec.model_validate(yaml.safe_load((EXAMPLES / "greptimedb.yaml").read_text())["spec"])
    assert spec.wal_config is not None
    key = Key("default", "db")
    kafka, rendered = spec.kafka.access(key), render_wal_config(key, spec)
    secrets = {
        f"GREPTIMEDB_{role}__WAL__SASL__{k}": k for role in ("METASRV", "DATANODE") for k in ("USERNAME", "PASSWORD")
    }
    metasrv = wal_options(rendered["metasrv.toml"], secrets)
    assert len(metasrv.topics) == spec.topics.count
    assert metasrv.topics[0] == f"{spec.topics.prefix}_0"
    assert not metasrv.auto_create_topics
    assert (metasrv.auto_prune_interval, metasrv.auto_prune_logical_delete) == (1800, True)
    assert metasrv.kafka["bootstrap.servers"] == ",".join(kafka.bootstrap_servers)
    datanode = wal_options(rendered["datanode.toml"], secrets)
    assert datanode.max_batch_bytes == spec.wal_config.batch_bytes(spec.topics)
    if kafka.sasl:
        assert datanode.kafka["sasl.username"] == "USERNAME"
        assert datanode.kafka["security.protocol"].startswith("sasl_")


def test_what_is_served_is_what_runs_with_the_defaults_of_what_nobody_set() -> None:
    text = '[wal]\nprovider = "kafka"\nnum_topics = 2\n[wal.sasl]\ntype = "PLAIN"\nusername = "u"\npassword = "p"'
    served = tomllib.loads(wal_options(text, {}).served)["wal"]
    assert (served["num_topics"], served["topic_name_prefix"]) == (2, "greptimedb_wal_topic")
    assert (served["auto_prune_interval"], served["auto_prune_logical_delete"]) == ("0s", False)
    assert served["sasl"]["password"] == "p", "as GreptimeDB, which has it there in clear"


def test_units() -> None:
    assert [size(text) for text in ("1MB", "512KB", "1000B")] == [2**20, 2**19, 1000]
    assert [duration(text) for text in ("30m", "0s", "100ms", "1h")] == [1800, 0, 0.1, 3600]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[wal",
        '[wal]\nprovider = "raft_engine"',
        '[wal]\nprovider = "kafka"\nmax_batch_bytes = "many"',
        '[wal]\nprovider = "kafka"\n[wal.sasl]\ntype = "PLAIN"',
    ],
)
def test_configurations_that_are_refused(text: str) -> None:
    with pytest.raises(DatabaseError):
        wal_options(text, {})
