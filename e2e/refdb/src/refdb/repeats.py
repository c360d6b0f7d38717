"""What is done again: until the outside answers, or every few moments."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from refdb.errors import DatabaseError, Unavailable

T = TypeVar("T")
LOG = logging.getLogger("refdb")
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 5.0


def until_available(attempt: Callable[[], T]) -> T:
    """Tries as long as the outside does not answer; what it says when it answers counts."""
    pause = FIRST_PAUSE
    while True:
        try:
            return attempt()
        except Unavailable as error:
            LOG.warning("Waiting, and trying again in %.1f s: %s", pause, error)
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def every(seconds: float, what: str, action: Callable[[], object], after_failure: float = 5) -> None:
    """Does it now and for ever in a thread of its own; a failure is logged, and followed by so many periods' pause."""

    def run() -> None:
        while True:
            periods = after_failure
            try:
                action()
                periods = 1.0
            except DatabaseError as error:
                LOG.warning("%s: %s", what, error)
            except Exception:
                LOG.exception("%s", what)
            time.sleep(periods * seconds)

    threading.Thread(target=run, name=what, daemon=True).start()
