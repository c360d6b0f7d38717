"""Guards that stand in the middle of a function: it is compiled anew without them."""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import pytest


def rewritten(
    owner: Any,
    name: str,
    guard: str,
    instead: str,
    *users: Any,
) -> Callable[[pytest.MonkeyPatch], None]:
    """A mutant: in the function of this name the text `guard`, which is in it once, is another one.

    `users` are the modules that have imported the function by its name.
    """
    honest = inspect.unwrap(getattr(owner, name))  # what is kept of one that is cached is not the mutant
    source = textwrap.dedent(inspect.getsource(honest))
    assert source.count(guard) == 1, f"{name} has {guard!r} {source.count(guard)} times"
    made: dict[str, Any] = {}
    # Annotations are strings in these modules, and stay so.
    code = compile(
        f"from __future__ import annotations\n{source.replace(guard, instead)}", inspect.getfile(honest), "exec"
    )
    exec(code, sys.modules[honest.__module__].__dict__, made)  # noqa: S102 - our own source

    def mutate(patch: pytest.MonkeyPatch) -> None:
        for each in (owner, *users):
            patch.setattr(each, name, made[name])

    mutate.__name__ = f"{name}: {guard}"
    return mutate
