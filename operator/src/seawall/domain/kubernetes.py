"""A ConfigMap as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from seawall.api.meta import Key


@dataclass(frozen=True, slots=True)
class ConfigMap:
    """A ConfigMap's data, the UID of the object that controls it, and the version read (None: not there yet)."""

    key: Key
    data: Mapping[str, str]
    controller_uid: str | None = None
    resource_version: str | None = None
    binary_data: Mapping[str, bytes] = field(default_factory=dict)
    is_immutable: bool = False
    """Whether the API server refuses every later change of its data."""
