"""Restores of a WALCluster on the Spark Operator, as a person makes them: a plan, an approval, the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seawall_e2e.backups import Backups
from seawall_e2e.commands import Object, kubectl, run
from seawall_e2e.objects import apply, get
from seawall_e2e.purges import SEAWALL
from seawall_e2e.waiting import wait_until

RESTORE = "after-the-fire"
_OVER = frozenset({"Completed", "Failed"})


class Restores(Backups):
    """What brings the topics of one WALCluster back. Backups are declared already."""

    def begin_restore(self, cluster_id: str, **spec: Any) -> None:
        """All that the newest backup has, above all that the database has."""
        body = {
            "clusterRef": {"name": self.wal.name},
            "source": {"clusterId": cluster_id},
            "target": {"latest": True},
            "padAboveFlushed": True,
            "timeout": "10m",
            **spec,
        }
        apply(self._object("seawall.dev/v1alpha1", "WALRestore", RESTORE, body))

    def restore_status(self) -> Object:
        """Its status; empty: nobody has looked at it."""
        found: Object = get(self.wal.namespace, "walrestores", RESTORE).get("status", {})
        return found

    def wait_for_restore(self, *stages: str, within: float = 180) -> Object:
        """Waits until it is in one of these stages; one that failed ends the wait."""

        def reached() -> Object | None:
            status = self.restore_status()
            if status.get("stage") == "Failed" and "Failed" not in stages:
                raise AssertionError(f"{status}\n{self.explain()}")
            return status if status.get("stage") in stages else None

        what = f"the restore is {' or '.join(stages)}"
        return wait_until(reached, what, within=within, every=0.5, explain=self.explain)

    def wait_for_reason(self, reason: str, *, within: float = 60) -> None:
        """Waits until Ready of the restore has this reason."""

        def has_it() -> bool:
            return any(
                each["type"] == "Ready" and each["reason"] == reason
                for each in self.restore_status().get("conditions", ())
            )

        wait_until(has_it, f"the restore is {reason}", within=within, every=0.5, explain=self.explain)

    def approve(self, plan: Mapping[str, Any]) -> None:
        """A person reads the plan, and approves it."""
        digest, here = str(plan["digest"]), ("-n", self.wal.namespace)
        said = run(SEAWALL, "restore", "plan", RESTORE, *here)
        if digest not in said:
            raise AssertionError(f"this is not the plan {digest}:\n{said}")
        run(SEAWALL, "restore", "approve", RESTORE, digest, *here)

    def explain(self) -> str:
        """The restore and its drivers' logs, for people."""
        found = kubectl("-n", self.wal.namespace, "get", "walrs", "-o", "yaml")
        return f"{found}\n{super().explain()}"
