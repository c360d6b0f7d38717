"""refdb reads the [wal] that a WALCluster renders."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from refdb.errors import DatabaseError
from refdb.wal.options import duration, size, wal_options
from seawall.api.v1alpha1.cluster import WALClusterSpec
from seawall.domain.walconfig.render import render_wal_config

EXAMPLES = Path(__file__).parents[3] / "crds/examples/valid"


def test_the_config_that_a_walcluster_renders() -> None:
    spec = WALClusterSpec.model_validate(yaml.safe_load((EXAMPLES / "greptimedb.yaml").read_text())["spec"])
    assert spec.wal_config is not None
    rendered = render_wal_config(spec)
    secrets = {
        f"GREPTIMEDB_{role}__WAL__SASL__{k}": k for role in ("METASRV", "DATANODE") for k in ("USERNAME", "PASSWORD")
    }
    metasrv = wal_options(rendered["metasrv.toml"], secrets)
    assert len(metasrv.topics) == spec.topics.count
    assert metasrv.topics[0] == f"{spec.topics.prefix}_0"
    assert not metasrv.auto_create_topics
    assert metasrv.auto_prune_interval == 0
    assert metasrv.kafka["bootstrap.servers"] == ",".join(spec.kafka.external.bootstrap_servers)
    datanode = wal_options(rendered["datanode.toml"], secrets)
    assert datanode.max_batch_bytes == spec.wal_config.batch_bytes(spec.topics)
    if spec.kafka.external.sasl:
        assert datanode.kafka["sasl.username"] == "USERNAME"
        assert datanode.kafka["security.protocol"].startswith("sasl_")


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
        '[wal]\nprovider = "kafka"\nauto_prune_interval = "30m"',
        '[wal]\nprovider = "kafka"\n[wal.sasl]\ntype = "PLAIN"',
    ],
)
def test_configurations_that_are_refused(text: str) -> None:
    with pytest.raises(DatabaseError):
        wal_options(text, {})
