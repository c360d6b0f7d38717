"""Whoever imports this is killed by the kernel when the thread that started it ends, however that happens.

The fork server imports it for this effect; a fork, which does not inherit it, calls `die_with_parent` itself.
"""

from __future__ import annotations

import ctypes
import signal

_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Lets the kernel send SIGKILL to this process when its parent's thread ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


die_with_parent()
