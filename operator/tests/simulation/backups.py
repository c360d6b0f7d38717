"""The part of a day that backups need: a policy that often makes one, and what must be true of its chains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.backup_policy import WALBackupPolicy
from seawall.api.v1alpha1.spark_job import JobStatus, Outcome
from tests.adversary.judge import Violation
from tests.worlds.backup_world import BACKUP, POLICY
from tests.worlds.purge_world import NAMESPACE

if TYPE_CHECKING:  # it imports this module
    from tests.simulation.day import Day

EVERY: dict[str, Any] = {
    "clusterRef": {"name": "wal"},
    "schedule": "16 * * * *",
    "fullSchedule": "17 */3 * * *",
    "retention": {"recoveryWindow": "4h", "minimumFulls": 1},
}
"""Both schedules are due while much happens."""
JUDGED = frozenset({"replace_status", "create", "delete", "delete_records"})


def why_unfinished(status: JobStatus) -> str | None:
    """Why a job is not at rest; None: it is. Where nothing is destroyed no application is asked for what it refuses."""
    if status.outcome is Outcome.REFUSED:
        return f"was refused: {status.message}"
    return None if status.is_over else "is not over"


@dataclass
class Backups:
    """Judges what the store of the adversary's world has, and what is gone from the logs."""

    day: Day

    def __post_init__(self) -> None:
        if self.day.backs_up:
            self.day.edit(backup=BACKUP)
            self.day.kube.apply(POLICY, EVERY, kind=WALBackupPolicy)

    def suspend(self) -> None:
        """Somebody ends the policy's backups, if there is one."""
        if ("WALBackupPolicy", POLICY) in self.day.kube._objects:
            self.day.kube.apply(POLICY, {**EVERY, "suspend": True}, kind=WALBackupPolicy)

    def check(self, call: str) -> None:
        """A chain has no gap, no fork, and one log; nothing is deleted that the next backup would copy."""
        if call not in JUDGED:
            return
        wrong = self.day.wrong_with_chains()
        if wrong is not None:
            raise Violation(f"K: {wrong}, by {call}")
        if call == "delete_records" and not self.day.damaged_by:
            self._judge_deletes()

    def _judge_deletes(self) -> None:
        newest = self._newest()
        for row in () if newest is None else newest.status.topics:
            found = self.day.kafka.topics.get(row.name)
            is_same = found is not None and found.log.topic_id == row.topic_id
            if found is not None and is_same and found.log.log_start > row.end:
                raise Violation(f"K: {row.name} is deleted beyond {row.end}, and no backup has what is gone")

    def _newest(self) -> WALBackup | None:
        """The newest in the store, also one that lacks topics (`NotAllBackedUp`): it has those of its status."""
        found = self.day.kube.list(WALBackup, NAMESPACE).items
        stored = [each for each in found if each.status.outcome is Outcome.PASSED and each.status.is_over]
        return max(stored, key=lambda each: each.metadata.creation_timestamp, default=None)

    def wrong(self) -> list[str]:
        """What is not over, or was refused, when nothing goes wrong any more."""
        return [
            f"WALBackup {each.metadata.name} {why}"
            for each in self.day.kube.list(WALBackup).items
            if (why := why_unfinished(each.status)) is not None
        ]
