"""Drivers of subscriptions that are killed, and what samples their holds meanwhile."""

from __future__ import annotations

import base64
import gzip
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import KafkaException

from seawall_e2e.soak import write_counts
from seawall_e2e.waiting import wait_until
from tests.support.kafka import KafkaEyes
from tests.support.kube import OBJECTS, KubeClient
from tests.support.site import Site
from tests.support.spark import SparkOperatorRole

SECONDS = float(os.environ.get("FAULT_SECONDS", "150"))
DRIVER = """
import json, sys, time
from kafka.errors import KafkaError
from sparkjob.errors import Interrupted, Refused

content, micro = open(sys.argv[1], "rb").read(), None
match json.loads(content).get("sink"):
    case "Records":
        from wal_subscription.records.micro_batches import RecordsBatches as Batches
        from wal_subscription.records.process import copy
        from wal_subscription.records.request import parse_records_request as parse
    case "Table":
        from wal_subscription.table.micro_batches import TableBatches as Batches
        from wal_subscription.table.process import copy
        from wal_subscription.table.request import parse_table_request as parse
    case _:
        from wal_subscription.copier import copy
        from wal_subscription.micro_batches import MicroBatches as Batches
        from wal_subscription.request import parse_request as parse
while True:
    try:
        micro = micro or Batches(parse(content), lambda jobs, sides, _: [copy(job, sides) for job in jobs])
        micro.once()
        assert not micro.stops, micro.stops
    except (Interrupted, Refused, KafkaError, OSError):
        micro = None
    time.sleep(0.02)
"""


@dataclass
class Drivers:
    """Two processes at once that copy, as Spark would run them."""

    request: Path
    counts: Counter[str] = field(default_factory=Counter)
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self) -> None:
        """One more."""
        self.running.append(subprocess.Popen([sys.executable, "-c", DRIVER, str(self.request)]))  # noqa: S603 - ours

    def kill(self, number: int) -> None:
        """One, and another takes its place."""
        driver = self.running.pop(number)
        driver.kill()
        driver.wait()
        self.counts["drivers killed"] += 1
        self.start()

    def freeze(self, number: int, seconds: float) -> None:
        """One, for a while."""
        self.running[number].send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.running[number].send_signal(signal.SIGCONT)
        self.counts["drivers frozen"] += 1

    def close(self) -> None:
        """Ends all."""
        for driver in self.running:
            driver.kill()
            driver.wait()


@dataclass
class Sampler:
    """Reads a hold, and then how far what it is for is, as often as it can.

    Attributes:
        of: the WALHold, as a path of the API.
        stored: up to where the sink has each topic; None: nobody says.
    """

    kube: KubeClient
    of: str
    stored: Callable[[], Mapping[str, int] | None]
    samples: int = 0
    moves: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)

    def once(self) -> None:
        """One look. The sink is read last: a hold that is right may be behind it by then, and never ahead."""
        hold = self.kube.find(self.of)
        stored = None if hold is None else self.stored()
        if hold is None or stored is None:
            return
        self.samples += 1
        self.moves.add(json.dumps(hold["spec"]["topics"], sort_keys=True))
        for claimed in (hold["spec"]["topics"], hold.get("status", {}).get("granted", {})):
            ahead = {name: (at, stored[name]) for name, at in claimed.items() if at > stored.get(name, at)}
            if ahead:
                time.sleep(0.5)
                later = self.stored() or {}
                again = {name: later.get(name) for name in ahead}
                self.wrong.append(f"held from, and where the sink ends: {ahead}; half a second later: {again}")

    @contextmanager
    def looks(self) -> Iterator[None]:
        """For as long as this is open."""
        is_over = threading.Event()

        def look() -> None:
            while not is_over.wait(0.05):
                self.once()

        thread = threading.Thread(target=look)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()


def hold_of(site: Site, name: str) -> str:
    """A WALHold, as a path of the API."""
    return f"{OBJECTS.format(site.namespace, 'walholds')}/{name}"


def ends_if_known(eyes: KafkaEyes, prefix: str) -> Mapping[str, int] | None:
    """Where logs end; None while Kafka does not say: librdkafka gives -1001 for an end while a leader is new."""
    with suppress(KafkaException, TimeoutError):
        ends = eyes.log_ends(prefix)
        return ends if all(end >= 0 for end in ends.values()) else None
    return None


def request_of(site: Site, of: str, folder: Path, explain: Callable[[], str]) -> Path:
    """What the application of a subscription is told; it runs from now on."""
    role = SparkOperatorRole(site.kube, site.namespace)

    def made() -> str | None:
        names = [each["metadata"]["name"] for each in role.applications()]
        return next((name for name in names if name.startswith(f"{of}-")), None)

    name = wait_until(made, "an application is made", within=120, explain=explain)
    role.report(name, "RUNNING", executors=("RUNNING",))
    stored = site.kube.request("GET", site.core("configmaps", name))["binaryData"]
    content = gzip.decompress(base64.b64decode(stored["request.json.gz"]))
    path = folder / f"{name}.json"
    path.write_bytes(content.replace(b"/etc/seawall/store/key", str(folder).encode()))
    return path


def judge(name: str, samplers: Mapping[str, Sampler], counts: Mapping[str, int]) -> None:
    """Writes what was done and seen, and asserts that no hold was ahead."""
    seen = {
        of: {"samples": each.samples, "holds": len(each.moves), "ahead": len(each.wrong)}
        for of, each in samplers.items()
    }
    print(json.dumps({**counts, **seen}))  # noqa: T201 - the counts are the evidence
    write_counts(name, {"faults for seconds": SECONDS, **counts, **seen})
    for sampler in samplers.values():
        assert not sampler.wrong, sampler.wrong
        assert sampler.samples > SECONDS


def wait_for_moves(sampler: Sampler) -> None:
    """Until its hold has moved now and then."""
    wait_until(lambda: len(sampler.moves) >= SECONDS // 60 + 1, "the hold has moved", within=90)
