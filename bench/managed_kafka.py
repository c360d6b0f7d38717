"""A Kafka that Seawall runs, on pods, against the same objects by hand: how soon it serves, and what its restart costs.

Three nodes that are brokers and controllers. By hand all objects are applied at once, and later each pod is deleted
once the one before serves and all replicas are in sync: no less is safe. Both sides are watched by the same client.
"""

from __future__ import annotations

import copy
import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from kafka_by_hand import ByHand, tokens_of, with_addresses
from pods import Place, own_place
from report import Result
from sizes import Sizes

from seawall_e2e.cluster import make_namespace
from seawall_e2e.commands import Object
from seawall_e2e.managed_kafka import ManagedKafka, combined
from seawall_e2e.objects import delete
from seawall_e2e.waiting import wait_until

PROBE = Path(__file__).with_name("kafka_probe.py")
TOPIC = "probe"
NODES = (0, 1, 2)
DWELL = 2.0
DWELLS = len(NODES) + 1
"""One before the first, in which all others have to be in sync, and one after each."""
ADDRESSED = "a ClusterIP for each node"
BOUND = 300.0


@dataclass(frozen=True, slots=True)
class Size:
    """How often all is measured; `addresses` 1: also by hand with a ClusterIP for each node, not a headless Service."""

    rounds: int = 5
    addresses: int = 0


SIZES = Sizes("kafka", __doc__, Size(), Size(1))


@dataclass(frozen=True, slots=True)
class Measured:
    """One life of a Kafka: seconds until it serves and of its roll, milliseconds between acknowledgements meanwhile."""

    serves: float
    roll: float
    p99: float
    longest: float


@dataclass(frozen=True, slots=True)
class Probe:
    """A client in a pod.

    Attributes:
        served: when all brokers had acknowledged its first records, in seconds of the machine's clock.
    """

    served: float
    asks: IO[str]
    answers: IO[str]

    def ask(self, what: str) -> dict[str, Any]:
        """As `kafka_probe.py` answers it."""
        self.asks.write(f"{what}\n")
        self.asks.flush()
        found: dict[str, Any] = json.loads(self.answers.readline())
        return found

    def wait_in_sync(self) -> None:
        """Until all replicas of its topic are."""
        wait_until(lambda: self.ask("in-sync")["in-sync"], "all replicas are in sync", within=BOUND)

    def begin(self) -> None:
        """Gaps of before do not count; there may be none yet."""
        self.ask("gaps")

    def gaps(self) -> tuple[float, float]:
        """The 99th percentile and the longest since the beginning."""
        told = self.ask("gaps")
        if told["failed"]:
            raise RuntimeError(f"{len(told['failed'])} records failed: {told['failed'][0]}")
        return float(told["p99"]), float(told["longest"])


def main(arguments: Sequence[str] | None = None, place: Place | None = None) -> None:
    """Measures and reports; a missed goal is no failure."""
    run = SIZES.parse(arguments)
    report = run.report({"nodes": len(NODES), "dwellSeconds": DWELL, "heap": "256Mi"})
    with own_place() if place is None else nullcontext(place) as found:
        found.site.install("managedKafka.enabled=true")
        hand = f"{found.site.namespace}-hand"
        make_namespace(hand)
        try:
            all_ = [measure(found, hand, f"kafka{number}", run.size) for number in range(run.size.rounds)]
        finally:
            delete(None, "namespaces", hand)
    ours, by_hand, addressed = ([of for each in all_ if (of := each[side]) is not None] for side in range(3))
    report.results += lines(ours, by_hand)
    if addressed:
        report.results += lines(addressed, by_hand, f" by hand, {ADDRESSED}")
    run.finish(report)


def lines(ours: Sequence[Measured], theirs: Sequence[Measured], side: str = "") -> list[Result]:
    """What the rounds say of us, or of another side."""
    against = "the same objects by hand"

    def line(metric: str, unit: str, of: str, max_ratio: float | None = None, max_value: float | None = None) -> Result:
        mine, others = ([getattr(each, of) for each in rounds] for rounds in (ours, theirs))
        goals = (None, None) if side else (max_ratio, max_value)
        return Result(metric + side, unit, mine, against, others, *goals)

    return [
        line("bring-up, until all brokers have acknowledged a record", "s", "serves", 1.3),
        line("roll of all nodes, dwell apart", "s", "roll", 1.2),
        line("between two acknowledgements in a roll, p99", "ms", "p99", 1.1),
        line("between two acknowledgements in a roll, longest", "ms", "longest", max_value=3_000),
    ]


def measure(place: Place, hand: str, name: str, size: Size) -> tuple[Measured, Measured, Measured | None]:
    """Seawall's first, because its objects are the others', too."""
    kafka, by_hand = ManagedKafka(place.site.wal_cluster(name)), ByHand(hand, name)
    ours, objects = of_seawall(place, kafka, by_hand)
    theirs = of_a_person(place, by_hand, objects)
    addressed = of_a_person(place, by_hand, with_addresses(objects)) if size.addresses else None
    print(f"{name}: {ours}\nby hand: {theirs}\n{ADDRESSED}: {addressed}", flush=True)
    return ours, theirs, addressed


def of_seawall(place: Place, kafka: ManagedKafka, by_hand: ByHand) -> tuple[Measured, list[Object]]:
    """Its life by Seawall, and what a person applies for the same."""
    name = kafka.wal.name
    spec = combined(place.site.namespace, name, f"{place.site.prefix}_{name}", f"{DWELL:g}s")
    began = time.time()
    kafka.apply(spec)
    tokens = tokens_of(kafka.wal.namespace, kafka.wal.name, len(NODES))
    with probing(place, kafka.wal.namespace, kafka.wal.name) as probe:
        kafka.wal.wait("AllOnline", kind="KafkaNodesHealthy", within=BOUND)
        kafka.wal.wait("Ready", within=BOUND)
        objects = by_hand.copy(kafka.wal.namespace, tokens)
        probe.wait_in_sync()
        probe.begin()
        edited = copy.deepcopy(spec)
        edited["spec"]["kafka"]["managed"]["config"]["num.replica.fetchers"] = "2"
        rolls = time.time()
        kafka.apply(edited)
        wait_until(lambda: kafka.roll() == "Completed", "all nodes were restarted", within=BOUND, explain=kafka.told)
        roll = time.time() - rolls - DWELL * DWELLS
        probe.wait_in_sync()
        p99, longest = probe.gaps()
    delete(kafka.wal.namespace, "walclusters", kafka.wal.name)
    kafka.wait_gone()
    delete(kafka.wal.namespace, "persistentvolumeclaims")
    return Measured(probe.served - began, roll, p99, longest), objects


def of_a_person(place: Place, by_hand: ByHand, objects: list[Object]) -> Measured:
    """Its life by hand."""
    began = time.time()
    by_hand.apply(objects)
    with probing(place, by_hand.namespace, by_hand.name) as probe:
        probe.wait_in_sync()
        probe.begin()
        rolls = time.time()
        for node in NODES:
            by_hand.restart(node, BOUND)
            probe.wait_in_sync()
        roll = time.time() - rolls
        p99, longest = probe.gaps()
    by_hand.clear()
    return Measured(probe.served - began, roll, p99, longest)


@contextmanager
def probing(place: Place, namespace: str, name: str) -> Iterator[Probe]:
    """A client of all brokers, from when they are there."""
    brokers = [f"{name}-{node}.{namespace}.svc:9092" for node in NODES]
    in_pod = ("kubectl", "-n", place.toolbox.namespace, "exec", "-i", "toolbox", "--", "python", "-c")
    pipe = subprocess.PIPE
    with subprocess.Popen(
        (*in_pod, PROBE.read_text(), TOPIC, *brokers), stdin=pipe, stdout=pipe, text=True, bufsize=1
    ) as process:
        if process.stdin is None or process.stdout is None:
            raise ValueError("a process with pipes has pipes")
        try:
            first = process.stdout.readline()
            if not first:
                raise RuntimeError("the client ended before Kafka served")
            yield Probe(json.loads(first)["served"], process.stdin, process.stdout)
        finally:
            process.kill()


if __name__ == "__main__":
    main()
