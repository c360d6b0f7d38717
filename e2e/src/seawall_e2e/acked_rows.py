"""Rows that are written and read, by pods, while faults go on; and the verdict whether each acknowledged one is there.

    with AckedRows(database, image) as rows:
        rows.wait_for_more(500)
        ...                                # faults
    verdict = rows.judge()

What is recorded and what is judged is told in e2e/checker/README.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Self

from seawall_e2e.cluster import REPOSITORY, START_SECONDS
from seawall_e2e.commands import Object, kubectl, run
from seawall_e2e.objects import apply, delete, get, items, wait_complete
from seawall_e2e.refdb import RefDb
from seawall_e2e.shell import Shell
from seawall_e2e.waiting import patience, wait_until

TABLE = "acked_rows"
WRITERS = 2
LABELS = {"app.kubernetes.io/name": "checker"}
_ROLES = ("writer", "reader")
_JOURNALS = "checker-journals"
_TIMEOUTS = {"writer": "5", "reader": "15", "judge": "60"}
"""Seconds to wait for an answer: to read all rows takes longer; but a reader does not wait long for who is stopped."""
READ_SECONDS = 60.0
"""Within which the table can be read, once all are up."""
_SHUT = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}

Verdict = Mapping[str, Any]
"""What the judge prints: `holds`, and counts."""


def build_checker_image() -> str:
    """Builds the checker's image unless it was built, loads it into the cluster, and returns its reference."""
    return run(str(REPOSITORY / "e2e/checker/image.sh"), timeout=1200, show_progress=True).strip()


@dataclass(frozen=True, slots=True)
class Progress:
    """How far writers and readers are."""

    acked: int
    unknown: int
    entries: Mapping[str, int]
    """Acknowledged batches by region."""
    readings: int
    refused: int
    findings: int


class AckedRows:
    """Writers and a reader in the database's namespace, as long as the `with` lasts; what they recorded stays.

    Args:
        period: seconds between the batches of a thread. By default each partition is written 2.5 times a second: always
            some rows are in the log only, and to write more often would take a third of a core. The soak does.
    """

    def __init__(self, database: RefDb, image: str, *, partitions: int = 6, period: float = 1.6) -> None:
        self.partitions = partitions
        self._database, self._image, self._namespace = database, image, database.namespace
        self._settings = {
            "CHECKER_DATABASE": "http://frontend:4000",
            "CHECKER_JOURNALS": "/journals",
            "CHECKER_PARTITIONS": str(partitions),
            "CHECKER_PERIOD": str(period),
            "CHECKER_PAUSE": "3",
        }
        self._judges = count(1)
        self._teller = Shell(self._namespace, "checker-reader-0", ("checker", "tell"))

    def __enter__(self) -> Self:
        apply(self._volume(), self._stateful_set("writer", WRITERS), self._stateful_set("reader", 1))
        for role in _ROLES:
            wait_complete(
                self._namespace, "statefulsets", f"checker-{role}", within=START_SECONDS, explain=self.explain
            )
        self.wait_until_written_everywhere()
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        self._teller.close()
        try:
            self._remove()
        except AssertionError as unable:
            if failed is None:
                raise
            print(f"writers and reader may be there still: {unable}")  # what failed before is why

    def _remove(self) -> None:
        for role in _ROLES:
            delete(self._namespace, "statefulsets", f"checker-{role}")
        both = f"app.kubernetes.io/name=checker,app.kubernetes.io/component in ({','.join(_ROLES)})"
        wait_until(lambda: not items(self._namespace, "pods", labels=both), "writers and reader are gone", within=60)

    def progress(self) -> Progress:
        """How far they are."""
        return Progress(**self._teller.ask("progress"))

    def needed(self, flushed: Mapping[str, int]) -> list[dict[str, Any]]:
        """By region, the oldest acknowledged entry beyond its flushed one: `topic`, `entry_id`, `region_id`."""
        found: list[dict[str, Any]] = self._teller.ask("needed", flushed)
        return found

    def wait_for_more(self, rows: int, *, readings: int = 0) -> None:
        """Waits until so many more rows were acknowledged, and so many more readings done."""
        before = self.progress()

        def is_enough() -> bool:
            now = self.progress()
            return now.acked - before.acked >= rows and now.readings - before.readings >= readings

        what = f"{rows} more rows were acknowledged, and {readings} readings done, since {before}"
        wait_until(is_enough, what, every=0.5, explain=self.explain)

    def wait_until_written_everywhere(self, entries: int = 2) -> None:
        """Waits until each region acknowledged so many more entries."""
        before = self.progress().entries

        def is_enough() -> bool:
            now = self.progress().entries
            more = [number - before.get(region, 0) >= entries for region, number in now.items()]
            return len(more) == self.partitions and all(more)

        wait_until(is_enough, f"each of {self.partitions} regions is written", every=0.5, explain=self.explain)

    def judge(self) -> Verdict:
        """The verdict of a pod that reads all rows once more; it is printed, and its exit code must fit it."""
        name = f"checker-judge-{next(self._judges)}"
        metadata = {"name": name, "namespace": self._namespace, "labels": LABELS}
        apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": self._pod("judge", "Never")})
        phase = wait_until(lambda: self._end_of(name), f"{name} has ended", within=180, every=0.5, explain=self.explain)
        *said, last = self._kubectl("logs", name).splitlines()
        print("\n".join(said))
        verdict: Verdict = json.loads(last)
        print("acked rows: " + ", ".join(f"{name} {value}" for name, value in verdict.items()), flush=True)
        if (phase == "Succeeded") != verdict["holds"]:
            raise AssertionError(f"{name} ended as {phase}, but its verdict is {verdict}")
        return verdict

    def explain(self) -> str:
        """The ends of their logs and the database's state, for people."""
        logs = self._kubectl("logs", "-l", "app.kubernetes.io/name=checker", "--prefix", "--tail=8", "--ignore-errors")
        return f"{logs}\n{self._database.explain()}"

    def _end_of(self, pod: str) -> str | None:
        found = get(self._namespace, "pods", pod)
        phase = str(found["status"]["phase"])
        return phase if phase in {"Succeeded", "Failed"} else None

    def _volume(self) -> Object:
        metadata = {"name": _JOURNALS, "namespace": self._namespace, "labels": LABELS}
        size = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": size}

    def _stateful_set(self, role: str, replicas: int) -> Object:
        labels = {**LABELS, "app.kubernetes.io/component": role}
        return {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": f"checker-{role}", "namespace": self._namespace, "labels": LABELS},
            "spec": {
                "serviceName": "checker",
                "replicas": replicas,
                "podManagementPolicy": "Parallel",
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": self._pod(role, "Always")},
            },
        }

    def _pod(self, role: str, restart: str) -> Object:
        settings = {**self._settings, "CHECKER_TIMEOUT": _TIMEOUTS[role]}
        if role == "judge":  # for so long who has just been started may need to answer
            settings["CHECKER_WITHIN"] = f"{READ_SECONDS * patience():.0f}"
        name = {"name": "CHECKER_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
        container = {
            "name": role,
            "image": self._image,
            "args": [role],
            "env": [name, *({"name": key, "value": value} for key, value in settings.items())],
            "securityContext": _SHUT,
            "volumeMounts": [{"name": "journals", "mountPath": "/journals"}],
        }
        identity = {"runAsNonRoot": True, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532}
        return {
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "restartPolicy": restart,
            "terminationGracePeriodSeconds": 1,
            "securityContext": {**identity, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [container],
            "volumes": [{"name": "journals", "persistentVolumeClaim": {"claimName": _JOURNALS}}],
        }

    def _kubectl(self, *words: str) -> str:
        return kubectl("-n", self._namespace, *words)
