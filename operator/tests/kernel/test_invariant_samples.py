"""The sampler of the e2e tests finds what it is there to find."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from seawall.domain.ledger.intents import FenceRecord, encode_shard, name_hash
from seawall_e2e.acked_rows import AckedRows
from seawall_e2e.intents import intents_of
from seawall_e2e.invariants import InvariantSampler, Sample, read_granted, violations
from seawall_e2e.site import Site

GOOD = Sample(
    log_starts={"t": 10},
    markers={"t": 11},
    intents={"t": 10},
    granted={"spark": {"t": 10}},
    needed=[{"topic": "t", "entry_id": 12, "region_id": 1}],
)


def test_what_is_well_is_no_violation() -> None:
    assert list(violations(None, GOOD)) == []
    assert list(violations(GOOD, replace(GOOD, log_starts={"t": 9}))) == [], (
        "a log start may go back when a broker dies"
    )


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"needed": [{"topic": "t", "entry_id": 9, "region_id": 7}], "markers": {}}, "I1: t starts at 10, region 7"),
        ({"markers": {"t": 12}}, "I1: the marker of t is 12, region 1 needs 12"),
        ({"log_starts": {"t": 11}, "granted": {}}, "t starts at 11, and the intent was 10"),
        ({"granted": {"spark": {"t": 9}}}, "hold spark was granted 9 of t, which starts at 10"),
        ({"markers": {"t": 8}}, "I2: the marker of t went back from 11 to 8"),
        ({"log_starts": {}, "intents": {"t": 9}}, "I2: the intent of t went back from 10 to 9"),
        ({"disaster": "ForeignDelete: who?"}, "WALIntact is False: ForeignDelete"),
    ],
)
def test_each_violation_is_found(changed: dict[str, Any], said: str) -> None:
    (found,) = violations(GOOD, replace(GOOD, **changed))
    assert found.startswith(said)


def test_intents_and_grants_are_read_from_objects() -> None:
    record = FenceRecord("AAAAAAAAAAAAAAAAAAAAAA", 1, 5, 9, 7)
    shard = base64.b64encode(encode_shard({name_hash("t"): record})).decode()
    hold = {"kind": "WALHold", "metadata": {"name": "h"}, "status": {"state": "Active", "granted": {"t": 7, "*": "e"}}}
    over = {**hold, "metadata": {"name": "o"}, "status": {"state": "Lost", "granted": {"t": 3}}}
    going = {**hold, "metadata": {"name": "g", "deletionTimestamp": "now"}}
    objects: list[dict[str, Any]] = [
        {"kind": "ConfigMap", "binaryData": {"shard": shard}},
        {"kind": "ConfigMap"},
        hold,
        over,
        going,
    ]
    assert intents_of(objects, ["t", "other"]) == {"t": 7}
    assert read_granted(objects) == {"h": {"t": 7}}


Step = Callable[[], Sample | None] | Callable[[], None]


@dataclass
class Looks:
    """What a sampler sees, one look after another; the last one ends it."""

    steps: list[Step]
    sampler: InvariantSampler = field(init=False)
    done: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        toolbox = SimpleNamespace(sampling=lambda *_: nullcontext(None))
        site = SimpleNamespace(toolbox=toolbox, prefix="t", namespace="n")
        self.sampler = InvariantSampler(cast("Site", site), cast("AckedRows", None))

    def __call__(self, *_: object) -> Sample | None:
        if not self.steps:
            self.done.set()
            return None
        return self.steps.pop(0)()


@contextmanager
def sampled(monkeypatch: pytest.MonkeyPatch, looks: Looks) -> Iterator[InvariantSampler]:
    monkeypatch.setattr("seawall_e2e.invariants.PAUSE", 0.0)
    monkeypatch.setattr(InvariantSampler, "_completed", looks)
    with looks.sampler as sampler:
        assert looks.done.wait(30)
        yield sampler


BACK = replace(GOOD, markers={"t": 8})


def test_markers_that_fell_while_they_may_are_no_violation_however_long_a_look_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    time = ExitStack()

    def excused_meanwhile() -> None:
        with looks.sampler.markers_may_fall():  # etcd is restored, and nobody answers before that is over
            pass

    def begins() -> Sample:
        time.enter_context(looks.sampler.markers_may_fall())
        return replace(GOOD, disaster="ForeignDelete: who?")

    looks = Looks(
        [
            lambda: GOOD,
            excused_meanwhile,
            lambda: BACK,
            lambda: GOOD,
            begins,
            lambda: GOOD,
            time.close,
            lambda: BACK,
        ]
    )
    with sampled(monkeypatch, looks) as sampler:
        assert sampler.violations == []
    assert (sampler.samples, sampler.unanswered >= 2) == (6, True)


def test_markers_that_fall_after_that_are_one_and_are_told_beside_what_else_went_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def excused() -> Sample:
        with looks.sampler.markers_may_fall():
            return GOOD

    looks = Looks([excused, lambda: GOOD, lambda: None, lambda: BACK])
    with pytest.raises(KeyError) as failed, sampled(monkeypatch, looks):
        raise KeyError("what else")
    assert failed.value.__notes__ == ["invariants that were broken: I2: the marker of t went back from 11 to 8"]


def test_a_sampler_that_ended_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Sample:
        looks.done.set()
        raise KeyError("status")

    looks = Looks([broken])
    with pytest.raises(AssertionError, match=r"ended: KeyError\('status'\)"), sampled(monkeypatch, looks):
        pass
