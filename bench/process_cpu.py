"""What processes that run have cost so far."""

from __future__ import annotations

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_of(root: int) -> float:
    """CPU seconds of a process, of all below it, and of those that these have waited for."""
    stats = dict(_stats())
    below = {root}
    while more := {pid for pid, (parent, _) in stats.items() if parent in below} - below:
        below |= more
    return sum(stats[pid][1] for pid in below if pid in stats) / _TICKS


def _stats() -> list[tuple[int, tuple[int, int]]]:
    """Each process with its parent and its ticks of CPU (proc(5), the fields ppid, utime, stime, cutime, cstime)."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        found.append((int(path.parent.name), (int(fields[1]), sum(map(int, fields[11:15])))))
    return found
