"""How large a PersistentVolumeClaim is, in what the API server has of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seawall.adapters.kube.quantity import whole_bytes
from seawall.domain.managed_kafka.found import VolumeSize

_LONGEST = 400
"""Characters of what Kubernetes says of a growth."""
_FAILURES = ("ControllerResizeError", "NodeResizeError")
"""Conditions of a claim whose growth failed."""


def volume_size(claim: Mapping[str, Any]) -> VolumeSize | None:
    """None: it says no size."""
    requested = _bytes((claim["spec"].get("resources") or {}).get("requests"))
    status = claim.get("status") or {}
    if requested is None:
        return None
    holding = {each["type"]: each for each in status.get("conditions") or () if each.get("status") == "True"}
    capacity = _bytes(status.get("capacity")) if status.get("phase") == "Bound" else None
    return VolumeSize(requested, capacity, "FileSystemResizePending" in holding, _trouble(holding, status))


def _bytes(amounts: Mapping[str, Any] | None) -> int | None:
    found = (amounts or {}).get("storage")
    return None if found is None else whole_bytes(str(found))


def _trouble(holding: Mapping[str, Mapping[str, Any]], status: Mapping[str, Any]) -> str:
    for kind in _FAILURES:
        if kind in holding:
            return str(holding[kind].get("message") or kind)[:_LONGEST]
    state = str((status.get("allocatedResourceStatuses") or {}).get("storage") or "")
    return f"its storage driver cannot make it larger ({state})" if state.endswith("Infeasible") else ""
