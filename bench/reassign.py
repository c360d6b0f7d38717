"""Reassignments. Part "plan": placements of 10,000 partitions on 30 brokers, seconds and copies.

Part "move" is `reassign_kafka.py`: a pool that grows from one replica to three under load, against the throttle.

The least number of copies is computed apart, by a closed formula for each case: what partitions lack, and what
brokers have above an equal share. Seconds are also told of the CPU, because the machine may be busy.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from beds import Beds
from reassign_kafka import Load, move
from report import Result
from sizes import Sizes

from seawall.domain.partitions import Broker, BrokerState, Partition, PartitionId
from seawall.domain.placement import Demand, Placement, place

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


@dataclass(frozen=True, slots=True)
class Size:
    """Partitions of part "plan"; of part "move" (without it: 0 megabytes) what `Load` says."""

    partitions: int = 10_000
    megabytes: int = 200
    topics: int = 20
    throttle: int = 6
    rounds: int = 5
    calm: float = 8.0
    at_once: int = 10

    @property
    def load(self) -> Load:
        """Of part "move"."""
        return Load(self.megabytes, self.topics, self.throttle, self.rounds, self.calm, self.at_once)


SIZES = Sizes("reassign", __doc__, Size(), Size(100, megabytes=3, topics=3, throttle=1, rounds=1, calm=1.0))


def main(arguments: Sequence[str] | None = None, beds: Beds | None = None) -> None:
    """Measures and reports; a missed goal is no failure."""
    run = SIZES.parse(arguments)
    report = run.report({"plan": {"brokers": BROKERS, "racks": RACKS}, "move": {"brokers": 3, "throttle": "MiB/s"}})
    report.results += plan(run.size.partitions)
    if run.size.megabytes:
        report.results += move(run.size.load, beds or Beds())
    run.finish(report)


def plan(count: int) -> list[Result]:
    """Part "plan": each case in turn."""
    brokers = [Broker(number, f"rack-{number % RACKS}", BrokerState.ONLINE) for number in range(BROKERS)]
    found: list[Result] = []
    for case in cases(count):
        placement = place(case.partitions, brokers, case.demand)
        assert isinstance(placement, Placement)  # noqa: S101 - a benchmark of nothing would be fast
        what = f"{case.name}, {count:,} partitions on {BROKERS} brokers"
        seconds, cpu = timed(partial(place, case.partitions, brokers, case.demand))
        found += [
            Result(f"plan: {what}", "s", seconds, max_value=2),
            Result(f"CPU of it: {what}", "s", cpu),
            Result(f"copies: {what}", "", [placement.copies], "fewest", [case.fewest], max_value=case.fewest),
        ]
    return found


def cases(count: int) -> list[Planned]:
    """A higher and a lower replication factor, a broker that goes and one that comes."""
    everybody = range(BROKERS)
    one, three = partitions(count, 1, everybody), partitions(count, 3, everybody)
    crowded, names = partitions(count, 3, range(BROKERS - 1)), topic_names(count)
    drained = sum(DRAINED in partition.replicas for partition in three)
    share = 3 * count // BROKERS
    return [
        Planned("rf 1 to 3", one, Demand(dict.fromkeys(names, 3)), 2 * count),
        Planned("rf 1 to 3 in racks of their own", one, Demand(dict.fromkeys(names, 3), racks=True), 2 * count),
        Planned("rf 3 to 2", three, Demand(dict.fromkeys(names, 2)), 0),
        Planned("drain of one broker", three, Demand(exclude=frozenset({DRAINED})), drained),
        Planned("a new broker", crowded, Demand(rebalance=True), above(crowded, share)),
    ]


def partitions(count: int, replicas: int, brokers: range) -> list[Partition]:
    """One partition a topic, replicas at random."""
    chance = random.Random(count)  # noqa: S311 - the same cluster each time
    found = []
    for name in topic_names(count):
        chosen = tuple(chance.sample(brokers, replicas))
        found.append(Partition(PartitionId(name, 0), chosen, frozenset(chosen), chosen[0]))
    return found


def topic_names(count: int) -> list[str]:
    """The topics."""
    return [f"wal_{number}" for number in range(count)]


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
