"""Bugs that the operator survives: it goes on without the part of the database that it could not read.

That is right in production, and hides the bug from who looks for exceptions: here it comes through.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from seawall.observe import database
from tests.adversary.judge import Violation


@contextmanager
def bugs_come_through() -> Iterator[None]:
    """What would only be logged is a violation."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database._log, "exception", _come_through)
        yield


def _come_through(_: str, part: str, *__: Any) -> None:
    error = sys.exception()
    raise Violation(f"E: the database's {part}: {type(error).__name__}: {error}")
