"""The labels of a series about one of our objects."""

from __future__ import annotations

from seawall.api.meta import Key

OBJECT = ["namespace", "name"]


def labels_of(key: Key) -> dict[str, str]:
    """By which all series of an object are found, whatever labels they have besides."""
    return {"namespace": key.namespace, "name": key.name}
