"""Moves of a world, for those who make one before a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def of(method: str, *arguments: Any) -> Callable[[Any], None]:
    """The move that calls this method of a world; it is named by the call."""

    def make(world: Any) -> None:
        getattr(world, method)(*arguments)

    make.__name__ = " ".join(map(str, (method, *arguments)))
    return make
