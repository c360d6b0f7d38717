"""Work beside a nemesis, of `e2e/soak/test_the_hour.py`: what ends a step, what begins it anew, and what ends a run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from seawall_e2e.backups import Backup, Backups
from seawall_e2e.chaos import judged
from seawall_e2e.commands import CommandFailed
from seawall_e2e.loops import Loops, Over, Patient
from seawall_e2e.verifications import Verification, Verifications
from seawall_e2e.waiting import WaitedInVain
from seawall_e2e.work_loops import Copies, Proofs


def refused() -> str:
    raise CommandFailed(("get",), "was not answered", "")


def broken() -> str:
    raise WaitedInVain("not within 900 s: the roll is done")


@dataclass
class Scripted:
    """Work of which each step is written down; the last one is done for ever."""

    steps: list[Callable[[], str]]
    goal: str = "good"
    pause: float = 0.0
    done: list[str] = field(default_factory=list)

    def step(self, _: Patient) -> str:
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        self.done.append(step())
        return self.done[-1]


@dataclass
class Gated:
    """Work that waits for what does not come."""

    goal: str = "rolls"
    pause: float = 0.0
    looked: threading.Event = field(default_factory=threading.Event)

    def step(self, patient: Patient) -> str:
        return patient.until(self._look, "the gate", explain=lambda: "it is shut")

    def _look(self) -> None:
        self.looked.set()


def test_a_step_that_nobody_answers_begins_anew_and_what_is_done_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seawall_e2e.loops.PAUSE", 0.0)
    work = Scripted([refused, lambda: "bad", lambda: "good"])
    with Loops(threading.Event(), [work], once=True) as loops:
        loops.wait(30)
    assert loops.counts == {"steps begun anew": 1, "bad": 1, "good": 1}


def test_work_goes_on_and_on_until_it_is_over() -> None:
    over, thrice = threading.Event(), threading.Event()

    def third() -> str:
        thrice.set()
        return "good"

    with Loops(over, [Scripted([lambda: "good", lambda: "good", third], pause=0.01)]) as loops:
        assert thrice.wait(30)
    assert over.is_set()
    assert loops.counts["good"] >= 2


def test_what_does_not_come_to_its_end_ends_the_run_of_all() -> None:
    over = threading.Event()
    with pytest.raises(AssertionError, match="a loop ended") as failed, Loops(over, [Scripted([broken])]):
        assert over.wait(30)
    assert isinstance(failed.value.__cause__, WaitedInVain)


def test_what_went_wrong_first_is_told_and_not_what_came_of_it() -> None:
    over = threading.Event()
    ended = pytest.raises(AssertionError, match=r"a loop ended: WaitedInVain: .* the roll is done")
    with ended, Loops(over, [Scripted([broken])]):
        refused() if over.wait(30) else None
    with pytest.raises(CommandFailed, match="was not answered"), Loops(threading.Event(), [Scripted([lambda: "good"])]):
        refused()


def test_what_is_not_done_once_in_time_is_named() -> None:
    never = Scripted([lambda: "bad"], pause=60.0)
    with pytest.raises(WaitedInVain, match="good"), Loops(threading.Event(), [never], once=True) as loops:
        loops.wait(0.1)


def test_of_what_is_late_it_is_told_for_what_it_waits() -> None:
    gated = Gated()
    said = r"(?s)not within . s: rolls \(they wait for: the gate\).*it is shut"
    loops = Loops(threading.Event(), [gated], once=True)
    with pytest.raises(WaitedInVain, match=said), loops:
        loops.wait(0.1 if gated.looked.wait(30) else 0)


def test_a_patient_wait_asks_again_has_a_bound_and_ends_with_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seawall_e2e.loops.PAUSE", 0.0)
    over, answers = threading.Event(), iter(("refused", "", "there"))

    def look() -> str:
        found = next(answers)
        return refused() if found == "refused" else found

    assert Patient(over).until(look, "it is there") == "there"
    with pytest.raises(WaitedInVain, match=r"(?s)not within 0 s: the end\nnobody ends it"):
        Patient(over).until(lambda: None, "the end", 0.01, lambda: "nobody ends it")
    with pytest.raises(WaitedInVain, match="the end"):
        Patient(over).until(refused, "the end", 0.01, refused)
    over.set()
    with pytest.raises(Over):
        Patient(over).until(lambda: None, "the end")


GOOD: dict[str, Any] = {
    "seconds": 180,
    "faults": {"broker killed": 1, "etcd restored": 1},
    "heldRecordsReadTwice": 7,
    "mostHoldsAtOnce": 2,
    "entriesDeleted": 8,
    "samples": 100,
    "violations": [],
    "partitions": 6,
    "regions": 6,
    "holds": True,
    "lost": 0,
    "unreadable": None,
    "first": [{"key": "a"}],
    "failedWrites": {"1003": 4},
    "history": [
        {"kind": "broker killed", "victim": "kafka-0", "good_after": 3.0},
        {"kind": "broker frozen", "victim": "kafka-1: found nobody", "good_after": None},
        {"kind": "etcd restored", "victim": "etcd", "good_after": 4.0},
    ],
}


def test_a_run_in_which_everything_took_place_is_good() -> None:
    judged(GOOD)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"lost": 1, "holds": False}, r"a row is lost: \[\{'key': 'a'\}\]"),
        ({"holds": False}, "a row is not as it was written: .*'key': 'a'"),
        ({"holds": False, "unreadable": "code 1003: away"}, "the table could not be read: code 1003: away"),
        ({"violations": ["I1"]}, "an invariant was broken"),
        ({"samples": 11}, "invariants were rarely looked at"),
        ({"faults": {"etcd restored": 1}}, "most faults could not be done"),
        ({"faults": {"broker killed": 2}}, "etcd was not restored"),
        ({"failedWrites": {}}, "no fault reached the writers"),
        ({"entriesDeleted": 0}, "nothing was deleted"),
        ({"heldRecordsReadTwice": 0}, "nothing was held"),
        ({"mostHoldsAtOnce": 0}, "nothing was held"),
        ({"regions": 5}, "a region was not written"),
    ],
)
def test_each_thing_that_is_wrong_is_found(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(AssertionError, match=said) as failed:
        judged({**GOOD, **changed})
    assert "broker frozen, kafka-1: found nobody" in str(failed.value)
    assert "kafka-0" not in str(failed.value), "what could be done is in the output"


def test_all_that_is_wrong_is_told_before_the_counts() -> None:
    with pytest.raises(AssertionError) as failed:
        judged({**GOOD, "entriesDeleted": 0, "regions": 5, "violations": ["I1: t starts at 3"]})
    assert str(failed.value).split("\n")[:3] == [
        "an invariant was broken: ['I1: t starts at 3']",
        "nothing was deleted: 0",
        "a region was not written: 5 of 6",
    ]


@dataclass
class Jobs:
    """Verifications or backups that have ended like this, whatever is asked for."""

    status: dict[str, Any]

    def request(self, name: str) -> None:
        """One that is over at once."""

    def declare(self) -> None:
        """Nothing is needed."""

    begin = request

    def find(self, name: str) -> Verification:
        return Verification.of({"metadata": {"name": name}, "status": self.status})

    def all(self) -> list[Backup]:
        return [Backup.of({"metadata": {"name": "copy-0"}, "spec": {}, "status": self.status})]

    def explain(self) -> str:
        raise CommandFailed(("get",), "was not answered", "")


PROOF: dict[str, Any] = {
    "stage": "Completed",
    "outcome": "Passed",
    "topics": [{"name": "t", "verifiedFrom": 3, "end": 9, "verified": True}],
    "counts": {"records": 6},
    "findings": [{"kind": "SequenceGap", "severity": "Warning"}],
}
LATE = {"kind": "SequenceReused", "severity": "Error"}
GONE = {"kind": "LogStartBeyondReplay", "severity": "Error"}


def proof(**changed: Any) -> str:
    return Proofs(cast("Verifications", Jobs({**PROOF, **changed}))).step(Patient(threading.Event()))


def test_a_verification_may_warn_or_be_ended_and_may_find_what_a_leader_before_wrote_late() -> None:
    assert proof() == Proofs.goal
    assert proof(stage="Failed", outcome="Interrupted") == "verifications that Failed: Interrupted"
    assert proof(stage="Failed", outcome="Failed", findings=[LATE]) == "verifications that Failed: Failed"


def test_a_verification_that_finds_a_record_missing_or_did_not_read_all_ends_the_run() -> None:
    with pytest.raises(AssertionError, match="found what is not so"):
        proof(stage="Failed", outcome="Failed", findings=[LATE, GONE])
    with pytest.raises(AssertionError, match="did not read all"):
        proof(counts={"records": 5})


COPY: dict[str, Any] = {"stage": "Completed", "verified": {"level": "Integrity"}, "counts": {"records": 6}}


def copied(reason: str = "BackedUp", **changed: Any) -> str:
    status = {**COPY, "conditions": [{"type": "Ready", "reason": reason}], **changed}
    return Copies(cast("Backups", Jobs(status))).step(Patient(threading.Event()))


def test_a_backup_may_be_ended_and_may_have_what_a_leader_before_wrote_late() -> None:
    assert copied() == Copies.goal
    assert copied("Interrupted", stage="Failed") == "backups that Failed"
    assert copied("BackupDamaged", stage="Failed", findings=[LATE]) == "backups that Failed"


def test_a_backup_that_is_not_the_log_ends_the_run() -> None:
    with pytest.raises(AssertionError, match="is not the log"):
        copied("BackupDamaged", stage="Failed", findings=[{"kind": "OffsetsMissing"}])
    with pytest.raises(AssertionError, match="is not the log"):
        copied("LogChanged", stage="Failed")
    with pytest.raises(AssertionError, match="was not decoded"):
        copied(verified={})
