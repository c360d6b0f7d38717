"""What people and schedules do of a WALCluster for as long as a nemesis is about."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from seawall_e2e.backups import Backup, Backups
from seawall_e2e.cluster import BROKERS, PLAINTEXT
from seawall_e2e.commands import CommandFailed, asked, kubectl
from seawall_e2e.invariants import GRANTED
from seawall_e2e.loops import Patient
from seawall_e2e.mirrors import digests
from seawall_e2e.objects import delete, find
from seawall_e2e.purges import Purges
from seawall_e2e.refdb import DATANODES
from seawall_e2e.restarts import TOPICS, Restarts
from seawall_e2e.verifications import Verification, Verifications

JOB_BOUND = 1800.0
"""Seconds for a job on Spark: three attempts of ten minutes each."""
LOG_CHANGED = frozenset({"LogChanged", "ChainEnded"})
"""Reasons of a backup that there must not be while the log is held."""
OF_A_LEADER_BEFORE = frozenset({"SequenceOrder", "SequenceReused", "OrphanPart"})
"""Errors of a log in which nothing is lost: what a leader that was stopped appends when it goes on, behind what its
successor has written. Nobody was told that it is there. Once the region is flushed, nobody reads it."""


@dataclass
class Rolls:
    """Restarts of all datanodes, one after another."""

    restarts: Restarts
    goal = "rolls of all datanodes"
    pause = 20.0
    _numbers: count[int] = field(default_factory=count)

    def step(self, patient: Patient) -> str:
        """A person asks for one, and waits until it is done: each datanode has another pod."""
        value = f"hour-{next(self._numbers)}"
        before = patient.until(self._pods, "all datanodes are there")
        self.restarts.ask(value)
        patient.until(self.restarts.is_over, f"the roll {value} is done", explain=self.restarts.explain)
        if kept := before & patient.until(self._pods, "all datanodes are there again"):
            raise AssertionError(f"{kept} of {before} were not restarted\n{asked(self.restarts.explain)}")
        return self.goal

    def _pods(self) -> set[str] | None:
        found = set(self.restarts.uids().values())
        return found if len(found) == DATANODES else None


@dataclass
class Moves:
    """Replicas that go and come back: two of each topic and three, and a broker that is drained."""

    restarts: Restarts
    goal = "rounds of moves of replicas"
    pause = 10.0
    _numbers: count[int] = field(default_factory=count)

    def step(self, patient: Patient) -> str:
        """Two replicas, then three; then a broker without any of them."""
        for factor in (2, 3):
            self._move(patient, factor)
            patient.rest(5)
        gone = next(self._numbers) % BROKERS
        self.declare(2, gone)
        patient.until(lambda: not self._has(gone), f"broker {gone} is drained", explain=self.restarts.explain)
        self._move(patient, 3)
        return self.goal

    def declare(self, factor: int, *gone: int) -> None:
        """So many replicas of each topic, and none on these brokers."""
        spec = {"topics": {"replicationFactor": factor}, "reassignment": {"excludeBrokers": list(gone)}}
        kubectl(*self.restarts.wal.patch_command(json.dumps({"spec": spec})))

    def factors(self) -> set[int]:
        """How many replicas topics have."""
        return {len(replicas) for replicas in self._replicas()}

    def _move(self, patient: Patient, factor: int) -> None:
        self.declare(factor)
        what = f"each topic has {factor} replicas"
        patient.until(lambda: self.factors() == {factor}, what, explain=self.restarts.explain)

    def _replicas(self) -> list[list[int]]:
        """Of all topics."""
        topics = self.restarts.site.topics().values()
        found = [topic["replicas"]["0"] for topic in topics if topic["replicas"]]  # of one that is new there: not yet
        if len(found) != TOPICS:
            raise CommandFailed(("describe",), f"knows {len(found)} of {TOPICS} topics", "")
        return found

    def _has(self, broker: int) -> bool:
        return any(broker in replicas for replicas in self._replicas())


@dataclass
class Holds:
    """Holds that come and go; of what each holds, another client reads the same records as long as it is granted."""

    purges: Purges
    restarts: Restarts
    goal = "holds whose records were read twice"
    pause = 20.0
    """In which purges have their turn."""
    granted_records: int = 0
    _numbers: count[int] = field(default_factory=count)

    def step(self, patient: Patient) -> str:
        """One hold on every other topic from where it begins."""
        site, number = self.restarts.site, next(self._numbers)
        name, offsets = f"held-{number}", site.toolbox.offsets(f"{site.prefix}_")
        ranges = {topic: offsets[topic] for topic in sorted(offsets)[number % 2 :: 2]}
        try:
            self.purges.place(name, {topic: start for topic, (start, _) in ranges.items()})
            state = patient.until(lambda: self.purges.answer(name), f"{name} is answered", explain=self.purges.explain)
            if state not in GRANTED:
                return f"holds that were {state}"
            before = self._read(patient, ranges)
            patient.rest(30)
            again = self._read(patient, ranges)
            if again != before:
                raise AssertionError(f"what {name} held is not what it was: {before} {again}")
        finally:
            delete_hold(self.purges, name)
        self.granted_records += sum(end - start for start, end in ranges.values())
        return self.goal

    def _read(self, patient: Patient, ranges: Mapping[str, tuple[int, int]]) -> Mapping[str, str]:
        """What another client reads; records that are gone it cannot read at all."""
        toolbox = self.restarts.site.toolbox
        look = partial(digests, toolbox, ",".join(PLAINTEXT), ranges)
        return patient.until(look, f"all of {ranges} is read", explain=self.purges.explain)


def delete_hold(purges: Purges, hold: str) -> None:
    """Deletes a hold, whoever is away, also when the run is over."""
    where = (purges.wal.namespace, "walholds", hold)

    def is_gone() -> bool:
        delete(*where)
        return find(*where) is None

    Patient(threading.Event()).until(is_gone, f"hold {hold} is gone", 120, purges.explain)


@dataclass
class Proofs:
    """Verifications by a person, one after another; a log that nobody cuts has no error but `OF_A_LEADER_BEFORE`."""

    verifications: Verifications
    records: int = 0
    goal = "verifications that Completed"
    pause = 30.0
    _numbers: count[int] = field(default_factory=count)

    def step(self, patient: Patient) -> str:
        """One, to its end."""
        name = f"proof-{next(self._numbers)}"
        self.verifications.request(name)
        explain = self.verifications.explain
        seen = patient.until(lambda: self._over(name), f"{name} is over", JOB_BOUND, explain)
        errors = {str(each["kind"]) for each in seen.findings if each["severity"] == "Error"}
        if errors - OF_A_LEADER_BEFORE:
            raise AssertionError(f"{seen} found what is not so\n{asked(explain)}")
        if seen.verified and seen.counts.get("records") != seen.entries:
            raise AssertionError(f"{seen} did not read all that it says\n{asked(explain)}")
        self.records += seen.counts.get("records", 0)
        return self.goal if seen.stage == "Completed" else f"verifications that {seen.stage}: {seen.outcome}"

    def _over(self, name: str) -> Verification | None:
        found = self.verifications.find(name)
        return found if found.is_over else None


@dataclass
class Copies:
    """Full backups by a person, one after another, each decoded once more; the job of one may be ended by faults."""

    backups: Backups
    records: int = 0
    goal = "backups that Completed"
    pause = 60.0
    _numbers: count[int] = field(default_factory=count)

    def step(self, patient: Patient) -> str:
        """One, to its end."""
        name = f"copy-{next(self._numbers)}"
        self.backups.declare()
        self.backups.begin(name)
        explain = self.backups.explain
        found = patient.until(lambda: self._over(name), f"backup {name} is over", JOB_BOUND, explain)
        if found.reason in LOG_CHANGED or found.findings - OF_A_LEADER_BEFORE:
            raise AssertionError(f"{found} is not the log\n{asked(explain)}")
        if found.stage == "Completed" and found.verified != "Integrity":
            raise AssertionError(f"{found} was not decoded\n{asked(explain)}")
        self.records += found.records
        return f"backups that {found.stage}"

    def _over(self, name: str) -> Backup | None:
        found = next(each for each in self.backups.all() if each.name == name)
        return found if found.stage in {"Completed", "Failed"} else None
