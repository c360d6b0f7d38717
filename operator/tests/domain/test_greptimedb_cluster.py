"""What a GreptimeDBCluster leads to: a database, or one sentence that says why there is none to work with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seawall.api.meta import ConditionType, Key
from seawall.api.v1alpha1.data_plane import GreptimeDB
from seawall.domain.cluster.gate import gate_conditions
from seawall.domain.cluster.observed import Observed
from seawall.domain.cluster.settings import settings_conditions
from seawall.domain.conditions import ConditionBuilder
from seawall.domain.datanodes.gather import find_older_owner
from seawall.domain.dataplane.connection import NoDataPlane, NotReached
from seawall.domain.dataplane.declared import Database, DatanodeSet
from seawall.domain.dataplane.greptimedb_cluster import (
    Absence,
    GreptimeDBCluster,
    Storage,
    found_database,
    wal_section,
)
from seawall.domain.dataplane.pasted import not_pasted
from seawall.domain.walconfig.render import render_wal_config
from seawall.observe.declared_database import beside
from tests.domain.builders import NOW, make_cluster, make_spec

WAL = '[wal]\nprovider = "kafka"\nbroker_endpoints = ["kafka:9092"]\n'
NAMED = GreptimeDB.model_validate({"clusterRef": {"name": "db"}, "autoPrune": "Logical"})
PLANE = {
    "greptimedb": {"clusterRef": {"name": "db"}, "autoPrune": "Logical"},
    "walConfig": {"configMapName": "greptimedb-wal"},
}


def make_db(**changes: Any) -> GreptimeDBCluster:
    """One whose topics are `wal_0` and `wal_1`, with all that is rendered for them."""
    spec = make_spec(dataPlane=PLANE)
    rendered = render_wal_config(Key("default", "db"), spec, "1.1")
    found = GreptimeDBCluster(
        Key("default", "db"),
        (DatanodeSet("db-datanode", "spec.datanode", 3, 1000, rendered["datanode.toml"]),),
        tag="v1.1.4",
        meta_config=rendered["metasrv.toml"],
        frontend="db-frontend",
        storage=Storage.ETCD,
        etcd_endpoints=("etcd.etcd:2379", "other"),
    )
    return replace(found, etcd_endpoints=("etcd:2379",), **changes)


def found(db: GreptimeDBCluster | Absence, declared: GreptimeDB = NAMED) -> Database | NoDataPlane:
    return found_database(beside(declared), "db", db, "wal")


def refusal(db: GreptimeDBCluster | Absence, declared: GreptimeDB = NAMED) -> tuple[NotReached, str]:
    said = found(db, declared)
    assert isinstance(said, NoDataPlane)
    return said.why, said.message


def test_metasrv_frontend_store_and_version_are_found() -> None:
    database = found(make_db())
    assert isinstance(database, Database)
    assert database.metasrv == "http://db-meta.default.svc:4000"
    assert database.frontend == "http://db-frontend.default.svc:4000"
    assert database.metadata_store.etcd is not None
    assert database.metadata_store.etcd.endpoints == ("http://etcd.default.svc:2379",), "as the metasrv resolves it"
    assert database.version == "1.1"
    assert database.datanode_http_port == 4000


@pytest.mark.parametrize(
    ("tag", "version"),
    [("v1.1.4", "1.1"), ("1.2.0-beta.2", "1.2"), ("v1.1", "1.1"), ("latest", None), ("", None), ("2f4a1b1", None)],
)
def test_the_version_is_what_the_tag_says(tag: str, version: str | None) -> None:
    assert make_db(tag=tag).version == version


def test_ports_a_group_of_frontends_and_an_own_prefix_count() -> None:
    config = f'store_key_prefix = "own/"\n{make_db().meta_config}'
    changes = {"meta_port": 5000, "frontend": "db-frontend-read", "frontend_port": 6000, "etcd_prefix": "other/"}
    database = found(make_db(meta_config=config, **changes))
    assert isinstance(database, Database)
    assert (database.metasrv, database.frontend) == (
        "http://db-meta.default.svc:5000",
        "http://db-frontend-read.default.svc:6000",
    )
    assert database.metadata_store.etcd is not None
    assert database.metadata_store.etcd.prefix == "own/", "GreptimeDB reads its file, not what its operator would add"


@pytest.mark.parametrize(("name", "storage"), [("postgresql", Storage.POSTGRESQL), ("mysql", Storage.MYSQL)])
def test_what_is_declared_beside_it_counts(name: str, storage: Storage) -> None:
    auth = {"credentialsSecretRef": {"name": "user"}}
    store = {name: {"hosts": ["sql:5432"], "database": "m", "tls": {}, "auth": auth}}
    declared = GreptimeDB.model_validate({"clusterRef": {"name": "db"}, "version": "1.2", "metadataStore": store})
    database = found(make_db(tag="latest", storage=storage), declared)
    assert isinstance(database, Database)
    assert database.version == "1.2"
    assert getattr(database.metadata_store, name) is not None


@pytest.mark.parametrize(
    ("absence", "words"),
    [
        (Absence.NO_CRD, "there is no GreptimeDBCluster db, because its CRD is not installed"),
        (Absence.MISSING, "there is no GreptimeDBCluster db in this namespace: correct clusterRef, or create it"),
        (Absence.STANDALONE, "db is a GreptimeDBStandalone, which has no metasrv"),
    ],
)
def test_where_there_is_none_one_sentence_says_why(absence: Absence, words: str) -> None:
    why, message = refusal(absence)
    assert why is NotReached.CLUSTER_MISSING
    assert message.startswith(words)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"meta_config": ""}, "its WAL is not in Kafka: set spec.wal.kafka"),
        ({"meta_config": '[wal]\nprovider = "raft_engine"', "brokers": ("kafka:9092",)}, "its WAL is not in Kafka"),
        ({"meta_config": WAL}, "its WAL topics begin with greptimedb_wal_topic, and those of this WALCluster with wal"),
        ({"meta_config": "wal ="}, "spec.meta.config is no TOML"),
        ({"frontend": None}, "it has no frontend"),
        ({"datanodes": ()}, "it has no datanodes"),
        ({"storage": Storage.MYSQL}, "its metadata is in MySQL: say in greptimedb.metadataStore"),
        ({"storage": Storage.POSTGRESQL}, "its metadata is in PostgreSQL: say in greptimedb.metadataStore"),
        ({"storage": Storage.NONE}, "it has no spec.meta.backendStorage"),
        ({"tag": "latest"}, 'the tag of its image says no version ("latest"): set greptimedb.version'),
        ({"meta_config": f'store_addrs = ["etcd:2379"]\n{WAL}topic_name_prefix = "wal"'}, "spec.meta.config sets"),
    ],
)
def test_a_database_that_seawall_cannot_work_with_is_refused_in_one_sentence(
    changes: dict[str, Any], words: str
) -> None:
    why, message = refusal(make_db(**changes))
    assert why is NotReached.CLUSTER_UNSUITABLE
    assert message.startswith(f"GreptimeDBCluster db: {words}")


def test_one_group_of_datanodes_whose_wal_is_local_is_enough_to_refuse() -> None:
    kafka, local = make_db().datanodes[0], DatanodeSet("db-datanode-b", "spec.datanodeGroups[1]", 1, 1000)
    _, message = refusal(make_db(datanodes=(kafka, local)))
    assert "in [wal] of spec.datanodeGroups[1].config" in message


def test_what_its_operator_adds_counts_where_the_text_says_nothing() -> None:
    assert wal_section("", ("a:9092",)) == {"provider": "kafka", "broker_endpoints": ["a:9092"]}
    own = wal_section('[wal]\nprovider = "raft_engine"', ("a:9092",))
    assert own is not None
    assert own["provider"] == "raft_engine", "ConfigMergeStrategyInjectedDataFirst, which it always sets"


def test_what_was_pasted_is_as_rendered() -> None:
    rendered = render_wal_config(Key("default", "db"), make_spec(dataPlane=PLANE), "1.1")
    assert not_pasted(make_db(), rendered) == ()
    by_spec = make_db(
        brokers=("kafka:9092",),
        meta_config=make_db().meta_config.replace('broker_endpoints = [\n    "kafka:9092",\n]', ""),
    )
    assert not_pasted(by_spec, rendered) == (), "brokers may be in spec.wal.kafka"


def test_what_was_not_pasted_is_named_with_its_place_and_both_values() -> None:
    db, spec = make_db(), make_spec(dataPlane=PLANE)
    config = db.meta_config.replace("auto_prune_logical_delete = true", "").replace("num_topics = 2", "num_topics = 64")
    lacking = not_pasted(replace(db, meta_config=config), render_wal_config(Key("default", "db"), spec, "1.1"))
    assert [f"{where} {each}" for where, each in lacking] == [
        "spec.meta.config num_topics is 64 and 2 is declared",
        "spec.meta.config auto_prune_logical_delete is not set and true is declared",
    ]


def conditions(db: GreptimeDBCluster | Absence | str | None) -> dict[str, tuple[str, str, str]]:
    cluster = make_cluster(make_spec(dataPlane=PLANE))
    observed, build = Observed(NOW, named_cluster=db), ConditionBuilder((), 1, NOW)
    made = (*settings_conditions(cluster, observed, build), *gate_conditions(cluster, observed, build))
    return {each.type: (each.status, each.reason, each.message) for each in made}


def test_what_was_not_pasted_is_a_condition_before_the_database_even_runs() -> None:
    status, reason, message = conditions(make_db(meta_config=WAL))[ConditionType.DATA_PLANE_CONFIG_DIFFERS]
    assert (status, reason) == ("True", "ConfigNotPasted")
    assert "paste [wal] of ConfigMap greptimedb-wal: metasrv.toml into spec.meta.config" in message


def test_a_partition_that_keeps_all_datanodes_gates_restarts() -> None:
    assert conditions(make_db())[ConditionType.RESTARTS_GATED][:2] == ("True", "Gated")


def test_a_partition_that_keeps_not_all_is_said_with_what_to_set() -> None:
    groups = (
        DatanodeSet("db-datanode-a", "spec.datanodeGroups[0]", 2, 1000),
        DatanodeSet("db-datanode-b", "spec.datanodeGroups[1]", 3, 2),
    )
    status, reason, message = conditions(make_db(datanodes=groups))[ConditionType.RESTARTS_GATED]
    assert (status, reason) == ("False", "PartitionOpen")
    assert "spec.datanodeGroups[1].rollingUpdate.partition is 2 for 3 datanodes; set 1000" in message
    assert "datanodeGroups[0]" not in message


@pytest.mark.parametrize("absent", [Absence.MISSING, "the operator may not read GreptimeDBCluster db", None])
def test_what_cannot_be_read_is_not_claimed_to_be_gated(absent: Absence | str | None) -> None:
    assert conditions(absent)[ConditionType.RESTARTS_GATED][:2] == ("Unknown", "GreptimeDBClusterUnknown")


def test_without_a_greptimedbcluster_nothing_is_said_of_a_gate() -> None:
    cluster = make_cluster()
    assert gate_conditions(cluster, Observed(NOW), ConditionBuilder((), 1, NOW)) == ()


@pytest.mark.parametrize(
    ("older", "is_ahead"),
    [
        ({"greptimedb": {"clusterRef": {"name": "db"}}}, True),
        ({"greptimedb": {"clusterRef": {"name": "other"}}}, False),
        ({"datanodes": {"statefulSetRef": {"name": "db-datanode"}}}, True),
        ({"datanodes": {"statefulSetRef": {"name": "db-datanode-a"}}}, True),
        ({"datanodes": {"statefulSetRef": {"name": "datanode"}}}, False),
    ],
)
def test_two_wal_clusters_that_name_the_same_datanodes_are_found(older: dict[str, Any], *, is_ahead: bool) -> None:
    addresses = {part: f"http://{part}:4000" for part in ("metasrv", "frontend")}
    store = {"etcd": {"endpoints": ["http://etcd:2379"]}}
    plane = {"greptimedb": {"version": "1.1", **addresses, "metadataStore": store}, **older}
    first = make_cluster(
        make_spec(dataPlane=plane), name="first", uid="uid-0", creationTimestamp="2026-01-01T00:00:00Z"
    )
    mine = make_cluster(make_spec(dataPlane=PLANE))
    assert find_older_owner(mine, [first, mine]) == ("first" if is_ahead else None)
