"""Spark's daemon of Python workers, with workers that are waited for: what they took is counted then.

pyspark's own ignores SIGCHLD (`manager` of pyspark/daemon.py, 4.0.0): what such children took is added to nobody's.
Whoever adopts the daemon's orphans waits for them: `measured_command.py`.
"""

from __future__ import annotations

import signal
from typing import Any

from pyspark import daemon

_set = signal.signal


def _set_others(number: int, handler: Any) -> Any:
    """As `signal.signal`, but for SIGCHLD."""
    return None if number == signal.SIGCHLD else _set(signal.Signals(number), handler)


if __name__ == "__main__":
    signal.signal = _set_others  # type: ignore[assignment]  # of the calls that there are
    daemon.manager()  # type: ignore[no-untyped-call]
