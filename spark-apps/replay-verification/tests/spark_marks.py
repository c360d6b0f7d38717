"""The marks of every file with tests on Spark."""

from __future__ import annotations

import pytest

WITH_SPARK = [
    pytest.mark.integration,
    pytest.mark.xdist_group("spark"),  # one worker, so that a session starts once
    # py4j leaves the sockets of Arrow to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
