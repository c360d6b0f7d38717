"""How large a PersistentVolumeClaim is, as the API server may write it."""

from __future__ import annotations

from typing import Any

import pytest

from seawall.adapters.kube.kafka_volumes import volume_size
from seawall.adapters.kube.quantity import whole_bytes
from seawall.domain.managed_kafka.found import VolumeSize

GI = 2**30


@pytest.mark.parametrize(
    ("quantity", "wanted"),
    [
        ("200", 200),
        ("1Gi", GI),
        ("1.5G", 1_500_000_000),
        (".5Ki", 512),
        ("1e9", 10**9),
        ("12E-1", 2),
        ("1E", 10**18),
        ("1Ei", 2**60),
        ("1500m", 2),
        ("3k", 3_000),
    ],
)
def test_bytes_are_read_however_they_are_written(quantity: str, wanted: int) -> None:
    assert whole_bytes(quantity) == wanted


@pytest.mark.parametrize("text", ["1 Gi", "Gi!", "1GiB", "one"])
def test_what_is_no_quantity_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="is no quantity"):
        whole_bytes(text)


BOUND: dict[str, Any] = {"phase": "Bound", "capacity": {"storage": "1Gi"}}


def condition(kind: str, status: str = "True", message: str = "") -> dict[str, Any]:
    return {**BOUND, "conditions": [{"type": kind, "status": status, "message": message}]}


@pytest.mark.parametrize(
    ("status", "wanted"),
    [
        ({"phase": "Pending"}, VolumeSize(2 * GI)),
        ({**BOUND, "phase": "Lost"}, VolumeSize(2 * GI)),
        (BOUND, VolumeSize(2 * GI, GI)),
        (condition("Resizing"), VolumeSize(2 * GI, GI)),
        (condition("FileSystemResizePending"), VolumeSize(2 * GI, GI, waits_for_pod=True)),
        (condition("FileSystemResizePending", "False"), VolumeSize(2 * GI, GI)),
        (condition("ControllerResizeError", message="no space"), VolumeSize(2 * GI, GI, trouble="no space")),
        (condition("NodeResizeError"), VolumeSize(2 * GI, GI, trouble="NodeResizeError")),
        (
            {**BOUND, "allocatedResourceStatuses": {"storage": "ControllerResizeInfeasible"}},
            VolumeSize(2 * GI, GI, trouble="its storage driver cannot make it larger (ControllerResizeInfeasible)"),
        ),
        (
            {**BOUND, "allocatedResourceStatuses": {"storage": "ControllerResizeInProgress"}},
            VolumeSize(2 * GI, GI),
        ),
    ],
)
def test_what_a_claim_says_of_its_volume(status: dict[str, Any], wanted: VolumeSize) -> None:
    assert volume_size({"spec": {"resources": {"requests": {"storage": "2Gi"}}}, "status": status}) == wanted


def test_a_claim_without_a_size_has_none() -> None:
    assert volume_size({"spec": {}, "status": BOUND}) is None
