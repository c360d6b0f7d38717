"""Policies, runs and holds of a site's WALCluster, and the ledger as a person reads it."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from seawall.cli.ledger import ask_operator
from seawall.domain.errors import SeawallError
from seawall_e2e.cluster import Operator, WALCluster
from seawall_e2e.commands import CommandFailed, Object, asked, kubectl
from seawall_e2e.objects import apply, find, get, items, read
from seawall_e2e.waiting import wait_until

POLICY = "purge"
FAST = {"staleAfter": "3s", "openGrace": "13s"}
"""The shortest grace that the API allows: 10 s longer than staleAfter."""
SEAWALL = Path(sys.executable).with_name("seawall")
"""The command line of this environment."""


@dataclass(frozen=True, slots=True)
class Run:
    """A WALPurge, as its status says."""

    name: str
    stage: str | None
    began: str | None
    """When it began, as text that sorts by time."""
    entries_deleted: int
    topics: Mapping[str, int]
    skipped: Mapping[str, str]
    """Topic → why it was left alone."""
    finalizers: tuple[str, ...]

    @classmethod
    def of(cls, found: Object) -> Run:
        """Reads it."""
        status = found.get("status", {})
        return cls(
            found["metadata"]["name"],
            status.get("stage"),
            status.get("startTime"),
            status.get("entriesDeleted") or 0,
            status.get("topics") or {},
            {each["topic"]: each["reason"] for each in status.get("skipped", ())},
            tuple(found["metadata"].get("finalizers", ())),
        )


@dataclass(frozen=True, slots=True)
class Purges:
    """What purges one WALCluster."""

    wal: WALCluster
    operator: Operator

    def apply_policy(self, *, interval: str = "5s", entries: int = 10, **spec: Any) -> None:
        """A policy by which regions that hold back so many entries are flushed. Its runs follow one another closely."""
        body = {
            "clusterRef": {"name": self.wal.name},
            "interval": interval,
            "flush": {"whenBehindEntries": entries, "timeout": "10s"},
            "safety": FAST,
            "successfulRunsHistoryLimit": 100,
            "failedRunsHistoryLimit": 100,
            **spec,
        }
        apply(self._object("WALPurgePolicy", POLICY, body))

    def suspend(self) -> None:
        """No more runs begin."""
        self._kubectl("patch", "walpp", POLICY, "--type=merge", "-p", '{"spec": {"suspend": true}}')

    def resume(self) -> None:
        """Runs begin again."""
        self._kubectl("patch", "walpp", POLICY, "--type=merge", "-p", '{"spec": {"suspend": false}}')

    def wait_until_over(self) -> None:
        """Waits until every run has ended."""
        wait_until(lambda: not self._unfinished(), "every run has ended", within=240, every=0.5, explain=self.explain)

    def purge_once(self, name: str, **spec: Any) -> Run:
        """One run, by hand, to its end."""
        apply(self._object("WALPurge", name, {"clusterRef": {"name": self.wal.name}, "safety": FAST, **spec}))

        def ended() -> Run | None:
            found = Run.of(get(self.wal.namespace, "walpurges", name))
            return found if found.stage in {"Completed", "Failed"} else None

        return wait_until(ended, f"run {name} has ended", within=240, every=0.5, explain=self.explain)

    def runs(self) -> list[Run]:
        """All runs, oldest first; those that have not begun last."""
        found = [Run.of(each) for each in items(self.wal.namespace, "walpurges")]
        return sorted(found, key=lambda one: one.began or "9")

    def completed(self) -> list[Run]:
        """The runs that completed."""
        return [one for one in self.runs() if one.stage == "Completed"]

    def entries_deleted(self) -> int:
        """What the runs say that they deleted, in sum."""
        return sum(one.entries_deleted for one in self.runs())

    def wait_for_a_whole_run(self, within: float = 150, *, deletes: bool = False) -> Run:
        """Waits until a run that had not begun by now has completed; with `deletes`, one that deleted something."""
        begun = {one.name for one in self.runs() if one.began is not None}

        def found() -> Run | None:
            new = (one for one in asked(self.completed) or () if one.name not in begun)
            return next((one for one in new if one.entries_deleted or not deletes), None)

        what = "a new run completed" + (" and deleted something" if deletes else "")
        return wait_until(found, what, within=within, every=0.5, explain=self.explain)

    def place(self, name: str, topics: Mapping[str, int | str], **spec: Any) -> None:
        """Places a hold."""
        apply(self._object("WALHold", name, {"clusterRef": {"name": self.wal.name}, "topics": topics, **spec}))

    def answer(self, hold: str) -> str | None:
        """The state that a hold was given; None: none yet."""
        state = self.state(hold)
        return None if state == "Requested" else state

    def request(self, name: str, topics: Mapping[str, int | str], **spec: Any) -> str:
        """Places a hold and waits for the answer: its state."""
        self.place(name, topics, **spec)
        return wait_until(lambda: self.answer(name), f"hold {name} is answered", explain=self.explain)

    def hold(self, name: str, topics: Mapping[str, int | str], **spec: Any) -> None:
        """Places a hold, which must be granted."""
        state = self.request(name, topics, **spec)
        if state not in {"Active", "Extended", "AtRisk"}:
            raise AssertionError(f"hold {name} is {state}\n{self.explain()}")

    def readopt(self, reason: str) -> None:
        """A person says that the logs are right again."""
        expires = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
        self._kubectl("annotate", "walc", self.wal.name, "--overwrite", f"seawall.dev/readopt={reason}@{expires}")

    def state(self, hold: str) -> str | None:
        """The state of a hold; None: it has none yet, or is gone."""
        found = find(self.wal.namespace, "walholds", hold) or {}
        state: str | None = found.get("status", {}).get("state")
        return state

    def let_go(self, hold: str) -> None:
        """Deletes a hold."""
        self._kubectl("delete", "walh", hold, "--timeout=10s")

    def ledger(self) -> dict[str, dict[str, Any]]:
        """Topic → its line of `seawall ledger -o json`, by a look that has begun by now.

        It is asked for as that command does: to start one costs a second.
        """
        whose = Namespace(walcluster=self.wal.name, namespace=self.wal.namespace, operator=self._lease())
        asked = datetime.now(UTC)

        def new_page() -> Mapping[str, Any] | None:
            try:
                page = ask_operator(read, whose, "ledger")
            except (SeawallError, CommandFailed) as error:  # it has just begun to lead, or its last look failed
                said.append(error)
                return None
            return page if datetime.fromisoformat(page["lookedAt"]) >= asked else None

        said: list[Exception] = []
        page = wait_until(
            new_page,
            "the operator looked at the ledger",
            every=0.2,
            explain=lambda: f"{said[-1:]}\n{self.explain()}",
        )
        return {str(line["name"]): line for line in page["topics"]}

    def wait_until_unneeded(self, entries: Mapping[str, int]) -> None:
        """Waits until the operator knows that the database needs these entries no more; a flush is reported later."""

        def is_known() -> bool:
            lines = self.ledger()
            return all((lines[topic]["floor"] or 0) >= entry for topic, entry in entries.items())

        wait_until(is_known, "the operator has heard of the flush", every=0.5, explain=self.explain)

    def ledger_command(self, *options: str) -> tuple[str | Path, ...]:
        """The command that a person types."""
        return SEAWALL, "ledger", self.wal.name, "-n", self.wal.namespace, "--operator", self._lease(), *options

    def table(self, *kinds: str) -> str:
        """Objects as `kubectl get` prints them."""
        return self._kubectl("get", ",".join(kinds))

    def explain(self) -> str:
        """Policies, runs, holds, the newest status and events, for people."""
        objects = self._kubectl("get", "walpp,walp,walh", "-o", "wide", "--ignore-not-found")
        newest = self._kubectl("get", "walp", "-o", "yaml", "--sort-by=.metadata.creationTimestamp").split("\n- ")[-1]
        return f"{objects}\n{newest}\n{self.wal.explain()}\n{self.operator.log()}"

    def _lease(self) -> str:
        return f"{self.operator.namespace}/seawall"

    def _unfinished(self) -> list[Run]:
        return [one for one in self.runs() if one.stage not in {"Completed", "Failed"}]

    def _object(self, kind: str, name: str, spec: Mapping[str, Any]) -> Object:
        metadata = {"name": name, "namespace": self.wal.namespace}
        return {"apiVersion": "seawall.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}

    def _kubectl(self, *words: str) -> str:
        return kubectl("-n", self.wal.namespace, *words)
