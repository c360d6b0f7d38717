"""While drivers of a mirror and brokers of its target are killed, the source keeps all that the target lacks.

The operator, both Kafkas, the database and the application's code are real. The hold moves every half minute, so it
takes some: `pytest -m soak` (make e2e-soak), FAULT_SECONDS=150 long.
"""

from __future__ import annotations

import base64
import gzip
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from confluent_kafka import KafkaException

from seawall_e2e.waiting import wait_until
from tests.integration.test_a_database_goes_on_with_its_mirror import Mirrored, mirrored
from tests.support.kafka import KafkaEyes
from tests.support.kube import OBJECTS
from tests.support.spark import SparkOperatorRole

__all__ = ["mirrored"]

pytestmark = [pytest.mark.integration, pytest.mark.soak, pytest.mark.timeout(3_000)]
SECONDS = float(os.environ.get("FAULT_SECONDS", "150"))
RESULTS = Path(__file__).parents[3] / "e2e/soak/results/holds.json"
DRIVER = """
import sys, time
from kafka.errors import KafkaError
from sparkjob.errors import Interrupted, Refused
from wal_subscription.copier import copy
from wal_subscription.micro_batches import MicroBatches
from wal_subscription.request import parse_request

request, micro = parse_request(open(sys.argv[1], "rb").read()), None
while True:
    try:
        micro = micro or MicroBatches(request, lambda jobs, sides, _: [copy(job, sides) for job in jobs])
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
    """Reads the hold, and then where the target ends, as often as it can."""

    mirrored: Mirrored
    eyes: KafkaEyes
    samples: int = 0
    moves: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)

    def once(self) -> None:
        """One look. The target is read last: a hold that is right may be behind it by then, and never ahead."""
        path = f"{OBJECTS.format(self.mirrored.site.namespace, 'walholds')}/dr"
        hold = self.mirrored.site.kube.find(path)
        if hold is None:
            return
        try:
            ends = self.eyes.log_ends(f"wal_{self.mirrored.database.prefix}")
        except (KafkaException, TimeoutError):
            return
        self.samples += 1
        self.moves.add(json.dumps(hold["spec"]["topics"], sort_keys=True))
        for claimed in (hold["spec"]["topics"], hold.get("status", {}).get("granted", {})):
            ahead = {name: (at, ends[name]) for name, at in claimed.items() if name in ends and at > ends[name]}
            if ahead:
                self.wrong.append(f"held from, and the target's end: {ahead}")

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


def request_of(mirrored: Mirrored, folder: Path) -> Path:
    """What the application is told."""
    role = SparkOperatorRole(mirrored.site.kube, mirrored.site.namespace)
    (application,) = wait_until(role.applications, "an application is made", within=120, explain=mirrored.explain)
    name = application["metadata"]["name"]
    role.report(name, "RUNNING", executors=("RUNNING",))
    stored = mirrored.site.kube.request("GET", mirrored.site.core("configmaps", name))["binaryData"]
    path = folder / "request.json"
    path.write_bytes(gzip.decompress(base64.b64decode(stored["request.json.gz"])))
    return path


def harm(mirrored: Mirrored, drivers: Drivers, chance: random.Random) -> None:
    """One fault."""
    number = chance.randrange(2)
    match chance.choice(("kill", "kill", "kill", "freeze", "freeze", "broker")):
        case "kill":
            drivers.kill(number)
        case "freeze":
            drivers.freeze(number, chance.uniform(0.2, 2.0))
        case _:
            broker = chance.randrange(len(mirrored.target.bootstrap_servers))
            mirrored.target.kill(broker)
            time.sleep(chance.uniform(0.5, 2.0))
            mirrored.target.start(broker)
            drivers.counts["brokers killed"] += 1


def test_a_hold_is_never_ahead_of_what_the_target_stores(mirrored: Mirrored, tmp_path: Path) -> None:
    mirrored.subscribe()
    eyes = KafkaEyes(mirrored.target.bootstrap_servers)  # one: each is a client with threads of its own
    drivers, sampler, chance = Drivers(request_of(mirrored, tmp_path)), Sampler(mirrored, eyes), random.Random(5)  # noqa: S311 - faults
    drivers.start()
    drivers.start()
    end = time.monotonic() + SECONDS
    try:
        with sampler.looks():
            for turn in itertools.count():
                mirrored.write(f"r{turn}-")
                harm(mirrored, drivers, chance)
                if time.monotonic() > end:
                    break

            def is_even() -> bool:
                with suppress(KafkaException, TimeoutError):
                    theirs, ours = (
                        each.log_ends(f"wal_{mirrored.database.prefix}") for each in (mirrored.site.eyes, eyes)
                    )
                    return theirs == ours
                return False

            wait_until(is_even, "all is copied", within=180, explain=mirrored.explain)
            wait_until(lambda: len(sampler.moves) >= SECONDS // 60 + 1, "the hold has moved", within=90)
    finally:
        drivers.close()
    rows = sum(len(keys) for keys in mirrored.written.values())
    found = {
        **drivers.counts,
        "rows": rows,
        "samples": sampler.samples,
        "holds": len(sampler.moves),
        "ahead": len(sampler.wrong),
    }
    print(json.dumps(found))  # noqa: T201 - the counts are the evidence
    RESULTS.write_text(json.dumps({"command": f"FAULT_SECONDS={SECONDS:g} pytest -m soak", **found}, indent=2) + "\n")
    assert not sampler.wrong
    assert sampler.samples > SECONDS
