"""A part of the demo: what a former run left goes."""

from __future__ import annotations

import json

from seawall_e2e.backups import BACKUPS
from seawall_e2e.cluster import WALCluster
from seawall_e2e.commands import kubectl
from seawall_e2e.mirrors import POD, remove_second_kafka
from seawall_e2e.objects import find
from seawall_e2e.refdb import RefDb, RefDbImages
from seawall_e2e.telling import tell
from seawall_e2e.verifications import REPORTS
from seawall_e2e.waiting import wait_until


def drop_former_run(wal: WALCluster, prefix: str) -> None:
    """Removes the database and its 128 topics: a pool never shrinks."""
    RefDb(wal.namespace, RefDbImages("none", "none")).remove()
    kubectl("-n", wal.namespace, "delete", "statefulset,pod,pvc", "-l", "app.kubernetes.io/name=checker")
    kubectl("-n", wal.namespace, "delete", "walsub,walpp,walp,walh,walv,walbp,walb,walrs", "--all")
    kubectl("-n", wal.namespace, "delete", "pvc", REPORTS, BACKUPS, "--ignore-not-found")
    if wal.find() is not None:
        drop_former_topics(wal)
    if find("kafka", "pods", POD) is not None:
        remove_second_kafka()
        tell(
            "the first Kafka still has the topics: its WALCluster was deleted when the database went on with the mirror"
        )
        wal.apply({"prefix": prefix, "count": 128, "replicationFactor": 3, "deletionPolicy": "Delete"})
        wal.wait("Ready", within=120)
        wait_until(lambda: has_finalizer(wal), "the finalizer stands", within=60, explain=wal.explain)
        wal.delete()


def drop_former_topics(wal: WALCluster) -> None:
    """In the way Seawall does it."""
    tell("a former run left a WALCluster: it is deleted together with its topics (deletionPolicy Delete)")
    # The database is gone already, so nobody can be asked whether it needs the topics: the spec must not name it.
    nobody = {"dataPlane": {"greptimedb": None, "datanodes": None, "restart": None}}
    patch = {
        "spec": {
            **nobody,
            "topics": {"deletionPolicy": "Delete"},
            "verification": None,
            "backup": None,
            "subscription": None,
        }
    }
    kubectl(*wal.patch_command(json.dumps(patch)))
    wait_until(lambda: has_finalizer(wal), "the finalizer stands", within=60, explain=wal.explain)
    wal.delete()


def has_finalizer(wal: WALCluster) -> bool:
    """Whether the deletion of the WALCluster will wait for its topics'."""
    return "finalizers" in (wal.find() or {}).get("metadata", {})
