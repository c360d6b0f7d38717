"""Waiting for what Kafka promises to show, some time."""

import time
from collections.abc import Callable


def eventually(holds: Callable[[], bool], timeout: float = 30) -> None:
    """Waits until it holds; it must, within the time."""
    deadline = time.monotonic() + timeout
    while not holds():
        assert time.monotonic() < deadline, f"did not hold within {timeout} s"
        time.sleep(0.1)
