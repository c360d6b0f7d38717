"""What worlds on the in-memory ports have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Unwatched:
    """Makes each call."""

    def guard(self, port: Any) -> Any:
        """The same port."""
        return port


def edit_annotations(annotations: dict[str, str], changes: Mapping[str, str | None]) -> None:
    """Sets those of ours, or takes them off: `stop_deletes` is seawall.dev/stop-deletes."""
    for name, value in changes.items():
        key = f"seawall.dev/{name.replace('_', '-')}"
        annotations.pop(key, None)
        if value is not None:
            annotations[key] = value
