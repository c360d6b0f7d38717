"""Faults of all kinds in a loop while rows are written; the counts go to results/acked-rows.json."""

from __future__ import annotations

import json
import os
import subprocess
import time
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from seawall_e2e.acked_rows import TABLE, AckedRows
from seawall_e2e.cluster import BROKERS
from seawall_e2e.faults import (
    AllDatanodesKilled,
    BrokerKilled,
    DatanodeKilled,
    FaultKind,
    FaultLog,
    LeaderStopped,
    TableFlushed,
    homecoming,
)
from seawall_e2e.refdb import DATANODES, RefDb
from seawall_e2e.site import Site

SECONDS = int(os.environ.get("SOAK_SECONDS", "600"))
RESULTS = Path(__file__).with_name("results")


@pytest.mark.timeout(SECONDS + 900)
def test_a_loop_of_faults_loses_no_acknowledged_row(site: Site, database: RefDb, checker_image: str) -> None:
    faults = FaultLog()
    with AckedRows(database, checker_image) as rows:
        began = time.monotonic()
        for number in count():
            apply_one_of_each(number, site, database, rows, faults)
            if time.monotonic() - began >= SECONDS:
                break
        seconds = time.monotonic() - began
        rows.wait_for_more(50, readings=1)
    faults.run(AllDatanodesKilled(database))

    verdict = rows.judge()

    write("acked-rows", {"seconds": round(seconds), "faults": faults.counts, **verdict})
    assert verdict["holds"]
    assert verdict["lost"] == 0
    assert verdict["regions"] == rows.partitions
    assert set(faults.counts) == set(FaultKind)


def apply_one_of_each(number: int, site: Site, database: RefDb, rows: AckedRows, faults: FaultLog) -> None:
    """One round; each has other victims."""
    victim, other = number % DATANODES, (number + 1) % DATANODES
    faults.run(*homecoming(database), TableFlushed(database, TABLE))
    with faults.apply(DatanodeKilled(database, victim)):
        rows.wait_for_more(10)
    faults.run(DatanodeKilled(database, other))
    rows.wait_until_written_everywhere()
    with faults.apply(BrokerKilled(site, number % BROKERS)):
        faults.run(DatanodeKilled(database, victim))
        rows.wait_until_written_everywhere()
    faults.run(*homecoming(database), TableFlushed(database, TABLE))
    with faults.apply(LeaderStopped(database, victim)):
        rows.wait_until_written_everywhere()  # soon: the writes that wait at the stopped leader must see it wake up
    faults.run(DatanodeKilled(database, other))
    rows.wait_until_written_everywhere()
    faults.run(AllDatanodesKilled(database))
    rows.wait_until_written_everywhere()


def write(name: str, counts: dict[str, Any]) -> None:
    """Writes what a run came to."""
    body = {
        "command": f"make e2e-soak SOAK_SECONDS={SECONDS}",
        "commit": said("git", "rev-parse", "--short=12", "HEAD") + (" with changes" if said(*CHANGES) else ""),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        **counts,
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(body, indent=2) + "\n")


CHANGES = ("git", "status", "--porcelain", "--", "e2e", "operator/src", "spark-apps")


def said(*command: str) -> str:
    """What a command prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=RESULTS.parent).stdout.strip()
