"""Snapshots of many rows, and drivers that are killed while they hand them on."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from equivalent import COLUMNS, KEY
from record_logs import CPU
from test_stream import drivers

from seawall_e2e.waiting import wait_until
from walrecord.region import region_id

SECONDS = 240


def killed_within(request: Path, handed_on: Callable[[], int], most: int, has_all: Callable[[], bool]) -> int:
    """One driver and then two at once are killed within a snapshot of so many rows, and another one ends it.

    `handed_on` counts rows; returns how many were killed.
    """
    before, kills = 0, 0
    for count in (1, 2):
        with drivers(request, request.parent, count) as running:
            wait_until(lambda: handed_on() > before, "rows are handed on", within=SECONDS)  # noqa: B023 - at once
            os.kill(running[0].pid, signal.SIGKILL)  # the Python driver alone: its Java may go on for a moment
            kills += count
        before = handed_on()
        print(f"{before} rows when {count} drivers were killed")  # noqa: T201 - the counts are the evidence
    assert before < most, "it was through before"
    with drivers(request, request.parent, 1):
        wait_until(has_all, "all is handed on", within=SECONDS)
    return kills


def large_snapshot(folder: Path, topics: Sequence[str], files: int, rows: int) -> tuple[str, list[str]]:
    """Of topics with a region each, up to entry 9; its URI, and its rows in order."""
    wanted, regions = list[str](), list[dict[str, Any]]()
    folder.mkdir()
    for number, topic in enumerate(topics):
        names = [f"{topic}-{file}.parquet" for file in range(files)]
        for name in names:
            hosts = [f"{name}-{row:06}" for row in range(rows)]
            table = pa.table({"host": hosts, "ts": list(range(rows)), "load": [0] * rows})
            pq.write_table(table, folder / name, row_group_size=7_000)
            wanted += hosts
        cut = {"entryId": 9, "files": names, "sequence": 20}
        regions.append({"id": region_id(CPU, number), "topic": topic, "columns": COLUMNS, "key": KEY, "cuts": [cut]})
    (folder / "snapshot.json").write_text(json.dumps({"version": 1, "regions": regions}))
    return folder.as_uri(), wanted
