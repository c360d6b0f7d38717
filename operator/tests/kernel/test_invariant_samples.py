"""The sampler of the e2e tests finds what it is there to find."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import pytest

from seawall.domain.ledger.intents import FenceRecord, encode_shard, name_hash
from seawall_e2e.intents import intents_of
from seawall_e2e.invariants import Sample, read_granted, violations

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
