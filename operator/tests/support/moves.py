"""Moves of a world, for those who make one before a call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.worlds.purge_world import Calls


def of(method: str, *arguments: Any) -> Callable[[Any], None]:
    """The move that calls this method of a world; it is named by the call."""

    def make(world: Any) -> None:
        getattr(world, method)(*arguments)

    make.__name__ = " ".join(map(str, (method, *arguments)))
    return make


def calls_with(
    move: Callable[[Any], object], at: int, world: Any, changing: Iterable[str], younger: Mapping[str, str]
) -> Calls:
    """The calls of one life of a world, right before one of which (`at`, counted from 0) a move is made.

    Args:
        move: what somebody else does.
        at: before which call.
        world: the one that lives; each change is checked.
        changing: the calls that change something.
        younger: by a call what is not unseen any more from it on, for it asks after the move.
    """
    calls = Calls(world.check, changing)

    def before(name: str) -> None:
        if name in younger:
            setattr(world, younger[name], False)
        if len(calls.names) == at + 1:
            for unseen in younger.values():
                setattr(world, unseen, True)
            move(world)

    calls.before = before
    return calls
