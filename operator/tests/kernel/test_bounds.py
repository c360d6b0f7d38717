"""A bound of a wait counts the time of a busy machine for less, also once the machine is quiet again; what explains."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from seawall_e2e.waiting import FIRST_LINES, LAST_LINES, Bound, WaitedInVain, explained, wait_until


class Machine:
    """A clock, and how busy it is."""

    def __init__(self) -> None:
        self.now, self.times = 0.0, 1.0

    def passes(self, seconds: float, times: float) -> None:
        self.now, self.times = self.now + seconds, times


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    monkeypatch.setattr("seawall_e2e.waiting.time", SimpleNamespace(monotonic=lambda: made.now))
    monkeypatch.setattr("seawall_e2e.waiting.patience", lambda: made.times)
    return made


def test_a_bound_does_not_shrink_when_the_others_have_done(machine: Machine) -> None:
    bound = Bound(90)
    machine.passes(160, times=2.0)
    assert not bound.is_over()
    machine.passes(9, times=1.0)
    assert not bound.is_over(), "80 of its seconds passed while the machine was busy, and 9 since"
    machine.passes(2, times=1.0)
    assert bound.is_over()


def test_a_bound_grows_by_a_load_that_is_seen_late(machine: Machine) -> None:
    bound = Bound(90)
    machine.passes(60, times=1.0)
    assert not bound.is_over()
    machine.passes(100, times=2.0)
    assert not bound.is_over(), "the load is of the last minute"
    machine.passes(40, times=1.0)
    assert bound.is_over()


def test_who_cannot_explain_hides_nothing() -> None:
    def explain() -> str:
        raise KeyError("status")

    with pytest.raises(WaitedInVain, match=r"(?s)not within 0 s: the end\nnobody can explain it: KeyError\(.status.\)"):
        wait_until(lambda: None, "the end", within=0.01, every=0.001, explain=explain)


def test_of_a_long_explanation_the_beginning_and_the_end_are_told() -> None:
    lines = explained(lambda: "\n".join(map(str, range(1000)))).split("\n")
    assert len(lines) == FIRST_LINES + 1 + LAST_LINES
    assert lines[:2] + lines[FIRST_LINES : FIRST_LINES + 1] + lines[-1:] == ["0", "1", "… 940 lines …", "999"]
    assert explained(lambda: "x" * 1000).endswith("x …")
    assert explained(lambda: "short\n") == "short\n"
