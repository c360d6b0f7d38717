"""Runs a command and says what it and everything that it started took: `measured_command.py <command …>`.

Spark's Java and Python workers outlive those that started them, so this process adopts orphans and waits for all. The
last line of its stdout is JSON: wall seconds, CPU seconds, and the greatest resident memory of one process in MiB.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, slots=True)
class Cost:
    """What a command took."""

    seconds: float
    cpu_seconds: float
    mebibytes: float


def measure(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Cost:
    """Runs a command to its end; it must succeed."""
    wrapped = [sys.executable, str(Path(__file__)), *command]
    variables = {**os.environ, **(environment or {})}
    done = subprocess.run(wrapped, env=variables, capture_output=True, text=True, timeout=3600, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)[:300]} ended with {done.returncode}\n{done.stderr[-3000:]}")
    return Cost(**json.loads(done.stdout.strip().splitlines()[-1]))


def main() -> None:
    """Runs and measures."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    started = time.monotonic()
    code = subprocess.run(sys.argv[1:], stdout=sys.stderr, check=False).returncode
    took = time.monotonic() - started
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cost = {"seconds": took, "cpu_seconds": used.ru_utime + used.ru_stime, "mebibytes": used.ru_maxrss / 1024}
    print(json.dumps(cost))
    sys.exit(code)


if __name__ == "__main__":
    main()
