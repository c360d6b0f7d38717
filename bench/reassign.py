"""Reassignments. Part "plan": placements of 10,000 partitions on 30 brokers, seconds and copies.

Part "move" is `reassign_kafka.py`: a pool that grows from one replica to three under load, against the throttle.

The least number of copies is computed apart, by a closed formula for each case: what partitions lack, and what
brokers have above an equal share. Seconds are also told of the CPU, because the machine may be busy.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from reassign_kafka import TOPICS, move
from report import Report, Result

from seawall.domain.partitions import Broker, BrokerState, Partition, PartitionId
from seawall.domain.placement import Demand, Placement, place

PARTITIONS = 10_000
BROKERS = 30
RACKS = 3
REPETITIONS = 5
DRAINED = 7


@dataclass(frozen=True, slots=True)
class Planned:
    """One case: its name, what is placed, what is asked, and the fewest copies that there can be."""

    name: str
    partitions: Sequence[Partition]
    demand: Demand
    fewest: int


def main() -> None:
    """Measures and reports; a missed goal is no failure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=200, help="that part move copies twice; 0: part plan only")
    parser.add_argument("--throttle", type=int, default=6, help="MiB a second, of part move")
    args = parser.parse_args()
    report = Report(
        "reassign",
        {
            "plan": {"partitions": PARTITIONS, "brokers": BROKERS, "racks": RACKS},
            "move": {"megabytes": args.megabytes, "topics": TOPICS, "throttleMiB": args.throttle, "brokers": 3},
        },
    )
    report.results += plan()
    if args.megabytes:
        report.results += move(args.megabytes, args.throttle)
    print(f"\n{report.table()}\nwritten to {report.write().relative_to(report.write().parents[2])}")


def plan() -> list[Result]:
    """Part "plan": each case in turn."""
    brokers = [Broker(number, f"rack-{number % RACKS}", BrokerState.ONLINE) for number in range(BROKERS)]
    found: list[Result] = []
    for case in cases():
        placement = place(case.partitions, brokers, case.demand)
        assert isinstance(placement, Placement)  # noqa: S101 - a benchmark of nothing would be fast
        what = f"{case.name}, {PARTITIONS:,} partitions on {BROKERS} brokers"
        seconds, cpu = timed(partial(place, case.partitions, brokers, case.demand))
        found += [
            Result(f"plan: {what}", "s", seconds, max_value=2),
            Result(f"CPU of it: {what}", "s", cpu),
            Result(f"copies: {what}", "", [placement.copies], "fewest", [case.fewest], max_value=case.fewest),
        ]
    return found


def cases() -> list[Planned]:
    """A higher and a lower replication factor, a broker that goes and one that comes."""
    everybody = range(BROKERS)
    one, three = partitions(1, everybody), partitions(3, everybody)
    crowded = partitions(3, range(BROKERS - 1))
    drained = sum(DRAINED in partition.replicas for partition in three)
    share = 3 * PARTITIONS // BROKERS
    return [
        Planned("rf 1 to 3", one, Demand(dict.fromkeys(names(), 3)), 2 * PARTITIONS),
        Planned("rf 1 to 3 in racks of their own", one, Demand(dict.fromkeys(names(), 3), racks=True), 2 * PARTITIONS),
        Planned("rf 3 to 2", three, Demand(dict.fromkeys(names(), 2)), 0),
        Planned("drain of one broker", three, Demand(exclude=frozenset({DRAINED})), drained),
        Planned("a new broker", crowded, Demand(rebalance=True), above(crowded, share)),
    ]


def partitions(replicas: int, brokers: range) -> list[Partition]:
    """One partition a topic, replicas at random."""
    chance = random.Random(PARTITIONS)  # noqa: S311 - the same cluster each time
    found = []
    for name in names():
        chosen = tuple(chance.sample(brokers, replicas))
        found.append(Partition(PartitionId(name, 0), chosen, frozenset(chosen), chosen[0]))
    return found


def names() -> list[str]:
    """The topics."""
    return [f"wal_{number}" for number in range(PARTITIONS)]


def above(found: Sequence[Partition], share: int) -> int:
    """What brokers have above their share; all of it must be copied, because the share divides evenly."""
    load = Counter(broker for partition in found for broker in partition.replicas)
    return sum(max(0, count - share) for count in load.values())


def timed(work: Callable[[], object]) -> tuple[list[float], list[float]]:
    """Seconds of some repetitions, by the clock and of the CPU."""
    seconds, cpu = [], []
    for _ in range(REPETITIONS):
        begin, begin_cpu = time.perf_counter(), time.process_time()
        work()
        seconds.append(time.perf_counter() - begin)
        cpu.append(time.process_time() - begin_cpu)
    return seconds, cpu


if __name__ == "__main__":
    main()
