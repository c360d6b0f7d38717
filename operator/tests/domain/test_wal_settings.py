"""What a database runs with, held against what is declared: the condition DataPlaneConfigDiffers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seawall.api.meta import ConditionType
from seawall.domain.conditions import find_condition
from seawall.domain.dataplane.view import DataPlaneView
from seawall.domain.dataplane.wal_settings import DatanodeSettings, WALSettings
from tests.domain.builders import PINNED, make_cluster, make_kafka, make_spec, make_topic, observe, settle
from tests.fakes.dataplane import settings

GREPTIMEDB = {
    "version": "1.1",
    "autoPrune": "Disabled",
    "metasrv": "http://metasrv:4000",
    "frontend": "http://frontend:4000",
    "metadataStore": {"etcd": {"endpoints": ["http://etcd:2379"]}},
}
RENDERED = {"walConfig": {"configMapName": "wal", "maxBatchBytes": "512Ki"}}
POOL = make_kafka(make_topic("wal_0"), make_topic("wal_1"))
GOOD = DatanodeSettings("kafka", 2**19)


def view(*datanodes: DatanodeSettings, reporting: int | None = None, wal: WALSettings | None = None) -> DataPlaneView:
    """What is found of a database with these datanodes."""
    count = len(datanodes) if reporting is None else reporting
    found = DataPlaneView(count, count, 6, 2, "etcd/1/", {}, "1.1.0", wal or settings(topics=2))
    return replace(found, datanode_wal=dict(enumerate(datanodes)))


def found_of(found: DataPlaneView, **data_plane: Any) -> tuple[str, str, str]:
    """Status, reason and message of the condition."""
    spec = make_spec(dataPlane={"greptimedb": GREPTIMEDB, **data_plane})
    cluster, _ = settle(make_cluster(spec, PINNED), observe(spec, POOL, data_plane=found))
    condition = find_condition(cluster.status.conditions, ConditionType.DATA_PLANE_CONFIG_DIFFERS)
    assert condition is not None
    stalled = find_condition(cluster.status.conditions, ConditionType.STALLED)
    assert stalled is None or stalled.status != "True", "it is told, and stops nothing"
    return condition.status, condition.reason, condition.message


def test_datanodes_that_run_as_rendered_are_counted() -> None:
    expected = "the metasrv's [wal] is as declared, and that of 2 datanodes"
    assert found_of(view(GOOD, GOOD), **RENDERED) == ("False", "AsDeclared", expected)


def test_a_datanode_that_is_not_read_is_said_and_no_fault() -> None:
    expected = "the metasrv's [wal] is as declared, and that of 1 datanode; 2 datanodes not read (GET /config)"
    assert found_of(view(GOOD, reporting=3), **RENDERED) == ("False", "AsDeclared", expected)


@pytest.mark.parametrize(
    ("datanode", "difference"),
    [
        (DatanodeSettings("raft_engine"), 'provider is "raft_engine" and "kafka" is declared'),
        (DatanodeSettings("noop"), 'provider is "noop" and "kafka" is declared'),
        (replace(GOOD, max_batch_bytes=2**20), "max_batch_bytes is 1048576 bytes and 524288 is declared"),
        (replace(GOOD, max_batch_bytes=2**10), "max_batch_bytes is 1024 bytes and 524288 is declared"),
        (replace(GOOD, overwrite_entry_start_id=True), "overwrite_entry_start_id is true and false is declared"),
    ],
)
def test_a_key_of_a_datanode_that_differs_is_named_with_both_values_and_who_wins(
    datanode: DatanodeSettings, difference: str
) -> None:
    expected = f"in the [wal] of datanode 1 {difference}; what runs counts"
    assert found_of(view(GOOD, datanode), **RENDERED) == ("True", "ConfigDiffers", expected)


def test_without_a_rendered_configuration_a_batch_must_only_fit_into_a_topic() -> None:
    assert found_of(view(replace(GOOD, max_batch_bytes=2**20), DatanodeSettings("kafka")))[0] == "False"
    _, _, message = found_of(view(replace(GOOD, max_batch_bytes=2**20 + 1)))
    assert "max_batch_bytes is 1048577 bytes and at most 1048576 is declared" in message


def test_many_datanodes_that_differ_alike_are_one_sentence() -> None:
    many = [replace(GOOD, overwrite_entry_start_id=True)] * 1000
    _, _, message = found_of(view(*many), **RENDERED)
    assert message == (
        "in the [wal] of datanodes 0, 1, 2, 3, 4 and 995 more overwrite_entry_start_id is true and false is declared; "
        "what runs counts"
    )


def test_a_database_that_deletes_by_itself_is_told_first() -> None:
    wrong = replace(GOOD, overwrite_entry_start_id=True)
    _, reason, message = found_of(view(wrong, wal=settings("Physical", topics=2)), **RENDERED)
    assert reason == "SecondPruner"
    assert message.startswith("the database deletes records by itself")
    assert message.endswith("; in the [wal] of datanode 0 overwrite_entry_start_id is true and false is declared")
