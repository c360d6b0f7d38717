"""A part of the demo: one replica becomes three while somebody writes."""

from __future__ import annotations

from seawall_e2e.cluster import WALCluster
from seawall_e2e.commands import kubectl
from seawall_e2e.telling import follow, run_and_show, step, tell
from seawall_e2e.toolbox import Toolbox, toolbox_shell

PREFIX, COUNT, RECORDS = "small_wal", 4, 3_000
WITHIN = 120.0


def grow_replicas(namespace: str, image: str) -> None:
    """A WALCluster of its own, which is deleted again with its topics."""
    wal = WALCluster(namespace, "small")
    with step(f"{COUNT} topics with one replica, written to all the time: replicationFactor 1 → 3 at 2 MiB/s"):
        drop_former_pool(namespace)
        toolbox = Toolbox(namespace, image, toolbox_shell(namespace))
        toolbox.start()
        topics = {"prefix": PREFIX, "count": COUNT, "replicationFactor": 1, "deletionPolicy": "Delete"}
        wal.apply(topics, reassignment={"throttleBytesPerSecond": "2Mi", "maxConcurrentPartitions": 2})
        wal.wait("Ready")
        with toolbox.loading([f"{PREFIX}_{number}" for number in range(COUNT)], RECORDS) as load:
            run_and_show(*wal.patch_command('{"spec": {"topics": {"replicationFactor": 3}}}'))
            follow(lambda: progress(wal), "the reassignment ends", within=WITHIN, explain=wal.explain)
            wal.wait("Ready", within=WITHIN)
        failed, lost = len(load["failed"]), load["lost"]
        tell(f"meanwhile {load['acknowledged']} records were acknowledged, {failed} failed, {lost} are lost")
        if failed or lost:
            raise AssertionError(load["failed"])
        run_and_show("-n", namespace, "get", "walc", wal.name)
        drop_former_pool(namespace)


def progress(wal: WALCluster) -> tuple[str, bool]:
    """How far the run is, and whether it has ended."""
    run = wal.status().get("reassignment")
    if not run:
        return "", False
    left = f"{run.get('bytesLeft', 0) // 2**20} MiB left"
    return f"{run.get('stage')}: {run.get('message')} ({left})", run.get("stage") == "Completed"


def drop_former_pool(namespace: str) -> None:
    """Removes the pool and its writer, as a former run may have left them."""
    wal = WALCluster(namespace, "small")
    kubectl("-n", namespace, "delete", "pod", "toolbox", "--ignore-not-found", "--grace-period=1")
    if wal.find() is not None:
        wal.delete()
