"""A roll of three datanodes with something to replay, on pods, against the same restarts by hand, one after another.

A bare replay is what a datanode cannot be without: its pod is deleted, and it lasts until its region acknowledges rows
again. What a roll takes beyond the sum of them is the gate, maintenance, and looks that come a moment late.

The load is real: entries of the regions, decoded and applied one by one. They are copies of one row's, so that they
are quickly written, and stay below the size at which refdb flushes by itself: each restart replays all of them.
"""

from __future__ import annotations

import argparse
import json
import secrets
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from report import Report, Result

from seawall_e2e import guide
from seawall_e2e.bad_records import Region, region_of
from seawall_e2e.cluster import build_operator_image, install_crds, make_namespace, start_platform
from seawall_e2e.commands import kubectl
from seawall_e2e.refdb import DATANODES, RefDb, build_refdb_images
from seawall_e2e.restarts import RIGHTS, Restarts, follow_roll
from seawall_e2e.site import Site
from seawall_e2e.toolbox import Toolbox, toolbox_shell
from seawall_e2e.waiting import wait_until

PROBE = Path(__file__).with_name("roll_probe.py")
NAMES = ("a", "m", "zz")
"""A row's key for each region of the guide's table."""
STATEMENTS = tuple(f'INSERT INTO dist_table(n, row_num) VALUES ("{name}", 1);' for name in NAMES)  # noqa: S608
AT_ONCE = 50_000
"""Entries that are copied by one command, which has a minute."""
BOUND = 600.0
MAX_RATIO = 1.2


@dataclass(slots=True)
class Prober:
    """What the regions answered so far: by region when they last did, and their gaps, in seconds of one clock."""

    last: dict[int, float] = field(default_factory=dict)
    gaps: list[tuple[int, float, float]] = field(default_factory=list)
    """Region, the last acknowledgement before, and the first one after. Shorter ones than a second are none."""

    def hear(self, number: int, answered: float) -> None:
        """A row was acknowledged."""
        before = self.last.get(number, answered)
        if answered - before > 1:
            self.gaps.append((number, before, answered))
        self.last[number] = answered

    def longest(self, number: int, since: float) -> tuple[float, float]:
        """The longest gap of a region that ended after this moment: from when, and until when."""
        found = [(begin, end) for region, begin, end in list(self.gaps) if region == number and end > since]
        return max(found, key=lambda gap: gap[1] - gap[0])


@dataclass(frozen=True, slots=True)
class Bed:
    """A database in sight of the operator, and who restarts it."""

    site: Site
    database: RefDb
    restarts: Restarts
    regions: tuple[Region, ...]
    prober: Prober


def main() -> None:
    """Measures and reports; a missed goal is no failure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--entries", type=int, default=600_000, help="that each datanode replays")
    args = parser.parse_args()
    report = Report("roll", {"datanodes": DATANODES, "entries": args.entries, "flushFirst": False})
    with bed(args.entries) as found:
        report.results += measure(found, args.entries)
    print(f"\n{report.table()}\nwritten to {report.write().relative_to(report.write().parents[2])}")


def measure(bed: Bed, entries: int) -> list[Result]:
    """Each by hand, then all by Seawall; nothing may have been flushed in between."""
    bare, away = [], []
    for number, region in enumerate(bed.regions):
        begin = time.time()
        bed.database.restart(region.datanode, within=BOUND)
        ready = time.time()
        wait_until(lambda of=number, at=ready: bed.prober.last[of] > at, f"{region} is written")  # type: ignore[misc]
        gap = bed.prober.longest(number, begin)
        bare.append(gap[1] - begin)
        away.append(gap[1] - gap[0])
        print(f"datanode {region.datanode} by hand: {bare[-1]:.1f} s", flush=True)
    bed.site.wal_cluster().wait("Serving", kind="DatanodesHealthy")
    if any(bed.database.flushed(region.number) >= entries for region in bed.regions):
        raise RuntimeError("a region was flushed: there is less to replay than before")
    begin = time.time()
    bed.restarts.ask("bench")
    follow_roll(bed.restarts.wal, "bench", within=BOUND, explain=bed.restarts.explain)
    completed = time.time() - begin
    rolled = [bed.prober.longest(number, begin) for number in range(len(bed.regions))]
    against, least = "sum of the bare replays", [sum(bare)]
    serves = max(end for _, end in rolled) - begin
    return [
        Result("roll, until the last datanode serves", "s", [serves], against, least, MAX_RATIO),
        Result("roll, until the database is out of maintenance", "s", [completed], against, least),
        Result(
            "rows of a region are not acknowledged",
            "s",
            [end - since for since, end in rolled],
            "in a restart by hand",
            away,
        ),
    ]


@contextmanager
def bed(entries: int) -> Iterator[Bed]:
    """The local cluster with a database of one region on each datanode, which has so many entries to replay."""
    start_platform()
    image, images = build_operator_image(), build_refdb_images()
    install_crds()
    name = f"bench-{secrets.token_hex(3)}"
    toolbox = Toolbox(f"{name}-toolbox", image, toolbox_shell(f"{name}-toolbox"))
    site = Site(name, image, toolbox)
    for namespace in (toolbox.namespace, site.namespace, site.operator.namespace):
        make_namespace(namespace)
    toolbox.start()
    try:
        site.install(RIGHTS)
        database = RefDb(site.namespace, images)
        restarts = Restarts(site, database)
        restarts.declare(flushFirst=False, replayBudget="30m")
        restarts.wal.wait("Ready")
        database.start()
        regions = fill(database, toolbox, entries)
        with probing(site.namespace) as prober:
            yield Bed(site, database, restarts, regions, prober)
    finally:
        with closing(toolbox.shell):
            site.clear()
        kubectl("delete", "namespace", toolbox.namespace, "--wait=false")


def fill(database: RefDb, toolbox: Toolbox, entries: int) -> tuple[Region, ...]:
    """A row in each region, and copies of its entry."""
    database.execute(guide.CREATE_TABLE)
    found: list[Region] = []
    for answer in database.execute(*STATEMENTS):
        (wrote,) = answer["regions"]
        region = region_of(database, wrote)
        row = range(wrote["entry_id"], wrote["entry_id"] + 1)
        copies = sum(
            toolbox.repeat(region.topic, row, region.number, times=AT_ONCE) for _ in range(0, entries, AT_ONCE)
        )
        print(f"{copies} entries for datanode {region.datanode} in {region.topic}", flush=True)
        found.append(region)
    return tuple(found)


@contextmanager
def probing(namespace: str) -> Iterator[Prober]:
    """Writes to each region all the time."""
    command = ("kubectl", "-n", namespace, "exec", "-i", "deployment/frontend", "--", "python", "-c", PROBE.read_text())
    prober, pipe = Prober(), subprocess.PIPE
    with subprocess.Popen((*command, *STATEMENTS), stdin=pipe, stdout=pipe, text=True) as process:
        listener = threading.Thread(target=listen, args=(process.stdout or (), prober), daemon=True)
        listener.start()
        try:
            wait_until(lambda: len(prober.last) == len(STATEMENTS), "every region acknowledges rows")
            yield prober
        finally:
            process.kill()


def listen(lines: Sequence[str], prober: Prober) -> None:
    """Takes in what the probe says."""
    for line in lines:
        number, _, answered, acknowledged = json.loads(line)
        if acknowledged:
            prober.hear(number, answered)


if __name__ == "__main__":
    main()
