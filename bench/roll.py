"""A roll of three datanodes with something to replay, on pods, against the same restarts by hand, one after another.

A bare replay is what a datanode cannot be without: its pod is deleted, and it lasts until its region acknowledges rows
again. What a roll takes beyond the sum of them is the gate, maintenance, and looks that come a moment late.

The load is real: entries of the regions, decoded and applied one by one. They are copies of one row's, so that they
are quickly written, and stay below the size at which refdb flushes by itself: each restart replays all of them.
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from pods import Place, own_place
from report import Result
from sizes import Sizes

from seawall_e2e import guide
from seawall_e2e.bad_records import Region, region_of
from seawall_e2e.refdb import DATANODES, RefDb, build_refdb_images
from seawall_e2e.restarts import RIGHTS, Restarts, follow_roll
from seawall_e2e.site import Site
from seawall_e2e.toolbox import Toolbox
from seawall_e2e.waiting import wait_until

PROBE = Path(__file__).with_name("roll_probe.py")
NAMES = ("a", "m", "zz")
"""A row's key for each region of the guide's table."""
STATEMENTS = tuple(f'INSERT INTO dist_table(n, row_num) VALUES ("{name}", 1);' for name in NAMES)  # noqa: S608
AT_ONCE = 50_000
"""Entries that are copied by one command, which has a minute."""
BOUND = 600.0
MAX_RATIO = 1.2


@dataclass(frozen=True, slots=True)
class Size:
    """Entries that each datanode replays, and how often all is measured."""

    entries: int = 900_000
    rounds: int = 5


SIZES = Sizes("roll", __doc__, Size(), Size(1_000, 1))


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


@dataclass(frozen=True, slots=True)
class Round:
    """Seconds of one round: of each bare replay, of the roll, and without rows (by hand, and in the roll)."""

    bare: list[float]
    serves: float
    completed: float
    away: list[float]
    away_in_roll: list[float]


def main(arguments: Sequence[str] | None = None, place: Place | None = None) -> None:
    """Measures and reports; a missed goal is no failure."""
    run = SIZES.parse(arguments)
    report = run.report({"datanodes": DATANODES, "flushFirst": False})
    with own_place() if place is None else nullcontext(place) as found, bed(found, run.size.entries) as made:
        rounds = [measure(made, run.size.entries, number) for number in range(run.size.rounds)]
    report.results += lines(rounds)
    run.finish(report)


def lines(rounds: Sequence[Round]) -> list[Result]:
    """What the rounds say."""
    against, sums = "sum of the bare replays", [sum(each.bare) for each in rounds]
    away = [seconds for each in rounds for seconds in each.away]
    in_roll = [seconds for each in rounds for seconds in each.away_in_roll]
    return [
        Result("roll, until the last datanode serves", "s", [each.serves for each in rounds], against, sums, MAX_RATIO),
        Result(
            "roll, until the database is out of maintenance", "s", [each.completed for each in rounds], against, sums
        ),
        Result("rows of a region are not acknowledged", "s", in_roll, "in a restart by hand", away),
    ]


def measure(bed: Bed, entries: int, number: int) -> Round:
    """Each by hand, then all by Seawall; nothing may have been flushed in between."""
    bare, away = [], []
    for index, region in enumerate(bed.regions):
        begin = time.time()
        bed.database.restart(region.datanode, within=BOUND)
        ready = time.time()
        wait_until(lambda of=index, at=ready: bed.prober.last[of] > at, f"{region} is written")  # type: ignore[misc]
        gap = bed.prober.longest(index, begin)
        bare.append(gap[1] - begin)
        away.append(gap[1] - gap[0])
        print(f"datanode {region.datanode} by hand: {bare[-1]:.1f} s", flush=True)
    bed.site.wal_cluster().wait("Serving", kind="DatanodesHealthy")
    if any(bed.database.flushed(region.number) >= entries for region in bed.regions):
        raise RuntimeError("a region was flushed: there is less to replay than before")
    begin, request = time.time(), f"bench-{number}"
    bed.restarts.ask(request)
    follow_roll(bed.restarts.wal, request, within=BOUND, explain=bed.restarts.explain)
    completed = time.time() - begin
    rolled = [bed.prober.longest(index, begin) for index in range(len(bed.regions))]
    serves = max(end for _, end in rolled) - begin
    return Round(bare, serves, completed, away, [end - since for since, end in rolled])


@contextmanager
def bed(place: Place, entries: int) -> Iterator[Bed]:
    """A database of one region on each datanode, which has so many entries to replay."""
    place.site.install(RIGHTS)
    database = RefDb(place.site.namespace, build_refdb_images())
    restarts = Restarts(place.site, database)
    restarts.declare(flushFirst=False, replayBudget="30m")
    restarts.wal.wait("Ready")
    database.start()
    regions = fill(database, place.toolbox, entries)
    with probing(place.site.namespace) as prober:
        yield Bed(place.site, database, restarts, regions, prober)


def fill(database: RefDb, toolbox: Toolbox, entries: int) -> tuple[Region, ...]:
    """A row in each region, and copies of its entry."""
    database.execute(guide.CREATE_TABLE)
    found: list[Region] = []
    for answer in database.execute(*STATEMENTS):
        (wrote,) = answer["regions"]
        region = region_of(database, wrote)
        row = range(wrote["entry_id"], wrote["entry_id"] + 1)
        copies = sum(
            toolbox.repeat(region.topic, row, region.number, times=min(AT_ONCE, entries - done))
            for done in range(0, entries, AT_ONCE)
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
