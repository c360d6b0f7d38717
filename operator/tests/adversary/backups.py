"""An incremental backup, disturbed: what it finds, and what others do to it meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from seawall.api.meta import SNAPSHOT_ANNOTATION, Key
from seawall.api.resource import Resource
from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.backup_policy import WALBackupPolicy
from seawall.api.v1alpha1.spark_job import Outcome
from seawall.api.v1alpha1.verification import WALVerification
from seawall.domain.backup.runs import hold_key
from seawall.domain.spark_job.application import CONF
from seawall.reconciler import Reconciler
from tests.adversary.arena import Arena, tick
from tests.adversary.judge import Violation
from tests.adversary.lives import ALL, Adversary
from tests.adversary.moves import CLUSTER, HOLD, move
from tests.adversary.world_moves import TOPIC
from tests.worlds.backup_world import BACKUP, FULL, NEXT, POLICY
from tests.worlds.purge_world import NAMESPACE
from tests.worlds.verification_world import SERVICE_ACCOUNT

BACKUPS = "kube:WALBackup"
SPEC = {"clusterRef": {"name": "wal"}, "parentRef": {"name": FULL.name}}
OFTEN = {"clusterRef": {"name": "wal"}, "schedule": "* * * * *"}
RIVAL = Key(NAMESPACE, "rival")


def check_backups(arena: Arena, known: set[Key], call: str) -> None:
    """A job that was just made is what the WALCluster declares; a chain has no gap, no fork, and one log."""
    for key in arena.spark.specs.keys() - known:
        known.add(key)
        made, declared = arena.spark.specs[key], arena.cluster_spec["backup"]["spark"]
        runs = made["image"], made["driver"]["serviceAccount"], dict(made["sparkConf"])
        if runs != (declared["image"], SERVICE_ACCOUNT.name, CONF):
            raise Violation(f"J: {call} of a job with {runs}")
    wrong = arena.wrong_with_chains()
    if wrong is not None:
        raise Violation(f"K: {wrong}, by {call}")


def is_over(arena: Arena, key: Key) -> bool:
    """Whether a backup has ended, or is gone."""
    found = arena.kube.get(WALBackup, key)
    return found is None or found.status.is_over


def application_goes(arena: Arena) -> None:
    """Somebody deletes all that there are, as a script that tidies up; their drivers go on for a while."""
    for application in list(arena.spark.applications.values()):
        arena.spark.delete(application)


def judge_end(arena: Arena, adversary: Adversary) -> None:
    """Who has lost nothing but an application, once, is not over without success: another attempt works."""
    if [move.make for _, move in adversary.made] != [application_goes]:
        return
    kinds: tuple[type[Resource[Any, Any]], ...] = (WALBackup, WALVerification)
    for found in (each for kind in kinds for each in arena.kube.list(kind, NAMESPACE).items):
        if found.status.outcome is Outcome.REFUSED:
            name = found.metadata.name
            raise Violation(f"C: {name} ends although another attempt would work: {found.status.message}")


def declare_other_code(arena: Arena) -> None:
    """The owner of the WALCluster has backups run another image."""
    arena.edit(backup={**BACKUP, "spark": {"image": "wal-backup:2"}})


def keep_elsewhere(arena: Arena) -> None:
    """The owner of the WALCluster has backups kept in another bucket."""
    arena.edit(backup={**BACKUP, "storage": {"s3": {"bucket": "elsewhere"}}})


def delete_parent(arena: Arena) -> None:
    if ("WALBackup", FULL) in arena.kube._objects:
        arena.kube.remove(FULL, WALBackup)


def recreate_backup(arena: Arena) -> None:
    raw = arena.kube._objects.pop(("WALBackup", NEXT), None)
    if raw is not None:
        arena.kube.apply(NEXT, raw["spec"], kind=WALBackup)


def delete_hold_of_job(arena: Arena) -> None:
    """By somebody who needs the space."""
    arena.kube._objects.pop(("WALHold", Key(NAMESPACE, f"{NEXT.name}-1")), None)


def continued_by_another(arena: Arena) -> None:
    """Somebody continues the same parent, and another process of the operator works on that meanwhile."""
    arena.kube.apply(RIVAL, SPEC, kind=WALBackup)
    process: Reconciler[Any, Any, Any, Any] = arena.backer(arena.referee)
    arena.beside.append(lambda: tick(process, RIVAL))


def backs_up(arena: Arena) -> Callable[[], None]:
    """The controller of backups, which works on each."""
    process: Reconciler[Any, Any, Any, Any] = arena.backer(arena.referee)

    def work() -> None:
        for backup in arena.kube.list(WALBackup, NAMESPACE).items:
            tick(process, backup.metadata.key)

    return work


def backups_over(arena: Arena) -> int:
    """How many backups have ended."""
    return sum(each.status.is_over for each in arena.kube.list(WALBackup, NAMESPACE).items)


def edit_policy(arena: Arena) -> None:
    """Fewer topics."""
    if ("WALBackupPolicy", POLICY) in arena.kube._objects:
        arena.kube.apply(POLICY, {**OFTEN, "topics": [TOPIC]}, kind=WALBackupPolicy)


def suspend_policy(arena: Arena) -> None:
    if ("WALBackupPolicy", POLICY) in arena.kube._objects:
        arena.kube.apply(POLICY, {**OFTEN, "suspend": True}, kind=WALBackupPolicy)


def delete_policy(arena: Arena) -> None:
    if ("WALBackupPolicy", POLICY) in arena.kube._objects:
        arena.kube.remove(POLICY, WALBackupPolicy)


def delete_newest_backup(arena: Arena) -> None:
    found = sorted(arena.kube.list(WALBackup, NAMESPACE).items, key=lambda each: each.metadata.name)
    if found:
        arena.kube.remove(found[-1].metadata.key, WALBackup)


def take_the_name_of_the_next_hold(arena: Arena) -> None:
    """Somebody holds something else by the name that the policy's next hold will have."""
    for backup in arena.kube.list(WALBackup, NAMESPACE).items:
        key = hold_key(backup)
        if ("WALHold", key) not in arena.kube._objects:
            arena.place(key, {"clusterRef": {"name": "wal"}, "topics": {TOPIC: 10**6}})


def lose_hold_of_point(arena: Arena) -> None:
    """Somebody deletes the hold under a snapshot, and a purge goes on."""
    arena.kube._objects.pop(("WALHold", Key(NAMESPACE, f"{FULL.name}-1")), None)


def say_it_is_taken(arena: Arena) -> None:
    """Somebody says too early that the snapshot is taken."""
    if ("WALBackup", FULL) in arena.kube._objects:
        spec = arena.kube._objects["WALBackup", FULL]["spec"]
        arena.kube.apply(FULL, spec, kind=WALBackup, annotations={SNAPSHOT_ANNOTATION: "too early"})


def take_it_back(arena: Arena) -> None:
    """And takes it back."""
    if ("WALBackup", FULL) in arena.kube._objects:
        arena.kube.apply(FULL, arena.kube._objects["WALBackup", FULL]["spec"], kind=WALBackup)


OF_POINTS = (
    *(move(make, CLUSTER) for make in (declare_other_code, keep_elsewhere)),
    *(move(make, BACKUPS) for make in (say_it_is_taken, take_it_back)),
    move(lose_hold_of_point, HOLD),
    move(application_goes, "spark"),
)
OF_POLICIES = (
    *(move(make, CLUSTER) for make in (declare_other_code, keep_elsewhere)),
    *(move(make, "kube:WALBackupPolicy") for make in (edit_policy, suspend_policy, delete_policy)),
    move(delete_newest_backup, BACKUPS),
    move(take_the_name_of_the_next_hold, HOLD),
    move(application_goes, "spark"),
)
OF_BACKUPS = (
    *(move(make, CLUSTER) for make in (declare_other_code, keep_elsewhere)),
    *(move(make, BACKUPS) for make in (delete_parent, recreate_backup)),
    move(delete_hold_of_job, HOLD),
    move(application_goes, "spark"),
    move(continued_by_another, ALL),
)
