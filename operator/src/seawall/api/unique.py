"""Lists in which nothing comes twice: the API server checks that by `x-kubernetes-list-type`, the models by this."""

from __future__ import annotations

from typing import Any

from pydantic import AfterValidator


def _check_unique(values: tuple[Any, ...]) -> tuple[Any, ...]:
    keys = [getattr(value, "name", value) for value in values]
    if twice := next((key for key in keys if keys.count(key) > 1), None):
        raise ValueError(f"{twice} is there twice")
    return values


Unique = AfterValidator(_check_unique)
"""Of a list of texts, or of objects with names."""
