"""A database that runs otherwise than declared: people are told the key, and no hold is granted if it deletes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.etcd import EtcdProcess
from seawall_e2e.loopback.refdb import RefDbProcesses
from seawall_e2e.waiting import wait_until
from tests.support.kube import Object
from tests.support.site import Site, condition

pytestmark = pytest.mark.integration

HOLDS = "/apis/seawall.dev/v1alpha1/namespaces/{}/walholds"
KEY = "auto_prune_logical_delete"
PHYSICAL = {"auto_prune_interval": "1s", "auto_prune_logical_delete": False}
LOGICAL = {"auto_prune_interval": "1s", "auto_prune_logical_delete": True}


@pytest.fixture
def database(kafka: KafkaProcesses, etcd: EtcdProcess) -> Iterator[RefDbProcesses]:
    """It deletes records every second, as far as its regions allow."""
    with RefDbProcesses(kafka.bootstrap_servers, etcd, datanodes=1, wal=PHYSICAL) as made:
        yield made


def read_hold(site: Site) -> Object:
    return site.kube.request("GET", f"{HOLDS.format(site.namespace)}/spark")


def wait_for_hold(site: Site, granted: str, state: str, said: str) -> Object:
    """The hold, once its condition Granted and its state are these, and its sentence has this in it."""

    def look() -> Object | None:
        found = read_hold(site)
        status = found.get("status", {})
        if not status.get("conditions"):
            return None
        is_it = condition(found, "Granted")["status"] == granted and status.get("state", "Requested") == state
        return found if is_it and said in condition(found, "Granted")["message"] else None

    return wait_until(look, f"the hold is {state}, Granted {granted}", explain=lambda: str(read_hold(site)["status"]))


def test_no_hold_is_granted_while_the_database_deletes_whatever_is_declared(
    site: Site, database: RefDbProcesses
) -> None:
    greptimedb = database.declared(autoPrune="Logical")
    site.declare(topics={"prefix": f"wal_{database.prefix}", "replicationFactor": 1}, greptimedb=greptimedb)
    site.wait_ready()
    found = site.wait_for("DataPlaneConfigDiffers", "True", "SecondPruner")
    said = str(condition(found, "DataPlaneConfigDiffers")["message"])
    assert f"set {KEY} = true" in said
    assert f"{KEY} is false and true is declared" in said
    body = {
        "apiVersion": "seawall.dev/v1alpha1",
        "kind": "WALHold",
        "metadata": {"name": "spark"},
        "spec": {"clusterRef": {"name": "wal"}, "topics": {"*": "earliest"}},
    }
    site.kube.create(HOLDS.format(site.namespace), body)
    wait_for_hold(site, "False", "Requested", KEY)

    database.restart_metasrv(**LOGICAL)
    site.wait_for("DataPlaneConfigDiffers", "False", "AsDeclared")
    wait_for_hold(site, "True", "Active", "granted")

    database.restart_metasrv(**PHYSICAL)
    wait_for_hold(site, "False", "AtRisk", KEY)
    prefix = f"wal_{database.prefix}"
    before = site.eyes.log_starts(prefix)
    answer = database.sql("CREATE TABLE t (ts TIMESTAMP TIME INDEX, k STRING, PRIMARY KEY(k))")
    assert "code" not in answer, answer
    (region,) = database.rows("SELECT region_id FROM information_schema.region_peers")[0]

    def deleted() -> bool | None:
        database.write("INSERT INTO t(ts, k) VALUES (1, 'a')")
        database.sql(f"ADMIN flush_region({region})")
        return site.eyes.log_starts(prefix) != before or None

    wait_until(deleted, "the database has deleted records by itself, hold or not")
    wait_for_hold(site, "False", "Lost", "somebody else")


def test_a_datanode_that_runs_otherwise_than_rendered_is_told_until_it_is_mended(
    site: Site, kafka: KafkaProcesses, etcd: EtcdProcess
) -> None:
    topics = {"replicationFactor": 1, "maxMessageBytes": "1Mi"}
    with RefDbProcesses(kafka.bootstrap_servers, etcd, datanodes=2) as database:
        greptimedb = database.declared(autoPrune="Disabled")
        site.declare(topics={"prefix": f"wal_{database.prefix}", **topics}, greptimedb=greptimedb)
        site.wait_ready()

        def becomes(status: str, said: str) -> None:
            """Until the condition has this status, and its message is this."""

            def look() -> bool | None:
                found = condition(site.read(), "DataPlaneConfigDiffers")
                return (found["status"], found["message"]) == (status, said) or None

            wait_until(look, f"{status}: {said}", explain=lambda: str(site.read()["status"]["conditions"]))

        becomes("False", "the metasrv's [wal] is as declared, and that of 2 datanodes")
        database.restart_datanode(1, overwrite_entry_start_id=True, max_batch_bytes="2MB")
        becomes(
            "True",
            "in the [wal] of datanode 1 max_batch_bytes is 2097152 bytes and at most 1048576 is declared; "
            "in the [wal] of datanode 1 overwrite_entry_start_id is true and false is declared; what runs counts",
        )
        database.restart_datanode(1, overwrite_entry_start_id=False, max_batch_bytes="1MB")
        becomes("False", "the metasrv's [wal] is as declared, and that of 2 datanodes")
        site.kube.merge(site.path(), {"spec": {"dataPlane": {"greptimedb": {"datanodeHttpPort": 1}}}})
        becomes("False", "the metasrv's [wal] is as declared; 2 datanodes not read (GET /config)")
