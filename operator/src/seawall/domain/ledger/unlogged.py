"""Regions whose rows are written without their log: a table that was altered to `skip_wal`.

It keeps its topic and its keys, and its flushed id stays at the last record that it wrote, so its topic may be kept for
long. That is no licence to delete: what was written before is read at the next start as ever. What is written since is
nowhere but in the memory of its datanode.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from seawall.domain.ledger.regions import RegionsOfTopics
from seawall.domain.text import few

UNPROTECTED = "neither purge, backup nor replay protects them; flush before a restart"


def unlogged_problem(table: RegionsOfTopics, unlogged: Collection[int], pool: Collection[str]) -> str | None:
    """Of which topics of the pool that is so, in one sentence; None: of none."""
    if not unlogged:
        return None  # as nearly always, and there may be a million regions
    regions = table.regions
    wanted = np.fromiter(unlogged, np.uint64, count=len(unlogged))
    counts = np.bincount(regions.topic[np.isin(regions.region, wanted)], minlength=len(table.names))
    found = {table.names[row]: int(counts[row]) for row in np.flatnonzero(counts) if table.names[row] in pool}
    if not found:
        return None
    parts = few(f"{count} regions of topic {name}" for name, count in found.items())
    return f"rows of {parts} are written without the log (skip_wal): {UNPROTECTED}"
